"""Return and length of each episode, for ``infos["episode"]``."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from roll_vec.vector.infos import Infos

_ALL = slice(None)


class EpisodeStatistics:
    """The sum of the rewards and the number of the steps of each present episode.

    The entries of ended episodes have the layout of Gymnasium's vector wrapper
    `RecordEpisodeStatistics`, ``{"r": returns, "l": lengths}``, without its time ``t``.

    Attributes
    ----------
    returns : (n,) float64
    lengths : (n,) int64
    """

    def __init__(self, num_envs: int) -> None:
        self.returns = np.zeros(num_envs)
        self.lengths = np.zeros(num_envs, np.int64)

    def start(self, env_ids: NDArray[Any]) -> None:
        """Begin new episodes in some environments: ids, or a (n,) bool mask."""
        self.returns[env_ids] = 0.0
        self.lengths[env_ids] = 0

    def count_step(
        self,
        rewards: NDArray[np.float64],
        has_reset: NDArray[np.bool_],
        has_ended: NDArray[np.bool_],
        env_ids: NDArray[np.int64] | slice = _ALL,
        mask: NDArray[np.bool_] | None = None,
    ) -> Infos:
        """Count a step; return ``episode`` for its infos if an episode has ended.

        Parameters
        ----------
        rewards : (m,) float64
        has_reset : (m,) bool
            Environments whose new episode began in place of a step.
        has_ended : (m,) bool
        env_ids : (m,) int64, or slice
            The environments, all different.
        mask : (m,) bool, or None
            Those of them that took the step, or were reset; None: all.
        """
        count: Any = 1 if mask is None else mask
        returns = np.where(has_reset, 0.0, self.returns[env_ids] + rewards)
        lengths = np.where(has_reset, 0, self.lengths[env_ids] + count)
        self.returns[env_ids], self.lengths[env_ids] = returns, lengths
        if not np.count_nonzero(has_ended):
            return {}
        return _make_entry(returns, lengths, has_ended)

    def count_steps(
        self,
        rewards: NDArray[np.float64],
        resets: NDArray[np.bool_],
        ends: NDArray[np.bool_],
        resets_at_ends: bool,
    ) -> Infos:
        """Count T steps; return ``episode`` for their infos; all arrays are (T, n).

        Parameters
        ----------
        rewards : (T, n) float64
        resets : (T, n) bool
            Steps that began an episode and nothing else.
        ends : (T, n) bool
        resets_at_ends : bool
            Whether the step that ends an episode begins the next one.
        """
        returns, lengths = np.zeros(rewards.shape), np.zeros(rewards.shape, np.int64)
        for t in range(len(rewards)):
            self.count_step(rewards[t], resets[t], ends[t])
            returns[t], lengths[t] = self.returns, self.lengths
            if resets_at_ends:
                self.start(ends[t])
        return _make_entry(returns, lengths, ends) if np.count_nonzero(ends) else {}


def _make_entry(
    returns: NDArray[np.float64],
    lengths: NDArray[np.int64],
    has_ended: NDArray[np.bool_],
) -> Infos:
    """Return ``episode`` and its mask; the arrays have one shape, and are copied."""
    entry = {
        "r": np.where(has_ended, returns, 0.0),
        "_r": has_ended.copy(),
        "l": np.where(has_ended, lengths, 0),
        "_l": has_ended.copy(),
    }
    return {"episode": entry, "_episode": has_ended.copy()}
