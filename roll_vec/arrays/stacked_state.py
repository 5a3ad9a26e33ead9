"""The state of stacked arrays: snapshots, their checks, and the way back."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from roll_vec.errors import InvalidStateError
from roll_vec.options import MAX_INT
from roll_vec.vector.engine import EngineState


class StackedState:
    """The arrays of N environments, as snapshots have them.

    A subclass adds its arrays to `_state_arrays`, and their limits to `_limits`.

    Attributes
    ----------
    num_envs : int
    max_steps : int
        Steps after which an episode is truncated; 0: never.
    elapsed_steps : (n,) int32
    successes : (n,) bool
    """

    num_envs: int
    max_steps: int
    elapsed_steps: NDArray[np.int32]
    successes: NDArray[np.bool_]

    def _state_arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arrays of the state themselves, by name."""
        return {"elapsed_steps": self.elapsed_steps, "successes": self.successes}

    def get_state(self) -> EngineState:
        """Return copies of the arrays of the state; see `Engine.get_state`."""
        # In the order of the memory: some are transposed views.
        return EngineState(
            {name: array.copy("K") for name, array in self._state_arrays().items()}
        )

    def save_point(self) -> EngineState:
        """Return the state; see `Engine.save_point`."""
        return self.get_state()

    def go_back(self, point: EngineState) -> None:
        """Set all environments to a state of `save_point`."""
        env_ids = np.arange(self.num_envs)
        self.set_state(point, env_ids, env_ids)

    def check_state(self, state: EngineState) -> None:
        """Check names, dtypes, shapes and values; see `Engine.check_state`."""
        own, arrays = self._state_arrays(), state.arrays
        if arrays.keys() != own.keys():
            raise InvalidStateError.expected(
                "state", f"the arrays {sorted(own)}", sorted(arrays)
            )
        for name, array in own.items():
            expected = f"{array.dtype} of shape (n, {str(array.shape[1:])[1:]}"
            values = arrays[name]
            if values.dtype != array.dtype or values.shape[1:] != array.shape[1:]:
                value = f"{values.dtype} of shape {values.shape}"
                raise InvalidStateError.of_array(name, expected, value)
        for name, (lowest, highest) in self._limits().items():
            array = arrays[name]
            if array.size and not lowest <= array.min() <= array.max() <= highest:
                value = array.min() if array.min() < lowest else array.max()
                accepted = f"values from {lowest} to {highest}"
                raise InvalidStateError.of_array(name, accepted, value)

    def _limits(self) -> dict[str, tuple[int, int]]:
        """Return the lowest and the highest value of arrays of a state."""
        return {"elapsed_steps": (0, self.max_steps or MAX_INT)}

    def set_state(
        self, state: EngineState, rows: NDArray[np.int64], env_ids: NDArray[np.int64]
    ) -> None:
        """Copy rows of a state; see `Engine.set_state`."""
        is_whole = len(env_ids) == self.num_envs
        for name, array in self._state_arrays().items():
            values = state.arrays[name]
            if not is_whole:
                array[env_ids] = values[rows]
            # The rows have been checked: with another mode `take` makes a copy first.
            elif array.flags.c_contiguous:
                np.take(values, rows, 0, array, mode="clip")
            else:
                np.take(values.T, rows, -1, array.T, mode="clip")
