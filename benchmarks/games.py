"""The cases of the games of rules: each beside every package that has the game."""

from __future__ import annotations

from typing import Any, NamedTuple

from benchmarks.comparisons import ALONE, Case, Row
from benchmarks.own_cases import sized
from roll_vec.registration import ENVIRONMENTS

NUM_ENVS = 4096


class Side(NamedTuple):
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


SIDES = {
    "SyncVectorEnv": Side("gymnasium", 300),
    "CartPoleVectorEnv": Side("gymnasium", None, "", {"mode": "vector_entry_point"}),
    "SyncVectorEnv of a plain class": Side("gymnasium", 300),
    "EnvPool": Side("envpool", 20, "int32, fewer infos"),
    "gymnax": Side("gymnax", 1, "float32, no infos"),
    "Jumanji": Side("jumanji", 1, "float32, no infos"),
}


class Game(NamedTuple):
    """A game, and the packages that have it.

    Parameters
    ----------
    peers : dict
        By key of `SIDES` the name of the game there.
    keywords : dict
        Of our game.
    levels_are : str
        What the levels of all are.
    differs : str
        What other packages do otherwise.
    """

    peers: dict[str, str]
    keywords: dict[str, Any] = {}  # noqa: RUF012 - a default of a tuple is not changed
    levels_are: str = ""
    differs: str = ""


def _same(name: str, *peers: str) -> dict[str, str]:
    return dict.fromkeys(peers, name)


_PLAIN, _ORACLES = "SyncVectorEnv of a plain class", "tests.oracles.number_boards"
_TOY = ("SyncVectorEnv", "EnvPool")
_CLASSIC = (*_TOY, "gymnax")
_PUZZLE = ("EnvPool", "Jumanji")
GAMES = {
    "CartPole-v1": Game(_same("CartPole-v1", *_CLASSIC, "CartPoleVectorEnv")),
    **{
        name: Game(_same(name, *_CLASSIC))
        for name in ("MountainCar-v0", "MountainCarContinuous-v0", "Acrobot-v1")
    },
    "Pendulum-v1": Game(_same("Pendulum-v1", *_CLASSIC)),
    **{name: Game(_same(name, *_TOY)) for name in ("CliffWalking-v1", "Blackjack-v1")},
    # Gymnasium 1.4 has Taxi-v4 alone, which differs only with rain.
    "Taxi-v3": Game({"SyncVectorEnv": "Taxi-v4", "EnvPool": "Taxi-v3"}),
    "Game2048-v0": Game(
        {**_same("Game2048-v1", *_PUZZLE), _PLAIN: f"{_ORACLES}:Merging"}
    ),
    "SlidingTiles-v0": Game(
        {**_same("SlidingTilePuzzle-v0", *_PUZZLE), _PLAIN: f"{_ORACLES}:Sliding"},
        {"size": 5, "num_shuffles": 200, "max_steps": 500},
        "5x5, shuffled 200 times",
    ),
    # EnvPool's 4096 take 13 GB.
    "Sudoku-v0": Game(
        {"Jumanji": "Sudoku-v0"},
        differs="one of 10,000 puzzles, a wrong digit ends the episode",
    ),
    "Minesweeper-v0": Game(
        _same("Minesweeper-v0", *_PUZZLE),
        {"rows": 10, "cols": 10, "num_mines": 10},
        "10x10, 10 mines",
        "no flags, no cells around a 0, a cell that is open ends the episode",
    ),
}


def game_ids() -> list[str]:
    """Return the ids that are rules alone; the other ones have cases of their own."""
    arrays = [each for each in ENVIRONMENTS.values() if not each.pooled]
    return [each.id for each in arrays if each.load().tuned_step is None]


def games(quick: bool) -> list[Case]:
    """Games of rules at random on one core, beside all packages that have them."""
    # Not in one case, whose processes are alive together: they need 23 GB.
    return [_case(id) for id in game_ids()]


def _case(id: str) -> Case:
    name = id.removeprefix("roll_vec/")
    game = GAMES.get(name, Game({}))
    ours = {"id": id, "levels_are": game.levels_are, **game.keywords}
    ours |= {"num_steps": 128, "num_threads": 1, "cores": 1}
    contenders = sized(f"{name}: ours", [NUM_ENVS], **ours)
    rows = [Row(f"{name}: roll_vec", f"{name}: ours", kind=ALONE)]
    for title, theirs in game.peers.items():
        peer, target, differs, options = SIDES[title]
        words = filter(None, (game.levels_are, game.differs, differs))
        options = {"id": theirs, "levels_are": "; ".join(words), **options}
        if title == _PLAIN:
            options |= {"keywords": game.keywords, "levels_are": game.levels_are}
        options |= {"engine": title, "peer": peer, "cores": 1}
        side, row = f"{name}: {title}", f"{name}: beside {title}"
        contenders += sized(side, [NUM_ENVS], f"peers.{peer}", **options)
        rows.append(Row(row, f"{name}: ours", f"{side} {NUM_ENVS}", target))
    return Case(name, contenders, rows)
