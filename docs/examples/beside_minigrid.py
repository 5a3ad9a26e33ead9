"""The same PPO on MiniGrid's own batch and on roll_vec's: equal weights, and the time.

    pip install minigrid==3.2.0
    python docs/examples/beside_minigrid.py --updates 3

Both trainings begin with the same seed.  Their episodes are equal, and so are all
weights of the networks after the same number of updates.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import time
from pathlib import Path

import gymnasium
import minigrid  # noqa: F401 - registers the ids
import numpy as np
import torch
from minigrid.wrappers import ImgObsWrapper
from ppo import RECIPES, Training


class TrainingOnMiniGrid(Training):
    """The training on `SyncVectorEnv` over MiniGrid's environments."""

    def make_envs(self, id: str, num_envs: int) -> gymnasium.vector.VectorEnv:
        """Return the batch to train on."""
        return gymnasium.make_vec(
            id.removeprefix("roll_vec/"),
            num_envs=num_envs,
            vectorization_mode="sync",
            wrappers=[ImgObsWrapper],
        )

    def successes(self, rewards: np.ndarray) -> np.ndarray:
        """Return which environments have solved their task in the last step."""
        return rewards > 0


def compare(id: str, num_envs: int, updates: int) -> tuple[float, float]:
    """Train both and compare their weights; return the seconds of an update of each.

    Raises
    ------
    RuntimeError
        If weights differ.
    """
    recipe = dataclasses.replace(RECIPES[id], updates=updates)
    weights, seconds = [], []
    for kind in (TrainingOnMiniGrid, Training):
        training = kind(id, recipe, num_envs, seed=0)
        training.envs.step(np.zeros(num_envs, np.int64))  # compiles
        training.observations, _ = training.envs.reset(seed=0)
        start = time.perf_counter()
        for _ in range(updates):
            training.update()
        seconds.append((time.perf_counter() - start) / updates)
        weights.append(training.network.state_dict())
    if not all(map(torch.equal, *(each.values() for each in weights))):
        raise RuntimeError(f"{id}: the weights of the two trainings differ")
    return seconds[0], seconds[1]


def main() -> None:
    """Compare the trainings of each task, and print or store the times."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    ids = [id for id in RECIPES if "MiniGrid" in id]
    add = parser.add_argument
    add("--id", choices=ids, help="without it all of these")
    add("--num-envs", type=int, default=1024)
    add("--updates", type=int, default=3, help="of each training")
    add("--results", type=Path, metavar="FILE", help="write the times to it")
    args = parser.parse_args()
    results = {}
    for id in [args.id] if args.id else ids:
        theirs, ours = seconds = compare(id, args.num_envs, args.updates)
        print(
            f"{id}: equal weights; {theirs:.2f} s an update on MiniGrid's batch", end=""
        )
        print(f", {ours:.2f} s on roll_vec's: {theirs / ours:.1f} times as fast")
        results[id] = seconds
    if args.results:
        args.results.write_text(json.dumps(results, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
