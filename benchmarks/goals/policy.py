"""Loops of a policy and a step of Sokoban; times of single steps.

A turn is the policy and then a step: a training loop waits for both.  All environments
begin together, so that nearly all episodes end on the same step.  The policy is
compiled arithmetic without the interpreter lock, as a network is.  A step needs some
rooms for the episodes that ended; the policy takes 1.5 times as long as one thread
takes to draw them.  Both are measured before every round.
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
from benchmarks.tasks import Rate, Unavailable
from roll_vec.envs.sokoban import SokobanOptions
from roll_vec.envs.sokoban.rooms import draw_rooms
from roll_vec.errors import RollVecError

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
    try:
        return gymnasium.make_vec(SOKOBAN, num_envs=num_envs, **keywords)
    except (RollVecError, TypeError) as error:
        raise Unavailable(str(error)) from None


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


class _Loops(Rate):
    """Rounds of loops with a policy whose length is measured before each of them.

    Its ``details`` have the policy's length, ``policy_us``.

    Parameters
    ----------
    unit : str
    num_envs, num_steps : int
    has_policy : bool
    keywords : dict
        Of the batch with fresh rooms.
    """

    def __init__(
        self,
        unit: str,
        num_envs: int,
        num_steps: int,
        has_policy: bool,
        keywords: dict[str, Any],
    ) -> None:
        self.env = make_rooms(num_envs, **keywords)
        self.actions = draw_actions(self.env, num_steps)
        levels = "6x6, 3 boxes, a fresh room every episode"
        super().__init__(lambda: 0, unit, settings_of(self.env, levels))
        self.has_policy = has_policy
        self._rooms = rooms_per_step(self.env, self.actions)
        self._pause = num_envs * SECONDS_PER_LEVEL
        self._seed = 0

    def _run(
        self, env: Any, spins: int
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        loop = run_loop(env, self.actions, spins, self._seed)
        # Background threads would take time from whatever is measured next.
        time.sleep(self._pause)
        return loop

    def _count_spins(self) -> int:
        self._seed += 1
        if not self.has_policy:
            return 0
        seconds = POLICY_OVER_GENERATION * self._rooms * seconds_per_room()
        self.details = {"policy_us": round(seconds * 1e6)}
        return max(round(seconds * spins_per_second()), 1)


class LoopRatio(_Loops):
    """Seconds of the loop with fresh rooms over those of the loop with kept rooms."""

    def __init__(self, num_envs: int, num_steps: int, keywords: dict[str, Any]) -> None:
        super().__init__("× as long", num_envs, num_steps, True, keywords)
        self.kept_rooms = make_rooms(num_envs, num_levels=num_envs)

    def measure(self, seconds: float) -> float:
        """Run both loops once, whatever ``seconds``; return the ratio."""
        spins = self._count_spins()
        fresh, _ = self._run(self.env, spins)
        kept_rooms, _ = self._run(self.kept_rooms, spins)
        return float(fresh.sum() / kept_rooms.sum())


class SlowestTurn(_Loops):
    """The time of a round's slowest turn over that of its median turn.

    Its ``details`` have ``step_us`` as well: the times of all steps, as one text.
    """

    def measure(self, seconds: float) -> float:
        """Run a loop once, whatever ``seconds``; return the ratio."""
        spins = self._count_spins()
        turns, steps = self._run(self.env, spins)
        texts = " ".join(f"{1e6 * step:.0f}" for step in steps)
        self.details = {"policy_us": 0, **self.details, "step_us": texts}
        return float(turns.max() / np.median(turns))


def loop_ratio(
    num_envs: int = 4096, num_steps: int = ROUND_STEPS, **keywords: Any
) -> Rate:
    """Compare a loop with fresh rooms with one whose rooms were drawn before."""
    return LoopRatio(num_envs, num_steps, keywords)


def slowest_turn(
    num_envs: int = 4096,
    num_steps: int = ROUND_STEPS,
    has_policy: bool = True,
    **keywords: Any,
) -> Rate:
    """Compare the slowest turn with the median turn, with or without a policy."""
    return SlowestTurn("× the median", num_envs, num_steps, has_policy, keywords)
