"""Sets of cells as integers of 64, 128, 256, 512 or 1024 bits, a bit a cell.

Compiled code has uint64 for the first size, and for the others integers of LLVM, which
lets a shift or an ``and`` of any width be one operation.  The type of a set follows
from ``words``, a tuple of one None for each 64 bits: its length is known to the
compiler.  With the JIT off a set is an int of Python.

Sets have ``& | ^ ~ << >> == !=``, and the functions below.  Arrays of sets are uint64,
flat, the words of a set one after the other.
"""

import operator

import numpy as np
from llvmlite import ir
from numba.core import config, types
from numba.core.extending import intrinsic, models, register_model
from numba.core.imputils import lower_builtin
from numba.core.typing.templates import AbstractTemplate, infer_global, signature

MAX_CELLS = 1024
_WORD = 64


def words_for(num_cells):
    """Return the ``words`` of sets of so many cells; None if they are too many."""
    if num_cells > MAX_CELLS:
        return None
    # A power of two: rooms of many sizes share machine code.
    return (None,) * (1 << max(0, (num_cells - 1).bit_length() - 6))


as_shift = int
"""Makes a number what sets are shifted by."""


def first_cell(words):
    """Return the set of cell 0."""
    return 1


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
    content = (cells & (1 << _WORD * len(words)) - 1).to_bytes(8 * len(words), "little")
    array[i * len(words) : (i + 1) * len(words)] = np.frombuffer(content, np.uint64)


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
    num_bits = _WORD * len(words)
    return types.uint64 if num_bits == _WORD else _Cells(num_bits)


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


def _intrinsics():
    """Return the compiled forms of the functions."""

    def pointer_at(context, builder, sig, args):
        array_type, _, words = sig.args[:3]
        data = context.make_array(array_type)(context, builder, args[0]).data
        at = builder.mul(args[1], context.get_constant(types.int64, len(words)))
        set_type = ir.IntType(_WORD * len(words))
        return builder.bitcast(builder.gep(data, [at]), set_type.as_pointer())

    @intrinsic
    def first(typing_context, words):
        def codegen(context, builder, sig, args):
            return ir.Constant(ir.IntType(_WORD * len(words)), 1)

        return _type_of(words)(words), codegen

    @intrinsic
    def lowest_of(typing_context, cells):
        def codegen(context, builder, sig, args):
            return builder.and_(args[0], builder.neg(args[0]))

        return cells(cells), codegen

    @intrinsic
    def number_of(typing_context, cell):
        def codegen(context, builder, sig, args):
            number = builder.cttz(args[0], ir.Constant(ir.IntType(1), 1))
            if isinstance(cell, _Cells):
                number = builder.trunc(number, ir.IntType(_WORD))
            return number

        return types.int64(cell), codegen

    @intrinsic
    def load_set(typing_context, array, i, words):
        def codegen(context, builder, sig, args):
            return builder.load(pointer_at(context, builder, sig, args), align=8)

        return _type_of(words)(array, types.int64, words), codegen

    @intrinsic
    def store_set(typing_context, array, i, words, cells):
        def codegen(context, builder, sig, args):
            place = pointer_at(context, builder, sig, args)
            builder.store(args[3], place, align=8)
            return context.get_dummy_value()

        own = _type_of(words)
        return types.void(array, types.int64, words, own), codegen

    return np.uint64, first, lowest_of, number_of, load_set, store_set


if not config.DISABLE_JIT:  # type: ignore[attr-defined, unused-ignore]
    _define_operators()
    as_shift, first_cell, lowest, cell_of, load, store = _intrinsics()
