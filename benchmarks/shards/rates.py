"""Steps a second of one local batch and of 1, 2 and 4 shards, measured in turns."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from contextlib import ExitStack, closing
from typing import Any

import roll_vec
from benchmarks.shards.tables import SHARDS
from benchmarks.shards.workloads import Workload, draw_actions
from roll_vec.distributed import RayVectorEnv

__all__ = ["measure"]

# A round of one side takes so many seconds.
_SECONDS = 0.3


def measure(
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
