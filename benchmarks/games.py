"""The case of the games of rules: each beside every package that has the game."""

from __future__ import annotations

from typing import Any, NamedTuple

from benchmarks.comparisons import ALONE, Case, Row
from benchmarks.own_cases import sized
from roll_vec.registration import ENVIRONMENTS

NUM_ENVS = 4096


class Peer(NamedTuple):
    """A way in which a package plays games.

    Parameters
    ----------
    peer : str
        Key of `benchmarks.peers.PEERS`; its adapter has a task ``steps``.
    target : float or None
        How many times as fast roll_vec is to be.
    differs : str
        What it does not do as roll_vec does, for the table.
    options : dict
        Of the task.
    """

    peer: str
    target: float | None
    differs: str = ""
    options: dict[str, Any] = {}  # noqa: RUF012 - a default of a tuple is not changed


_VECTOR = {"mode": "vector_entry_point"}
PEERS = {
    "SyncVectorEnv": Peer("gymnasium", 300),
    "CartPoleVectorEnv": Peer("gymnasium", None, "", _VECTOR),
    "EnvPool": Peer("envpool", 20, "no infos of the game"),
    "gymnax": Peer("gymnax", 1, "float32, no infos"),
    "Jumanji": Peer("jumanji", 1, "float32"),
}


class Game(NamedTuple):
    """A game, and the packages that have it.

    Parameters
    ----------
    peers : dict
        By key of `PEERS` the name of the game there.
    keywords : dict
        Of our game.
    levels_are : str
        What the levels of all are.
    differs : str
        What all peers do otherwise.
    """

    peers: dict[str, str]
    keywords: dict[str, Any] = {}  # noqa: RUF012 - a default of a tuple is not changed
    levels_are: str = ""
    differs: str = ""


def _same(name: str, *peers: str) -> dict[str, str]:
    return dict.fromkeys(peers, name)


_TOY = ("SyncVectorEnv", "EnvPool")
_CLASSIC = (*_TOY, "gymnax")
_PUZZLE = ("EnvPool", "Jumanji")
GAMES = {
    "CartPole-v1": Game(_same("CartPole-v1", *_CLASSIC, "CartPoleVectorEnv")),
    "MountainCar-v0": Game(_same("MountainCar-v0", *_CLASSIC)),
    "MountainCarContinuous-v0": Game(_same("MountainCarContinuous-v0", *_CLASSIC)),
    "Acrobot-v1": Game(_same("Acrobot-v1", *_CLASSIC)),
    "Pendulum-v1": Game(_same("Pendulum-v1", *_CLASSIC)),
    "CliffWalking-v1": Game(_same("CliffWalking-v1", *_TOY)),
    # Gymnasium 1.4 has the rules of Taxi-v3 under another number.
    "Taxi-v3": Game({"SyncVectorEnv": "Taxi-v4", "EnvPool": "Taxi-v3"}),
    "Blackjack-v1": Game(_same("Blackjack-v1", *_TOY)),
    "Game2048-v0": Game(_same("Game2048-v1", *_PUZZLE)),
    "SlidingTiles-v0": Game(
        _same("SlidingTilePuzzle-v0", *_PUZZLE),
        {"size": 5},
        "5x5",
        "scrambled by 200 random moves",
    ),
    "Sudoku-v0": Game(
        _same("Sudoku-v0", *_PUZZLE),
        {"num_levels": 10_000},
        "10,000 puzzles",
        "a wrong digit ends the episode",
    ),
    "Minesweeper-v0": Game(
        _same("Minesweeper-v0", *_PUZZLE),
        {"rows": 10, "cols": 10, "num_mines": 10},
        "10x10, 10 mines",
        "no flags, no cell revealed around a 0, a cell revealed twice ends the episode",
    ),
}


def games(quick: bool) -> Case:
    """Games of rules at random on one core, beside all packages that have them."""
    contenders, rows = [], []
    for name, game in GAMES.items():
        id = f"roll_vec/{name}"
        if id not in ENVIRONMENTS:
            continue
        # All take the same number of steps in turn, drawn in advance.
        ours = {"id": id, "num_steps": 128, "num_threads": 1, **game.keywords}
        contenders += sized(
            f"{name}: ours", [NUM_ENVS], levels_are=game.levels_are, cores=1, **ours
        )
        rows.append(Row(f"{name}: roll_vec", f"{name}: ours", kind=ALONE))
        for title, theirs in game.peers.items():
            peer, target, differs, options = PEERS[title]
            words = (game.levels_are, game.differs, differs)
            contenders += sized(
                f"{name}: {title}",
                [NUM_ENVS],
                f"benchmarks.peers.{peer}",
                engine=title,
                peer=peer,
                cores=1,
                id=theirs,
                levels_are="; ".join(filter(None, words)),
                **options,
            )
            rows.append(
                Row(
                    f"{name}: beside {title}",
                    f"{name}: ours",
                    f"{name}: {title}",
                    target,
                )
            )
    return Case("Games", contenders, rows)
