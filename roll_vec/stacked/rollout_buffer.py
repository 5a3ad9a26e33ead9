"""What many steps of an array engine are written onto."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray

from roll_vec.kernels.outcomes import NEEDS_RESET, PLAYING
from roll_vec.vector.engine import Rollout

__all__ = ["Tape"]


class Tape:
    """T steps of n rows, and how far each row is.

    Parameters
    ----------
    actions : (T, n) int64
    finished : (n,) bool
        Rows whose episodes have ended.
    mode : AutoresetMode
    shape, dtype
        Of what is seen of a row: (H * W,) uint8 codes, or () int64, its position.
    shown : array of (T, n, *shape) or None
        What `seen` is to be written into.
    shown_next : the same for `seen_next`
    out : Rollout or None
        Whose rewards, terminations and truncations are written into.

    Attributes
    ----------
    same_step : bool
    times, states : (n,) int64
        The step in which each row does something next, T at the end, and what; see
        `roll_vec.kernels.frozen_lake.unroll_random.unroll_rows`.
    rewards, probs : (T, n) float64
    terminations, truncations, effective, valid, successes : (T, n) bool
    seen : (T, n, *shape)
        After each step, the first of an episode where it began in the step.
    seen_next : (T, n, *shape)
        Before an episode began in it; `seen` itself but in SAME_STEP mode.
    """

    def __init__(
        self,
        actions: NDArray[np.int64],
        finished: NDArray[np.bool_],
        mode: AutoresetMode,
        shape: tuple[int, ...],
        dtype: Any,
        shown: NDArray[Any] | None,
        shown_next: NDArray[Any] | None,
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
        self.probs = np.empty(steps)
        # Steps that are not made in DISABLED mode are shown before they are noticed,
        # and codes that are none would be looked up behind the end of a table.
        blank = np.zeros if mode is AutoresetMode.DISABLED else np.empty
        self.seen = blank((*steps, *shape), dtype) if shown is None else shown
        self.seen_next = self.seen
        if self.same_step:
            self.seen_next = (
                np.empty_like(self.seen) if shown_next is None else shown_next
            )
