"""Steps of every array game beside each package that has it.

4,096 environments, out of phase, with actions drawn before.  SyncVectorEnv has 64: its
rate hardly depends on their number.  It plays Gymnasium's game, or where Gymnasium has
none the single environments of roll_vec.
"""

from __future__ import annotations

from typing import Any

import pytest

from benchmarks import peers
from benchmarks.batches import make, make_sync, steps
from benchmarks.conftest import OURS, Versus
from roll_vec.registration import ENVIRONMENTS
from roll_vec.registration.minigrid_ids import IDS

NUM_ENVS = 4096
NO_SLIPS = "FrozenLake-v1 without slips"
CLASSIC = ("SyncVectorEnv", "EnvPool", "gymnax")
TOY, PUZZLES = CLASSIC[:2], ("EnvPool", "Jumanji")
# By id: the packages that have the game, by the same name or, in GAMES, by another.
PEERS = {
    "FrozenLake-v1": CLASSIC,
    NO_SLIPS: ("gymnax",),
    "FrozenLake8x8-v1": TOY,
    "CliffWalking-v1": TOY,
    "Taxi-v3": ("EnvPool",),
    "Taxi-v4": ("SyncVectorEnv",),
    "Blackjack-v1": TOY,
    "CartPole-v1": CLASSIC,
    "MountainCar-v0": CLASSIC,
    "MountainCarContinuous-v0": CLASSIC,
    "Acrobot-v1": CLASSIC,
    "Pendulum-v1": CLASSIC,
    "Game2048-v0": PUZZLES,
    "SlidingTiles-v0": PUZZLES,
    # EnvPool's 4,096 Sudokus need 13 GB.
    "Sudoku-v0": ("Jumanji",),
    "Minesweeper-v0": PUZZLES,
}
NAMES = {
    ("gymnax", "FrozenLake-v1"): "FrozenLake-misc",
    ("gymnax", NO_SLIPS): "FrozenLake-misc",
    **{(side, "Game2048-v0"): "Game2048-v1" for side in PUZZLES},
    **{(side, "SlidingTiles-v0"): "SlidingTilePuzzle-v0" for side in PUZZLES},
}
# So that all play the same.
KEYWORDS: dict[str, dict[str, Any]] = {
    NO_SLIPS: {"is_slippery": False},
    "Sokoban-v0": {"num_levels": 4096},
    "SlidingTiles-v0": {"size": 5, "num_shuffles": 200, "max_steps": 500},
    "Minesweeper-v0": {"rows": 10, "cols": 10, "num_mines": 10},
}
# Those of `test_minigrid` are there.
OTHERS = {f"roll_vec/{id}" for id, *_ in IDS}
GAMES = [
    id.partition("/")[2]
    for id, x in ENVIRONMENTS.items()
    if not x.pooled and id not in OTHERS
]
PAIRS = [
    pytest.param(game, side, id=f"{game}-{side}")
    for game in (*GAMES, NO_SLIPS)
    for side in dict.fromkeys((OURS, "SyncVectorEnv", *PEERS.get(game, ())))
]


@pytest.mark.benchmark(group="steps of {game}, 4,096 environments")
@pytest.mark.parametrize(("game", "side"), PAIRS)
def test_steps(versus: Versus, game: str, side: str) -> None:
    keywords, name = KEYWORDS.get(game, {}), NAMES.get((side, game), game)
    if side == OURS:
        envs = make(f"roll_vec/{game.split()[0]}", NUM_ENVS, **keywords)
        versus(*steps(envs, 128), close=envs.close)
    elif side == "SyncVectorEnv":
        is_theirs = side in PEERS.get(game, ())
        id = game if is_theirs else f"roll_vec/{game.split()[0]}"
        envs = make_sync(id, 64, **({} if is_theirs else keywords))
        versus(*steps(envs), close=envs.close)
    elif side == "EnvPool":
        versus(*peers.envpool_steps(name, NUM_ENVS))
    elif side == "gymnax":
        versus(*peers.gymnax_steps(name, NUM_ENVS, **keywords))
    else:
        versus(*peers.jumanji_steps(name, NUM_ENVS))
