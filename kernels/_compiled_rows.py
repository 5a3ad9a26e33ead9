"""Rows of stacked arrays in compiled code: the type of numba behind `.rows.Row`.

A row is pointers and shapes but no arrays, so that no reference is counted: with counts
a rule full of branches takes 66 to 150 ns instead of 16.
"""

from numba.core import cgutils, ir, types
from numba.core.compiler_machinery import FunctionPass, register_pass
from numba.core.errors import TypingError
from numba.core.extending import (
    intrinsic,
    lower_cast,
    models,
    overload,
    register_model,
)
from numba.core.imputils import (
    lower_builtin,
    lower_getattr_generic,
    lower_setattr_generic,
)
from numba.core.ir_utils import build_definitions
from numba.core.typed_passes import NopythonTypeInference
from numba.core.typing import signature
from numba.core.typing.templates import (
    AbstractTemplate,
    AttributeTemplate,
    infer,
    infer_getattr,
)
from numba.core.untyped_passes import IRProcessing

from ._compiled_items import (
    ItemsType,
    accepts,
    describe_type,
    make_items,
    number_of,
    problem_of_items,
    size_of,
)
from ._compiler import CalleeCompiler
from .rows import (
    FIELD,
    READ_ONLY,
    field_name,
    must_write_items,
    unknown_name,
)

# ------------------------------------------------------------------ types


class RowType(types.Type):
    """A row of stacked arrays, and options that all rows share.

    Parameters
    ----------
    variables : dict of str to numba.types.Array
        The first axis is the row.
    options : dict of str to numba.types.Type
        Numbers, and arrays that no rule writes to.
    lengths : dict
        The lengths of axes of a variable, if they are known: numbers, or names of
        options.  An index of a loop up to such a length needs no check, so that the
        loop becomes vector instructions: to observe 256 cells takes 14 ns, not 71.
    is_output : bool
        Whether it is a row of observations, which has no options.
    is_writable : bool
    """

    def __init__(self, variables, options, lengths, is_output, is_writable):
        self.variables, self.options, self.lengths = variables, options, lengths
        self.is_output, self.is_writable = is_output, is_writable
        # All that code depends on: numba takes types of one name for the same type.
        parts = variables, options, lengths, is_writable
        super().__init__(f"{'Output' if is_output else 'Row'}{parts}")

    @classmethod
    def whole(cls, variables, options, is_writable):
        """Return the type of a row of named tuples of arrays and options."""
        fields = getattr(options, "fields", None)
        return cls(
            dict(zip(variables.fields, variables.types, strict=True)),
            dict(zip(fields or (), options.types, strict=True)),
            getattr(variables.instance_class, "lengths", {}),
            fields is None,
            is_writable,
        )

    def narrow(self, names):
        """Return the type of a row with some variables and options alone.

        Parameters
        ----------
        names : set of str
            Options that are lengths of these variables stay, too.
        """
        variables = {
            name: self.variables[name]
            for name in sorted(self.variables)
            if name in names or name.startswith(FIELD)
        }
        lengths = {
            name: self.lengths[name] for name in variables if name in self.lengths
        }
        names = names.union(*lengths.values())
        options = {
            name: self.options[name] for name in sorted(self.options) if name in names
        }
        return RowType(variables, options, lengths, self.is_output, self.is_writable)

    def type_of(self, name):
        """Return the type of an attribute."""
        if name in self.variables:
            array = self.variables[name]
            if array.ndim == 1:
                return number_of(array.dtype)
            lengths = self.lengths.get(name, ())
            return ItemsType(array.dtype, array.ndim - 1, self.is_writable, lengths)
        if name in self.options:
            option = self.options[name]
            if isinstance(option, types.Array):
                return ItemsType(option.dtype, option.ndim, False)
            return number_of(option)
        full_name = self.full_name(name)
        raise TypingError(unknown_name(full_name, self.variables, self.options))

    def full_name(self, name):
        """Return an attribute as rules write it."""
        return f"{'out' if self.is_output else 'env'}.{name}"


@register_model(RowType)
class _RowModel(models.StructModel):
    def __init__(self, manager, row):
        members = []
        for name, array in row.variables.items():
            if array.ndim == 1:
                members.append((name, types.CPointer(array.dtype)))
            else:
                members.append((name, row.type_of(name)))
        for name, option in row.options.items():
            is_array = isinstance(option, types.Array)
            members.append((name, row.type_of(name) if is_array else option))
        super().__init__(manager, row, members)


def narrow(args, names):
    """Return types of arguments, with rows that have some names alone.

    Parameters
    ----------
    args : tuple of numba.types.Type
    names : frozenset of str
    """
    lengths = [each.lengths for each in args if isinstance(each, ItemsType)]
    names = names.union(*lengths)
    return tuple(
        each.narrow(names) if isinstance(each, RowType) else each for each in args
    )


@lower_cast(RowType, RowType)
def _narrow_row(context, builder, from_type, to_type, value):
    source = cgutils.create_struct_proxy(from_type)(context, builder, value)
    result = cgutils.create_struct_proxy(to_type)(context, builder)
    for name in (*to_type.variables, *to_type.options):
        setattr(result, name, getattr(source, name))
    return result._getvalue()


def _array_parts(context, builder, array, value):
    struct = context.make_array(array)(context, builder, value)
    return struct.data, cgutils.unpack_tuple(builder, struct.shape, array.ndim)


def _row_at(context, builder, array, value, index):
    """Return the pointer at a row of an array, and the shape of the row."""
    data, (_, *shape) = _array_parts(context, builder, array, value)
    offset = builder.mul(index, size_of(context, builder, shape))
    return builder.gep(data, [offset]), shape


def _make_row(row):
    """Return the code that makes a row of stacked arrays."""

    def lower(context, builder, sig, args):
        struct = cgutils.create_struct_proxy(row)(context, builder)
        index = context.cast(builder, args[2], sig.args[2], types.intp)
        for k, (name, array) in enumerate(row.variables.items()):
            value = builder.extract_value(args[0], k)
            data, shape = _row_at(context, builder, array, value, index)
            if shape:
                data = make_items(context, builder, row.type_of(name), data, shape)
            setattr(struct, name, data)
        for k, (name, option) in enumerate(row.options.items()):
            value = builder.extract_value(args[1], k)
            if isinstance(option, types.Array):
                parts = _array_parts(context, builder, option, value)
                value = make_items(context, builder, row.type_of(name), *parts)
            setattr(struct, name, value)
        return struct._getvalue()

    return lower


@intrinsic
def row_of(typing_context, variables, options, i):
    row = RowType.whole(variables, options, True)
    return row(variables, options, i), _make_row(row)


@intrinsic
def view_of(typing_context, variables, options, i):
    row = RowType.whole(variables, options, False)
    return row(variables, options, i), _make_row(row)


def _make_view(array, i, is_writable):
    """Return the signature and the code of a row of an array."""
    items = ItemsType(array.dtype, array.ndim - 1, is_writable)

    def lower(context, builder, sig, args):
        index = context.cast(builder, args[1], sig.args[1], types.intp)
        row = _row_at(context, builder, array, args[0], index)
        return make_items(context, builder, items, *row)

    return items(array, i), lower


@intrinsic
def items_of(typing_context, array, i):
    return _make_view(array, i, True)


@intrinsic
def action_at(typing_context, array, i):
    return _make_view(array, i, False)


def _row_parts(context, builder, array, value, index):
    """Return the pointer at a row of an array, and the bytes of a row."""
    data, shape = _row_at(context, builder, array, value, index)
    width = context.get_abi_sizeof(context.get_data_type(array.dtype))
    shape.append(context.get_constant(types.intp, width))
    return data, size_of(context, builder, shape)


@intrinsic
def clear_rows(typing_context, arrays, start, stop):
    def lower(context, builder, sig, args):
        first, last = (
            context.cast(builder, args[k], sig.args[k], types.intp) for k in (1, 2)
        )
        for k, array in enumerate(arrays.types):
            value = builder.extract_value(args[0], k)
            data, size = _row_parts(context, builder, array, value, first)
            size = builder.mul(size, builder.sub(last, first))
            cgutils.memset(builder, data, size, 0)
        return context.get_dummy_value()

    return types.none(arrays, start, stop), lower


@intrinsic
def copy_row(typing_context, source, i, target, j):
    def lower(context, builder, sig, args):
        first = context.cast(builder, args[1], sig.args[1], types.intp)
        second = context.cast(builder, args[3], sig.args[3], types.intp)
        for k, name in enumerate(target.fields):
            number = source.fields.index(name)
            array, own = source.types[number], target.types[k]
            value = builder.extract_value(args[0], number)
            data, size = _row_parts(context, builder, array, value, first)
            value = builder.extract_value(args[2], k)
            place, _ = _row_parts(context, builder, own, value, second)
            if array.dtype == own.dtype:
                cgutils.raw_memcpy(builder, place, data, size, 1)
                continue
            # An info of a number has Python's dtype; that of an observed variable may
            # be wider than its own.
            width = context.get_abi_sizeof(context.get_data_type(array.dtype))
            count = builder.udiv(size, context.get_constant(types.intp, width))
            with cgutils.for_range(builder, count) as loop:
                at = builder.gep(data, [loop.index])
                item = context.unpack_value(builder, array.dtype, at)
                item = context.cast(builder, item, array.dtype, own.dtype)
                at = builder.gep(place, [loop.index])
                context.pack_value(builder, own.dtype, item, at)
        return context.get_dummy_value()

    return types.none(source, i, target, j), lower


@overload(float)
def _float_of_bool(value):
    # numba has it for numbers alone.
    if isinstance(value, types.Boolean):
        return lambda value: 1.0 if value else 0.0
    return None


# ------------------------------------------------------------------ attributes


def _with_lengths(context, builder, items, value, row, struct):
    """Return items with the lengths that their type knows, as a row has them."""
    own = cgutils.create_struct_proxy(items)(context, builder, value)
    shape = cgutils.unpack_tuple(builder, own.shape, items.ndim)
    for axis, length in enumerate(items.lengths):
        if isinstance(length, int):
            shape[axis] = context.get_constant(types.intp, length)
        elif length in row.options:
            option = getattr(struct, length), row.options[length]
            shape[axis] = context.cast(builder, *option, types.intp)
    return make_items(context, builder, items, own.data, shape)


@intrinsic
def _use_known_lengths(typing_context, items, row):
    def lower(context, builder, sig, args):
        struct = cgutils.create_struct_proxy(row)(context, builder, args[1])
        return _with_lengths(context, builder, items, args[0], row, struct)

    return items(items, row), lower


@infer_getattr
class _RowAttributes(AttributeTemplate):
    key = RowType

    def generic_resolve(self, row, name):
        return row.type_of(name)


@lower_getattr_generic(RowType)
def _get_variable(context, builder, row, value, name):
    struct = cgutils.create_struct_proxy(row)(context, builder, value)
    member, result = getattr(struct, name), row.type_of(name)
    if isinstance(result, ItemsType):
        return _with_lengths(context, builder, result, member, row, struct)
    if name in row.options:
        return context.cast(builder, member, row.options[name], result)
    dtype = row.variables[name].dtype
    number = context.unpack_value(builder, dtype, member)
    return context.cast(builder, number, dtype, result)


@lower_setattr_generic(RowType)
def _set_variable(context, builder, sig, args, name):
    row, kind = sig.args
    member = getattr(cgutils.create_struct_proxy(row)(context, builder, args[0]), name)
    dtype = row.variables[name].dtype
    value = context.cast(builder, args[1], kind, dtype)
    context.pack_value(builder, dtype, value, member)


@infer
class _GetField(AbstractTemplate):
    key = "static_getitem"

    def generic(self, args, _keywords):
        """Return the signature of ``row[number]``."""
        row, number = args
        if isinstance(row, RowType) and isinstance(number, int):
            result = row.type_of(field_name(number))
            return signature(result, row, types.literal(number))
        return None


@lower_builtin("static_getitem", RowType, types.IntegerLiteral)
def _get_field(context, builder, sig, args):
    row, number = sig.args
    return _get_variable(
        context, builder, row, args[0], field_name(number.literal_value)
    )


@infer
class _SetField(AbstractTemplate):
    key = "static_setitem"

    def generic(self, args, _keywords):
        """Return the signature of ``row[number] = value``."""
        row, number, _ = args
        if isinstance(row, RowType) and isinstance(number, int):
            item = row.type_of(field_name(number))
            return signature(types.none, row, types.literal(number), item)
        return None


@lower_builtin("static_setitem", RowType, types.IntegerLiteral, types.Any)
def _set_field(context, builder, sig, args):
    row, number, item = sig.args
    name = field_name(number.literal_value)
    own = signature(types.none, row, item)
    _set_variable(context, builder, own, (args[0], args[2]), name)
    return context.get_dummy_value()


# ------------------------------------------------------------------ writes


@register_pass(mutates_CFG=False, analysis_only=False)
class _CheckWrites(FunctionPass):
    """Refuse values that do not fit: numba would convert a float to an int."""

    _name = "check_writes_of_rules"

    def __init__(self):
        FunctionPass.__init__(self)

    def run_pass(self, state):
        """Raise the error of the first write that does not fit."""
        for block in state.func_ir.blocks.values():
            for write in block.body:
                if isinstance(write, (ir.SetAttr, ir.SetItem, ir.StaticSetItem)):
                    target = state.typemap[write.target.name]
                    value = types.unliteral(state.typemap[write.value.name])
                    problem = None
                    if isinstance(target, RowType):
                        problem = _problem_of_variable(write, target, value)
                    elif isinstance(target, ItemsType):
                        index = state.calltypes[write].args[1]
                        problem = problem_of_items(target, index, value)
                    if problem is not None:
                        raise TypingError(problem, loc=write.loc)
        return True


def _problem_of_variable(write, row, value):
    """Return what is wrong with ``row.name = value``, or None."""
    name = getattr(write, "attr", None) or field_name(write.index)
    full_name = row.full_name(name)
    if name in row.options:
        return f"{full_name} is an option: it cannot be written"
    array = row.variables[name]
    if array.ndim > 1:
        return must_write_items(full_name)
    if not row.is_writable:
        return f"{full_name}: {READ_ONLY}"
    if not accepts(array.dtype, value):
        return f"{full_name} is {array.dtype}: it cannot take {describe_type(value)}"
    return None


@register_pass(mutates_CFG=False, analysis_only=False)
class _UseKnownLengths(FunctionPass):
    """Give arrays among the arguments of a rule the lengths that its row knows.

    So the compiler sees that an index below such a length is inside.
    """

    _name = "use_known_lengths_of_rules"

    def __init__(self):
        FunctionPass.__init__(self)

    def run_pass(self, state):
        """Put a call of `_use_known_lengths` behind each such argument."""
        arguments, func_ir = state.args, state.func_ir
        block, has_changed = func_ir.blocks[min(func_ir.blocks)], False
        for k, each in enumerate(arguments):
            is_known = isinstance(each, ItemsType) and any(each.lengths)
            if not is_known or not isinstance(arguments[0], RowType):
                continue
            has_changed = True
            first, line = [
                next(line for line in block.body if _is_argument(line, number))
                for number in (0, k)
            ]
            target, loc, scope = line.target, line.loc, block.scope
            line.target = scope.redefine(f"{target.name}.unknown_lengths", loc)
            name = "_use_known_lengths"
            use_known_lengths = ir.Global(name, _use_known_lengths, loc)
            function = scope.redefine("$use_known_lengths", loc)
            value = ir.Expr.call(function, (line.target, first.target), (), loc)
            after = block.body.index(line) + 1
            block.body[after:after] = [
                ir.Assign(use_known_lengths, function, loc),
                ir.Assign(value, target, loc),
            ]
        if has_changed:
            func_ir._definitions = build_definitions(func_ir.blocks)
        return has_changed


def _is_argument(line, number):
    value = getattr(line, "value", None)
    return isinstance(value, ir.Arg) and value.index == number


class RuleCompiler(CalleeCompiler):
    """The compiler of rules: with lengths that are known, and the check of writes."""

    # Rules may have closures.
    unused = ()

    def define_pipelines(self):
        """Return the passes of numba and of callees, and these."""
        (manager,) = super().define_pipelines()
        manager.add_pass_after(_UseKnownLengths, IRProcessing)
        manager.add_pass_after(_CheckWrites, NopythonTypeInference)
        manager.finalize()
        return [manager]


class PartRuleCompiler(RuleCompiler):
    """The compiler of rules that are parts if they are large.

    LLVM does not inline functions of this size: MiniGrid's steps take as long as
    without parts, with parts of 100 statements 10 % longer.
    """

    part_size = 150
