"""Loops of a policy and a step of Sokoban; times of single steps.

A turn is the policy and then a step: a training loop waits for both.  All environments
begin together, so that nearly all episodes end on the same step.  The policy is
compiled arithmetic without the interpreter lock, as a network is.  A step needs some
rooms for the episodes that ended; the policy takes 1.5 times as long as one thread
takes to draw them, or as long as ``policy_ms`` says.  The speeds of both are measured
before every round.
"""

from __future__ import annotations

import time
from typing import Any

import gymnasium
import numba
import numpy as np
from numpy.typing import NDArray

import roll_vec  # noqa: F401 - registers the ids
from benchmarks.batches import (
    SECONDS_PER_LEVEL,
    SOKOBAN,
    draw_actions,
    make,
    settings_of,
)
from benchmarks.tasks import STATISTICS, Figure
from roll_vec.envs.sokoban import SokobanOptions
from roll_vec.envs.sokoban.rooms import draw_rooms

# Four episodes of 100 steps, each followed by the step that resets.
ROUND_STEPS = 404
POLICY_OVER_GENERATION = 1.5


SPINS = 1_000_000
SAMPLE_ROOMS = 1000


@numba.njit(nogil=True)
def spin(count: int, state: np.uint64) -> np.uint64:
    """Return a state after `count` steps of Marsaglia's xorshift."""
    for _ in range(count):
        state ^= state << np.uint64(13)
        state ^= state >> np.uint64(7)
        state ^= state << np.uint64(17)
    return state


def spins_per_second() -> float:
    """Return the speed of `spin` now, the best of three."""
    seconds = []
    for _ in range(3):
        start = time.perf_counter()
        spin(SPINS, np.uint64(1))
        seconds.append(time.perf_counter() - start)
    return SPINS / min(seconds)


def seconds_per_room() -> float:
    """Return the time of a room now, on one thread: the best mean of three."""
    options, seconds = SokobanOptions(), []
    for first in range(3):
        seeds = np.arange(SAMPLE_ROOMS, dtype=np.uint64) + np.uint64(first)
        start = time.perf_counter()
        draw_rooms(options, seeds)
        seconds.append(time.perf_counter() - start)
    return min(seconds) / SAMPLE_ROOMS


def make_rooms(num_envs: int, **keywords: Any) -> Any:
    """Make a batch of Sokoban; with ``num_levels`` all rooms are drawn already."""
    if "num_levels" in keywords:
        return make(SOKOBAN, num_envs, **keywords)
    return gymnasium.make_vec(SOKOBAN, num_envs=num_envs, **keywords)


def rooms_per_step(env: Any, actions: NDArray[np.int64]) -> float:
    """Return the mean number of episodes that end in a step."""
    env.reset(seed=0)
    ends = 0
    for batch in actions:
        _, _, terminations, truncations, _ = env.step(batch)
        ends += int((terminations | truncations).sum())
    return ends / len(actions)


def run_loop(
    env: Any, actions: NDArray[np.int64], spins: int, seed: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the seconds of each turn, policy and step, and of each step alone."""
    env.reset(seed=seed)
    step, clock = env.step, time.perf_counter
    turns, steps = np.empty(len(actions)), np.empty(len(actions))
    state = np.uint64(1)
    begin = clock()
    for number, batch in enumerate(actions):
        if spins:
            state = np.uint64(spin(spins, state))
        middle = clock()
        step(batch)
        end = clock()
        turns[number], steps[number] = end - begin, end - middle
        begin = end
    return turns, steps


class Loops:
    """Loops with a policy whose length is measured before each of them.

    Parameters
    ----------
    num_envs, num_steps : int
    has_policy : bool
        False: a turn is a step alone.
    policy_ms : float or None
        The time of the policy; None: 1.5 times that of the rooms.
    keywords : dict
        Of the batch with fresh rooms.
    """

    def __init__(
        self,
        num_envs: int,
        num_steps: int,
        has_policy: bool,
        policy_ms: float | None,
        keywords: dict[str, Any],
    ) -> None:
        self.env = make_rooms(num_envs, **keywords)
        self.actions = draw_actions(self.env, num_steps)
        levels = "6x6, 3 boxes, a fresh room every episode"
        self.settings = settings_of(self.env, levels)
        self.has_policy, self.policy_ms = has_policy, policy_ms
        self._rooms = rooms_per_step(self.env, self.actions)
        self._seed = 0

    def run(self, *envs: Any) -> list[tuple[NDArray[np.float64], NDArray[np.float64]]]:
        """Return the seconds of turns and of steps in a loop over each batch."""
        self._seed += 1
        spins = 0
        if self.has_policy:
            seconds = (self.policy_ms or 0.0) * 1e-3
            if self.policy_ms is None:
                seconds = POLICY_OVER_GENERATION * self._rooms * seconds_per_room()
            spins = max(round(seconds * spins_per_second()), 1)
        loops = []
        for env in envs:
            loops.append(run_loop(env, self.actions, spins, self._seed))
            # Background threads would take time from whatever is measured next.
            time.sleep(env.num_envs * SECONDS_PER_LEVEL)
        return loops


def loop_ratio(
    num_envs: int = 4096,
    num_steps: int = ROUND_STEPS,
    policy_ms: float | None = None,
    **keywords: Any,
) -> Figure:
    """Compare a loop with fresh rooms with one whose rooms were drawn before."""
    loops = Loops(num_envs, num_steps, True, policy_ms, keywords)
    kept_rooms = make_rooms(num_envs, num_levels=num_envs)

    def measure(_: float) -> float:
        (fresh, _), (kept, _) = loops.run(loops.env, kept_rooms)
        return float(fresh.sum() / kept.sum())

    return Figure(measure, "× as long", loops.settings)


def slowest_turn(
    num_envs: int = 4096,
    num_steps: int = ROUND_STEPS,
    has_policy: bool = True,
    policy_ms: float | None = None,
    **keywords: Any,
) -> Figure:
    """Compare the slowest turn with the median turn, with or without a policy."""
    loops = Loops(num_envs, num_steps, has_policy, policy_ms, keywords)

    def measure(_: float) -> float:
        ((turns, _),) = loops.run(loops.env)
        return float(turns.max() / np.median(turns))

    return Figure(measure, "× the median", loops.settings)


def step_time(
    statistic: str,
    num_envs: int = 4096,
    num_steps: int = ROUND_STEPS,
    has_policy: bool = True,
    policy_ms: float | None = None,
    **keywords: Any,
) -> Figure:
    """Return a statistic of the times of a loop's steps in ms."""
    loops = Loops(num_envs, num_steps, has_policy, policy_ms, keywords)

    def measure(_: float) -> float:
        ((_, steps),) = loops.run(loops.env)
        return STATISTICS[statistic](steps.tolist()) * 1e3

    return Figure(measure, "ms", loops.settings)
