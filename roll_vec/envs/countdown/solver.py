"""The exact solver: an expression for a target, and all targets that there are."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from roll_vec.envs.countdown.answers import OPERATORS, operator_flags
from roll_vec.envs.countdown.options import check_operators, check_range, is_exact
from roll_vec.errors import InvalidOptionError
from roll_vec.kernels.countdown import expressions
from roll_vec.kernels.countdown import targets as kernels

__all__ = ["needs_signs", "reachable", "solve"]

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
    """Return whether negative values matter for targets from ``lowest`` on."""
    return "-" in operators and ("+" not in operators or lowest < 0)


def solve(nums: Sequence[int], target: int, operators: str = OPERATORS) -> str | None:
    """Return an expression that uses every number once and has the target's value.

    Parameters
    ----------
    nums : sequence of int
        1 to 6 numbers from 0 on.
    target : int
    operators : str
        Those of ``+-*/`` that may be used.

    Returns
    -------
    str or None
        The same expression for the same arguments; None where there is none.

    Raises
    ------
    InvalidOptionError
        For arguments that are not as described, and for numbers whose product times
        2**(count - 1) is not below 2**63.
    """
    numbers, operators = _check(nums, operators)
    try:
        wanted = operator.index(target)
    except TypeError:
        message = f"target: expected an integer, got {target!r}"
        raise InvalidOptionError(message) from None
    if abs(wanted) >= 1 << 63:
        return None
    if len(numbers) == 1:
        return str(wanted) if wanted == numbers[0] else None
    return _Search(numbers, operators, wanted).expression()


def reachable(
    nums: Sequence[int],
    operators: str = OPERATORS,
    target_range: tuple[int, int] | None = None,
) -> list[int]:
    """Return every integer that some numbers reach, each number used exactly once.

    Parameters
    ----------
    nums : sequence of int
        1 to 6 numbers from 0 on.
    operators : str
        Those of ``+-*/`` that may be used.
    target_range : (int, int) or None
        Least and greatest one; None: all of them, zero and negative ones as well.

    Returns
    -------
    list of int
        Ascending.

    Raises
    ------
    InvalidOptionError
        As `solve`.
    """
    numbers, operators = _check(nums, operators)
    limit = (1 << 63) - 1
    low, high = -limit, limit
    if target_range is not None:
        low, high = check_range("target_range", target_range, -limit, limit)
    table = _fill(numbers, operators, needs_signs(operators, low), whole=True)
    values, dens = kernels.read_values((1 << len(numbers)) - 1, table)
    integers = values % dens == 0
    found = values[integers] // dens[integers]
    kept: list[int] = np.unique(found[(found >= low) & (found <= high)]).tolist()
    return kept


def _check(nums: Any, operators: Any) -> tuple[NDArray[np.int64], str]:
    """Return validated numbers and operators."""
    operators = check_operators(operators)
    try:
        numbers = [operator.index(number) for number in nums]
    except TypeError:
        message = f"nums: expected a sequence of integers, got {nums!r}"
        raise InvalidOptionError(message) from None
    if not 1 <= len(numbers) <= kernels.MAX_NUMBERS or min(numbers) < 0:
        message = (
            f"nums: expected 1 to {kernels.MAX_NUMBERS} integers from 0 on, "
            f"got {numbers}"
        )
        raise InvalidOptionError(message)
    if not is_exact(numbers):
        message = (
            "nums: expected numbers whose product times 2**(count - 1) is below "
            f"2**63, got {numbers}"
        )
        raise InvalidOptionError(message)
    return np.array(numbers, np.int64), operators


def _fill(
    numbers: NDArray[np.int64], operators: str, signed: bool, *, whole: bool
) -> NDArray[np.int64]:
    """Return the values of all subsets of some numbers, the whole set too or not."""
    count = len(numbers)
    table = np.empty(kernels.table_size(count, count - 1 + whole), np.int64)
    flags = operator_flags(operators)
    kernels.fill_table(numbers, count, (1 << count) - 1 + whole, flags, signed, table)
    return table


class _Search:
    """The way back from a target to the numbers that reach it."""

    def __init__(self, numbers: NDArray[np.int64], operators: str, target: int) -> None:
        self.numbers, self.target = numbers, target
        self.flags = operator_flags(operators)
        self.signed = needs_signs(operators, target)
        self.table = _fill(numbers, operators, self.signed, whole=False)

    def expression(self) -> str | None:
        everything = (1 << len(self.numbers)) - 1
        found = self._explain(everything, self.target, 0)
        return None if found is None else found[0]

    def _explain(self, mask: int, value: int, den: int) -> tuple[str, str] | None:
        """Return an expression of a set's numbers, and the operator at its top."""
        if mask & (mask - 1) == 0:
            return str(value), ""
        left, right, code, i, j = kernels.find_split(
            mask, value, den, self.flags, self.signed, self.table
        )
        if left == 0:
            return None
        parts = [
            self._explain(int(part), int(self.table[at]), int(self.table[at + 1]))
            for part, at in ((left, i), (right, j))
        ]
        sign, reversed_ = _SIGNS[code]
        if reversed_:
            parts.reverse()
        # Every value of the table has an expression.
        (first, first_top), (second, second_top) = (part or ("", "") for part in parts)
        if sign in "*/" and first_top in ("+", "-"):
            first = f"({first})"
        if second_top and (
            sign == "/"
            or (sign == "-" and second_top in "+-")
            or (sign == "*" and second_top in "+-")
        ):
            second = f"({second})"
        return f"{first} {sign} {second}", sign
