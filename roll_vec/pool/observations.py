"""The latest observation of each environment: batched, checked, copied."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium import spaces
from gymnasium.vector.utils import concatenate, create_empty_array

from roll_vec.vector.space_batches import map_leaves

_IMMUTABLE = (str, bytes, int, float, bool, type(None), np.generic)


def copy_data(data: Any) -> Any:
    """Return a copy of an observation or action; of an immutable one itself."""
    if isinstance(data, _IMMUTABLE):
        return data
    if type(data) is np.ndarray and data.dtype != object:
        return data.copy()
    return copy.deepcopy(data)


class Observations:
    """The latest observation of each environment, and all of them as a batch.

    Parameters
    ----------
    space : gymnasium.Space
        Of one environment.
    num_envs : int

    Attributes
    ----------
    latest : list of num_envs
        The objects that the environments returned: an environment may later write into
        an array that it has returned.
    is_stale : bool
        Whether ``latest`` was written into: the batch must be built again.
    copied_ids : set of int
        Environments with a copy in ``latest`` that the batch does not have yet.
    """

    def __init__(self, space: spaces.Space[Any], num_envs: int) -> None:
        self.space = space
        self.is_text = isinstance(space, spaces.Text)
        self._is_nested = isinstance(space, (spaces.Dict, spaces.Tuple))
        self._batch: Any = create_empty_array(space, num_envs)
        self._probe: Any = create_empty_array(space, 1)
        self.latest = list(map(self._part, range(num_envs)))
        self.is_stale = False
        self.copied_ids: set[int] = set()

    def set_latest(self, env_id: int, observation: Any) -> None:
        """Set the observation of one environment, without a copy."""
        self.latest[env_id] = observation
        self.is_stale = True
        self.copied_ids.discard(env_id)

    def copy_latest(self, env_id: int) -> Any:
        """Replace the latest observation of an environment by a copy, and return it."""
        if env_id not in self.copied_ids:
            self.latest[env_id] = copy_data(self.latest[env_id])
            self.copied_ids.add(env_id)
        return self.latest[env_id]

    def go_back(self, env_id: int) -> None:
        """Give an environment the observation that it had before the current call."""
        observation = self.latest[env_id]
        if env_id not in self.copied_ids:
            observation = copy_data(self._part(env_id))
        self.set_latest(env_id, observation)

    def fits(self, observation: Any) -> bool:
        """Return whether an observation can be part of a batch."""
        if self.is_text:
            return isinstance(observation, str)
        try:
            concatenate(self.space, [observation], self._probe)
        except KeyboardInterrupt:
            raise
        except BaseException:
            return False
        return True

    def build_batch(self) -> Sequence[int]:
        """Build the batch from the latest observations.

        Returns
        -------
        sequence of int
            The environments whose observations do not fit; the batch stays as it was
            if there are any.
        """
        if not self.is_stale:
            return ()
        if self.is_text:
            misfits = self.find_misfits(self.latest)
            if misfits:
                return misfits
            # As Gymnasium's `concatenate`, which checks nothing and makes four calls.
            self._batch = tuple(self.latest)
        else:
            out = self._batch
            if self._is_nested:
                # An attempt that fails writes some parts: `go_back` needs the old ones.
                out = create_empty_array(self.space, len(self.latest))
            try:
                self._batch = concatenate(self.space, self.latest, out)
            except KeyboardInterrupt:
                raise
            except BaseException:
                misfits = self.find_misfits(self.latest)
                if not misfits:
                    raise
                return misfits
        self.is_stale = False
        self.copied_ids.clear()
        return ()

    def find_misfits(self, observations: Sequence[Any]) -> list[int]:
        """Return the indices of observations that cannot be part of a batch."""
        if self.is_text and set(map(type, observations)) <= {str}:
            return []
        return [i for i, one in enumerate(observations) if not self.fits(one)]

    def batch(self) -> Any:
        """Return the batch of all latest observations; the next step writes into it."""
        if self.is_stale:
            self.build_batch()
        return self._batch

    def batch_parts(self) -> list[Any]:
        """Return the latest observation of each environment; arrays are views."""
        self.build_batch()
        return list(map(self._part, range(len(self.latest))))

    def _part(self, env_id: int) -> Any:
        """Return the observation of one environment in the batch; arrays are views."""

        def select(_: Any, part: Any) -> Any:
            # Gymnasium's empty batch of a custom space is None.
            return None if part is None else part[env_id]

        return map_leaves(select, self.space, self._batch)
