"""Validation of the inputs of a batch."""

import numpy as np

from ._jit import kernel


@kernel
def any_outside(values, limits):
    """Return whether any of (n,) int64 values is outside of the limits, (2,) int64.

    Python takes 75 ns more for two numbers than for an array of them.
    """
    low, high = limits[0], limits[1]
    # ORed sign bits, see `kernels`.  With an index of uint64, which the compiler knows
    # to be no negative one, many values are looked at at once: 0.1 ns each, not 0.4.
    signs = np.int64(0)
    for i in range(np.uint64(values.shape[0])):
        signs |= (values[i] - low) | (high - values[i])
    return signs < 0
