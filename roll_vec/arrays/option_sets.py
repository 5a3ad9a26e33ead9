"""The level options of a batch: the different sets, and the set of each environment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from roll_vec.errors import InvalidStateError, RollVecError
from roll_vec.options import (
    check_level_option_names,
    describe_value,
    replace_level_options,
)


def describe_options(options: Any) -> dict[str, Any]:
    """Return the level options of an environment, as `json` writes them."""
    names = options.LEVEL_OPTIONS
    return {name: describe_value(getattr(options, name)) for name in names}


def read_options(options: Any, values: Any) -> Any:
    """Return options with the level options of a state.

    Parameters
    ----------
    options : LevelOptions
    values : dict
        As `describe_options` returns it.

    Raises
    ------
    InvalidStateError
    """
    names = set(options.LEVEL_OPTIONS)
    if not isinstance(values, Mapping) or set(values) != names:
        accepted = f"dicts with the keys {sorted(names)}"
        raise InvalidStateError.of_array("level_options", accepted, values)
    try:
        return replace_level_options(options, values)
    except RollVecError as error:
        message = f"state: level_options: {error}"
        raise InvalidStateError(message) from None


class OptionSets:
    """The sets of level options that the environments of a batch have.

    Usually there is one.  An environment's set counts from its next episode on.

    Parameters
    ----------
    options : LevelOptions
        Of all environments, at first.
    num_envs : int
    num_threads : int
        Threads that draw levels.

    Attributes
    ----------
    indices : (n,) int32
        The set of each environment.
    options, providers : list
        By set.
    values : list of dict
        `describe_options` by set; always replaced and never changed.
    """

    def __init__(self, options: Any, num_envs: int, num_threads: int) -> None:
        self._num_threads = num_threads
        self.indices = np.zeros(num_envs, np.int32)
        self.options, self.providers = [options], [options.make_provider(num_threads)]
        self.values = [describe_options(options)]

    def change(self, env_ids: NDArray[np.int64], changes: Mapping[str, Any]) -> None:
        """Change the level options of some environments.

        Values are checked beside the other options of these environments; without any,
        names alone are checked.

        Raises
        ------
        UnknownOptionError, InvalidOptionError
            Nothing has changed then.
        """
        check_level_option_names(self.options[0], changes)
        numbers = np.unique(self.indices[env_ids]).tolist()
        new = [replace_level_options(self.options[k], changes) for k in numbers]
        indices = self.indices.copy()
        positions = np.searchsorted(numbers, indices[env_ids])
        indices[env_ids] = len(self.options) + positions
        self._install([*self.options, *new], indices)

    def check(self, indices: NDArray[Any], values: Any) -> None:
        """Check the level options of a state.

        Raises
        ------
        InvalidStateError
        """
        if not isinstance(values, list) or not values:
            accepted = "a list of sets of level options"
            raise InvalidStateError.of_array("level_options", accepted, values)
        for value in values:
            read_options(self.options[0], value)
        outside = (indices < 0) | (indices >= len(values))
        if outside.any():
            accepted = f"indices from 0 to {len(values) - 1}"
            value = indices[outside][0]
            raise InvalidStateError.of_array("level_options", accepted, value)

    def load(
        self,
        env_ids: NDArray[np.int64],
        indices: NDArray[np.int32],
        values: Sequence[Mapping[str, Any]],
    ) -> bool:
        """Take over the level options of a state; return whether any may have changed.

        Parameters
        ----------
        env_ids : (m,) int64
        indices : (m,) int32
            Into ``values``.
        values : sequence of dict
            Checked.
        """
        if list(values) == self.values:
            self.indices[env_ids] = indices
            return len(values) > 1
        new = [read_options(self.options[0], value) for value in values]
        complete = self.indices.copy()
        complete[env_ids] = len(self.options) + indices
        self._install([*self.options, *new], complete)
        return True

    def _install(self, candidates: Sequence[Any], indices: NDArray[np.int32]) -> None:
        """Replace the sets by those candidates that some environment has."""
        options: list[Any] = []
        providers: list[Any] = []
        values: list[dict[str, Any]] = []
        used, inverse = np.unique(indices, return_inverse=True)
        numbers = np.zeros(len(used), np.int32)
        for j, k in enumerate(used.tolist()):
            value = describe_options(candidates[k])
            if value not in values:
                options.append(candidates[k])
                values.append(value)
                # A provider has a cache of levels.
                if value in self.values:
                    providers.append(self.providers[self.values.index(value)])
                else:
                    providers.append(candidates[k].make_provider(self._num_threads))
            numbers[j] = values.index(value)
        indices = numbers[inverse]
        # In one statement that calls nothing: an interrupt comes before or after it.
        self.indices, self.options, self.providers, self.values = (
            indices,
            options,
            providers,
            values,
        )
