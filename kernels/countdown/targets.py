"""Countdown tasks: every value that some numbers reach, and a target drawn from them.

A set of numbers, each used exactly once, is split into two parts in every way; its
values are a value of one part combined with a value of the other.  Values are fractions
of int64, not in lowest terms; see `expressions` for why numerators and denominators of
n numbers up to m never exceed m**n * 2**(n - 1), which the caller keeps below 2**63.

Negative values are left out if both + and - are allowed, or if - is not: they reach no
positive value that others do not reach.  Proof: with x and y reachable up to their
signs, |x + y| and |x - y| are the sum and the difference of |x| and |y|, and a
difference can be taken in the order that is not negative.

The same value is not computed in every way.  a + (b - c) is (a + b) - c, a - (b - c) is
(a + c) - b, and (a - b) - c is a - (b + c): if both + and - are allowed, no operand of
theirs need be a difference.  Likewise no operand of * and / need be a quotient (a
division by 0 that this rewrites has a value afterwards, one that the numbers reach).
a + (b + c) is (a + b) + c: the right operand of + need not be a sum, nor that of * a
product.
"""

import math

import numpy as np

from .._jit import kernel
from ..rng.pcg64 import fold_in
from .expressions import (
    ADD,
    DIVIDE,
    DIVIDE_REVERSED,
    MULTIPLY,
    NUM_BINARY_OPERATORS,
    NUM_NUMBERS,
    NUMBERS_OFFSET,
    SUBTRACT,
    SUBTRACT_REVERSED,
    TARGET,
    combine,
)

MAX_NUMBERS = 6
MAX_ATTEMPTS = 1000

# The settings of tasks are one row of int64: a named tuple of eight integers takes
# 0.6 us longer to pass, and a task of four numbers 4 us to draw.
LEAST_COUNT, GREATEST_COUNT, LEAST_NUMBER, GREATEST_NUMBER = range(4)
LEAST_TARGET, GREATEST_TARGET, OPERATORS, SIGNED, NUM_SETTINGS = range(4, 9)

# A table of values is one row of int64.  A set is a bit mask of the numbers:
#   table[mask], table[_ENDS + mask]    where the values of the set begin and end
#   table[_VALUES:]                     numerator, denominator, top operator of each
_ENDS = 1 << MAX_NUMBERS
_VALUES = 2 * _ENDS
_WIDTH = 3

# The draws of a task are fold_in(level, TASKS + 8 * attempt + word): word 0 of attempt
# 0 is the count of the numbers, words 1 to 6 are the numbers, word 7 is the target.
# Counters of episodes are far below, those of retries far above.
TASKS = np.uint64(1 << 62)

# The top operator of a value that is a number itself.
_NO_OPERATOR = NUM_BINARY_OPERATORS
_ADDITIVE = 1 << ADD | 1 << SUBTRACT | 1 << SUBTRACT_REVERSED
_MULTIPLICATIVE = 1 << MULTIPLY | 1 << DIVIDE | 1 << DIVIDE_REVERSED


def table_size(num_numbers):
    """Return the length of a table for the proper subsets of so many numbers."""
    counts = [0, 1]
    for size in range(2, num_numbers):
        # Each split once: the part that has the first number and the other one.
        counts.append(
            NUM_BINARY_OPERATORS
            * sum(
                math.comb(size - 1, part - 1) * counts[part] * counts[size - part]
                for part in range(1, size)
            )
        )
    num_values = sum(math.comb(num_numbers, size) * n for size, n in enumerate(counts))
    return _VALUES + _WIDTH * num_values


@kernel
def _drop_useless(operators, top):
    """Return the operators that reach new values of an operand, by its top operator."""
    if (top == SUBTRACT or top == SUBTRACT_REVERSED) and operators & 1 << ADD:
        return operators & ~_ADDITIVE
    if (top == DIVIDE or top == DIVIDE_REVERSED) and operators & 1 << MULTIPLY:
        return operators & ~_MULTIPLICATIVE
    return operators


@kernel
def _drop_useless_right(operators, top):
    """Return the operators that reach new values of a right operand."""
    if top == ADD or top == MULTIPLY:
        return operators & ~(1 << top)
    return _drop_useless(operators, top)


@kernel
def fill_table(numbers, count, operators, signed, table):
    """Write the values of the proper subsets of some numbers.

    Parameters
    ----------
    numbers : (>= count,) int64
    count : int
        At most `MAX_NUMBERS`.
    operators : int
        ``1 << operator`` of each one that is allowed, of `ADD` to `DIVIDE_REVERSED`.
    signed : bool
        Whether negative values are computed.
    table : (table_size(count),) int64, written
    """
    position = _VALUES
    for mask in range(1, (1 << count) - 1):
        table[mask] = position
        lowest = mask & -mask
        if mask == lowest:
            for i in range(count):
                if mask >> i & 1:
                    table[position], table[position + 1] = numbers[i], 1
                    table[position + 2] = _NO_OPERATOR
            position += _WIDTH
        else:
            others = mask ^ lowest
            part = others
            # All proper subsets of the others, downwards.
            while part:
                part = (part - 1) & others
                position = _fill_split(
                    part | lowest, others ^ part, operators, signed, table, position
                )
        table[_ENDS + mask] = position


@kernel
def _fill_split(left_mask, right_mask, operators, signed, table, position):
    """Write the values of one split from a position on; return the next one."""
    for i in range(table[left_mask], table[_ENDS + left_mask], _WIDTH):
        x, x_den = table[i], table[i + 1]
        left_useful = _drop_useless(operators, table[i + 2])
        for j in range(table[right_mask], table[_ENDS + right_mask], _WIDTH):
            y, y_den = table[j], table[j + 1]
            useful = _drop_useless_right(left_useful, table[j + 2])
            for operator in range(NUM_BINARY_OPERATORS):
                if useful >> operator & 1:
                    value, den = combine(operator, signed, x, x_den, y, y_den)
                    if den != 0:
                        table[position], table[position + 1] = value, den
                        table[position + 2] = operator
                        position += _WIDTH
    return position


@kernel
def _mark(value, den, low, high, marks):
    """Mark value / den, if it is an integer from low to high; return 1 if it is new.

    ``den`` is not below 0; 0: there is no value.
    """
    # Wider by one than the range: rounding never leaves out an integer of it.
    size, number = np.float64(den), np.float64(value)
    if not (np.float64(low) - 1.0) * size < number < (np.float64(high) + 1.0) * size:
        return 0
    integer = value // den
    if integer * den != value or integer < low or integer > high:
        return 0
    # Wide at once: with the JIT off a sum of uint8 would wrap around.
    new = 1 - np.int64(marks[integer - low])
    marks[integer - low] = 1
    return new


@kernel
def _mark_split(left_mask, right_mask, operators, signed, table, low, high, marks):
    """Mark the integers of a range that one split reaches; return how many are new.

    The values are those of `combine`, all at once: the numerators over the common
    denominator give the sum, the differences and the quotients.
    """
    num_new = 0
    for i in range(table[left_mask], table[_ENDS + left_mask], _WIDTH):
        x, x_den = table[i], table[i + 1]
        left_useful = _drop_useless(operators, table[i + 2])
        for j in range(table[right_mask], table[_ENDS + right_mask], _WIDTH):
            y, y_den = table[j], table[j + 1]
            useful = _drop_useless_right(left_useful, table[j + 2])
            den = x_den * y_den
            first, second = x * y_den, y * x_den
            if useful & 1 << ADD:
                num_new += _mark(first + second, den, low, high, marks)
            if useful & 1 << SUBTRACT:
                value = first - second
                num_new += _mark(abs(value), den, low, high, marks)
                if signed:
                    num_new += _mark(-abs(value), den, low, high, marks)
            if useful & 1 << MULTIPLY:
                num_new += _mark(x * y, den, low, high, marks)
            if useful & 1 << DIVIDE:
                if second < 0:
                    first, second = -first, -second
                num_new += _mark(first, second, low, high, marks)
                if first < 0:
                    first, second = -first, -second
                num_new += _mark(second, first, low, high, marks)
    return num_new


@kernel
def mark_targets(numbers, count, operators, signed, low, high, table, marks):
    """Mark the integers from low to high that some numbers reach.

    Parameters
    ----------
    numbers, count, operators, signed
        See `fill_table`.
    low, high : int
    table : (table_size(count),) int64, written
    marks : (>= high - low + 1,) uint8, written
        1 if the integer ``low + i`` is reached.

    Returns
    -------
    int
        The number of marks.
    """
    for i in range(high - low + 1):
        marks[i] = 0
    if count == 1:
        if low <= numbers[0] <= high:
            marks[numbers[0] - low] = 1
            return 1
        return 0
    fill_table(numbers, count, operators, signed, table)
    others = (1 << count) - 2
    part = others
    num_marks = 0
    while part:
        part = (part - 1) & others
        num_marks += _mark_split(
            part | 1, others ^ part, operators, signed, table, low, high, marks
        )
    return num_marks


@kernel
def smallest_subset(target, count, table):
    """Return the smallest proper subset of some numbers that reaches an integer.

    Parameters
    ----------
    target : int
        From 0 on if the table was filled without ``signed``.
    count : int
    table : (table_size(count),) int64
        As `fill_table` wrote it.

    Returns
    -------
    int
        Its mask, the lowest one of several; 0 if no subset reaches the target.
    """
    smallest, smallest_size = 0, count
    for mask in range(1, (1 << count) - 1):
        size = 0
        bits = mask
        while bits:
            bits &= bits - 1
            size += 1
        if size >= smallest_size:
            continue
        for i in range(table[mask], table[_ENDS + mask], _WIDTH):
            # Not target * den, which may be beyond int64.
            if table[i] % table[i + 1] == 0 and table[i] // table[i + 1] == target:
                smallest, smallest_size = mask, size
                break
    return smallest


@kernel
def find_split(mask, target, target_den, operators, signed, table):
    """Find how a set of numbers reaches a value.

    Parameters
    ----------
    mask : int
        The set, of at least two numbers.
    target, target_den : int
        A value of the table; or an integer and 0, for any set of the table or that of
        all numbers.
    operators, signed, table
        The arguments of `fill_table`, which wrote the table.

    Returns
    -------
    left_mask, right_mask : int
        The sets of the two parts; left_mask is 0 if the value is not reached.
    operator : int
        The operator that combines their values.
    i, j : int
        The positions of their values in the table.
    """
    lowest = mask & -mask
    others = mask ^ lowest
    part = others
    while part:
        part = (part - 1) & others
        left_mask, right_mask = part | lowest, others ^ part
        for i in range(table[left_mask], table[_ENDS + left_mask], _WIDTH):
            x, x_den = table[i], table[i + 1]
            for j in range(table[right_mask], table[_ENDS + right_mask], _WIDTH):
                y, y_den = table[j], table[j + 1]
                for operator in range(NUM_BINARY_OPERATORS):
                    if operators >> operator & 1:
                        value, den = combine(operator, signed, x, x_den, y, y_den)
                        if den == 0:
                            continue
                        if target_den == 0 and value % den == 0:
                            value, den = value // den, 0
                        if value == target and den == target_den:
                            return left_mask, right_mask, operator, i, j
    return 0, 0, 0, 0, 0


@kernel
def _draw(level, counter, low, high):
    """Return the draw of a level and a counter as an integer from low to high."""
    word = np.int64(fold_in(level, TASKS + np.uint64(counter)))
    return low + (word * (high - low + 1) >> 32)


@kernel
def draw_task(level, settings, work, table, marks):
    """Draw the task of a level.

    The count of the numbers is drawn once; numbers that reach no target in the range
    are drawn again; every target that they reach is equally likely.

    Parameters
    ----------
    level : int
        Below 2**33.
    settings : (NUM_SETTINGS,) int64
    work : (w,) int64, updated
        A workspace of `expressions`; gets the task.
    table : (table_size(GREATEST_COUNT),) int64, written
    marks : (GREATEST_TARGET - LEAST_TARGET + 1,) uint8, written

    Returns
    -------
    bool
        False if `MAX_ATTEMPTS` draws of numbers reached no target.
    """
    level = np.uint64(level)
    count = _draw(level, 0, settings[LEAST_COUNT], settings[GREATEST_COUNT])
    low, high = settings[LEAST_TARGET], settings[GREATEST_TARGET]
    operators, signed = settings[OPERATORS], settings[SIGNED] != 0
    work[NUM_NUMBERS] = count
    numbers = work[NUMBERS_OFFSET:]
    for attempt in range(MAX_ATTEMPTS):
        for i in range(count):
            numbers[i] = _draw(
                level,
                8 * attempt + 1 + i,
                settings[LEAST_NUMBER],
                settings[GREATEST_NUMBER],
            )
        num_targets = mark_targets(
            numbers, count, operators, signed, low, high, table, marks
        )
        if num_targets > 0:
            num_skipped = _draw(level, 8 * attempt + 7, 0, num_targets - 1)
            target = low
            while num_skipped > 0 or marks[target - low] == 0:
                num_skipped -= marks[target - low]
                target += 1
            work[TARGET] = target
            return True
    return False
