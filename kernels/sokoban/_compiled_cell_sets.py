"""Sets of cells in compiled code: the types of numba behind `.cell_sets`."""

import operator

import numpy as np
from llvmlite import ir
from numba.core import types
from numba.core.extending import intrinsic, lower_cast, models, register_model
from numba.core.imputils import lower_builtin
from numba.core.typing.templates import ConcreteTemplate, infer_global, signature
from numba.cpython import numbers

from .cell_sets import WORD

as_shift = np.uint64


class _Cells(types.Type):
    """A set of more than 64 cells: numba's integers of any width, but no numbers."""

    def __init__(self, num_bits):
        self.bitwidth, self.signed = num_bits, False
        super().__init__(f"Cells({num_bits})")


register_model(_Cells)(models.IntegerModel)
lower_cast(types.Integer, _Cells)(numbers.integer_to_integer)
lower_cast(_Cells, types.Integer)(numbers.integer_to_integer)

_WIDE = [_Cells(WORD * num_words) for num_words in (2, 4, 8, 16)]


def _type_of(words):
    return types.uint64 if len(words) == 1 else _Cells(WORD * len(words))


def _define(names, implement, *others, result=None):
    """Give sets an operator, also in the form that assigns.

    Parameters
    ----------
    names : str
        Of functions of `operator`.
    implement : callable
        Numba's code for integers.
    others : types
        Of the operands after the first one.
    result : Type or None
        None: a set.
    """
    for function in map(operator.__dict__.get, names.split()):
        lower_builtin(function, _Cells, *others)(implement)
        cases = []
        for cells in _WIDE:
            operands = [cells if other is _Cells else other for other in others]
            cases.append(signature(result or cells, cells, *operands))
        infer_global(function)(type("Template", (ConcreteTemplate,), {"cases": cases}))


_define("and_ iand", numbers.int_and_impl, _Cells)
_define("or_ ior", numbers.int_or_impl, _Cells)
_define("xor ixor", numbers.int_xor_impl, _Cells)
_define("lshift ilshift", numbers.int_shl_impl, types.uint64)
_define("rshift irshift", numbers.int_shr_impl, types.uint64)
_define("eq", numbers.int_eq_impl, _Cells, result=types.boolean)
_define("ne", numbers.int_ne_impl, _Cells, result=types.boolean)
_define("invert", numbers.int_invert_impl)
_define("neg", numbers.int_negate_impl)


@intrinsic
def first_cell(typing_context, words):
    def codegen(context, builder, sig, args):
        return ir.Constant(ir.IntType(WORD * len(words)), 1)

    return _type_of(words)(words), codegen


@intrinsic
def cell_of(typing_context, cell):
    def codegen(context, builder, sig, args):
        number = builder.cttz(args[0], ir.Constant(ir.IntType(1), 1))
        return context.cast(builder, number, cell, types.int64)

    return types.int64(cell), codegen


def _pointer_at(context, builder, sig, args):
    array_type, _, words = sig.args[:3]
    data = context.make_array(array_type)(context, builder, args[0]).data
    at = builder.mul(args[1], context.get_constant(types.int64, len(words)))
    set_type = ir.IntType(WORD * len(words))
    return builder.bitcast(builder.gep(data, [at]), set_type.as_pointer())


@intrinsic
def load(typing_context, array, i, words):
    def codegen(context, builder, sig, args):
        return builder.load(_pointer_at(context, builder, sig, args), align=8)

    return _type_of(words)(array, types.int64, words), codegen


@intrinsic
def store(typing_context, array, i, words, cells):
    def codegen(context, builder, sig, args):
        place = _pointer_at(context, builder, sig, args)
        builder.store(args[3], place, align=8)
        return context.get_dummy_value()

    return types.void(array, types.int64, words, cells), codegen
