"""Any registered id beside SyncVectorEnv: ``python -m benchmarks.own ID``.

For an environment of one's own, whose module comes before a colon, as in
``my_module:mine/Env-v0``.  Both sides step the same environments with the same
actions, drawn from the action space beforehand.
"""

from __future__ import annotations

import argparse
import ast
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import gymnasium
from gymnasium.vector import SyncVectorEnv

import roll_vec  # noqa: F401 - registers the ids
from benchmarks import suite, table
from benchmarks.cases import Case, Row
from benchmarks.tasks import Rate
from benchmarks.turns import Contender

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
    """Step the id's own batch, or Gymnasium's SyncVectorEnv of its single form."""
    env: Any
    if sync:
        own = {key: keywords[key] for key in keywords if key not in BATCH_KEYWORDS}
        env = SyncVectorEnv([lambda: gymnasium.make(id, **own)] * num_envs)
    else:
        env = gymnasium.make_vec(id, num_envs=num_envs, **keywords)
    env.action_space.seed(0)
    batches = [env.action_space.sample() for _ in range(max(512 // num_envs, 2))]
    env.reset(seed=0)

    def work() -> int:
        for batch in batches:
            env.step(batch)
        return len(batches) * num_envs

    return Rate(work, "steps/s", {"batch": num_envs})


def make_case(id: str, sizes: Sequence[int], keywords: Mapping[str, Any]) -> Case:
    """Return the case of both sides at every size."""
    contenders = [
        Contender(
            f"{'sync' if sync else 'own'} {n}.",
            "SyncVectorEnv" if sync else "its own batch",
            "benchmarks.own",
            "steps",
            {"id": id, "num_envs": n, "keywords": keywords, "sync": sync},
        )
        for n in sizes
        for sync in (False, True)
    ]
    rows = [Row(f"{id}, {n}", f"own {n}.", f"sync {n}.") for n in sizes]
    return Case("own", id, contenders, rows)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and print the table and what it was taken with."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.own",
        description="Measure an id's own batch beside Gymnasium's SyncVectorEnv.",
        epilog="example: python -m benchmarks.own my_module:mine/Env-v0 -o workers=4",
    )
    parser.add_argument("id", help="a registered id, its module before a colon")
    parser.add_argument(
        "--num-envs", type=int, nargs="+", default=[1, 64, 1024], metavar="N"
    )
    parser.add_argument(
        "--rounds", type=int, default=5, help="rounds (default %(default)s)"
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
    if min([options.rounds, *options.num_envs]) < 1:
        parser.error("--rounds, --num-envs: expected at least 1")
    keywords = {}
    for pair in options.options:
        key, _, text = pair.partition("=")
        try:
            keywords[key] = ast.literal_eval(text)
        except (SyntaxError, ValueError):
            keywords[key] = text
    case = make_case(options.id, options.num_envs, keywords)
    command = " ".join(["python -m benchmarks.own", *(arguments or sys.argv[1:])])
    plan = suite.Plan((), options.rounds, command=command)
    table.show(suite.measure({case.name: case}, plan, lambda *done: None))


if __name__ == "__main__":
    main()
