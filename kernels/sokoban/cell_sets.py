"""Sets of cells as integers of 64, 128, 256, 512 or 1024 bits, a bit a cell.

Compiled code has uint64 for the first size, and for the others integers of LLVM, which
lets a shift or an ``and`` of any width be one operation.  The type of a set follows
from ``words``, a tuple of one None for each 64 bits: its length is known to the
compiler.  With the JIT off a set is an int of Python.  The functions here are for
these, `._compiled_cell_sets` has their compiled forms.

Sets have ``& | ^ ~ << >> == !=``, and the functions below.  Arrays of sets are uint64,
flat, the words of a set one after the other.
"""

import numpy as np

from .._jit import kernel

MAX_CELLS = 1024
WORD = 64


def words_of(height, width):
    """Return the ``words`` of the sets of the inner cells of rooms of H x W cells.

    None: the rooms are too large.
    """
    # A shift by all bits, as by a row of 64 cells, is undefined.
    num_cells = max((height - 2) * (width - 2), width - 1)
    if num_cells > MAX_CELLS:
        return None
    # A power of two: rooms of many sizes share machine code.
    return (None,) * (1 << max(0, (num_cells - 1).bit_length() - 6))


# Makes a number what sets are shifted by.
as_shift = int


def first_cell(words):
    """Return the set of cell 0."""
    return 1


@kernel
def lowest(cells):
    """Return the set of the lowest of some cells."""
    return cells & -cells


def cell_of(cell):
    """Return the number of a single cell."""
    return cell.bit_length() - 1


def load(array, i, words):
    """Return set i of an array of sets."""
    start, stop = i * len(words), (i + 1) * len(words)
    return int.from_bytes(array[start:stop].tobytes(), "little")


def store(array, i, words, cells):
    """Write set i of an array of sets."""
    # `~` of a set is negative in Python.
    content = (cells & (1 << WORD * len(words)) - 1).to_bytes(8 * len(words), "little")
    array[i * len(words) : (i + 1) * len(words)] = np.frombuffer(content, np.uint64)
