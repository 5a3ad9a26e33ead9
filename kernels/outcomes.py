"""Results of steps that all games share, and the states of an unroll.

An unroll takes many steps of many rows in one call.  A kernel cannot reset a row, so a
row stops where its episode ends; the caller resets it and calls the kernel again::

    PLAYING --episode ends--> NEEDS_RESET --caller resets--> JUST_RESET --> PLAYING
"""

from typing import NamedTuple

import numpy as np

from ._jit import kernel

PLAYING, NEEDS_RESET, JUST_RESET = range(3)


class StepOutcome(NamedTuple):
    """Results of one step of a batch, (n,), or of an unroll, (T, n); all written.

    A row that takes no step gets 0.0 and False.
    """

    rewards: np.ndarray  # float64
    terminations: np.ndarray  # bool
    truncations: np.ndarray  # bool
    effective: np.ndarray  # bool: the player has moved
    valid: np.ndarray  # bool: the action was one of the game, not "no valid action"
    successes: np.ndarray  # bool: the game is won


class UnrollProgress(NamedTuple):
    """The progress of each row of an unroll; updated."""

    times: np.ndarray  # (n,) int64: the step that the row takes next, T after the last
    states: np.ndarray  # (n,) int64: PLAYING, NEEDS_RESET or JUST_RESET


@kernel
def reaches_limit(elapsed_steps, max_steps):
    """Return whether an episode is truncated after so many steps.

    ``max_steps`` of 0 is no limit.  A state can bring an episode beyond its limit: it
    ends, too.
    """
    return (elapsed_steps >= max_steps) & (max_steps > 0)


@kernel
def is_due(time, state, step):
    """Return whether a row of an unroll, with this time and state, takes this step."""
    return time == step and state != NEEDS_RESET
