"""Events of a batch: which episodes begin, go on and end, alike in all autoreset modes.

In ``NEXT_STEP`` mode a step resets the environments that ended before it, and ignores
their actions.  In ``SAME_STEP`` mode a step that ends an episode also begins the next
one, and the last observation and infos stand in ``infos``.  In ``DISABLED`` mode a
reset with a mask begins episodes.  In each mode a reset may cut an episode before its
end.  `EventStream` says for each environment which of it happened.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray

from roll_vec.vector.infos import split_infos

# Keys that hold the last observation and infos of an episode in SAME_STEP mode.
_FINAL_KEYS = {"final_obs", "final_info", "_final_obs", "_final_info"}


class BatchEvent(NamedTuple):
    """One reset or step of a batch of N environments.

    Attributes
    ----------
    actions : any or None
        Those of the step; None: a reset.
    observations, rewards, terminations, truncations, infos
        As the batch returned them; of a reset, rewards and ends are None.
    plays : (N,) bool
        The environment took its action in an episode.
    ends : (N,) bool
        Its episode ended.  With a reset: the reset cut it.
    starts : (N,) bool
        An episode begins, with ``observations`` and ``infos``.
    """

    actions: Any
    observations: Any
    rewards: Any
    terminations: Any
    truncations: Any
    infos: Mapping[str, Any]
    plays: NDArray[np.bool_]
    ends: NDArray[np.bool_]
    starts: NDArray[np.bool_]

    @property
    def is_reset(self) -> bool:
        """Whether it was a reset, without actions."""
        return self.rewards is None

    @property
    def last_infos(self) -> Mapping[str, Any]:
        """The infos of the episodes that ended, in Gymnasium's layout.

        There are none of episodes that a reset cut.
        """
        if self.is_reset:
            return {}
        # The other keys are those of the reset that followed.
        has_begun = self.ends.any() and bool((self.ends & self.starts).any())
        return self.infos.get("final_info", {}) if has_begun else self.infos

    def first_infos(self, env_ids: NDArray[np.intp]) -> list[dict[str, Any]]:
        """Return the infos of episodes that begin, a dict for each environment."""
        return split_infos(_without_finals(self.infos), env_ids)

    def step_infos(self, env_ids: NDArray[np.intp]) -> list[dict[str, Any]]:
        """Return the infos of the step, a dict for each environment."""
        rows = split_infos(_without_finals(self.infos), env_ids)
        both = np.flatnonzero((self.ends & self.starts)[env_ids])
        if both.size:
            finals = self.infos.get("final_info", {})
            last = split_infos(finals, env_ids[both])
            for place, infos in zip(both.tolist(), last, strict=True):
                rows[place] = infos
        return rows

    def final_observation(self, env_id: int) -> Any:
        """Return the last observation of an episode that another one follows at once.

        Raises
        ------
        KeyError
            If no other one does, or the batch does not tell.
        """
        if not (self.ends[env_id] and self.starts[env_id]):
            raise KeyError(env_id)
        return self.infos["final_obs"][env_id]


def _without_finals(infos: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in infos.items() if key not in _FINAL_KEYS}


class EventStream:
    """Makes events of the results of one batch, in their order.

    Parameters
    ----------
    num_envs : int
    mode : AutoresetMode
        Of the batch.
    """

    def __init__(self, num_envs: int, mode: AutoresetMode) -> None:
        self._mode = mode
        self._all = np.ones(num_envs, np.bool_)
        self._none = np.zeros(num_envs, np.bool_)
        self._is_running = self._none

    def add_reset(
        self,
        observations: Any,
        infos: Mapping[str, Any],
        mask: NDArray[np.bool_] | None = None,
    ) -> BatchEvent:
        """Return the event of a reset.

        Parameters
        ----------
        observations, infos
            As the batch returned them.
        mask : (N,) bool, optional
            The environments that were reset, as in ``options={"reset_mask": mask}``;
            None: all.  An episode of theirs that goes on ends here.
        """
        starts = self._all if mask is None else mask
        ends = self._is_running & starts
        self._is_running = self._all if mask is None else self._is_running | mask
        none = self._none
        return BatchEvent(
            None, observations, None, None, None, infos, none, ends, starts
        )

    @property
    def is_running(self) -> NDArray[np.bool_]:
        """(N,) bool: an episode goes on."""
        return self._is_running

    def stop_others(self, mask: NDArray[np.bool_]) -> None:
        """Drop the episodes outside an (N,) mask: they go on no more."""
        self._is_running = self._is_running & mask

    def add_step(
        self,
        actions: Any,
        observations: Any,
        rewards: Any,
        terminations: NDArray[np.bool_],
        truncations: NDArray[np.bool_],
        infos: Mapping[str, Any],
    ) -> BatchEvent:
        """Return the event of a step."""
        plays = self._is_running
        ends = (terminations | truncations) & plays
        starts = self._none
        if self._mode is AutoresetMode.SAME_STEP:
            starts = ends
        else:
            if self._mode is AutoresetMode.NEXT_STEP and plays is not self._all:
                starts = ~plays
            self._is_running = ~ends if ends.any() else self._all
            if self._mode is AutoresetMode.DISABLED:
                self._is_running = self._is_running & plays
        results = observations, rewards, terminations, truncations, infos
        return BatchEvent(actions, *results, plays, ends, starts)
