"""Unrolls of whole ranges of rows: all rows take a step, then all take the next one.

A row whose episode ends begins the next one within the kernel, if a `LevelTable` has
its level.  Otherwise the row stops, see `outcomes`; the others go on::

                 row 0   1   2  ...
        step 0    ------------------->
        step 1    ---------->  x----->     x: an episode ends, the next one begins
          :                    o           o: the table has no level: the row stops
        step T-1  ---------->     --->

Rows that do not stop need no time of their own, and the results of a step lie side by
side as those of a step of the batch: the kernel of that step writes them.
"""

from typing import NamedTuple

import numpy as np

from ._jit import kernel
from .outcomes import NEEDS_RESET, PLAYING
from .rng.pcg64 import fold_in

_1 = np.uint64(1)
# A range is played in blocks of so many rows, so that their state stays in the cache:
# its 48 bytes a Sokoban room are 0.2 MB a block.  Each step of a block costs 0.4 us
# more than its rows: 256 rows take 8.0 ns a row and step, 1024 7.0 and 4096 6.5.
BLOCK = 4096


class LevelTable(NamedTuple):
    """The levels that episodes can begin with at once.

    An episode of seed e plays the level ``first_index + e mod num_levels``.
    """

    num_levels: int  # 0: none
    first_index: int
    is_present: np.ndarray  # (num_levels,) bool: which there are; (0,): all


class EpisodeNumbers(NamedTuple):
    """The present episode of each row; see `roll_vec.stacked.levels.EpisodeSeeds`."""

    first_seeds: np.ndarray  # (n,) uint64
    numbers: np.ndarray  # (n,) uint64, updated where an episode begins


@kernel
def next_level(i, num_levels, first_index, is_present, first_seeds, numbers):
    """Return the seed of the next episode of row i, and the index of its level or -1.

    Parameters
    ----------
    i : int
    num_levels, first_index, is_present
        The items of `LevelTable`.
    first_seeds, numbers
        The arrays of `EpisodeNumbers`, read.
    """
    seed = fold_in(first_seeds[i], numbers[i] + _1)
    if num_levels == 0:
        return seed, np.int64(-1)
    number = np.int64(seed % np.uint64(num_levels))
    if is_present.shape[0] > 0 and not is_present[number]:
        return seed, np.int64(-1)
    return seed, first_index + number


@kernel
def list_ends(terminations, truncations, has_stopped, skip_mask, ends, start, stop):
    """Find the rows whose episode a step has ended.

    Parameters
    ----------
    terminations, truncations : (n,) bool, read
        Of the step.
    has_stopped : (n,) bool, read
    skip_mask : (n,) bool, written
        Rows that have stopped, and those that end now.
    ends : (BLOCK,) int64, written
        The rows that end now.
    start, stop : int
        The rows to work on.

    Returns
    -------
    count : int64
        The number of rows in ``ends``.
    """
    for i in range(np.uint64(start), np.uint64(stop)):
        skip_mask[i] = terminations[i] | truncations[i] | has_stopped[i]
    # Branch-free: in lakes one row in ten ends, and is mispredicted.  1.0 ns a row with
    # a branch, 0.3 without.
    count = 0
    for i in range(np.uint64(start), np.uint64(stop)):
        ends[count] = np.int64(i)
        count += np.int64(terminations[i] | truncations[i])
    return count


@kernel
def enter_rows(states, has_stopped, skip_mask, ends, start, stop):
    """Prepare the masks of a block, and list its rows that need a reset.

    Parameters
    ----------
    states : (n,) int64, read
        Of `UnrollProgress`.
    has_stopped, skip_mask : (n,) bool, written
        No row has stopped; those that need a reset are skipped.
    ends : (BLOCK,) int64, written
    start, stop : int
        The block.

    Returns
    -------
    count : int64
        The number of rows in ``ends``.
    """
    count = 0
    for i in range(start, stop):
        has_stopped[i], skip_mask[i] = False, states[i] == NEEDS_RESET
        if states[i] == NEEDS_RESET:
            ends[count] = i
            count += 1
    return count


@kernel
def leave_rows(until, has_stopped, skip_mask, times, states, start, stop):
    """Write the progress of the rows of a block that have not stopped.

    Parameters
    ----------
    until : int
    has_stopped, skip_mask : (n,) bool, read
        As `list_ends` has left them after the last step.
    times, states : (n,) int64, written
    start, stop : int
        The block.
    """
    for i in range(start, stop):
        if not has_stopped[i]:
            times[i] = until
            states[i] = NEEDS_RESET if skip_mask[i] else PLAYING


@kernel
def copy_range(values, out, start, stop):
    """Copy a range of a one-dimensional array.

    Grids of many rows are copied as one range: row by row a copy of 36 bytes takes
    10 ns a row, as one range 1.
    """
    for i in range(np.uint64(start), np.uint64(stop)):
        out[i] = values[i]
