"""Validation of the inputs of a batch."""

from ._jit import kernel


@kernel
def any_outside(values, low, high):
    """Return whether any of the (n,) int64 values lies outside low to high."""
    # ORed sign bits, see `kernels`.
    signs = 0
    for value in values:
        signs |= (value - low) | (high - value)
    return signs < 0
