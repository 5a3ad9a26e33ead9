"""The limit of steps of an episode, and the states of a row in an unroll.

An unroll takes many steps of many rows in one call.  A kernel cannot reset a row, so a
row stops where its episode ends; the caller resets it and calls the kernel again::

    PLAYING --episode ends--> NEEDS_RESET --caller resets--> JUST_RESET --> PLAYING
"""

from ._jit import kernel

PLAYING, NEEDS_RESET, JUST_RESET = range(3)


@kernel
def reaches_limit(elapsed_steps, max_steps):
    """Return whether an episode is truncated after so many steps.

    ``max_steps`` of 0 is no limit.  A state can bring an episode beyond its limit: it
    ends, too.
    """
    return (elapsed_steps >= max_steps) & (max_steps > 0)
