"""One row of stacked arrays as an object: what the rules of an environment see.

``row_of(variables, options, i)`` is environment i of a batch.  ``env.position`` reads
and writes a variable of this environment, ``env.board[y, x]`` a cell of an array of its
own, ``env.length`` reads an option.  Nothing else can be reached.  ``env.board[1]``
and ``env.board[1, 2:4]`` are arrays again, views of a part: they are read, written,
copied to parts of the same shape, and looped over.

Numbers are Python's: every integer reads as an int (int64 in compiled code), every
float as a float64, whatever the dtype of the array is.  A write wraps an integer, or
rounds a float, to that dtype.  An int may be written to a float, a bool to an int;
what else differs is an error when the rule is compiled, and an index outside of an
array is an IndexError when it runs.

The classes here do this in Python, with the JIT off; `._compiled_rows` does it in
compiled code.
"""

import re

import numpy as np

OUTSIDE = "a rule reads or writes outside of an array: an index of it does not exist"

READ_ONLY = "the rules observe and legal only read, so it cannot be written"

INDICES = (
    "rules index by integers, and after these by one slice without a step: for other "
    "parts of an array write a loop"
)

SHAPES_DIFFER = "a rule writes an array to one of another shape"

# Kinds of the parts of an index, one letter each.
INTEGER, SLICE, REST, OTHER = "is.x"
_INDEX = re.compile(f"({INTEGER}*)([{SLICE}{REST}]?)")


def selected_axes(kinds, ndim):
    """Return the number of axes of what is at an index; 0: an item; None: it is wrong.

    Parameters
    ----------
    kinds : str
        Of the parts of the index: an integer, a slice without a step, an ellipsis, or
        something else.
    ndim : int
        Of the array.
    """
    match = _INDEX.fullmatch(kinds)
    if match is None:
        return None
    integers, rest = map(len, match.groups())
    return ndim - integers if integers + rest <= ndim else None


def axes_differ(ndim, other):
    """Return the message of an array that is written to a part with other axes."""
    if ndim == 0:
        return "an item of an array takes a number, no array"
    return f"a part with {ndim} axes cannot take an array with {other}: write a loop"


def must_write_items(name):
    """Return the message of an array that is written as a number is."""
    return f"{name} is an array: write its items, {name}[...] = ..."


FIELD = "item_"


def field_name(number):
    """Return the name of item ``number`` of a row that stands for a tuple."""
    return f"{FIELD}{number}"


def unknown_name(name, variables, options):
    """Return the message of a name, as ``env.name``, that a row does not have."""
    return (
        f"{name}: expected one of the variables {', '.join(variables)} or of the "
        f"options {', '.join(options) or '(none)'}"
    )


_RANKS = {"b": 0, "i": 1, "u": 1, "f": 2}


def _kind_of(value):
    """Return the kind of the dtype that a number has; None: it is no number."""
    kinds = {"b": (bool, np.bool_), "i": (int, np.integer), "f": (float, np.floating)}
    return next((kind for kind in kinds if isinstance(value, kinds[kind])), None)


def _check_kind(name, dtype, kind, value):
    """Check that a rule may write a value of a kind to an array of a dtype."""
    if kind is None or _RANKS[kind] > _RANKS[dtype.kind]:
        is_array = isinstance(value, Items)
        text = f"an array of {value.array.dtype}" if is_array else repr(value)
        message = f"{name} is {dtype}: it cannot take {text}"
        raise TypeError(message)


def _fit(name, dtype, value):
    """Return a value as an item of a dtype, as compiled code converts it."""
    _check_kind(name, dtype, _kind_of(value), value)
    if dtype.kind in "bf":
        return value
    unsigned = np.dtype(f"u{dtype.itemsize}")
    low_bits = int(value) & ((1 << 8 * dtype.itemsize) - 1)
    return unsigned.type(low_bits).view(dtype)


class Items:
    """An array of one row, as rules see it.

    Attributes
    ----------
    array : numpy.ndarray
        A view of the row.
    shape : tuple of int
    size : int
    """

    __slots__ = ("_name", "array")

    def __init__(self, array, name="an array"):
        self.array, self._name = array, name

    @property
    def shape(self):
        """The length of each axis."""
        return self.array.shape

    @property
    def size(self):
        """The number of items."""
        return self.array.size

    @property
    def ndim(self):
        """The number of axes."""
        return self.array.ndim

    def __len__(self):
        return len(self.array)

    def __iter__(self):
        return (self[k] for k in range(len(self)))

    def __eq__(self, other):
        message = "rules compare numbers, not arrays: write a loop"
        raise TypeError(message)

    __hash__ = None

    def __getitem__(self, index):
        part = self._part(index)
        return Items(part, self._name) if isinstance(part, np.ndarray) else part.item()

    def __setitem__(self, index, value):
        if not self.array.flags.writeable:
            message = f"{self._name} cannot be written"
            raise TypeError(message)
        is_array, dtype = isinstance(value, (Items, tuple)), self.array.dtype
        part = self._part(index)
        if not is_array:
            self.array[index] = _fit(self._name, dtype, value)
            return
        ndim, other = np.ndim(part), value.ndim if isinstance(value, Items) else 1
        if ndim != other:
            raise TypeError(axes_differ(ndim, other))
        if isinstance(value, Items):
            _check_kind(self._name, dtype, value.array.dtype.kind, value)
            array = value.array.astype(dtype)
        else:
            array = np.array([_fit(self._name, dtype, item) for item in value], dtype)
        if array.shape != part.shape:
            raise ValueError(SHAPES_DIFFER)
        part[...] = array

    def _part(self, index):
        """Return what is at an index, a view or an item."""
        parts = index if isinstance(index, tuple) else (index,)
        if selected_axes("".join(map(_kind_of_index, parts)), self.ndim) is None:
            message = f"{self._name}: {INDICES}, got {index!r}"
            raise TypeError(message)
        try:
            return self.array[index]
        except IndexError:
            raise IndexError(OUTSIDE) from None


def _kind_of_index(part):
    if isinstance(part, slice):
        return SLICE if part.step is None else OTHER
    if part is Ellipsis:
        return REST
    is_integer = isinstance(part, (int, np.integer)) and not isinstance(part, bool)
    return INTEGER if is_integer else OTHER


class Row:
    """One environment of a batch, as rules see it.

    Parameters
    ----------
    variables : named tuple of arrays
        The first axis is the environment.
    options : named tuple, or ()
        Numbers and arrays.
    i : int
        The environment.
    is_writable : bool
    """

    __slots__ = ("_i", "_is_writable", "_options", "_variables")

    def __init__(self, variables, options, i, is_writable=True):
        object.__setattr__(self, "_is_writable", is_writable)
        for name, value in (("_variables", variables), ("_options", options)):
            object.__setattr__(self, name, value)
        object.__setattr__(self, "_i", int(i))

    def __getattr__(self, name):
        if name in self._variables._fields:
            value = getattr(self._variables, name)[self._i]
        elif name in _names(self._options):
            value = getattr(self._options, name)
        else:
            raise AttributeError(self._unknown(name))
        if isinstance(value, np.ndarray):
            if name not in self._variables._fields or not self._is_writable:
                value = value.view()
                value.flags.writeable = False
            return Items(value, self._full_name(name))
        return value.item() if isinstance(value, np.generic) else value

    def __getitem__(self, number):
        return getattr(self, field_name(number))

    def __setitem__(self, number, value):
        setattr(self, field_name(number), value)

    def __setattr__(self, name, value):
        full_name = self._full_name(name)
        if name not in self._variables._fields:
            if name in _names(self._options):
                message = f"{full_name} is an option: it cannot be written"
                raise TypeError(message)
            raise AttributeError(self._unknown(name))
        if not self._is_writable:
            message = f"{full_name}: {READ_ONLY}"
            raise TypeError(message)
        array = getattr(self._variables, name)
        if array.ndim > 1:
            raise TypeError(must_write_items(full_name))
        array[self._i] = _fit(full_name, array.dtype, value)

    def _full_name(self, name):
        return f"{'out' if _is_output(self._options) else 'env'}.{name}"

    def _unknown(self, name):
        names = self._variables._fields, _names(self._options)
        return unknown_name(self._full_name(name), *names)


def _is_output(options):
    """Return whether a row is one of observations: it has no named tuple of options."""
    return not hasattr(options, "_fields")


def _names(options):
    """Return the names of options, of which there may be none."""
    return getattr(options, "_fields", ())


row_of = Row


def view_of(variables, options, i):
    """Return an environment that cannot be written."""
    return Row(variables, options, i, is_writable=False)


def items_of(array, i):
    """Return the items of one row of an array."""
    return Items(array[i])


def action_at(array, i):
    """Return the items of one row of an array of actions, which rules only read."""
    view = array[i].view()
    view.flags.writeable = False
    return Items(view, "action")


def clear_rows(arrays, start, stop):
    """Set a range of rows of each array to zeros."""
    for array in arrays:
        array[start:stop] = 0


def copy_row(source, i, target, j):
    """Copy row i of each array of the same name to row j of ``target``."""
    for name in target._fields:
        getattr(target, name)[j] = getattr(source, name)[i]
