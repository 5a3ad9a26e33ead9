"""Numbers of numpy in rules, to the bit: float32, and squares of a float64."""

from __future__ import annotations

import math

import numpy as np

from roll_vec.arrays.rules import rule


@rule
def to_float32(number: float) -> float:
    """Return a number, rounded to float32."""
    return np.float64(np.float32(number))


# Numbers of numpy have the powers of the C library, whose last bit differs from that of
# `number * number` in 1 of 1200.  The compiler turns a constant exponent of 2 into this
# product, so it must not see one.


@rule
def square(number: float) -> float:
    """Return ``number ** 2`` of a finite number, as a float64 of numpy has it."""
    return math.pow(number, 2.0 + 0.0 * number)


@rule
def square_float32(number: float) -> float:
    """Return ``number ** 2`` of a finite number, as a float32 of numpy has it."""
    base = np.float32(number)
    return np.float64(base ** (np.float32(2.0) + np.float32(0.0) * base))
