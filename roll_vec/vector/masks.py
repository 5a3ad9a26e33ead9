"""Masks and lists of environments."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from roll_vec.errors import InvalidOptionError

# Masks of so many environments are searched in compiled code, which takes half of
# numpy's time; with 4,096 it takes as long.
_MANY = 1 << 14


def list_rows(mask: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return the environments of a mask, (m,) int64, ascending."""
    if len(mask) < _MANY or len(mask) % 8 or not mask.flags.c_contiguous:
        return mask.nonzero()[0]
    # Here, as an import of numba takes a third of a second.
    from roll_vec.kernels import masks

    rows = np.empty(len(mask), np.int64)
    return rows[: masks.list_rows(mask, mask.view(np.uint64), rows)]


def check_indices(
    name: str, values: Any, count: int, accepted: str = "a sequence of integers"
) -> NDArray[np.int64]:
    """Return environments, or rows of a snapshot, as (m,) int64.

    Raises
    ------
    InvalidOptionError
        If they are not integers from 0 to ``count`` - 1.
    """
    array = np.asarray(values)
    if array.ndim != 1 or not (array.dtype.kind in "iu" or not array.size):
        raise InvalidOptionError.expected(name, accepted, values)
    outside = (array < 0) | (array >= count)
    if np.count_nonzero(outside):
        value = int(array[outside][0])
        raise InvalidOptionError.expected(name, f"0 to {count - 1}", value)
    return array.astype(np.int64, copy=False)


def check_mask(mask: Any, num_envs: int) -> NDArray[np.int64]:
    """Return the environments of a mask, (m,) int64, all for None.

    Raises
    ------
    InvalidOptionError
        If it is no array of bool of the shape (num_envs,).
    """
    if mask is None:
        return np.arange(num_envs)
    array = np.asarray(mask)
    if array.dtype != np.bool_ or array.shape != (num_envs,):
        accepted = f"None or an array of bool of shape ({num_envs},)"
        raise InvalidOptionError.expected("mask", accepted, mask)
    return array.nonzero()[0]
