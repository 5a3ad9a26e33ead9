"""Masks of rows."""

import numpy as np

from ._jit import kernel


@kernel
def list_rows(mask, words, out):
    """Write the rows of a mask in ascending order, and return their number.

    Parameters
    ----------
    mask : (n,) bool, read
        n is a multiple of 8.
    words : (n / 8,) uint64, read
        The same memory.
    out : (n,) int64, written from its beginning
        The rest is meaningless.
    """
    # Eight rows at once where none is in the mask, and without branches within them,
    # see `kernels`: 0.1 to 0.4 ns a row; `numpy.nonzero` takes 0.1 to 0.5.
    count = np.uint64(0)
    for word in range(np.uint64(words.shape[0])):
        if words[word]:
            for k in range(np.uint64(8)):
                i = np.uint64(8) * word + k
                out[count] = i
                count += np.uint64(mask[i])
    return count
