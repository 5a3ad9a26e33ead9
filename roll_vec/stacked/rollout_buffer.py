"""The results of many steps of a batch in stacked arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray

from roll_vec.kernels.outcomes import NEEDS_RESET, PLAYING
from roll_vec.vector.rollout import Rollout

__all__ = ["RolloutBuffer"]


class RolloutBuffer:
    """T steps of n rows, and how far each row is.

    Parameters
    ----------
    actions : (T, n) int64
    finished : (n,) bool
        Rows whose episodes have ended.
    mode : AutoresetMode
    shape, dtype
        Of what is seen of a row: (H * W,) uint8 codes, or () int64, its position.
    out_observations : array of (T, n, *shape) or None
        Where `observations` is written.
    out_next_observations : the same for `next_observations`
    out : Rollout or None
        Whose rewards, terminations and truncations are written into.

    Attributes
    ----------
    same_step : bool
    times, states : (n,) int64
        See `roll_vec.kernels.outcomes.UnrollProgress`.
    progress, outcome : tuple
        The arrays of `UnrollProgress` and `StepOutcome` there, for kernels.
    rewards, probs : (T, n) float64
    terminations, truncations, effective, valid, successes : (T, n) bool
    observations : (T, n, *shape)
        After each step, the first of an episode where it began in the step.
    next_observations : (T, n, *shape)
        Before an episode began in it; `observations` itself but in SAME_STEP mode.
    """

    def __init__(
        self,
        actions: NDArray[np.int64],
        finished: NDArray[np.bool_],
        mode: AutoresetMode,
        shape: tuple[int, ...],
        dtype: Any,
        out_observations: NDArray[Any] | None,
        out_next_observations: NDArray[Any] | None,
        out: Rollout | None,
    ) -> None:
        self.actions, self.mode = actions, mode
        self.same_step = mode is AutoresetMode.SAME_STEP
        steps = actions.shape
        self.times = np.zeros(steps[1], np.int64)
        self.states = np.where(finished, NEEDS_RESET, PLAYING)
        self.rewards = np.empty(steps) if out is None else out.rewards
        flags = np.empty((5, *steps), np.bool_)
        self.terminations, self.truncations = flags[:2]
        if out is not None:
            self.terminations, self.truncations = out.terminations, out.truncations
        self.effective, self.valid, self.successes = flags[2:]
        self.progress = self.times, self.states
        self.outcome = (
            self.rewards,
            self.terminations,
            self.truncations,
            self.effective,
            self.valid,
            self.successes,
        )
        self.probs = np.empty(steps)
        # In DISABLED mode a partial rollout is rendered before the error is raised:
        # zero-fill, so that unwritten codes cannot index past the tile table.
        blank = np.zeros if mode is AutoresetMode.DISABLED else np.empty
        if out_observations is None:
            out_observations = blank((*steps, *shape), dtype)
        self.observations = self.next_observations = out_observations
        if self.same_step:
            if out_next_observations is None:
                out_next_observations = np.empty_like(out_observations)
            self.next_observations = out_next_observations
