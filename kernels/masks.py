"""Masks of rows."""

import numpy as np

from ._jit import kernel


@kernel
def list_rows(mask, out):
    """Write the rows of a mask in ascending order, and return their number.

    Parameters
    ----------
    mask : (n,) bool, read
    out : (n,) int64, written from its beginning
        The rest is meaningless.
    """
    # Branch-free, see `kernels`: 0.27 ns a row; `numpy.nonzero` takes 0.3 to 1.9.
    count = np.uint64(0)
    for i in range(np.uint64(mask.shape[0])):
        out[count] = i
        count += np.uint64(mask[i])
    return count
