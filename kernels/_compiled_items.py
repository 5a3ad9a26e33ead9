"""Arrays of one row in compiled code: the types of numba behind `.rows.Items`.

They are pointers and shapes, so that no reference is counted; see `._compiled_rows`.
"""

import operator
from typing import Any, NamedTuple

from numba.core import cgutils, types
from numba.core.extending import lower_cast, models, overload, register_model
from numba.core.imputils import (
    RefType,
    iternext_impl,
    lower_builtin,
    lower_getattr_generic,
)
from numba.core.typeconv import Conversion
from numba.core.typing import signature
from numba.core.typing.templates import (
    AbstractTemplate,
    AttributeTemplate,
    infer_getattr,
    infer_global,
)
from numba.cpython import slicing

from .rows import (
    INTEGER,
    OTHER,
    OUTSIDE,
    REST,
    SHAPES_DIFFER,
    SLICE,
    axes_differ,
    selected_axes,
)


def number_of(dtype):
    """Return the type that an item of an array has in a rule."""
    if isinstance(dtype, types.Boolean):
        return types.boolean
    return types.float64 if isinstance(dtype, types.Float) else types.int64


def accepts(dtype, value):
    """Return whether a rule may write a value of a type to an array of a dtype."""
    kinds = (types.Boolean, types.Integer, types.Float)
    for most, kind in enumerate(kinds):
        if isinstance(dtype, kind):
            return isinstance(value, kinds[: most + 1])
    return False


# ------------------------------------------------------------------ types


class ItemsType(types.IterableType):
    """An array of one row, or a part of one: a pointer and a shape, in C order.

    ``lengths`` of its axes are known where it is an argument beside a row: see
    `RowType`.
    """

    def __init__(self, dtype, ndim, is_writable, lengths=()):
        self.dtype, self.ndim, self.is_writable = dtype, ndim, is_writable
        self.lengths = lengths
        super().__init__(f"Items({dtype}, {ndim}, {is_writable}, {lengths})")

    def unify(self, _context, other):
        """Return the type of a name that has arrays of either type."""
        if not isinstance(other, ItemsType):
            return None
        if (self.dtype, self.ndim) != (other.dtype, other.ndim):
            return None
        is_writable = self.is_writable and other.is_writable
        return ItemsType(self.dtype, self.ndim, is_writable)

    def can_convert_to(self, context, other):
        """Return whether an array is one of another type."""
        return Conversion.safe if self.unify(context, other) == other else None

    def part(self, ndim):
        """Return the type of a part with so many axes; 0: of an item."""
        if ndim == 0:
            return number_of(self.dtype)
        return ItemsType(self.dtype, ndim, self.is_writable)

    @property
    def iterator_type(self):
        """The type of what a loop, or an assignment to several names, goes through."""
        return IteratorType(self)


class IteratorType(types.SimpleIteratorType):
    """The items of an array one after the other, or its rows."""

    def __init__(self, items):
        self.items = items
        super().__init__(f"Iterator({items})", items.part(items.ndim - 1))


@register_model(ItemsType)
class _ItemsModel(models.StructModel):
    def __init__(self, manager, items):
        shape = types.UniTuple(types.intp, items.ndim)
        super().__init__(
            manager, items, [("data", types.CPointer(items.dtype)), ("shape", shape)]
        )


@register_model(IteratorType)
class _IteratorModel(models.StructModel):
    def __init__(self, manager, iterator):
        index = types.EphemeralPointer(types.intp)
        members = [("items", iterator.items), ("index", index)]
        super().__init__(manager, iterator, members)


@lower_cast(ItemsType, ItemsType)
def _cast_items(_context, _builder, _from_type, _to_type, items):
    return items


def make_items(context, builder, items, data, shape):
    struct = cgutils.create_struct_proxy(items)(context, builder)
    struct.data = data
    struct.shape = cgutils.pack_array(
        builder, shape, context.get_value_type(types.intp)
    )
    return struct._getvalue()


def size_of(context, builder, shape):
    size = context.get_constant(types.intp, 1)
    for length in shape:
        size = builder.mul(size, length)
    return size


# ------------------------------------------------------------------ attributes


@infer_getattr
class _ItemsAttributes(AttributeTemplate):
    key = ItemsType

    def resolve_shape(self, items):
        """Return the type of ``shape``."""
        return types.UniTuple(types.int64, items.ndim)

    def resolve_size(self, _items):
        """Return the type of ``size``."""
        return types.int64


@lower_getattr_generic(ItemsType)
def _get_shape(context, builder, items, value, name):
    shape = cgutils.create_struct_proxy(items)(context, builder, value).shape
    if name == "shape":
        return shape
    lengths = cgutils.unpack_tuple(builder, shape, items.ndim)
    return size_of(context, builder, lengths)


# ------------------------------------------------------------------ parts


def _parts(index):
    return tuple(index.types) if isinstance(index, types.BaseTuple) else (index,)


def _kinds(index):
    """Return the kinds of the parts of an index, see `.rows.selected_axes`."""
    return "".join(map(_kind, _parts(index)))


def _kind(part):
    if isinstance(part, types.SliceType):
        return OTHER if part.has_step else SLICE
    if isinstance(part, types.EllipsisType):
        return REST
    return INTEGER if isinstance(part, types.Integer) else OTHER


@infer_global(operator.getitem)
class _GetItem(AbstractTemplate):
    def generic(self, args, _keywords):
        """Return the signature of ``items[index]``."""
        items, index = args
        if isinstance(items, ItemsType):
            ndim = selected_axes(_kinds(index), items.ndim)
            if ndim is not None:
                return signature(items.part(ndim), items, index)
        return None


@infer_global(operator.setitem)
class _SetItem(AbstractTemplate):
    def generic(self, args, _keywords):
        """Return the signature of ``items[index] = value``."""
        items, index, value = args
        if not isinstance(items, ItemsType):
            return None
        if selected_axes(_kinds(index), items.ndim) is None:
            return None
        # Whether it may be written to, and fits, is checked later, with a message.
        if not isinstance(value, (ItemsType, types.BaseTuple)):
            value = number_of(items.dtype)
        return signature(types.none, items, index, value)


@overload(len)
def _length(items):
    return (lambda items: items.shape[0]) if isinstance(items, ItemsType) else None


class Part(NamedTuple):
    """A part of an array: where it begins, and its shape; without axes it is an item.

    Its items lie side by side.
    """

    pointer: Any
    shape: list

    @classmethod
    def whole(cls, context, builder, items, value):
        """Return all of an array."""
        struct = cgutils.create_struct_proxy(items)(context, builder, value)
        return cls(struct.data, cgutils.unpack_tuple(builder, struct.shape, items.ndim))

    @classmethod
    def at(cls, context, builder, items, value, index, index_value):
        """Return what is at an index."""
        data, shape = cls.whole(context, builder, items, value)
        values = [index_value]
        if isinstance(index, types.BaseTuple):
            values = cgutils.unpack_tuple(builder, index_value, len(index.types))
        parts = list(zip(_parts(index), values, strict=True))
        offset = zero = context.get_constant(types.intp, 0)
        while parts and isinstance(parts[0][0], types.Integer):
            (part, number), length = parts.pop(0), shape.pop(0)
            place = context.cast(builder, number, part, types.intp)
            if getattr(part, "signed", True):
                is_negative = builder.icmp_signed("<", place, zero)
                place = builder.select(is_negative, builder.add(place, length), place)
            is_outside = builder.icmp_unsigned(">=", place, length)
            _refuse(context, builder, is_outside, IndexError, OUTSIDE)
            offset = builder.add(builder.mul(offset, length), place)
        offset = builder.mul(offset, size_of(context, builder, shape))
        if parts and isinstance(parts[0][0], types.SliceType):
            ((part, number),) = parts
            bounds = context.make_helper(builder, part, number)
            slicing.fix_slice(builder, bounds, shape[0])
            distance = size_of(context, builder, shape[1:])
            offset = builder.add(offset, builder.mul(bounds.start, distance))
            shape[0] = slicing.get_slice_length(builder, bounds)
        return cls(builder.gep(data, [offset]), shape)


def _refuse(context, builder, is_wrong, error, message):
    """Raise an error where a condition is true."""
    with builder.if_then(is_wrong, likely=False):
        context.call_conv.return_user_exc(builder, error, (message,))


@lower_builtin(operator.getitem, ItemsType, types.Any)
def _get_item(context, builder, sig, args):
    items, index = sig.args
    part = Part.at(context, builder, items, args[0], index, args[1])
    return _read(context, builder, items, sig.return_type, part)


def _read(context, builder, items, result, part):
    """Return a part of an array as a number or as an array."""
    if part.shape:
        return make_items(context, builder, result, part.pointer, part.shape)
    number = context.unpack_value(builder, items.dtype, part.pointer)
    return context.cast(builder, number, items.dtype, result)


@lower_builtin(operator.setitem, ItemsType, types.Any, types.Any)
def _set_item(context, builder, sig, args):
    items, index, kind = sig.args
    part = Part.at(context, builder, items, args[0], index, args[1])
    if isinstance(kind, ItemsType):
        assign_items(context, builder, items, part, kind, args[2])
    elif isinstance(kind, types.BaseTuple):
        length = context.get_constant(types.intp, len(kind.types))
        differs = builder.icmp_signed("!=", part.shape[0], length)
        _refuse(context, builder, differs, ValueError, SHAPES_DIFFER)
        values = cgutils.unpack_tuple(builder, args[2], len(kind.types))
        for k, (number, value) in enumerate(zip(kind.types, values, strict=True)):
            item = context.cast(builder, value, number, items.dtype)
            at = builder.gep(part.pointer, [context.get_constant(types.intp, k)])
            context.pack_value(builder, items.dtype, item, at)
    else:
        value = context.cast(builder, args[2], kind, items.dtype)
        if not part.shape:
            context.pack_value(builder, items.dtype, value, part.pointer)
            return context.get_dummy_value()
        with cgutils.for_range(builder, size_of(context, builder, part.shape)) as loop:
            at = builder.gep(part.pointer, [loop.index])
            context.pack_value(builder, items.dtype, value, at)
    return context.get_dummy_value()


def assign_items(context, builder, items, part, source_type, source):
    """Copy an array to a part of an array."""
    data, shape = Part.whole(context, builder, source_type, source)
    for length, target in zip(shape, part.shape, strict=True):
        differs = builder.icmp_signed("!=", length, target)
        _refuse(context, builder, differs, ValueError, SHAPES_DIFFER)
    size, dtype = size_of(context, builder, part.shape), source_type.dtype
    if dtype == items.dtype:
        # The two may overlap.
        width = context.get_abi_sizeof(context.get_data_type(dtype))
        cgutils.raw_memmove(builder, part.pointer, data, size, width)
        return
    number = number_of(dtype)
    with cgutils.for_range(builder, size) as loop:
        value = context.unpack_value(builder, dtype, builder.gep(data, [loop.index]))
        value = context.cast(builder, value, dtype, number)
        value = context.cast(builder, value, number, items.dtype)
        at = builder.gep(part.pointer, [loop.index])
        context.pack_value(builder, items.dtype, value, at)


@lower_builtin("getiter", ItemsType)
def _iterate(context, builder, sig, args):
    struct = context.make_helper(builder, sig.return_type)
    zero = context.get_constant(types.intp, 0)
    struct.items, struct.index = args[0], cgutils.alloca_once_value(builder, zero)
    return struct._getvalue()


@lower_builtin("iternext", IteratorType)
@iternext_impl(RefType.UNTRACKED)
def _iterate_next(context, builder, sig, args, result):
    (iterator,) = sig.args
    struct = context.make_helper(builder, iterator, value=args[0])
    part = Part.whole(context, builder, iterator.items, struct.items)
    index = builder.load(struct.index)
    is_valid = builder.icmp_signed("<", index, part.shape[0])
    result.set_valid(is_valid)
    with builder.if_then(is_valid):
        distance = size_of(context, builder, part.shape[1:])
        pointer = builder.gep(part.pointer, [builder.mul(index, distance)])
        row = Part(pointer, part.shape[1:])
        kind = iterator.yield_type
        result.yield_(_read(context, builder, iterator.items, kind, row))
        one = context.get_constant(types.intp, 1)
        builder.store(builder.add(index, one), struct.index)


# ------------------------------------------------------------------ writes


def problem_of_items(items, index, value):
    """Return what is wrong with ``items[index] = value``, or None."""
    if not items.is_writable:
        return (
            "this array cannot be written: it is an action, an array of the class, or "
            "a variable in observe or legal"
        )
    ndim = selected_axes(_kinds(index), items.ndim)
    numbers = [value]
    if isinstance(value, ItemsType):
        if ndim != value.ndim:
            return axes_differ(ndim, value.ndim)
        numbers = [number_of(value.dtype)]
    elif isinstance(value, types.BaseTuple):
        if ndim != 1:
            return axes_differ(ndim, 1)
        numbers = map(types.unliteral, value.types)
    if not all(accepts(items.dtype, number) for number in numbers):
        return f"an array of {items.dtype} cannot take {describe_type(value)}"
    return None


def describe_type(value):
    """Return a type in words."""
    is_array = isinstance(value, ItemsType)
    return f"an array of {value.dtype}" if is_array else f"a {value}"
