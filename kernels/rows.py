"""One row of stacked arrays as an object: what the rules of an environment see.

``row_of(variables, options, i)`` is environment i of a batch.  ``env.position`` reads
and writes a variable of this environment, ``env.board[y, x]`` a cell of an array of its
own, ``env.length`` reads an option.  Nothing else can be reached.

Numbers are Python's: every integer reads as an int (int64 in compiled code), every
float as a float64, whatever the dtype of the array is.  A write wraps an integer, or
rounds a float, to that dtype.  An int may be written to a float, a bool to an int;
what else differs is an error when the rule is compiled, and an index outside of an
array is an IndexError when it runs.

The classes here do this in Python, with the JIT off; `._compiled_rows` does it in
compiled code.
"""

import numpy as np

OUTSIDE = "a rule reads or writes outside of an array: an index of it does not exist"

READ_ONLY = "the rules observe and legal only read, so it cannot be written"


def field_name(number):
    """Return the name of item ``number`` of a row that stands for a tuple."""
    return f"item_{number}"


def unknown_name(name, variables, options):
    """Return the message of a name that a row does not have."""
    return (
        f"env.{name}: expected one of the variables {', '.join(variables)} or of the "
        f"options {', '.join(options) or '(none)'}"
    )


def _fit(name, dtype, value):
    """Return a value as an item of a dtype, as compiled code converts it."""
    kind = dtype.kind
    is_bool = isinstance(value, (bool, np.bool_))
    is_int = is_bool or isinstance(value, (int, np.integer))
    is_float = is_int or isinstance(value, (float, np.floating))
    if not {"b": is_bool, "f": is_float}.get(kind, is_int):
        message = f"{name} is {dtype}: it cannot take {value!r}"
        raise TypeError(message)
    if kind in "bf":
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

    def __getitem__(self, index):
        try:
            item = self.array[self._check(index)]
        except IndexError:
            raise IndexError(OUTSIDE) from None
        return Items(item, self._name) if isinstance(item, np.ndarray) else item.item()

    def __setitem__(self, index, value):
        if not self.array.flags.writeable:
            message = f"{self._name} cannot be written"
            raise TypeError(message)
        if not isinstance(index, slice):
            self._check(index)
            if self.ndim != (len(index) if isinstance(index, tuple) else 1):
                message = f"{self._name}: an item has {self.ndim} indices"
                raise TypeError(message)
        try:
            self.array[index] = _fit(self._name, self.array.dtype, value)
        except IndexError:
            raise IndexError(OUTSIDE) from None

    def _check(self, index):
        parts = index if isinstance(index, tuple) else (index,)
        for part in parts:
            if not isinstance(part, (int, np.integer)) or isinstance(part, bool):
                message = f"{self._name}: expected integers as indices, got {index!r}"
                raise TypeError(message)
        return index


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
            names = self._variables._fields, _names(self._options)
            raise AttributeError(unknown_name(name, *names))
        if isinstance(value, np.ndarray):
            if name not in self._variables._fields or not self._is_writable:
                value = value.view()
                value.flags.writeable = False
            return Items(value, f"env.{name}")
        return value.item() if isinstance(value, np.generic) else value

    def __getitem__(self, number):
        return getattr(self, field_name(number))

    def __setitem__(self, number, value):
        setattr(self, field_name(number), value)

    def __setattr__(self, name, value):
        if name not in self._variables._fields:
            if name in _names(self._options):
                message = f"env.{name} is an option: it cannot be written"
                raise TypeError(message)
            names = self._variables._fields, _names(self._options)
            raise AttributeError(unknown_name(name, *names))
        if not self._is_writable:
            message = f"env.{name}: {READ_ONLY}"
            raise TypeError(message)
        array = getattr(self._variables, name)
        if array.ndim > 1:
            message = f"env.{name} is an array: write its items, env.{name}[...] = ..."
            raise TypeError(message)
        array[self._i] = _fit(f"env.{name}", array.dtype, value)


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


def clear_row(variables, i):
    """Set a row of each array to zeros."""
    for array in variables:
        array[i] = 0


def copy_row(source, i, target, j):
    """Copy row i of each array of the same name to row j of ``target``."""
    for name in target._fields:
        getattr(target, name)[j] = getattr(source, name)[i]
