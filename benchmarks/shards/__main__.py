"""Measure shards beside a local batch; write benchmarks/results/cluster.json.

It takes some five minutes.  ``--keep-rates`` measures the costs alone, which other load
on the machine hardly changes.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack, closing
from typing import Any

import roll_vec
from benchmarks import machine
from benchmarks.result import write_result
from benchmarks.shards import costs
from benchmarks.shards.tables import RESULTS, SHARDS
from benchmarks.shards.workloads import WORKLOADS, Workload, draw_actions
from roll_vec.cli._options import integer_from
from roll_vec.distributed import RayVectorEnv

# A round of one side takes so many seconds.
_SECONDS = 0.3


def report(text: str) -> None:
    """Show what is being measured."""
    sys.stderr.write(f"{text}\n")


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser("python -m benchmarks.shards", description=__doc__)
    parser.add_argument("--rounds", type=integer_from(1), default=7)
    parser.add_argument("--keep-rates", action="store_true")
    options = parser.parse_args()
    content: dict[str, Any] = json.loads(RESULTS.read_text("utf-8"))
    import ray

    # As many actors as there are sides, whatever the machine has.
    ray.init(num_cpus=16, include_dashboard=False, log_to_driver=False)
    content["machine"] = machine.describe("python -m benchmarks.shards")
    content["machine"]["versions"]["ray"] = ray.__version__
    content["machine"]["load"] = machine.load()
    content["message"] = costs.message_costs(ray)
    content["workloads"] = {}
    for workload in WORKLOADS:
        report(f"{workload.name}, costs")
        content["workloads"][workload.name] = costs.workload_costs(workload)
    if not options.keep_rates:
        content["rates"] = [
            measure_rates(workload, size, options.rounds, report)
            for workload in WORKLOADS
            for size in workload.sizes
        ]
    ray.shutdown()
    write_result(RESULTS, content)


def measure_rates(
    workload: Workload, num_envs: int, rounds: int, report: Callable[[str], None]
) -> dict[str, Any]:
    """Return rates of a local batch and of the same over shards.

    Parameters
    ----------
    workload : Workload
    num_envs, rounds : int
    report : callable
        Gets the name of each side before its first round.

    Returns
    -------
    dict
        ``local``, environment steps a second; ``shards``, by their number the ratio of
        that rate to the local one: the median over rounds.
    """
    keywords = dict(workload.keywords)
    with ExitStack() as stack:
        sides: dict[str, Any] = {}
        for count in SHARDS:
            report(f"{workload.name}, {num_envs}, {count} shards")
            sides[str(count)] = stack.enter_context(
                closing(
                    RayVectorEnv(workload.id, num_envs, count, num_cpus=0, **keywords)
                )
            )
        keywords.pop("render_on", None)
        local = roll_vec.make_vec(workload.id, num_envs, **keywords)
        sides["local"] = stack.enter_context(closing(local))
        actions = draw_actions(workload, local, 16)
        for envs in sides.values():
            envs.reset(seed=0)
            _rate(envs, actions, 0.0)
        results: dict[str, list[float]] = {name: [] for name in sides}
        for number in range(rounds):
            # Each round begins with another side.
            names = list(sides)
            for name in names[number % 4 :] + names[: number % 4]:
                results[name].append(_rate(sides[name], actions, _SECONDS))
    ratios = {
        str(count): statistics.median(
            mine / theirs
            for mine, theirs in zip(results[str(count)], results["local"], strict=True)
        )
        for count in SHARDS
    }
    return {
        "workload": workload.name,
        "num_envs": num_envs,
        "local": statistics.median(results["local"]),
        "shards": ratios,
    }


def _rate(envs: Any, actions: list[Any], seconds: float) -> float:
    """Step for so long; return environment steps a second."""
    count, start = 0, time.perf_counter()
    while True:
        for row in actions:
            envs.step(row)
        count += len(actions)
        elapsed = time.perf_counter() - start
        if elapsed >= seconds:
            return count * envs.num_envs / elapsed


if __name__ == "__main__":
    main()
