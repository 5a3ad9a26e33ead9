"""The goals, their contenders, and the figures before the work."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

from benchmarks.comparisons import ALONE, Case, Row
from benchmarks.interleave import Contender

NAME = "goals"
LAKE, SOKOBAN = "roll_vec/FrozenLake-v1", "roll_vec/Sokoban-v0"
RANDOM_LAKE = "roll_vec/RandomFrozenLake-v0"
NUM_ENVS, MANY, MOST = 4096, 16_384, 65_536
KEPT_ROOMS = {"num_levels": 4096, "levels_are": "6x6, 3 boxes, 4096 rooms drawn before"}
FRESH_ROOMS = {"levels_are": "6x6, 3 boxes, a fresh room every episode"}


GAMES = ("Sokoban", "RandomFrozenLake", "FrozenLake-v1")


class Goal(NamedTuple):
    """A row of the table.

    Parameters
    ----------
    row : Row
        Its target is the goal; None: shown for comparison.
    before : str
        The figures of version 0.2.0, on machines of this kind; empty: not measured.
    """

    row: Row
    before: str = ""


def _own(name: str, task: str, **options: Any) -> Contender:
    """Return a contender of roll_vec; a task is ``module.function``."""
    module, _, function = task.rpartition(".")
    cores = options.pop("cores", None)
    return Contender(
        name, "roll_vec", f"benchmarks.{module}", function, options, cores=cores
    )


_steps = partial(_own, task="batches.steps")

# Two names of a side differ before one of them ends: a row names a side by a prefix.
CONTENDERS = [
    _own("loop, ahead", "goals.policy.loop_ratio"),
    _own("loop, in time", "goals.policy.loop_ratio", prefetch=False),
    _own("turns, ahead", "goals.policy.slowest_turn"),
    _own("turns, in time", "goals.policy.slowest_turn", prefetch=False),
    _own("steps, ahead", "goals.policy.slowest_turn", has_policy=False),
    _own(
        "steps, in time", "goals.policy.slowest_turn", has_policy=False, prefetch=False
    ),
    *(
        contender
        for n in (NUM_ENVS, MANY)
        for contender in (
            _steps(
                f"fresh {n}, one",
                id=SOKOBAN,
                num_envs=n,
                num_threads=1,
                cores=1,
                **FRESH_ROOMS,
            ),
            _steps(f"fresh {n}, all", id=SOKOBAN, num_envs=n, **FRESH_ROOMS),
            _steps(
                f"fresh {n}, in time",
                id=SOKOBAN,
                num_envs=n,
                prefetch=False,
                **FRESH_ROOMS,
            ),
        )
    ),
    Contender(
        "sync",
        "SyncVectorEnv",
        "benchmarks.peers.gymnasium",
        "frozen_lake",
        {"num_envs": 256},
        "gymnasium",
    ),
    *(
        _own(f"step {id}, {n}.", "goals.steps.step_time", id=id, num_envs=n, **keywords)
        for id, keywords in ((LAKE, {}), (SOKOBAN, {"num_levels": 4096}))
        for n in (1, 64)
    ),
    *(
        _steps(f"{name}, {side}", num_envs=MOST, **keywords, **more)
        for name, keywords in (
            ("lakes", {"id": LAKE, "levels_are": "the 4x4 map"}),
            ("rooms", {"id": SOKOBAN, **KEPT_ROOMS}),
        )
        for side, more in (
            ("one", {"num_threads": 1, "cores": 1}),
            ("two", {"num_threads": 2}),
        )
    ),
    *(
        _own(
            f"kernels {name}",
            "goals.kernels.kernel_share",
            id=id,
            num_envs=MOST,
            **keywords,
        )
        for name, id, keywords in (
            ("lakes", LAKE, {}),
            ("rooms", SOKOBAN, {"num_levels": 4096}),
        )
    ),
    *(
        _own(f"unroll {game}", "goals.unrolls.unroll_ratio", game=game)
        for game in GAMES
    ),
    _own("any lakes", "goals.steps.worst_ratio", id=LAKE),
    _own("any rooms", "goals.steps.worst_ratio", id=SOKOBAN, num_levels=4096),
    *(
        _own(f"first {id}", "goals.first_call.first_call", id=id)
        for id in (SOKOBAN, LAKE, RANDOM_LAKE)
    ),
]

GOALS = [
    Goal(
        Row(
            "loop with a policy, fresh rooms over kept rooms",
            "loop, a",
            "",
            1.15,
            ALONE,
        ),
        "1.8 to 1.9×",
    ),
    Goal(Row("the same, `prefetch=False`", "loop, i", "", None, ALONE)),
    Goal(
        Row(
            "slowest turn over the median turn, with that policy",
            "turns, a",
            "",
            6,
            ALONE,
        ),
        "14 to 19×",
    ),
    Goal(Row("the same turns, `prefetch=False`", "turns, i", "", None, ALONE)),
    Goal(
        Row("slowest step over the median step, no policy", "steps, a", "", None, ALONE)
    ),
    Goal(Row("the same steps, `prefetch=False`", "steps, i", "", None, ALONE)),
    *(
        goal
        for n in (NUM_ENVS, MANY)
        for goal in (
            Goal(
                Row(
                    f"fresh rooms, {n:,}, all cores over one thread",
                    f"fresh {n}, a",
                    f"fresh {n}, o",
                    1.7,
                ),
                "1.0 to 1.5×",
            ),
            Goal(
                Row(
                    f"the same {n:,}, `prefetch=False`",
                    f"fresh {n}, i",
                    f"fresh {n}, o",
                )
            ),
        )
    ),
    Goal(
        Row(
            "fresh rooms, 4,096, beside SyncVectorEnv's FrozenLake",
            f"fresh {NUM_ENVS}, a",
            "sync",
            100,
        ),
        "42 to 78×",
    ),
    Goal(Row("a step of one lake", f"step {LAKE}, 1.", "", 6, ALONE), "10 µs"),
    Goal(
        Row("a step of one room, rooms kept", f"step {SOKOBAN}, 1.", "", 6, ALONE),
        "11 µs",
    ),
    Goal(Row("a step of 64 lakes", f"step {LAKE}, 64.", "", None, ALONE), "12 µs"),
    Goal(
        Row("a step of 64 rooms, rooms kept", f"step {SOKOBAN}, 64.", "", None, ALONE),
        "25 µs",
    ),
    Goal(
        Row("65,536 lakes, the kernels' share of a step", "kernels l", "", 80, ALONE),
        "62 %",
    ),
    Goal(Row("65,536 rooms, the kernels' share of a step", "kernels r", "", 80, ALONE)),
    Goal(
        Row("65,536 lakes, two threads over one", "lakes, t", "lakes, o", 1.5),
        "0.8 to 1.05×",
    ),
    Goal(
        Row("65,536 rooms, two threads over one", "rooms, t", "rooms, o", 1.5),
        "1.0 to 1.35×",
    ),
    *(
        Goal(
            Row(
                f"{games}, automatic threads over one, the worst of 64 to 262,144",
                f"any {games}",
                "",
                0.95,
                ALONE,
            )
        )
        for games in ("lakes", "rooms")
    ),
    *(
        Goal(
            Row(
                f"`unroll` with `out`, 4,096, {game}, over stored steps",
                f"unroll {game}",
                "",
                1.5,
                ALONE,
            ),
            "1.0×",
        )
        for game in GAMES
    ),
    *(
        Goal(
            Row(
                f"first call of {id.partition('/')[2]}, an empty cache",
                f"first {id}",
                "",
                seconds,
                ALONE,
                most_rounds=1,
            ),
            before,
        )
        for id, seconds, before in (
            (SOKOBAN, 6, "10 s"),
            (LAKE, 2, ""),
            (RANDOM_LAKE, 2, ""),
        )
    ),
]


def goals(quick: bool) -> Case:
    """Levels ahead of time, threads, costs of a step, first calls: the goals."""
    return Case(NAME, "Goals", CONTENDERS, [goal.row for goal in GOALS])
