"""The results of many steps of a batch in stacked arrays, while they are written."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray

from roll_vec.kernels.outcomes import NEEDS_RESET, PLAYING, StepOutcome, UnrollProgress
from roll_vec.text.turn import BatchStep
from roll_vec.vector.rollout import Rollout

__all__ = ["RolloutBuffer", "make_outcome", "outcome_infos", "to_batch_step"]


def make_outcome(num_envs: int) -> tuple[NDArray[Any], ...]:
    """Return the arrays of a `StepOutcome` of one step, not yet written."""
    flags = np.empty((5, num_envs), np.bool_)
    # One by one: `*flags` takes twice as long.
    return np.empty(num_envs), flags[0], flags[1], flags[2], flags[3], flags[4]


def to_batch_step(outcome: tuple[NDArray[Any], ...]) -> BatchStep:
    """Return the arrays of a `StepOutcome` with the infos that all games have."""
    return outcome[0], outcome[1], outcome[2], outcome_infos(outcome)


def outcome_infos(outcome: tuple[NDArray[Any], ...]) -> dict[str, NDArray[Any]]:
    """Return the infos that all games have, by key, of a `StepOutcome`."""
    return {
        "action_is_effective": outcome[3],
        "action_is_valid": outcome[4],
        "success": outcome[5],
    }


class RolloutBuffer:
    """T steps of n environments, and how far each environment is.

    Parameters
    ----------
    actions : (T, n) int64
    has_ended : (n,) bool
        Environments whose episodes have ended.
    mode : AutoresetMode
    shape, dtype
        Of a raw observation: (H * W,) uint8 codes, or () int64, a position.
    out : Rollout or None
        Its rewards, terminations and truncations are written into.
    out_observations, out_next_observations : (T, n, *shape) array or None
        Written into, in place of new arrays.

    Attributes
    ----------
    same_step : bool
        Whether the mode is SAME_STEP.
    outcome : StepOutcome
        (T, n) each.
    progress : UnrollProgress
    kernel_arguments : (tuple, tuple)
        The arrays of progress and outcome in plain tuples, as kernels take them.
    probs : (T, n) float64
        Probabilities of slippery moves, for games that have them.
    has_reset_infos : bool
        Whether the infos of resets are written beside those of steps; a game that does
        so sets it.
    observations : (T, n, *shape)
        After each step; where an episode began in it, the episode's first.
    next_observations : (T, n, *shape)
        The same before an episode began in it.  Except in SAME_STEP mode it is the same
        array as `observations`.
    """

    def __init__(
        self,
        actions: NDArray[np.int64],
        has_ended: NDArray[np.bool_],
        mode: AutoresetMode,
        shape: tuple[int, ...],
        dtype: Any,
        out: Rollout | None = None,
        out_observations: NDArray[Any] | None = None,
        out_next_observations: NDArray[Any] | None = None,
    ) -> None:
        self.actions, self.mode = actions, mode
        self.same_step = mode is AutoresetMode.SAME_STEP
        steps = actions.shape
        flags = np.empty((5, *steps), np.bool_)
        ends = np.empty(steps), *flags[:2]
        if out is not None:
            ends = out.rewards, out.terminations, out.truncations
        self.outcome = StepOutcome(*ends, *flags[2:])
        states = np.where(has_ended, NEEDS_RESET, PLAYING)
        self.progress = UnrollProgress(np.zeros(steps[1], np.int64), states)
        self.kernel_arguments = tuple(self.progress), tuple(self.outcome)
        self.probs = np.empty(steps)
        self.has_reset_infos = False
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
