"""Countdown tasks: every value that some numbers reach, and one drawn as the target.

The values of a set of numbers, each used exactly once, are those of its splits into
two parts, a value of one part combined with a value of the other.  Values are fractions
of int64, not in lowest terms; see `expressions` for why numerators and denominators of
n numbers up to m never exceed m**n * 2**(n - 1), which the caller keeps below 2**63.

Where both + and - may be used, or - may not, negative values are left out: they
reach no positive one that others do not reach.  For with x and y up to their signs
reachable, |x + y| and |x - y| are the sum and the difference of |x| and |y|, and the
difference can be taken in the order that is not negative.

Nor is the same value made in every way.  a + (b - c) is (a + b) - c, a - (b - c) is
(a + c) - b and (a - b) - c is a - (b + c): where both + and - may be used, no operand
of theirs need be a difference.  Likewise no operand of * and / need be a quotient (what
a quotient by 0 would have excluded has a value then, one that the numbers reach).  And
a + (b + c) is (a + b) + c, so that the right operand of + need be no sum, nor that of *
a product.
"""

import math

import numpy as np

from .._jit import kernel
from ..rng.pcg64 import fold_in
from .expressions import COUNT, DIVIDED, MINUS, NUMBERS, PLUS, TARGET, TIMES

MAX_NUMBERS = 6
MAX_ATTEMPTS = 1000

# The settings of tasks are one row of int64.
FEWEST, MOST, LOW, HIGH, TARGET_LOW, TARGET_HIGH, OPERATORS, SIGNED = range(8)
NUM_SETTINGS = 8

# A table of values is one row of int64: where the values of each set begin and end, and
# the values: numerator, denominator, how they were made.  A set is a bit mask.
_ENDS = 64
_VALUES = 128
_WIDTH = 3

# Words of the stream that draws tasks: fold_in(seed, TASKS + 8 * attempt + word).
# Counters of episodes are far below, those of retries far above.
TASKS = np.uint64(1 << 62)

# The ways to combine x and y; the operator that each needs.
SUM, LESS, LESS_REVERSED, PRODUCT, RATIO, RATIO_REVERSED = range(6)
_NUMBER = 6
_ADDITIVE = 1 << SUM | 1 << LESS | 1 << LESS_REVERSED
_MULTIPLICATIVE = 1 << PRODUCT | 1 << RATIO | 1 << RATIO_REVERSED


def table_size(num_numbers, stop=None):
    """Return the length of a table for subsets of so many numbers.

    Parameters
    ----------
    num_numbers : int
    stop : int or None
        Subsets have fewer numbers than this; None: than there are.
    """
    ways = [0, 1]
    for size in range(2, num_numbers if stop is None else stop):
        # Each split once: the part that has the first number and the other one.
        ways.append(
            sum(
                math.comb(size - 1, part - 1) * ways[part] * ways[size - part] * 6
                for part in range(1, size)
            )
        )
    values = sum(math.comb(num_numbers, size) * n for size, n in enumerate(ways))
    return _VALUES + _WIDTH * values


def read_values(mask, table):
    """Return numerators and denominators of a set of numbers, (m,) int64 each."""
    values = table[table[mask] : table[_ENDS + mask]].reshape(-1, _WIDTH)
    return values[:, 0], values[:, 1]


@kernel
def _allowed_ways(operators):
    """Return the bit mask of the ways to combine that the operators allow."""
    ways = 0
    if operators & PLUS:
        ways |= 1 << SUM
    if operators & MINUS:
        ways |= 1 << LESS | 1 << LESS_REVERSED
    if operators & TIMES:
        ways |= 1 << PRODUCT
    if operators & DIVIDED:
        ways |= 1 << RATIO | 1 << RATIO_REVERSED
    return ways


@kernel
def _useful_ways(ways, made):
    """Return the ways that an operand has a use in, by how it was made itself."""
    if (made == LESS or made == LESS_REVERSED) and ways & 1 << SUM:
        return ways & ~_ADDITIVE
    if (made == RATIO or made == RATIO_REVERSED) and ways & 1 << PRODUCT:
        return ways & ~_MULTIPLICATIVE
    return ways


@kernel
def _useful_ways_right(ways, made):
    """Return the ways that a right operand has a use in."""
    if made == SUM or made == PRODUCT:
        return ways & ~(1 << made)
    return _useful_ways(ways, made)


@kernel
def _combine(way, signed, x, x_den, y, y_den):
    """Return x and y combined, as numerator and denominator.

    The denominator is 0 where there is no value, or where signs are left out a
    negative one (or the same zero a second time).
    """
    if way == SUM:
        return x * y_den + y * x_den, x_den * y_den
    if way == LESS:
        value = x * y_den - y * x_den
        return value, (x_den * y_den if signed or value >= 0 else 0)
    if way == LESS_REVERSED:
        value = y * x_den - x * y_den
        return value, (x_den * y_den if signed or value > 0 else 0)
    if way == PRODUCT:
        return x * y, x_den * y_den
    if way == RATIO:
        if y < 0:
            return -x * y_den, -x_den * y
        return x * y_den, x_den * y
    if x < 0:
        return -y * x_den, -y_den * x
    return y * x_den, y_den * x


@kernel
def fill_table(numbers, count, stop, operators, signed, table):
    """Write the values of the subsets of some numbers.

    Parameters
    ----------
    numbers : (>= count,) int64
    count : int
        At most `MAX_NUMBERS`.
    stop : int
        Subsets are those of a mask below this: ``2**count - 1`` for the proper ones,
        one more for all.
    operators : int
        Bit mask of `PLUS`, `MINUS`, `TIMES`, `DIVIDED`.
    signed : bool
        Whether negative values are kept.
    table : (table_size(count, ...),) int64, written
    """
    ways = _allowed_ways(operators)
    position = _VALUES
    for mask in range(1, stop):
        table[mask] = position
        lowest = mask & -mask
        if mask == lowest:
            for i in range(count):
                if mask >> i & 1:
                    table[position], table[position + 1] = numbers[i], 1
                    table[position + 2] = _NUMBER
            position += _WIDTH
        else:
            rest = mask ^ lowest
            part = rest
            # All subsets of the rest but the rest itself, downwards.
            while part:
                part = (part - 1) & rest
                position = _fill_split(
                    part | lowest, rest ^ part, ways, signed, table, position
                )
        table[_ENDS + mask] = position


@kernel
def _fill_split(left, right, ways, signed, table, position):
    """Write the values of one split from a position on; return the next one."""
    for i in range(table[left], table[_ENDS + left], _WIDTH):
        x, x_den = table[i], table[i + 1]
        left_ways = _useful_ways(ways, table[i + 2])
        for j in range(table[right], table[_ENDS + right], _WIDTH):
            y, y_den = table[j], table[j + 1]
            useful = _useful_ways_right(left_ways, table[j + 2])
            for way in range(6):
                if useful >> way & 1:
                    value, den = _combine(way, signed, x, x_den, y, y_den)
                    if den != 0:
                        table[position], table[position + 1] = value, den
                        table[position + 2] = way
                        position += _WIDTH
    return position


@kernel
def _mark(value, den, low, high, marks):
    """Mark value / den, if it is an integer from low to high; return 1 if it is new."""
    integer = value // den
    if integer * den != value or integer < low or integer > high:
        return 0
    # Wide at once: with the JIT off a sum of uint8 would wrap around.
    new = 1 - np.int64(marks[integer - low])
    marks[integer - low] = 1
    return new


@kernel
def _mark_split(left, right, ways, signed, table, low, high, marks):
    """Mark the integers of a range that one split reaches; return how many are new.

    The ways to combine are those of `_combine`, all at once: of the numerators over
    the common denominator one makes the sum, the differences and the ratios.
    """
    new = 0
    # Wider by one than the range: rounding never leaves out what belongs to it.
    below, above = np.float64(low) - 1.0, np.float64(high) + 1.0
    for i in range(table[left], table[_ENDS + left], _WIDTH):
        x, x_den = table[i], table[i + 1]
        left_ways = _useful_ways(ways, table[i + 2])
        for j in range(table[right], table[_ENDS + right], _WIDTH):
            y, y_den = table[j], table[j + 1]
            useful = _useful_ways_right(left_ways, table[j + 2])
            den = x_den * y_den
            first, second = x * y_den, y * x_den
            least, most = below * np.float64(den), above * np.float64(den)
            if useful & 1 << SUM and least < np.float64(first + second) < most:
                new += _mark(first + second, den, low, high, marks)
            if useful & 1 << LESS:
                value = first - second
                if not signed:
                    value = abs(value)
                if least < np.float64(value) < most:
                    new += _mark(value, den, low, high, marks)
                if signed and least < np.float64(-value) < most:
                    new += _mark(-value, den, low, high, marks)
            if useful & 1 << PRODUCT and least < np.float64(x * y) < most:
                new += _mark(x * y, den, low, high, marks)
            if useful & 1 << RATIO:
                if second < 0:
                    first, second = -first, -second
                size = np.float64(second)
                if below * size < np.float64(first) < above * size:
                    new += _mark(first, second, low, high, marks)
                if first < 0:
                    first, second = -first, -second
                size = np.float64(first)
                if below * size < np.float64(second) < above * size:
                    new += _mark(second, first, low, high, marks)
    return new


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
        1 where the integer ``low + i`` is reached.

    Returns
    -------
    int
        How many are.
    """
    for i in range(high - low + 1):
        marks[i] = 0
    if count == 1:
        if low <= numbers[0] <= high:
            marks[numbers[0] - low] = 1
            return 1
        return 0
    fill_table(numbers, count, (1 << count) - 1, operators, signed, table)
    ways = _allowed_ways(operators)
    rest = (1 << count) - 2
    part = rest
    found = 0
    while part:
        part = (part - 1) & rest
        found += _mark_split(
            part | 1, rest ^ part, ways, signed, table, low, high, marks
        )
    return found


@kernel
def find_split(mask, wanted, wanted_den, operators, signed, table):
    """Find how a set of numbers reaches a value.

    Parameters
    ----------
    mask : int
        The set, of at least two numbers.
    wanted, wanted_den : int
        A value as the table has it; for the set of all numbers an integer and 0.
    operators, signed, table
        As `fill_table` had and left them.

    Returns
    -------
    left, right : int
        Sets; left is 0 where the value is not reached.
    way : int
        How their values are combined.
    i, j : int
        Where their values are in the table.
    """
    ways = _allowed_ways(operators)
    lowest = mask & -mask
    rest = mask ^ lowest
    part = rest
    while part:
        part = (part - 1) & rest
        left, right = part | lowest, rest ^ part
        for i in range(table[left], table[_ENDS + left], _WIDTH):
            x, x_den = table[i], table[i + 1]
            for j in range(table[right], table[_ENDS + right], _WIDTH):
                y, y_den = table[j], table[j + 1]
                for way in range(6):
                    if ways >> way & 1:
                        value, den = _combine(way, signed, x, x_den, y, y_den)
                        if den == 0:
                            continue
                        if wanted_den == 0 and value % den == 0:
                            value, den = value // den, 0
                        if value == wanted and den == wanted_den:
                            return left, right, way, i, j
    return 0, 0, 0, 0, 0


@kernel
def _draw(seed, counter, low, high):
    """Return a word of the stream as an integer from low to high."""
    word = np.int64(fold_in(seed, TASKS + np.uint64(counter)))
    return low + (word * (high - low + 1) >> 32)


@kernel
def draw_task(level, settings, work, table, marks):
    """Draw the task of a level.

    How many numbers there are is drawn once; numbers that reach no target in the
    range are drawn again; every target that they reach is equally likely.

    Parameters
    ----------
    level : int
        Below 2**33.
    settings : (NUM_SETTINGS,) int64
    work : (w,) int64, updated
        A workspace of `expressions`; gets the task.
    table : (table_size(MOST),) int64, written
    marks : (TARGET_HIGH - TARGET_LOW + 1,) uint8, written

    Returns
    -------
    bool
        False where `MAX_ATTEMPTS` draws of numbers reached no target.
    """
    seed = np.uint64(level)
    count = _draw(seed, 0, settings[FEWEST], settings[MOST])
    low, high = settings[TARGET_LOW], settings[TARGET_HIGH]
    operators, signed = settings[OPERATORS], settings[SIGNED] != 0
    work[COUNT] = count
    for attempt in range(MAX_ATTEMPTS):
        for i in range(count):
            work[NUMBERS + i] = _draw(
                seed, 8 * attempt + 1 + i, settings[LOW], settings[HIGH]
            )
        numbers = work[NUMBERS:]
        found = mark_targets(numbers, count, operators, signed, low, high, table, marks)
        if found > 0:
            skipped = _draw(seed, 8 * attempt + 7, 0, found - 1)
            target = low
            while skipped > 0 or marks[target - low] == 0:
                skipped -= marks[target - low]
                target += 1
            work[TARGET] = target
            return True
    return False
