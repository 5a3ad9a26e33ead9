"""Constant cost of a step and the kernels' share, ``python -m benchmarks.step_costs``.

For each batch: microseconds of a step of few environments, and the part of a step of
many that compiled kernels take.  One thread; the least of several rounds counts: other
load on the machine can only add time.  ``--beside FOLDER`` measures another checkout
as well, in turns with this one.
"""

from __future__ import annotations

import argparse
import cProfile
import json
import os
import pstats
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np

from benchmarks.batches import EPISODE_STEPS, FROZEN_LAKE, SOKOBAN, draw_actions

RANDOM_FROZEN_LAKE = "roll_vec/RandomFrozenLake-v0"
CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "FrozenLake-v1, positions": (FROZEN_LAKE, {}),
    "FrozenLake-v1, grids": (FROZEN_LAKE, {"obs_mode": "grid"}),
    "RandomFrozenLake, 4096 maps": (RANDOM_FROZEN_LAKE, {"num_levels": 4096}),
    "Sokoban 6x6, 4096 rooms": (SOKOBAN, {"num_levels": 4096}),
    "Sokoban 6x6, levels=": (SOKOBAN, {"levels": ["######\n#@$ .#\n#    #\n######"]}),
}
FEW, MANY = (1, 64), (4096, 65536)
# Steps of one environment in a round.
ENV_STEPS = 4_000_000


def measure(id: str, keywords: dict[str, Any], num_envs: int) -> tuple[float, float]:
    """Return the microseconds of a step, and the part of them in kernels."""
    env: Any = gymnasium.make_vec(id, num_envs, num_threads=1, **keywords)
    # All levels are in memory then.
    for first in range(0, keywords.get("num_levels", 1), num_envs):
        env.reset(seed=first)
    # Or all rooms would end together.
    env.unwrapped.engine.elapsed_steps[:] = np.arange(num_envs) % EPISODE_STEPS
    actions = draw_actions(env, 64)
    repeats = max(2, min(200, ENV_STEPS // (64 * num_envs)))
    for _ in range(2):  # the first time loads kernels
        start = time.perf_counter()
        for _ in range(repeats):
            for batch in actions:
                env.step(batch)
        seconds = (time.perf_counter() - start) / (repeats * len(actions))
    profile = cProfile.Profile()
    profile.enable()
    for _ in range(repeats):
        for batch in actions:
            env.step(batch)
    profile.disable()
    functions: dict[Any, Any] = pstats.Stats(profile).stats  # type: ignore[attr-defined]
    # A profile has kernels under the names of their files.  Their own time alone, as a
    # profile makes Python's part of a step longer.
    kernels = sum(
        own
        for (file, *_), (_, _, own, *_) in functions.items()
        if f"{os.sep}kernels{os.sep}" in file
    )
    return seconds * 1e6, kernels / (repeats * len(actions)) / seconds


def measure_all(mode: str) -> dict[str, float]:
    """Return the figures of one round by the name of their row and column."""
    figures = {}
    for title, (id, keywords) in CASES.items():
        for num_envs in (*FEW, *MANY):
            more = {**keywords, "autoreset_mode": mode}
            cost, share = measure(id, more, num_envs)
            figures[f"{title}|{num_envs}"] = cost
            if num_envs in MANY:
                figures[f"{title}|share {num_envs}"] = share
    return figures


def run_round(folder: Path, mode: str) -> dict[str, float]:
    """Return the figures of a round of a checkout, in a process of its own."""
    command = [sys.executable, __file__, "--round", "--mode", mode]
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    result = subprocess.run(
        command, cwd=folder, env=environment, stdout=subprocess.PIPE, check=True
    )
    figures: dict[str, float] = json.loads(result.stdout)
    return figures


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.step_costs",
        description="Measure the constant cost of a step and the kernels' share.",
    )
    parser.add_argument("--mode", default="NextStep", help="autoreset mode")
    parser.add_argument("--rounds", type=int, default=3, help="default: %(default)s")
    parser.add_argument("--beside", type=Path, metavar="FOLDER", help="a checkout")
    parser.add_argument("--round", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.round:
        print(json.dumps(measure_all(options.mode)))
        return
    folders = [Path(__file__).resolve().parent.parent]
    if options.beside is not None:
        folders.insert(0, options.beside.resolve())
    rounds: list[list[dict[str, float]]] = [[] for _ in folders]
    for _ in range(options.rounds):
        for figures, folder in zip(rounds, folders, strict=True):
            figures.append(run_round(folder, options.mode))
    print(f"{'':28s}{'us, 1':>9s}{'64':>9s}{'4096':>9s}{'kernels':>9s}", end="")
    print(f"{'65,536':>9s}{'kernels':>9s}")
    for title in CASES:
        for folder, figures in zip(folders, rounds, strict=True):
            line = f"{title if folder is folders[0] else '':28s}"
            for num_envs in (*FEW, *MANY):
                least = min(each[f"{title}|{num_envs}"] for each in figures)
                line += f"{least:9.2f}"
                if num_envs in MANY:
                    shares = [each[f"{title}|share {num_envs}"] for each in figures]
                    line += f"{sorted(shares)[len(shares) // 2]:9.0%}"
            print(line)


if __name__ == "__main__":
    main()
