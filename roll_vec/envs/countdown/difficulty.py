"""The difficulty of tasks: the fewest operations of a correct answer.

An answer is an expression of the numbers and the allowed operators, without a unary
minus.  With ``numbers_rule="all"`` each of n numbers is used once, which always takes
n - 1 operations.  With ``"any"`` numbers may be left out: a task of four numbers takes
0 to 3 operations.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from roll_vec.envs.countdown.grading import OPERATORS, operator_flags
from roll_vec.envs.countdown.solver import (
    can_solve,
    check_numbers,
    fill_subsets,
    needs_signs,
    solve,
)
from roll_vec.kernels.countdown import targets as kernels
from roll_vec.options import check_choice

# In place of a number of operations, for rows of files: the task has no solution; it
# has more or larger numbers than the solver takes.
UNSOLVABLE, TOO_LARGE = -1, -2


def count_operations(
    nums: Sequence[int],
    target: int,
    operators: str = OPERATORS,
    numbers_rule: str = "all",
) -> int:
    """Return the fewest operations of an expression that solves a task.

    Parameters
    ----------
    nums : sequence of int
    target : int
    operators : str
        Those of ``+-*/`` that may be used.
    numbers_rule : str
        ``all``: each number is used exactly once; ``any``: at most once.

    Returns
    -------
    int
        `UNSOLVABLE`, -1, if no expression reaches the target.  `TOO_LARGE`, -2, for
        numbers that `solve` does not take.

    Raises
    ------
    InvalidOptionError
        For arguments of other kinds.
    """
    check_choice("numbers_rule", numbers_rule, ("all", "any"))
    nums = check_numbers(nums)
    if not can_solve(nums):
        return TOO_LARGE
    count = len(nums)
    if numbers_rule == "any" and target in nums:
        return 0
    if numbers_rule == "any" and count > 2 and abs(target) < 1 << 63:
        numbers = np.array(nums, np.int64)
        flags, signed = operator_flags(operators), needs_signs(operators, target)
        table = fill_subsets(numbers, flags, signed)
        size = kernels.smallest_subset(target, (1 << count) - 1, table)
        if size:
            return int(size) - 1
    return count - 1 if solve(nums, target, operators) is not None else UNSOLVABLE
