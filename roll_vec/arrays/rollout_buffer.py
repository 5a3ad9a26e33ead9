"""The arrays that an unroll writes to, and the progress of each environment in it."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray

from roll_vec.kernels.outcomes import NEEDS_RESET, PLAYING
from roll_vec.kernels.unroll import DISABLED, NEXT_STEP, SAME_STEP
from roll_vec.text.turn import BatchStep
from roll_vec.vector.rollout import Rollout

_MODES = {
    AutoresetMode.DISABLED: DISABLED,
    AutoresetMode.NEXT_STEP: NEXT_STEP,
    AutoresetMode.SAME_STEP: SAME_STEP,
}


class RolloutBuffer:
    """T steps of n environments, and how far each environment is.

    Parameters
    ----------
    actions : (T, n) int64
    has_ended : (n,) bool
        Environments whose episodes have ended.
    mode : AutoresetMode
    outcome : BatchStep
        Empty arrays of (T, n, ...); the infos are in the order of the kernels.
    out : Rollout or None
        Its rewards, terminations and truncations are written into.
    observations : tuple of (T * n, ...) arrays
        Written to after each step; where an episode began in it, by its first one.
    next_observations : tuple of (T * n, ...) arrays
        The same before an episode began in it.  Except in SAME_STEP mode these are the
        same arrays as ``observations``.

    Attributes
    ----------
    shape : (int, int)
        T and n.
    outcome : BatchStep
    times : (n,) int64
        The step that each environment takes next, T after the last.
    states : (n,) int64
        `PLAYING`, `NEEDS_RESET` or `JUST_RESET`; see `roll_vec.kernels.outcomes`.
    """

    def __init__(
        self,
        actions: NDArray[np.int64],
        has_ended: NDArray[np.bool_],
        mode: AutoresetMode,
        outcome: BatchStep,
        out: Rollout | None,
        observations: tuple[NDArray[Any], ...],
        next_observations: tuple[NDArray[Any], ...],
    ) -> None:
        self.shape, self.mode = actions.shape, mode
        if out is not None:
            outcome = out.rewards, out.terminations, out.truncations, outcome[3]
        self.outcome = outcome
        self.observations = observations
        self.next_observations = next_observations
        n = self.shape[1]
        self.times = np.zeros(n, np.int64)
        self.states = np.where(has_ended, NEEDS_RESET, PLAYING)
        self._actions = actions.reshape(-1)
        self._scratch = np.empty(n, np.bool_), np.empty(n, np.bool_), self.times.copy()

    @property
    def items(self) -> tuple[Any, ...]:
        """The argument ``buffer`` of the kernels of `roll_vec.kernels.unroll`."""
        *results, infos = self.outcome
        return (
            (self.shape[1], _MODES[self.mode], self._actions),
            (self.times, self.states),
            self._scratch,
            tuple(array.reshape(-1) for array in results),
            tuple(_flatten(array) for array in infos.values()),
            self.observations,
            self.next_observations,
        )


def _flatten(array: NDArray[Any]) -> NDArray[Any]:
    """Return (T, n, ...) as (T * n, ...); an array of one step stays as it is."""
    return array if array.ndim == 1 else array.reshape(-1, *array.shape[2:])
