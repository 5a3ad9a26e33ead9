"""The exact solver: a correct answer of the fewest operations.

The difficulty of a task is the number of these operations: those of an expression of
the numbers and the allowed operators, without a unary minus.  With
``numbers_rule="all"`` each of n numbers is used once, which always takes n - 1
operations.  With ``"any"`` numbers may be left out: a task of four numbers takes 0 to 3
operations.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from roll_vec.envs.countdown.grading import OPERATORS, operator_flags
from roll_vec.envs.countdown.options import check_operators, is_exact
from roll_vec.errors import InvalidOptionError
from roll_vec.kernels.countdown import expressions
from roll_vec.kernels.countdown import targets as kernels
from roll_vec.options import check_choice

# In place of a number of operations, for rows of files: the task has no solution; it
# has more or larger numbers than the solver accepts.
UNSOLVABLE, TOO_LARGE = -1, -2

# The sign of each operator in an expression, and whether its operands are swapped.
_SIGNS = {
    expressions.ADD: ("+", False),
    expressions.SUBTRACT: ("-", False),
    expressions.SUBTRACT_REVERSED: ("-", True),
    expressions.MULTIPLY: ("*", False),
    expressions.DIVIDE: ("/", False),
    expressions.DIVIDE_REVERSED: ("/", True),
}


def needs_signs(operators: str, lowest: int) -> bool:
    """Return whether an expression of a target may need negative values in between."""
    return "-" in operators and ("+" not in operators or lowest < 0)


def solve(
    nums: Sequence[int],
    target: int,
    operators: str = OPERATORS,
    numbers_rule: str = "all",
) -> str | None:
    """Return an expression of some numbers that has the target's value.

    Parameters
    ----------
    nums : sequence of int
        1 to 6 numbers from 0 on.
    target : int
    operators : str
        Those of ``+-*/`` that may be used.
    numbers_rule : str
        ``all``: each number is used exactly once.  ``any``: at most once; the
        expression has the fewest operations.

    Returns
    -------
    str or None
        The same expression for the same arguments; None if there is none.

    Raises
    ------
    InvalidOptionError
        For arguments of other kinds, and for numbers whose product times
        2**(count - 1) is not below 2**63.
    """
    check_choice("numbers_rule", numbers_rule, ("all", "any"))
    operators = check_operators("operators", operators)
    nums = _check_numbers(nums)
    count = len(nums)
    if not can_solve(nums):
        accepted = f"1 to {kernels.MAX_NUMBERS} integers from 0 on"
        if count <= kernels.MAX_NUMBERS and min(nums, default=-1) >= 0:
            accepted = "numbers whose product times 2**(count - 1) is below 2**63"
        raise InvalidOptionError.expected("nums", accepted, nums)
    try:
        target = operator.index(target)
    except TypeError:
        raise InvalidOptionError.expected("target", "an integer", target) from None
    if abs(target) >= 1 << 63:
        return None
    flags, signed = operator_flags(operators), needs_signs(operators, target)
    table = np.empty(kernels.table_size(count), np.int64)
    kernels.fill_table(np.array(nums, np.int64), count, flags, signed, table)
    mask = 0
    if numbers_rule == "any":
        mask = int(kernels.smallest_subset(target, count, table))
    mask = mask or (1 << count) - 1
    if mask & (mask - 1) == 0:
        return str(target) if nums[mask.bit_length() - 1] == target else None
    expression = _write(mask, target, 0, flags, signed, table)
    return None if expression is None else expression[0]


def count_operations(
    nums: Sequence[int],
    target: int,
    operators: str = OPERATORS,
    numbers_rule: str = "all",
) -> int:
    """Return the fewest operations of an expression that solves a task.

    Parameters
    ----------
    nums, target, operators, numbers_rule
        See `solve`.

    Returns
    -------
    int
        `UNSOLVABLE`, -1, if no expression reaches the target.  `TOO_LARGE`, -2, for
        numbers that `solve` does not accept.

    Raises
    ------
    InvalidOptionError
        For arguments of other kinds.
    """
    nums = _check_numbers(nums)
    if not can_solve(nums):
        return TOO_LARGE
    expression = solve(nums, target, operators, numbers_rule)
    # Numbers and operators stand apart.
    return UNSOLVABLE if expression is None else len(expression.split()) // 2


def _check_numbers(nums: Any) -> list[int]:
    """Return a sequence of integers as Python's."""
    try:
        return [operator.index(number) for number in nums]
    except TypeError:
        raise InvalidOptionError.expected(
            "nums", "a sequence of integers", nums
        ) from None


def can_solve(nums: Sequence[int]) -> bool:
    """Return whether `solve` accepts so many integers of this size."""
    return 1 <= len(nums) <= kernels.MAX_NUMBERS and min(nums) >= 0 and is_exact(nums)


def _write(
    mask: int,
    value: int,
    den: int,
    flags: int,
    signed: bool,
    table: NDArray[np.int64],
) -> tuple[str, str] | None:
    """Return an expression of a subset's value, and its outermost operator.

    Every value of the table has one; an integer whose ``den`` is 0 may have none.
    """
    # Not nested in `solve`: a recursive closure is a cycle, which would keep the table
    # alive, and the next call would wait for fresh memory: 120 us instead of 90.
    if mask & (mask - 1) == 0:
        return str(value), ""
    left_mask, right_mask, code, i, j = kernels.find_split(
        mask, value, den, flags, signed, table
    )
    if left_mask == 0:
        return None
    operands = [
        _write(int(subset), int(table[k]), int(table[k + 1]), flags, signed, table)
        or ("", "")
        for subset, k in ((left_mask, i), (right_mask, j))
    ]
    sign, is_swapped = _SIGNS[code]
    (x, x_sign), (y, y_sign) = operands[::-1] if is_swapped else operands
    if sign in "*/" and x_sign in ("+", "-"):
        x = f"({x})"
    if (sign in "-*" and y_sign in ("+", "-")) or (sign == "/" and y_sign):
        y = f"({y})"
    return f"{x} {sign} {y}", sign
