"""What every family asks of its rows."""

from ._jit import kernel


@kernel
def any_outside(values, low, high):
    """Return whether any of the (n,) int64 values lies outside low to high."""
    # Signs are gathered: a vector of whether or not is not made of these.
    signs = 0
    for value in values:
        signs |= (value - low) | (high - value)
    return signs < 0
