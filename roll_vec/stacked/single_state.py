"""The state of one environment, under the names of a batch's arrays."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from roll_vec.base_envs import ClosableEnv, SeededEnv
from roll_vec.errors import InvalidStateError
from roll_vec.options import MAX_INT
from roll_vec.seeding import MAX_COUNT, check_seed, episode_seed
from roll_vec.vector.state import fit_value

__all__ = ["LevelState", "SingleState", "check_array"]


def check_array(
    arrays: Mapping[str, NDArray[Any]], name: str, lowest: int, highest: int
) -> None:
    """Check the values of an array of a state.

    Raises
    ------
    InvalidStateError
        For a value below ``lowest`` or above ``highest``.
    """
    array = arrays[name]
    if array.size and not lowest <= array.min() <= array.max() <= highest:
        value = array.min() if array.min() < lowest else array.max()
        accepted = f"values from {lowest} to {highest}"
        raise InvalidStateError.of_array(name, accepted, value)


class SingleState(ClosableEnv):
    """An environment whose state is a row of a batch's arrays, by the same names.

    A subclass extends `state_values`, `load_values` and `check_values`, and gives
    `_is_success`.
    """

    num_env_steps: int
    _has_started: bool
    _max_steps: int | None

    def get_state(self) -> dict[str, Any]:
        """Return all that later steps and resets depend on.

        Returns
        -------
        dict
            Row i of each array of a batch's `VectorState`, as `VectorState.row` has it;
            ``seeds``, the seed of the stream or None; ``has_ended``, whether the
            episode has ended by the rules or at the option ``max_steps``.

        Raises
        ------
        ResetNeededError, ClosedError
        """
        self._check_started()
        limit = self._max_steps
        has_ended = limit is not None and self.num_env_steps >= limit
        return {
            **self.state_values(),
            "seeds": self._np_random_seed,
            "has_ended": has_ended or self._is_over(),
        }

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Go to a state that `get_state` returned, or to a row of a batch's state.

        The step count of Gymnasium's wrapper `TimeLimit` stays as it is.

        Parameters
        ----------
        state : mapping
            Of an environment with the same options.  ``has_ended`` is not read.

        Raises
        ------
        InvalidStateError
            If names, shapes or values do not fit; nothing has changed then.
        ClosedError
        """
        self._check_open()
        own = self.state_values()
        names = sorted(own)
        if not isinstance(state, Mapping) or not own.keys() <= state.keys():
            value = sorted(state) if isinstance(state, Mapping) else state
            raise InvalidStateError.expected("state", f"a dict with {names}", value)
        values = {name: fit_value(name, state[name], own[name]) for name in own}
        self.check_values({name: value[np.newaxis] for name, value in values.items()})
        seed = state.get("seeds")
        seed = None if seed is None else check_seed(seed)
        self.load_values(values)
        self._load_generator(values)
        self._np_random_seed = seed
        self._has_started = True
        self._show()

    def state_values(self) -> dict[str, Any]:
        """Return the state: numpy scalars and arrays of the dtypes of a batch."""
        is_success = self.num_env_steps > 0 and self._is_success()
        return {
            "elapsed_steps": np.int32(self.num_env_steps),
            "successes": np.bool_(is_success),
        }

    def load_values(self, values: Mapping[str, Any]) -> None:
        """Take over checked values of `state_values`, except random generators."""
        self.num_env_steps = int(values["elapsed_steps"])

    def check_values(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Check arrays of `state_values` of n environments, one a row.

        Raises
        ------
        InvalidStateError
        """
        check_array(arrays, "elapsed_steps", 0, self._max_steps or MAX_INT)

    def _load_generator(self, values: Mapping[str, Any]) -> None:
        """Set the random generator, of a game that has one."""

    def _is_over(self) -> bool:
        """Return whether the episode has ended by the rules."""
        return self.num_env_steps > 0 and self._is_success()

    def _is_success(self) -> bool:
        """Return whether the present state is one of success."""
        raise NotImplementedError

    def _check_started(self) -> None:
        raise NotImplementedError

    def _show(self) -> None:
        raise NotImplementedError


class LevelState(SingleState, SeededEnv):
    """The same for an environment that plays a new level in each episode."""

    _state_has_stream = True
    options: Any
    level_number: int

    def state_values(self) -> dict[str, Any]:
        """Return the state with the folded seed, and the numbers of episode, level."""
        return {
            **super().state_values(),
            "episodes_first_seeds": np.uint64(self._stream or 0),
            "episodes_numbers": np.uint64(max(self._episode, 0)),
            "level_numbers": np.int64(self.level_number),
        }

    def load_values(self, values: Mapping[str, Any]) -> None:
        """Take over checked values; ``np_random`` begins anew."""
        super().load_values(values)
        self._stream = int(values["episodes_first_seeds"])
        self._episode = int(values["episodes_numbers"])
        self.level_seed = episode_seed(self._stream, self._episode)
        self.level_number = int(values["level_numbers"])
        self._generator = None

    def check_values(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Check the arrays; see `SingleState.check_values`."""
        super().check_values(arrays)
        check_array(arrays, "episodes_first_seeds", 0, (1 << 32) - 1)
        check_array(arrays, "episodes_numbers", 0, MAX_COUNT)
        levels = self.options.levels
        num_levels = 1 << 32 if levels is None else len(levels)
        check_array(arrays, "level_numbers", 0, num_levels - 1)
