"""Unrolls of many environments beside as many steps whose results are stored.

``python -m benchmarks.unroll_scale`` prints a table.  Both write into arrays that exist
already: ``unroll`` into ``out``, steps into arrays of (T, N) one by one.  The rounds of
both alternate, and each cell is a median.
"""

from __future__ import annotations

import argparse
import threading
from collections.abc import Callable
from functools import partial
from statistics import median
from time import perf_counter
from typing import Any

import gymnasium
import numba
import numpy as np
from numpy.typing import NDArray

from benchmarks.batches import FROZEN_LAKE, SOKOBAN
from roll_vec.vector.rollout import Rollout

T = 128
GAMES: dict[str, tuple[str, dict[str, Any]]] = {
    "Sokoban": (SOKOBAN, {"num_levels": 4096}),
    "RandomFrozenLake": ("roll_vec/RandomFrozenLake-v0", {"num_levels": 4096}),
    "FrozenLake-v1": (FROZEN_LAKE, {}),
}
MODES = ("NextStep", "SameStep")


def make(game: str, num_envs: int, num_threads: int | None, mode: str) -> Any:
    """Return a batch whose levels are all in memory, at a reset."""
    id, keywords = GAMES[game]
    more = {"num_threads": num_threads, "autoreset_mode": mode}
    env = gymnasium.make_vec(id, num_envs=num_envs, **keywords, **more).unwrapped
    for first in range(0, keywords.get("num_levels", 0), num_envs):
        env.reset(seed=first)
    env.reset(seed=0)
    return env


def store(arrays: dict[str, Any], values: dict[str, Any], t: int) -> None:
    """Write a step's infos into arrays of T steps."""
    for key, value in values.items():
        if isinstance(value, dict):
            store(arrays.get(key, {}), value, t)
        elif key in arrays and arrays[key].dtype == value.dtype:
            arrays[key][t] = value


def step_all(env: Any, plan: NDArray[np.int64], out: Rollout) -> None:
    """Take the steps one by one, and store their results."""
    arrays = out.observations, out.rewards, out.terminations, out.truncations
    for t, actions in enumerate(plan):
        *results, infos = env.step(actions)
        for array, result in zip(arrays, results, strict=True):
            array[t] = result
        store(out.infos, infos, t)
        if "final_obs" in out.infos:
            out.infos["final_obs"][t] = env.final_obs(results[0], infos)


def measure(
    works: dict[str, Callable[[], Any]], seconds: float
) -> dict[str, tuple[float, float]]:
    """Return the median time and page faults of some works, measured in turns."""
    times: dict[str, list[float]] = {name: [] for name in works}
    faults: dict[str, list[int]] = {name: [] for name in works}
    stop = perf_counter() + seconds
    while perf_counter() < stop or len(next(iter(times.values()))) < 3:
        for name, work in works.items():
            before, begin = _page_faults(), perf_counter()
            work()
            times[name].append(perf_counter() - begin)
            faults[name].append(_page_faults() - before)
    return {name: (median(times[name]), median(faults[name])) for name in works}


def _page_faults() -> int:
    """Return the page faults of this process; 0 where the system does not tell."""
    try:
        import resource
    except ImportError:
        return 0
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt


def compare(
    game: str, num_envs: int, num_threads: int, mode: str, seconds: float
) -> str:
    """Return a row of the table."""
    env = make(game, num_envs, num_threads, mode)
    first = env.single_action_space.start
    rng = np.random.default_rng(0)
    plan = rng.integers(first, first + 4, (T, num_envs))
    rollout, out = env.unroll(plan), env.unroll(plan)
    works = {
        "step": partial(step_all, env, plan, out),
        "unroll": partial(env.unroll, plan, out=rollout),
    }
    results = measure(works, seconds)
    per_step = {name: 1e9 * result[0] / plan.size for name, result in results.items()}
    size = sum(array.nbytes for array in _arrays(rollout._asdict())) / plan.size
    return (
        f"| {game} | {mode} | {num_envs} | {num_threads} | {per_step['step']:.1f} | "
        f"{per_step['unroll']:.1f} | {per_step['step'] / per_step['unroll']:.2f} | "
        f"{size:.0f} | {results['unroll'][1]:.0f} |"
    )


def _arrays(values: dict[str, Any]) -> list[NDArray[Any]]:
    """Return all arrays of a nested dict."""
    arrays = []
    for value in values.values():
        arrays += _arrays(value) if isinstance(value, dict) else [value]
    return arrays


@numba.njit(nogil=True)  # type: ignore[untyped-decorator]
def _fill(array: Any, value: float) -> None:
    for i in range(array.size):
        array[i] = value


def _fill_on(cores: int, array: NDArray[np.float64]) -> None:
    """Fill an array, each core its part."""
    parts = np.array_split(array, cores)
    threads = [threading.Thread(target=_fill, args=(part, 1.0)) for part in parts[1:]]
    for thread in threads:
        thread.start()
    _fill(parts[0], 1.0)
    for thread in threads:
        thread.join()


def bandwidth(cores: int) -> float:
    """Return how many GB/s some cores write, into 64 MB."""
    array = np.zeros(8 << 20)
    seconds = measure({"fill": partial(_fill_on, cores, array)}, 0.3)["fill"][0]
    return array.nbytes / seconds / 1e9


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--games", nargs="+", choices=GAMES, default=list(GAMES))
    parser.add_argument("--sizes", nargs="+", type=int, default=[64, 4096, 65536])
    parser.add_argument("--threads", nargs="+", type=int, default=[1, 2])
    parser.add_argument("--modes", nargs="+", choices=MODES, default=["NextStep"])
    parser.add_argument("--seconds", type=float, default=1.0, help="of each row")
    arguments = parser.parse_args()
    print(
        f"{T} steps; ns a step of one environment; plain fill: "
        f"{bandwidth(1):.0f} GB/s on one core, {bandwidth(2):.0f} on two\n\n"
        "| game | mode | environments | threads | step | unroll | ratio | "
        "bytes a step | page faults |\n|---|---|---|---|---|---|---|---|---|"
    )
    for game in arguments.games:
        for mode in arguments.modes:
            for num_envs in arguments.sizes:
                for num_threads in arguments.threads:
                    row = compare(game, num_envs, num_threads, mode, arguments.seconds)
                    print(row, flush=True)


if __name__ == "__main__":
    main()
