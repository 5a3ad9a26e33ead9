"""Views of arrays in kernels: the same memory in another shape or dtype.

numpy's ``reshape`` and ``view`` cost a third of a second of a compilation each.
"""

from typing import Any

import numpy as np
from numba.core import types
from numba.core.extending import intrinsic
from numba.np.arrayobj import populate_array

from ._jit import IS_COMPILED


def flat(array):
    """Return a C-contiguous array in one dimension."""
    return array.reshape(-1)


def as_int8(flags):
    """Return the memory of an array of bool as int8."""
    return flags.view(np.int8)


def as_uint8(flags):
    """Return the memory of an array of bool as uint8."""
    return flags.view(np.uint8)


def _as_bytes(dtype: Any) -> Any:
    @intrinsic
    def view(typing_context, flags):
        def codegen(context, builder, sig, arguments):
            # A bool is a byte: the two arrays have one machine type.
            return arguments[0]

        return flags.copy(dtype=dtype)(flags), codegen

    return view


def _flatten() -> Any:
    @intrinsic
    def view(typing_context, array):
        if array.layout != "C":
            return None
        line = array.copy(ndim=1)

        def codegen(context, builder, sig, arguments):
            source = context.make_array(array)(context, builder, arguments[0])
            out, size = context.make_array(line)(context, builder), source.itemsize
            populate_array(out, source.data, [source.nitems], [size], size, None)
            return out._getvalue()

        return line(array), codegen

    return view


if IS_COMPILED:
    flat, as_int8, as_uint8 = _flatten(), _as_bytes(types.int8), _as_bytes(types.uint8)
