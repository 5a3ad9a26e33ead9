"""Sets of cells in compiled code: the types of numba behind `.cell_sets`."""

import operator

import numpy as np
from llvmlite import ir
from numba.core import types
from numba.core.extending import intrinsic, models, register_model
from numba.core.imputils import lower_builtin
from numba.core.typing.templates import AbstractTemplate, infer_global, signature

from .cell_sets import WORD

as_shift = np.uint64


class _Cells(types.Type):
    """A set of more than 64 cells."""

    def __init__(self, num_bits):
        self.num_bits = num_bits
        super().__init__(f"Cells({num_bits})")


@register_model(_Cells)
class _CellsModel(models.PrimitiveModel):
    def __init__(self, manager, cells):
        super().__init__(manager, cells, ir.IntType(cells.num_bits))


def _type_of(words):
    num_bits = WORD * len(words)
    return types.uint64 if num_bits == WORD else _Cells(num_bits)


def _define(function, generate, *others, result=None):
    """Give sets an operator in compiled code.

    Parameters
    ----------
    function : callable
    generate : callable
        From a builder and the operands to the result.
    others : types
        Of the operands after the first one.
    result : Type or None
        None: a set.
    """

    @infer_global(function)
    class _Template(AbstractTemplate):
        key = function

        def generic(self, args, _keywords):
            if not isinstance(args[0], _Cells):
                return None
            more = [args[0] if other is _Cells else other for other in others]
            return signature(result or args[0], args[0], *more)

    @lower_builtin(function, _Cells, *others)
    def _lower(_context, builder, _signature, args):
        return generate(builder, *args)


def _define_operators():
    sets = ir.IRBuilder
    for name, generate in (("and", sets.and_), ("or", sets.or_), ("xor", sets.xor)):
        for form in (name + "_" * (name != "xor"), "i" + name):
            _define(getattr(operator, form), generate, _Cells)
    for name, generate in (("lshift", sets.shl), ("rshift", sets.lshr)):

        def shift(builder, cells, count, generate=generate):
            return generate(builder, cells, builder.zext(count, cells.type))

        for form in (name, "i" + name):
            _define(getattr(operator, form), shift, types.uint64)
    for name, sign in (("eq", "=="), ("ne", "!=")):

        def compare(builder, cells, others, sign=sign):
            return builder.icmp_unsigned(sign, cells, others)

        _define(getattr(operator, name), compare, _Cells, result=types.boolean)
    _define(operator.invert, sets.not_)


_define_operators()


def _pointer_at(context, builder, sig, args):
    array_type, _, words = sig.args[:3]
    data = context.make_array(array_type)(context, builder, args[0]).data
    at = builder.mul(args[1], context.get_constant(types.int64, len(words)))
    set_type = ir.IntType(WORD * len(words))
    return builder.bitcast(builder.gep(data, [at]), set_type.as_pointer())


@intrinsic
def first_cell(typing_context, words):
    def codegen(context, builder, sig, args):
        return ir.Constant(ir.IntType(WORD * len(words)), 1)

    return _type_of(words)(words), codegen


@intrinsic
def lowest(typing_context, cells):
    def codegen(context, builder, sig, args):
        return builder.and_(args[0], builder.neg(args[0]))

    return cells(cells), codegen


@intrinsic
def cell_of(typing_context, cell):
    def codegen(context, builder, sig, args):
        number = builder.cttz(args[0], ir.Constant(ir.IntType(1), 1))
        if isinstance(cell, _Cells):
            number = builder.trunc(number, ir.IntType(WORD))
        return number

    return types.int64(cell), codegen


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

    own = _type_of(words)
    return types.void(array, types.int64, words, own), codegen
