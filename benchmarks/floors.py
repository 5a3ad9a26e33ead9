"""Roofline of the kernels, ``python -m benchmarks.floors``: steps beside bare copies.

For each batch: nanoseconds per environment and step of the whole `step`, of each kernel
in it, and of `numpy.copyto` over as many bytes as the kernel must move at least (its
floor).  Everything runs in one process on one thread.  The least of several rounds
counts: other load on the machine can only add time.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple
from unittest import mock

import numpy as np

from benchmarks.batches import FROZEN_LAKE, SOKOBAN, draw_actions, make
from roll_vec.cli._options import integer_from
from roll_vec.stacked.kernel_threads import KernelThreads

# Bytes per environment and step, read and written: action, skip mask, reward, five
# flags.
_SHARED = 8 + 1 + 8 + 5


class Workload(NamedTuple):
    """A batch and the kernels that its step calls.

    Parameters
    ----------
    title : str
    id : str
    keywords : dict
    kernels : dict
        Bytes that each kernel must move per environment, by its name.
    """

    title: str
    id: str
    keywords: dict[str, Any]
    kernels: dict[str, int]


# FrozenLake: position in and out, elapsed steps, PCG64's state in and out and its
# increment, prob.  Sokoban: player, boxes and elapsed steps in and out, three cells.
_LAKE = _SHARED + 16 + 8 + (32 + 16) + 8
_ROOM = _SHARED + 8 + 8 + 8 + 6
WORKLOADS = [
    Workload("FrozenLake-v1", FROZEN_LAKE, {}, {"step": _LAKE}),
    Workload(
        "Sokoban 6x6, grids",
        SOKOBAN,
        {"num_levels": 4096},
        {"step": _ROOM, "advance_rows": 0},
    ),
    Workload(
        "Sokoban 6x6, planes",
        SOKOBAN,
        {"num_levels": 4096, "obs_mode": "planes"},
        {"step": _ROOM, "write_planes": 36 + 7 * 36},
    ),
    Workload(
        "Sokoban 6x6, texts",
        SOKOBAN,
        {"num_levels": 4096, "obs_mode": "text"},
        {"step": _ROOM, "write_code_points": 36 + 41 * 4},
    ),
]


@contextmanager
def time_kernels(names: Sequence[str]) -> Any:
    """Time all calls of some kernels in the block; yield their seconds by name."""
    seconds = dict.fromkeys(names, 0.0)
    run = KernelThreads.run

    def timed(
        threads: KernelThreads, kernel: Callable[..., Any], *arguments: Any
    ) -> None:
        start = time.perf_counter()
        try:
            run(threads, kernel, *arguments)
        finally:
            if kernel.__name__ in seconds:
                seconds[kernel.__name__] += time.perf_counter() - start

    with mock.patch.object(KernelThreads, "run", timed):
        yield seconds


def copy_seconds(num_bytes: int) -> float:
    """Return the seconds of a copy that reads and writes `num_bytes` in all."""
    source = np.ones(max(num_bytes // 2, 1), np.uint8)
    target = source.copy()
    start = time.perf_counter()
    np.copyto(target, source)
    return time.perf_counter() - start


def measure(
    workload: Workload, num_envs: int, rounds: int, env_steps: int = 200_000
) -> list[tuple[str, float, float]]:
    """Return tuples of name, nanoseconds, and nanoseconds of a copy (0: no copy).

    The first tuple is the whole step; a round takes about ``env_steps`` steps.
    """
    env = make(workload.id, num_envs, num_threads=1, **workload.keywords)
    actions = draw_actions(env, max(env_steps // num_envs, 8))
    costs: dict[str, list[float]] = {name: [] for name in ("all", *workload.kernels)}
    copies: dict[str, list[float]] = {name: [] for name in workload.kernels}
    scale = 1e9 / actions.size
    for _ in range(rounds):
        with time_kernels([*workload.kernels]) as seconds:
            start = time.perf_counter()
            for batch in actions:
                env.step(batch)
            costs["all"].append((time.perf_counter() - start) * scale)
        for name, num_bytes in workload.kernels.items():
            costs[name].append(seconds[name] * scale)
            times = [copy_seconds(num_bytes * num_envs) for _ in range(20)]
            copies[name].append(min(times) * 1e9 / num_envs)
    env.close()
    return [
        (
            name,
            min(values),
            min(copies[name]) if workload.kernels.get(name) else 0.0,
        )
        for name, values in costs.items()
    ]


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.floors",
        description="Measure what steps cost beside what moving their bytes costs.",
    )
    parser.add_argument(
        "--num-envs",
        type=integer_from(1),
        nargs="+",
        default=[4096, 65536],
        metavar="N",
        help="sizes of batches (default: 4096 65536)",
    )
    parser.add_argument(
        "--rounds",
        type=integer_from(1),
        default=9,
        metavar="N",
        help="rounds, of which the least counts (default: %(default)s)",
    )
    options = parser.parse_args(arguments)
    print(f"{'':22s}{'environments':>13s}{'ns':>8s}{'copy, ns':>10s}")
    for workload in WORKLOADS:
        for num_envs in options.num_envs:
            for name, cost, copy in measure(workload, num_envs, options.rounds):
                title = workload.title if name == "all" else f"  {name}"
                least = f"{copy:10.2f}" if copy else ""
                print(f"{title:22s}{num_envs:13,}{cost:8.2f}{least}", flush=True)


if __name__ == "__main__":
    main()
