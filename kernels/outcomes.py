"""The limit of steps of an episode, and the states of a row in an unroll.

An unroll takes many steps of many rows in one call.  A kernel cannot reset a row, so a
row stops where its episode ends; the caller resets it and calls the kernel again::

    PLAYING --episode ends--> NEEDS_RESET --caller resets--> JUST_RESET --> PLAYING
"""

import numpy as np

from ._jit import kernel

PLAYING, NEEDS_RESET, JUST_RESET = range(3)


@kernel
def reaches_limit(elapsed_steps, max_steps):
    """Return whether an episode is truncated after so many steps.

    ``max_steps`` of 0 is no limit.  A state can bring an episode beyond its limit: it
    ends, too.
    """
    return (elapsed_steps >= max_steps) & (max_steps > 0)


@kernel
def count_steps(start, stop, at, skip_mask, elapsed_steps, max_steps, truncations):
    """Count a step of each row that is not to skip, and write who reaches the limit.

    ``elapsed_steps`` is (n,) int32, updated; ``truncations`` (T * n,) bool, written to
    rows ``at + i``.
    """
    for i in range(np.uint64(start), np.uint64(stop)):
        plays = not skip_mask[i]
        elapsed_steps[i] += plays
        truncations[at + i] = plays & reaches_limit(elapsed_steps[i], max_steps)


@kernel
def store_flags(start, stop, at, flags, skip_mask, variable):
    """Write flags of a step, which are False in rows to skip, to a variable.

    ``flags`` is (T * n,) bool, read from rows ``at + i``; ``variable`` (n,) bool,
    updated: that of rows to skip stays as it is.
    """
    for i in range(np.uint64(start), np.uint64(stop)):
        variable[i] = flags[at + i] | (skip_mask[i] & variable[i])
