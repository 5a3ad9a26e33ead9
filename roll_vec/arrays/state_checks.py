"""Checks of the arrays of a state: limits of values, and rows that must be right."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray

from roll_vec.errors import InvalidStateError

FINITE = (-sys.float_info.max, sys.float_info.max)
"""Limits of a number that may have any size."""
# Of PCG64's words: state, increment, whether half a number is left, and that half.
_GENERATOR_LIMITS = np.array([*[(1 << 64) - 1] * 4, 1, (1 << 32) - 1], np.uint64)


def check_limits(name: str, array: NDArray[Any], low: Any, high: Any) -> None:
    """Refuse values outside of limits, NaN among them.

    Parameters
    ----------
    name : str
        Of the array in the state.
    array : (n, ...) array
    low, high : number or array
        The lowest and the highest value, of a row or of each of its items.

    Raises
    ------
    InvalidStateError
    """
    is_inside = (array >= low) & (array <= high)
    if not is_inside.all():
        place = tuple(np.argwhere(~is_inside)[0])
        limits = [np.broadcast_to(each, array.shape)[place] for each in (low, high)]
        accepted = f"values from {limits[0]} to {limits[1]}"
        raise InvalidStateError.of_array(name, accepted, array[place].item())


def check_each(name: str, array: NDArray[Any], is_right: Any, accepted: str) -> None:
    """Refuse an array of which a row is not right.

    Parameters
    ----------
    name : str
    array : (n, ...) array
    is_right : (n,) bool
    accepted : str
        What a row should be.

    Raises
    ------
    InvalidStateError
        Names the first of these rows.
    """
    if not is_right.all():
        value = array[~is_right][0].tolist()
        raise InvalidStateError.of_array(name, accepted, value)


def check_generators(states: NDArray[np.uint64]) -> None:
    """Refuse words that are no states of PCG64, (n, 6) uint64.

    Raises
    ------
    InvalidStateError
    """
    name = "generator_states"
    check_limits(name, states, 0, _GENERATOR_LIMITS)
    # With an even increment it may repeat one number for ever, and a rule wait for
    # another one.
    is_odd = states[:, 3] & np.uint64(1) == 1
    check_each(name, states, is_odd, "states of PCG64, with odd increments")
