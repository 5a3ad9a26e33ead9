"""Estimators of credit that papers use, beside the exact credit of each action.

    python docs/examples/estimators.py

10,000 episodes, groups of 8 of the same level, are played by a half-trained network of
`exact_credit`.  Each estimator gives each turn a credit.  The table has its correlation
with ``infos["advantage"]`` over all turns, and is sorted by it.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from exact_credit import (
    LOWEST_ADVANTAGE,
    MAX_STEPS,
    TASKS,
    Task,
    make_envs,
    play,
    returns_to_go,
    train,
)
from lake_chances import chances_of_actions, place_everywhere
from numpy_network import Network

NUM_GROUPS, GROUP_SIZE = 1250, 8
GAMMA = 0.95  # of returns to go, as GiGPO has it
LAMBDA = 0.95  # of GAE
HALF_TRAINED = 0.4  # of the test levels are solved
LAKES = TASKS["lakes of 4x4, no slips"]
ROLL = "https://github.com/alibaba/ROLL/blob/8eb27cc2"
VERL_AGENT = "https://github.com/langfengQ/verl-agent/blob/d0b97244"
PLAYED = {
    "Sokoban, one box": TASKS["Sokoban, one box"],
    "lakes, no slips": LAKES,
    "lakes, slippery": dataclasses.replace(LAKES, keywords={"is_slippery": True}),
}


@dataclasses.dataclass(frozen=True)
class Rollouts:
    """The turns of N episodes; what comes after their ends has no meaning."""

    rewards: np.ndarray  # (T, N)
    mask: np.ndarray  # (T, N) bool: a turn of the episode
    groups: np.ndarray  # (N,) int, from 0: episodes of one level
    states: np.ndarray  # (T, N) int, from 0: equal if group and observation are equal
    errors: np.ndarray  # (T, N): r + V(s') - V(s), with the exact value
    of_policy: np.ndarray  # (T, N): the exact credit under the policy, or NaN

    def returns(self) -> np.ndarray:
        """Return the sum of the rewards of each episode, (N,)."""
        return (self.rewards * self.mask).sum(0)

    def turn_groups(self) -> np.ndarray:
        """Return the group of each turn, (T, N)."""
        return np.broadcast_to(self.groups, self.mask.shape)


def center(
    values: np.ndarray, groups: np.ndarray, mask: Any = True, scale: bool = False
) -> np.ndarray:
    """Subtract the mean of its group from each value.

    Parameters
    ----------
    values, groups : arrays of one shape
    mask : array of bool, of this shape
        The values that means and standard deviations are of.
    scale : bool
        Divide by the standard deviation of the group (of a sample), plus 1e-6.
    """
    mask = np.broadcast_to(mask, values.shape)
    size = int(groups.max()) + 1

    def mean(array: np.ndarray, less: int = 0) -> np.ndarray:
        sums = np.bincount(groups[mask], array[mask], size)
        counts = np.bincount(groups[mask], minlength=size)
        return (sums / np.maximum(counts - less, 1))[groups]

    result = values - mean(values)
    if scale:
        result = result / (np.sqrt(mean(result**2, less=1)) + 1e-6)
    return result


def group_mean(x: Rollouts) -> np.ndarray:
    """GRPO: the return less its mean in the group, over its standard deviation."""
    return np.tile(center(x.returns(), x.groups, scale=True), (len(x.mask), 1))


def unscaled_group_mean(x: Rollouts) -> np.ndarray:
    """Dr. GRPO: the return less its mean in the group."""
    return np.tile(center(x.returns(), x.groups), (len(x.mask), 1))


def leave_one_out(x: Rollouts) -> np.ndarray:
    """RLOO: the return less the mean of the others in the group."""
    size = np.bincount(x.groups)[x.groups]
    return unscaled_group_mean(x) * size / (size - 1)


def mean_over_steps(x: Rollouts) -> np.ndarray:
    """GRPO, mean over steps: as GRPO, but over the turns of the group."""
    values = np.tile(x.returns(), (len(x.mask), 1))
    return center(values, x.turn_groups(), x.mask, scale=True)


def process_rewards(x: Rollouts) -> np.ndarray:
    """GRPO with process rewards: the later rewards, scaled over the group's turns."""
    scaled = center(x.rewards, x.turn_groups(), x.mask, scale=True)
    return returns_to_go(scaled, x.mask, 1.0)


def return_to_go(x: Rollouts) -> np.ndarray:
    """REINFORCE: the discounted return to go."""
    return returns_to_go(x.rewards, x.mask, GAMMA)


def group_return_to_go(x: Rollouts) -> np.ndarray:
    """REINFORCE by steps in ROLL: the return to go, scaled over the group's turns."""
    return center(return_to_go(x), x.turn_groups(), x.mask, scale=True)


def step_groups(x: Rollouts) -> np.ndarray:
    """GiGPO, steps only: the return to go less its mean at one observation."""
    return center(return_to_go(x), x.states, x.mask)


def gigpo(x: Rollouts) -> np.ndarray:
    """GiGPO: the sum of its step groups and of Dr. GRPO."""
    return unscaled_group_mean(x) + step_groups(x)


def exact_gae(x: Rollouts) -> np.ndarray:
    """GAE with an exact critic: the errors of the exact value to go, lambda 0.95."""
    return returns_to_go(x.errors, x.mask, LAMBDA)


def policy_credit(x: Rollouts) -> np.ndarray:
    """Exact credit under the policy: how an action changes its chance of success."""
    return x.of_policy


ESTIMATORS: dict[Callable[[Rollouts], np.ndarray], str] = {
    group_mean: "https://arxiv.org/abs/2402.03300",
    unscaled_group_mean: "https://arxiv.org/abs/2503.20783",
    leave_one_out: "https://arxiv.org/abs/2402.14740",
    mean_over_steps: f"{VERL_AGENT}/gigpo/core_gigpo.py",
    process_rewards: "https://arxiv.org/abs/2402.03300",
    return_to_go: "https://doi.org/10.1007/BF00992696",
    group_return_to_go: f"{ROLL}/roll/pipeline/agentic/utils.py",
    step_groups: "https://arxiv.org/abs/2505.10978",
    gigpo: "https://arxiv.org/abs/2505.10978",
    exact_gae: "https://arxiv.org/abs/1506.02438",
    policy_credit: "examples/estimators.py",
}
"""The source of each; the docstrings are names and definitions."""


def pearson(x: np.ndarray, y: np.ndarray) -> float:
    """Return the correlation of two arrays (n,)."""
    return float(np.corrcoef(x, y)[0, 1])


def ranks(values: np.ndarray) -> np.ndarray:
    """Return the ranks (n,); equal values have the mean of theirs."""
    _, inverse, counts = np.unique(
        values.round(9), return_inverse=True, return_counts=True
    )
    return (counts.cumsum() - (counts - 1) / 2)[inverse]


def collect(
    task: Task, network: Network, num_groups: int, group_size: int
) -> tuple[Rollouts, np.ndarray]:
    """Play groups of episodes of the levels 0, 1, ...; return the exact credit as well.

    Members of a group have one seed, as trainers reset them: on slippery ice they have
    the same luck, too.  The credit (T, N) is not below `LOWEST_ADVANTAGE`.
    """
    groups = np.repeat(np.arange(num_groups), group_size)
    rng = np.random.default_rng(0)
    envs = make_envs(task, len(groups))
    envs.reset(seed=groups.tolist())
    solutions = envs.solve()
    policy = partial(network.sample_actions, rng=rng)
    columns, _ = play(envs, policy, groups.tolist())
    envs.close()
    mask, planes = columns["mask"], columns["observations"]
    numbers = np.broadcast_to(groups.astype(np.int32), mask.shape)
    rows = planes.reshape(*mask.shape, -1)
    keys = np.concatenate([rows, numbers[..., None].view(np.uint8)], axis=2)
    keys = np.ascontiguousarray(keys).view(f"V{keys.shape[2]}").ravel()
    states = np.unique(keys, return_inverse=True)[1].reshape(mask.shape)
    credit = np.maximum(columns["advantage"], LOWEST_ADVANTAGE)
    errors = credit  # without chance they are equal, in moves
    of_policy = np.full(mask.shape, np.nan)
    if (is_slippery := task.keywords.get("is_slippery")) is not None:
        cells = find_player(planes)
        gains = lake_credit(network, planes[0, ::group_size], is_slippery)
        steps_left = MAX_STEPS - np.arange(len(mask))[:, None]
        of_policy = gains[steps_left, groups, cells, columns["actions"]]
    if is_slippery:
        values = np.array([solution.values for solution in solutions])
        episodes = np.arange(len(groups))
        after = values[episodes, find_player(columns["next"])]
        errors = after - values[episodes, cells]  # the goal's value is its reward
    x = Rollouts(columns["reward"], mask, groups, states, errors, of_policy)
    return x, credit


def find_player(planes: np.ndarray) -> np.ndarray:
    """Return the player's cell in the planes (T, N, 6, H, W) of a lake, (T, N)."""
    on_ice_in_hole_on_goal = planes[:, :, [0, 4, 5]].any(2)
    return on_ice_in_hole_on_goal.reshape(*planes.shape[:2], -1).argmax(2)


def lake_credit(network: Network, planes: np.ndarray, is_slippery: bool) -> np.ndarray:
    """Return Q(s, a) - V(s) of a network's policy, by steps left, level, cell, action.

    Q and V are chances to reach the goal within the steps that are left.

    Parameters
    ----------
    network : Network
    planes : (L, 6, H, W)
        As `place_everywhere` has them.
    is_slippery : bool
    """
    chances = network.forward(place_everywhere(planes))[2]
    chances = chances.reshape(len(planes), -1, 4)
    gains = np.zeros((MAX_STEPS + 1, *chances.shape))
    steps = chances_of_actions(planes, chances, is_slippery, MAX_STEPS)
    for steps_left, after in enumerate(steps, start=1):
        gains[steps_left] = after - (chances * after).sum(2)[..., None]
    return gains


def half_trained(task: Task) -> Network:
    """Return a network that solves a part of the test levels."""
    for _, share, network in train(task, "reward", task.numbers["reward"], seed=0):
        if share >= HALF_TRAINED:
            return network
    raise AssertionError


def rank(x: Rollouts, credit: np.ndarray) -> dict[str, list[float]]:
    """Return Pearson's and Spearman's correlation of each estimator, over all turns.

    An estimator that does not apply is left out.
    """
    exact = credit[x.mask]
    exact_ranks = ranks(exact)
    result = {}
    for estimate in ESTIMATORS:
        values = estimate(x)[x.mask]
        if not np.isnan(values).any():
            spearman = pearson(ranks(values), exact_ranks)
            result[estimate.__doc__] = [pearson(values, exact), spearman]
    return result


def main() -> None:
    """Print the correlations, and write them for the page docs/learning.md."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, metavar="FILE.json")
    path = parser.parse_args().out
    rows: dict[str, Any] = {
        estimate.__doc__: {"source": source} for estimate, source in ESTIMATORS.items()
    }
    facts = {}
    for name, task in PLAYED.items():
        x, credit = collect(task, half_trained(task), NUM_GROUPS, GROUP_SIZE)
        success = float((x.returns() > 0).mean())
        facts[name] = {"turns": int(x.mask.sum()), "success": round(success, 3)}
        print(f"{name}: {facts[name]}")
        table = rank(x, credit)
        for text, values in sorted(table.items(), key=lambda item: -item[1][1]):
            rows[text][name] = [round(value, 3) for value in values]
            print("  Pearson {:6.3f}  Spearman {:6.3f}  {}".format(*values, text))
    if path:
        content = json.dumps({"rollouts": facts, "estimators": rows}, indent=1)
        path.write_text(f"{content}\n", "utf-8")


if __name__ == "__main__":
    main()
