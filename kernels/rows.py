"""What every family asks of its rows."""

# depends: _jit.py sha256:e75ec21cdcff0df5

from ._jit import kernel


@kernel
def any_outside(values, low, high):
    """Return whether any of the (n,) int64 values lies outside low to high."""
    outside = False
    for value in values:
        outside |= (value < low) | (value > high)
    return outside
