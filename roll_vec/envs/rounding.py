"""Numbers of numpy in rules, to the bit: float32, and squares of a float64."""

from __future__ import annotations

import math

import numpy as np

from roll_vec.arrays.rules import rule


@rule
def to_float32(number: float) -> float:
    """Return a number, rounded to float32."""
    return np.float64(np.float32(number))


@rule
def square(number: float) -> float:
    """Return ``number ** 2`` of a finite number, as a number of numpy has it.

    It is the power of the C library, which differs from ``number * number`` in 1 of
    1200.  The compiler turns a constant exponent of 2 into this product, so it must not
    see one.
    """
    return math.pow(number, 2.0 + 0.0 * number)
