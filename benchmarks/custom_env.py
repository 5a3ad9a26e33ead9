"""Measure any id beside SyncVectorEnv: ``python -m benchmarks.custom_env ID``.

An environment of the user is named with its module, as in ``my_module:mine/Env-v0``.
Both sides step the same environments with the same actions, drawn from the action space
in advance.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from typing import Any

import gymnasium
from gymnasium.vector import SyncVectorEnv

import roll_vec  # noqa: F401 - registers the ids
from benchmarks import suite, table
from benchmarks.batches import settings_of
from benchmarks.comparisons import Case, Row
from benchmarks.interleave import Contender
from benchmarks.progress import progress_bars
from benchmarks.tasks import Rate
from roll_vec.cli._options import integer_from, literal

# Keywords of a batch, which `gymnasium.make` does not take.
BATCH_KEYWORDS = (
    "context",
    "executor",
    "num_threads",
    "on_error",
    "reset_timeout",
    "step_timeout",
    "workers",
)


def steps(
    id: str, num_envs: int, keywords: Mapping[str, Any], sync: bool = False
) -> Rate:
    """Step the id's own batch, or Gymnasium's SyncVectorEnv of single environments."""
    env: Any
    if sync:
        single = {key: keywords[key] for key in keywords if key not in BATCH_KEYWORDS}
        env = SyncVectorEnv([lambda: gymnasium.make(id, **single)] * num_envs)
    else:
        env = gymnasium.make_vec(id, num_envs=num_envs, **keywords)
    env.action_space.seed(0)
    batches = [env.action_space.sample() for _ in range(max(512 // num_envs, 2))]
    env.reset(seed=0)

    def work() -> int:
        for batch in batches:
            env.step(batch)
        return len(batches) * num_envs

    return Rate(work, "steps/s", settings_of(env, f"as {id} has them", "array"))


def make_case(id: str, sizes: Sequence[int], keywords: Mapping[str, Any]) -> Case:
    """Return the case of both sides at every size."""
    contenders = [
        Contender(
            f"{'sync' if sync else 'own'} {n}.",
            "SyncVectorEnv" if sync else "its own batch",
            "benchmarks.custom_env",
            "steps",
            {"id": id, "num_envs": n, "keywords": keywords, "sync": sync},
        )
        for n in sizes
        for sync in (False, True)
    ]
    rows = [Row(f"{id}, {n}", f"own {n}.", f"sync {n}.") for n in sizes]
    return Case("own", id, contenders, rows)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and print the table and the description of the machine.

    The exit code is 130 after Ctrl-C and 1 if nothing could be measured.
    """
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.custom_env",
        description="Measure an id's own batch beside Gymnasium's SyncVectorEnv.",
        epilog="example: "
        "python -m benchmarks.custom_env my_module:mine/Env-v0 -o workers=4",
    )
    parser.add_argument("id", help="a registered id, its module before a colon")
    parser.add_argument(
        "--num-envs",
        type=integer_from(1),
        nargs="+",
        default=[1, 64, 1024],
        metavar="N",
        help="sizes of batches (default: 1 64 1024)",
    )
    parser.add_argument(
        "--rounds",
        type=integer_from(1),
        default=suite.ROUNDS,
        metavar="N",
        help="times that each side is measured (default: %(default)s)",
    )
    parser.add_argument(
        "-o",
        dest="options",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="a keyword, its value a Python literal or a plain string",
    )
    options = parser.parse_args(arguments)
    keywords = {}
    for pair in options.options:
        key, equals, text = pair.partition("=")
        if not equals:
            parser.error(f"argument -o: expected KEY=VALUE, got {pair!r}")
        keywords[key] = literal(text)
    case = make_case(options.id, [*dict.fromkeys(options.num_envs)], keywords)
    interrupted = False
    try:
        with progress_bars() as report_progress:
            plan = suite.Plan((), options.rounds)
            result = suite.measure({case.name: case}, plan, report_progress)
    except suite.Interrupted as stop:
        result, interrupted = stop.result, True
    table.show(result)
    if interrupted:
        parser.exit(130, "interrupted\n")
    if not any(row["values"] for row in result["rows"]):
        parser.exit(1, "nothing could be measured\n")


if __name__ == "__main__":
    main()
