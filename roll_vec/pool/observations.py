"""Observations of environments: batched, cut out of a batch, compared, copied."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium import spaces
from gymnasium.vector.utils import concatenate, create_empty_array

__all__ = ["Observations", "copy_data", "same_data"]

_IMMUTABLE = (str, bytes, int, float, bool, type(None), np.generic)


def copy_data(data: Any) -> Any:
    """Return a copy that nobody else can change."""
    if isinstance(data, _IMMUTABLE):
        return data
    if type(data) is np.ndarray and data.dtype != object:
        return data.copy()
    return copy.deepcopy(data)


def same_data(one: Any, other: Any) -> bool:
    """Return whether two observations are equal in types, dtypes, shapes, bits."""
    kind = type(one)
    if kind is not type(other):
        return False
    if kind is np.ndarray:
        if one.dtype != other.dtype or one.shape != other.shape:
            return False
        if one.dtype == object:
            return same_data(one.tolist(), other.tolist())
        return bool(one.tobytes() == other.tobytes())
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(
            same_data(one[key], other[key]) for key in one
        )
    if isinstance(one, (tuple, list)):
        return len(one) == len(other) and all(map(same_data, one, other))
    if isinstance(one, np.generic):
        return bool(one.tobytes() == other.tobytes())
    return bool(one == other)


def _cut(space: spaces.Space[Any], batch: Any, row: int) -> Any:
    """Return one environment's part of a batch."""
    if isinstance(space, spaces.Dict):
        return {key: _cut(part, batch[key], row) for key, part in space.items()}
    if isinstance(space, spaces.Tuple):
        return tuple(_cut(part, batch[i], row) for i, part in enumerate(space))
    # What an empty batch of a space that Gymnasium does not know is.
    return None if batch is None else batch[row]


class Observations:
    """The last observation of each environment, and all of them as a batch.

    Parameters
    ----------
    space : gymnasium.Space
        Of one environment.
    num_envs : int

    Attributes
    ----------
    latest : list of num_envs
        As the environments returned them: an environment may go on writing into an
        array that it has returned.
    """

    def __init__(self, space: spaces.Space[Any], num_envs: int) -> None:
        self.space = space
        self.is_text = isinstance(space, spaces.Text)
        self._is_nested = isinstance(space, (spaces.Dict, spaces.Tuple))
        self._batch: Any = create_empty_array(space, num_envs)
        self._probe: Any = create_empty_array(space, 1)
        self.latest = [_cut(space, self._batch, row) for row in range(num_envs)]
        self._is_stale = False
        # Rows whose latest observation is a copy of ours that no batch has yet.
        self._own: set[int] = set()

    def put(self, row: int, observation: Any) -> None:
        """Take an observation as it is."""
        self.latest[row] = observation
        self._is_stale = True
        self._own.discard(row)

    def touch(self) -> None:
        """Note that ``latest`` has been written into."""
        self._is_stale = True
        self._own.clear()

    def keep(self, row: int) -> Any:
        """Make the latest observation of a row a copy of ours, and return it."""
        if row not in self._own:
            self.latest[row] = copy_data(self.latest[row])
            self._own.add(row)
        return self.latest[row]

    def last_valid(self, row: int) -> Any:
        """Return a row's last observation before the call that is going on."""
        if row in self._own:
            return self.latest[row]
        return copy_data(_cut(self.space, self._batch, row))

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

    def settle(self) -> Sequence[int]:
        """Batch what has come in; return the rows whose observations do not fit.

        The batch is as it was where there are such rows.
        """
        if not self._is_stale:
            return ()
        # Gymnasium batches texts without a look at them.
        if self.is_text and set(map(type, self.latest)) != {str}:
            rows = [row for row, seen in enumerate(self.latest) if not self.fits(seen)]
            if rows:
                return rows
        out = self._batch
        if self._is_nested:
            # A failed attempt writes some of the parts, and `last_valid` needs them.
            out = create_empty_array(self.space, len(self.latest))
        try:
            self._batch = concatenate(self.space, self.latest, out)
        except KeyboardInterrupt:
            raise
        except BaseException:
            rows = [row for row, seen in enumerate(self.latest) if not self.fits(seen)]
            if not rows:
                raise
            return rows
        self._is_stale = False
        self._own.clear()
        return ()

    def settle_kept(self) -> None:
        """Batch what `keep` copied, before `latest` is written into again."""
        if self._own:
            self.settle()

    def batch(self) -> Any:
        """Return the batch of all latest observations, which is kept and changed."""
        self.settle()
        return self._batch

    def batch_of(self, observations: Sequence[Any]) -> Any:
        """Return a new batch of some observations."""
        empty: Any = create_empty_array(self.space, len(observations))
        if not observations:
            return empty
        return concatenate(self.space, observations, empty)
