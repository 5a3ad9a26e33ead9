"""Arguments that stay the same from call to call, as one array of words.

numba looks at each array of a call from Python: with 16 of them this takes ten times as
long as a step of one environment.  The arrays of a batch never move, so that their
addresses, shapes and strides are packed once, and compiled code reads them from there.
With the JIT off the words are the values themselves.
"""

import functools
import hashlib
from typing import Any

import numba
import numpy as np
from numba.core import types
from numba.core.extending import intrinsic
from numba.np.arrayobj import populate_array

from ._jit import IS_COMPILED, kernel

if not IS_COMPILED:
    from .rows import clear_rows
else:
    from ._compiled_rows import clear_rows

_0 = np.uint64(0)


def pack(values):
    """Return the words of numbers and arrays, in nested tuples.

    Parameters
    ----------
    values : tuple
        Of tuples, arrays, and numbers of Python.

    Returns
    -------
    (m,) int64
        They hold addresses: the arrays must outlive them.
    """
    if not IS_COMPILED:
        return values
    return np.array(list(_words(values)), np.int64)


def _words(value):
    if isinstance(value, tuple):
        for item in value:
            yield from _words(item)
    elif isinstance(value, np.ndarray):
        yield from (value.ctypes.data, *value.shape, *value.strides)
    elif isinstance(value, float):
        yield int(np.float64(value).view(np.int64))
    else:
        yield int(value)


def type_of(values):
    """Return the type of values, None with the JIT off."""
    if not IS_COMPILED:
        return None
    return numba.typeof(values)


@kernel
def _find_row(rows, row):
    """Return the position of the first of some ascending rows that is not below a row.

    Each thread finds its own rows so: to look at all of them took a tenth of a step.
    """
    low, high = 0, rows.shape[0]
    while low < high:
        middle = (low + high) // 2
        if rows[middle] < row:
            low = middle + 1
        else:
            high = middle
    return low


@functools.cache
def make_step(
    step_rows,
    observe_rows,
    begin_next,
    write_reset_infos,
    num_flags,
    first_reset_info,
    num_reset_infos,
    key,
    fixed_type,
):
    """Return the kernels of a batch that read what is fixed from words.

    Parameters
    ----------
    step_rows : kernel
        ``step_rows(start, stop, at, actions, skip_mask, rules, state, results, infos,
        observations)``.
    observe_rows : kernel
        ``observe_rows(start, stop, at, state, observations)``.
    begin_next, write_reset_infos : kernels
        See `.unroll.make_unroll`.
    num_flags : int
        Number of the first infos that are (n,) bool.
    first_reset_info, num_reset_infos : int
        Number of the infos between these, and of the last ones, which are infos of
        resets, too.
    key : str
        Digest of the game, for the cache on disk.
    fixed_type : type
        `type_of` ``rules, state, episodes``.

    Returns
    -------
    step, begin, observe : kernels
        The same for all batches with the same types.
    """
    load, join = _make_loader(fixed_type), _make_join(num_flags)
    compiled, first_mask = _kernel_for(key, fixed_type), 3 + num_flags

    @compiled
    def step(
        start,
        stop,
        words,
        begins,
        actions,
        skip_mask,
        rewards,
        flags,
        infos,
        out,
    ):
        """Begin the episodes of some rows, then take one step in the other ones.

        Parameters
        ----------
        start, stop : int
            The rows to work on.
        words : (w,) int64, read
            Of `BoundStep`: the rules, the state, and what next episodes begin with.
        begins : (m,) int64, read
            The rows whose next episodes begin, ascending; they are in memory.
        actions : (n, ...) array, read
        skip_mask : (n,) bool, read
            The rows that take no step: those of ``begins`` are among them.
        rewards : (n,) float64, written
        flags : (3 + num_flags + m, n) bool, written
            Terminations, truncations, either of them, the first infos, and m times the
            rows that have an info: those that are not to skip, and of the infos of
            resets, which are the last ones, those of ``begins``.
        infos, out : tuples of (n, ...) arrays, written
            The other infos, and the observations of all rows.

        Returns
        -------
        bool
            Whether an episode of these rows has ended.
        """
        rules, state, episodes = load(words)
        first, last = _find_row(begins, start), _find_row(begins, stop)
        for j in range(first, last):
            begin_next(np.uint64(begins[j]), episodes, state)
        results, every = (rewards, flags[0], flags[1]), join(flags, infos)
        step_rows(
            start, stop, _0, actions, skip_mask, rules, state, results, every, out
        )
        has_ends = False
        for i in range(np.uint64(start), np.uint64(stop)):
            flags[2, i] = flags[0, i] | flags[1, i]
            has_ends |= flags[2, i]
        for mask in range(first_mask, flags.shape[0]):
            for i in range(np.uint64(start), np.uint64(stop)):
                flags[mask, i] = not skip_mask[i]
        if num_reset_infos > 0:
            reset_infos = infos[first_reset_info:]
            for j in range(first, last):
                i = np.uint64(begins[j])
                write_reset_infos(i, i, state, reset_infos)
                for mask in range(flags.shape[0] - num_reset_infos, flags.shape[0]):
                    flags[mask, i] = True
        return has_ends

    @compiled
    def begin(start, stop, words, begins, observations, observes_all):
        """Begin the next episodes of some rows, and observe these or all rows.

        Parameters
        ----------
        start, stop, words, begins
            See `step`.
        observations : tuple of (n, ...) arrays, written
        observes_all : bool
        """
        _, state, episodes = load(words)
        for j in range(_find_row(begins, start), _find_row(begins, stop)):
            i = np.uint64(begins[j])
            begin_next(i, episodes, state)
            if not observes_all:
                observe_rows(begins[j], begins[j] + 1, _0, state, observations)
        if observes_all:
            observe_rows(start, stop, _0, state, observations)

    @compiled
    def observe(start, stop, words, rows, out_rows, out):
        """Write the observation of each row ``rows[j]`` to row ``out_rows[j]``.

        Parameters
        ----------
        start, stop : int
            The range of ``rows`` to work on.
        words : (w,) int64, read
        rows, out_rows : (m,) int64, read
        out : tuple of arrays, written
        """
        state = load(words)[1]
        for j in range(np.uint64(start), np.uint64(stop)):
            at = np.uint64(out_rows[j]) - np.uint64(rows[j])
            observe_rows(rows[j], rows[j] + 1, at, state, out)

    return step, begin, observe


@functools.cache
def make_step_and_reset(
    step_rows,
    observe_rows,
    observe_last,
    begin_next,
    move_infos,
    write_reset_infos,
    num_flags,
    first_reset_info,
    num_reset_infos,
    success_row,
    key,
    fixed_type,
):
    """Return the kernel of a step in SAME_STEP mode; see `make_step`.

    Parameters
    ----------
    observe_last : kernel
        As ``observe_rows``, of the last observations of episodes.
    move_infos : kernel
        ``move_infos(i, infos, last_infos)`` copies row i, and leaves zeros.
    success_row : int
        The row of ``flags`` that is the info ``success``; 0: none.
    fixed_type : type
        `type_of` ``rules, state, episodes, finals``.
    """
    load, join = _make_loader(fixed_type), _make_join(num_flags)
    compiled, first_mask = _kernel_for(key, fixed_type), 3 + num_flags

    @compiled
    def step_and_reset(
        start, stop, words, begins, actions, skip_mask, rewards, both_flags, infos, out
    ):
        """Take a step in all rows, and begin the next episodes of those that end.

        Parameters
        ----------
        start, stop : int
            The rows to work on.
        words : (w,) int64, read
            ``finals``, their last item, is written, see below.
        begins : bool
            False: the caller begins the next episodes.
        actions, skip_mask, rewards, infos, out
            See `make_step`; no row is to skip.
        flags : (2, 3 + num_flags + m, n) bool, written
            First those of the step.  Then, where any row ends, those of the rows that
            end, zeros in the others; the first two rows of them are the rows that end.

        Returns
        -------
        int
            The number of these rows that end.

        Notes
        -----
        The items of ``finals``:

        is_compact : bool
            Whether these are all rows: the last observations lie one after the other.
        successes : (n,) bool
            The info ``success`` of the step, if there is one.
        ends : (n,) int64
            From ``start`` on the rows that end.
        last_observations : tuple of (n, ...) arrays
            Of the rows that end, at the row itself or compact.
        last_infos : tuple of (n, ...) arrays
            The infos that are no flags of the rows that end, and zeros in the others.
        """
        rules, state, episodes, finals = load(words)
        is_compact, successes, ends, last_observations, last_infos = finals
        flags, last_flags = both_flags[0], both_flags[1]
        results, every = (rewards, flags[0], flags[1]), join(flags, infos)
        step_rows(
            start, stop, _0, actions, skip_mask, rules, state, results, every, out
        )
        # Branch-free, see `.unroll.list_ends`.
        first = last = np.uint64(start)
        for i in range(np.uint64(start), np.uint64(stop)):
            flags[2, i] = flags[0, i] | flags[1, i]
            ends[last] = np.int64(i)
            last += np.uint64(flags[2, i])
        if success_row > 0:
            for i in range(np.uint64(start), np.uint64(stop)):
                successes[i] = flags[success_row, i]
        for mask in range(first_mask, flags.shape[0]):
            for i in range(np.uint64(start), np.uint64(stop)):
                flags[mask, i] = not flags[2, i]
        # Rows of other threads may end.
        if last == first and is_compact:
            return last - first
        every_last = join(last_flags, last_infos)
        clear_rows(every_last, start, stop)
        for mask in range(2):
            for i in range(np.uint64(start), np.uint64(stop)):
                last_flags[mask, i] = flags[2, i]
        for mask in range(first_mask, flags.shape[0]):
            for i in range(np.uint64(start), np.uint64(stop)):
                last_flags[mask, i] = flags[2, i]
        for j in range(first, last):
            i, row = np.uint64(ends[j]), ends[j]
            k = j if is_compact else i
            observe_last(row, row + 1, k - i, state, last_observations)
            move_infos(i, every, every_last)
            if begins:
                begin_next(i, episodes, state)
                observe_rows(row, row + 1, _0, state, out)
        if begins and num_reset_infos > 0:
            reset_infos = infos[first_reset_info:]
            for j in range(first, last):
                i = np.uint64(ends[j])
                write_reset_infos(i, i, state, reset_infos)
                for mask in range(flags.shape[0] - num_reset_infos, flags.shape[0]):
                    flags[mask, i] = True
        return last - first

    return step_and_reset


@functools.cache
def _make_join(num_flags):
    """Return the kernel that puts so many rows of flags in front of the other infos."""
    if num_flags == 0:
        return _no_flags
    join, row = _make_join(num_flags - 1), 2 + num_flags

    @functools.partial(kernel, key=str(num_flags))
    def join_flags(flags, infos):
        return join(flags, (flags[row], *infos))

    return join_flags


@kernel
def _no_flags(flags, infos):
    return infos


@functools.cache
def make_play(play_row, observe_rows, key, fixed_type):
    """Return the kernel of one action in row 0 that reads what is fixed from words.

    Parameters
    ----------
    play_row, observe_rows : kernels
        See `.unroll.make_unroll`.
    key : str
    fixed_type : type
        `type_of` ``skip_mask, rules, state, results, infos, observations``.

    Returns
    -------
    kernel
        ``play(words, actions)``.
    """
    load, compiled = _make_loader(fixed_type), _kernel_for(key, fixed_type)

    @compiled
    def play(words, actions):
        skip_mask, rules, state, results, infos, observations = load(words)
        play_row(_0, _0, actions, skip_mask, rules, state, results, infos)
        observe_rows(0, 1, _0, state, observations)

    return play


def _kernel_for(key, fixed_type):
    """Return the decorator of the kernels of a game for one type of fixed arguments."""
    digest = hashlib.sha256(str(fixed_type).encode()).hexdigest()[:16]
    return functools.partial(kernel, key=f"{key}-{digest}")


def _make_loader(value_type):
    """Return the function that reads values of a type from the words of `pack`."""
    if value_type is None:
        return lambda words: words

    @intrinsic
    def load(typing_context, words):
        def codegen(context, builder, sig, arguments):
            data = context.make_array(words)(context, builder, arguments[0]).data
            return _Reader(context, builder, data).read(value_type)

        return value_type(words), codegen

    return load


class _Reader:
    """Reads words one after the other, in code that numba generates."""

    def __init__(self, context, builder, data):
        self.context, self.builder, self.data, self.count = context, builder, data, 0

    def word(self):
        """Return the next word."""
        at = self.context.get_constant(types.intp, self.count)
        self.count += 1
        return self.builder.load(self.builder.gep(self.data, [at]))

    def read(self, value_type):
        """Return the next value."""
        context, builder = self.context, self.builder
        if isinstance(value_type, types.BaseTuple):
            item_types: Any = value_type
            items = [self.read(item) for item in item_types]
            return context.make_tuple(builder, value_type, items)
        if not isinstance(value_type, types.Array):
            word = self.word()
            if isinstance(value_type, types.Float):
                return builder.bitcast(word, context.get_value_type(value_type))
            return context.cast(builder, word, types.int64, value_type)
        array = context.make_array(value_type)(context, builder)
        item = context.get_data_type(value_type.dtype)
        address = builder.inttoptr(self.word(), item.as_pointer())
        shape = [self.word() for _ in range(value_type.ndim)]
        strides = [self.word() for _ in range(value_type.ndim)]
        size = context.get_constant(types.intp, context.get_abi_sizeof(item))
        populate_array(array, address, shape, strides, size, meminfo=None)
        return array._getvalue()
