"""Learning from the exact credit of each action: half of the episodes, or fewer.

    python docs/examples/exact_credit.py --picture exact_credit.png

A small network learns by PPO, once from the rewards of the environment, and once from
``infos["advantage"]`` in their place.  The test levels are held out.  Network and
gradients are numpy; the numbers of each side are its best ones of a grid, which
docs/learning.md names.
"""

from __future__ import annotations

import argparse
import dataclasses
import itertools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from lake_chances import mean_chance
from numpy_network import Network, Numbers

import roll_vec

HELD_OUT = 1_000_000  # the first test level
NUM_TEST_LEVELS = 500
MAX_STEPS = 20
NUM_ENVS = 128  # episodes of an update
TEST_PERIOD = 2  # updates
# In moves.  An action into a dead end has -100, which would drown all other credit.
LOWEST_ADVANTAGE = -3.0


@dataclasses.dataclass(frozen=True)
class Task:
    """Environments, the share of test levels to solve, and the numbers by signal.

    On slippery ice the share is the exact mean chance to solve the test levels.
    """

    id: str
    keywords: dict[str, Any]
    target: float
    numbers: dict[str, Numbers]
    max_steps: int = MAX_STEPS
    has_luck: bool = False  # a slippery lake


LAKE = "roll_vec/RandomFrozenLake-v0"
LAKE_NUMBERS = {
    "reward": Numbers(gamma=0.7, learning_rate=0.005, entropy_bonus=0.03),
    "advantage": Numbers(gamma=0.3, learning_rate=0.01, entropy_bonus=0.03),
}
SLIPPERY_NUMBERS = {
    "reward": Numbers(gamma=0.8, learning_rate=0.003, entropy_bonus=0.03),
    "advantage": Numbers(gamma=0.0, learning_rate=0.006, entropy_bonus=0.1),
}
SOKOBAN_NUMBERS = {
    "reward": Numbers(gamma=0.8, learning_rate=0.003, entropy_bonus=0.03),
    "advantage": Numbers(gamma=0.3, learning_rate=0.006, entropy_bonus=0.03),
}
TASKS = {
    "lakes of 4x4, no slips": Task(LAKE, {"is_slippery": False}, 0.8, LAKE_NUMBERS),
    # The best play has a mean chance of 0.91.
    "lakes of 4x4, slippery": Task(
        LAKE, {}, 0.55, SLIPPERY_NUMBERS, max_steps=100, has_luck=True
    ),
    "Sokoban, one box": Task(
        "roll_vec/Sokoban-v0", {"num_boxes": 1}, 0.6, SOKOBAN_NUMBERS
    ),
}


def make_envs(task: Task, num_envs: int) -> Any:
    """Return environments that say the exact credit of actions."""
    return roll_vec.make_vec(
        task.id,
        num_envs,
        obs_mode="planes",
        action_start=0,
        advantage_info=True,
        max_episode_steps=task.max_steps,
        **task.keywords,
    )


def play(envs: Any, policy: Any, levels: list[int]) -> tuple[dict[str, Any], Any]:
    """Play an episode of each level; return the columns (T, N, ...), and successes.

    ``mask`` is False after the end of an episode.
    """
    observations, _ = envs.reset(seed=levels)
    mask, successes = np.ones(len(levels), bool), np.zeros(len(levels), bool)
    steps = []
    while mask.any():
        actions = policy(observations)
        step = {"observations": observations, "actions": actions, "mask": mask}
        observations, rewards, terminations, truncations, infos = envs.step(actions)
        step |= {"reward": rewards, "advantage": infos["advantage"]}
        steps.append(step | {"next": observations})
        successes |= envs.unwrapped.successes & mask
        mask = mask & ~(terminations | truncations)
    columns = {name: np.array([step[name] for step in steps]) for name in steps[0]}
    return columns, successes


def returns_to_go(rewards: np.ndarray, mask: np.ndarray, gamma: float) -> np.ndarray:
    """Return the discounted sums of the rewards from each step on, (T, N)."""
    returns, later = np.zeros(rewards.shape), 0.0
    for t in reversed(range(len(rewards))):
        returns[t] = later = np.where(mask[t], rewards[t] + gamma * later, 0)
    return returns


def train(
    task: Task, signal: str, numbers: Numbers, seed: int
) -> Iterator[tuple[int, float, Network]]:
    """Learn from a signal, ``reward`` or ``advantage``, without an end.

    Yields
    ------
    (int, float, Network)
        Episodes so far, the share of test levels that is solved, and the network.
    """
    rng = np.random.default_rng(seed)
    envs, test_envs = make_envs(task, NUM_ENVS), make_envs(task, NUM_TEST_LEVELS)
    test_levels = list(range(HELD_OUT, HELD_OUT + NUM_TEST_LEVELS))
    test_planes, _ = test_envs.reset(seed=test_levels)
    network = Network(int(np.prod(envs.single_observation_space.shape)), rng)
    square = 0.0
    for update in itertools.count():
        if update % TEST_PERIOD == 0:
            if task.has_luck:
                share = mean_chance(network, test_planes, task.max_steps)
            else:
                _, solved = play(test_envs, network.best_actions, test_levels)
                share = float(solved.mean())
            yield update * NUM_ENVS, share, network
        levels = rng.integers(HELD_OUT, size=NUM_ENVS).tolist()
        columns, _ = play(envs, lambda x: network.sample_actions(x, rng), levels)
        mask = columns["mask"]
        rewards = np.maximum(columns[signal], LOWEST_ADVANTAGE)
        returns = returns_to_go(rewards, mask, numbers.gamma)[mask]
        # Both signals get the same size.
        weight = 0.1 if update else 1.0
        square += weight * (float(np.mean(returns**2)) - square)
        returns = (returns / (np.sqrt(square) + 1e-6)).astype(np.float32)
        planes, actions = columns["observations"][mask], columns["actions"][mask]
        network.learn(planes, actions, returns, numbers, rng)


Curve = list[tuple[int, float]]


def learning_curve(task: Task, signal: str, seed: int, num_episodes: int) -> Curve:
    """Return the episodes so far and the share of test levels solved, test by test."""
    curve = []
    for episodes, share, _ in train(task, signal, task.numbers[signal], seed):
        curve.append((episodes, share))
        if episodes >= num_episodes:
            break
    return curve


def episodes_until(curve: Curve, share: float) -> int | None:
    """Return the episodes until a share of the test levels is solved."""
    return next((episodes for episodes, value in curve if value >= share), None)


def save_picture(path: Path, curves: dict[str, dict[str, list[Curve]]]) -> None:
    """Draw the curves of all seeds, by task and signal."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 2.8), dpi=72, layout="constrained")
    for axis, (name, by_signal) in zip(
        figure.subplots(1, len(curves)), curves.items(), strict=True
    ):
        for color, (signal, seeds) in zip(("C1", "C0"), by_signal.items(), strict=True):
            for number, curve in enumerate(seeds):
                label = None if number else signal
                axis.plot(*zip(*curve, strict=True), color, linewidth=0.8, label=label)
        axis.axhline(TASKS[name].target, color="gray", linewidth=0.8, linestyle=":")
        axis.set(title=name, xlabel="training episodes", ylabel="test levels solved")
        axis.legend()
    FigureCanvasAgg(figure).print_png(str(path))


def main() -> None:
    """Learn each task from both signals; print the episodes, and draw the curves."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--seeds", type=int, default=5)
    add("--episodes", type=int, default=10_240, help="of each training")
    add("--picture", type=Path, metavar="FILE.png")
    add("--out", type=Path, metavar="FILE.json", help="for the page docs/learning.md")
    args = parser.parse_args()
    curves: dict[str, dict[str, list[Curve]]] = {}
    results = {}
    for name, task in TASKS.items():
        curves[name] = {}
        results[name] = {"target": task.target, "episodes": args.episodes}
        for signal in task.numbers:
            runs = [
                learning_curve(task, signal, seed, args.episodes)
                for seed in range(args.seeds)
            ]
            needed = [episodes_until(curve, task.target) for curve in runs]
            curves[name][signal], results[name][signal] = runs, needed
            print(f"{name}, {signal}: {task.target:.0%} solved after {needed} episodes")
    if args.picture:
        save_picture(args.picture, curves)
    if args.out:
        args.out.write_text(json.dumps(results, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
