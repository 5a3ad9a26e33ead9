"""Grading of answers: their value, or their first error; no text is run as code.

`roll_vec.kernels.countdown.expressions` has the grammar and the order of the checks.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from fractions import Fraction

from roll_vec.envs.countdown.notation import rewrite
from roll_vec.kernels.countdown import expressions as kernels

OPERATORS = "+-*/"
MAX_CHARS = 256
"""The most characters of an answer; the kernel has the other limits."""

REASONS = {
    kernels.CORRECT: "correct",
    kernels.WRONG_VALUE: "wrong_value",
    kernels.DIVISION_BY_ZERO: "division_by_zero",
    kernels.WRONG_NUMBERS: "wrong_numbers",
    kernels.EMPTY: "empty",
    kernels.TOO_LONG: "too_long",
    kernels.TOO_MANY_TOKENS: "too_many_tokens",
    kernels.TOO_DEEP: "too_deep",
    kernels.BAD_CHARACTER: "bad_character",
    kernels.BAD_NUMBER: "bad_number",
    kernels.FORBIDDEN_OPERATOR: "forbidden_operator",
    kernels.SYNTAX: "syntax",
}
"""The words of the kernel's grades.

===================  ==================================================================
correct              The value is the target and the numbers are right.
wrong_value          The numbers are right, the value is another one.
division_by_zero     The numbers are right, but there is no value.
wrong_numbers        An expression, but not of the task's numbers, each used once.
empty                No answer: nothing but white space.
too_long             More characters than `MAX_CHARS`.
too_many_tokens      More numbers, operators and parentheses than `MAX_TOKENS`.
too_deep             Parentheses within parentheses, more than `MAX_DEPTH`.
bad_character        A character that no expression has.
bad_number           A leading zero or more digits than `MAX_DIGITS`.
forbidden_operator   An operator that is not among ``operators``.
syntax               Tokens in an order that makes no expression.
===================  ==================================================================

The length is checked first, then one token after the other; the first error counts.
"""

_FLAGS = {
    "+": 1 << kernels.ADD,
    "-": 1 << kernels.SUBTRACT | 1 << kernels.SUBTRACT_REVERSED,
    "*": 1 << kernels.MULTIPLY,
    "/": 1 << kernels.DIVIDE | 1 << kernels.DIVIDE_REVERSED,
}

_FUNCTIONS: dict[int, Callable[[Fraction, Fraction], Fraction]] = {
    kernels.ADD: operator.add,
    kernels.SUBTRACT: operator.sub,
    kernels.MULTIPLY: operator.mul,
    kernels.DIVIDE: operator.truediv,
}


def operator_flags(operators: str) -> int:
    """Return the kernels' bit mask of some operators."""
    return sum(_FLAGS[sign] for sign in operators)


class AnswerGrader:
    """Grades answers to the task that was set last.

    Parameters
    ----------
    operators, numbers_rule, notation, unary_minus
        See `roll_vec.envs.countdown.options.CountdownOptions`.

    Attributes
    ----------
    work : (w,) int64
        The kernels' workspace, see
        `roll_vec.kernels.countdown.expressions.make_workspace`.
    """

    # Thousands of graders take turns: small objects stay in the cache.
    __slots__ = ("_is_lenient", "work")

    def __init__(
        self,
        operators: str = OPERATORS,
        numbers_rule: str = "all",
        notation: str = "strict",
        unary_minus: bool = False,
    ) -> None:
        self._is_lenient = notation == "lenient"
        flags = operator_flags(operators)
        if unary_minus or self._is_lenient:
            flags |= 1 << kernels.NEGATE
        if numbers_rule == "any":
            flags |= kernels.ANY_NUMBERS
        self.work = kernels.make_workspace(flags)

    def set_task(self, nums: Sequence[int], target: int) -> None:
        """Grade answers to this task from now on."""
        work, first = self.work, kernels.NUMBERS_OFFSET
        work[kernels.TARGET], work[kernels.NUM_NUMBERS] = target, len(nums)
        work[first : first + len(nums)] = nums

    def grade(self, text: str) -> tuple[int, int, int]:
        """Grade an answer.

        Returns
        -------
        code : int
            A key of `REASONS`.
        numerator, denominator : int
            The value; the denominator is 0 if there is none.
        """
        if len(text) > MAX_CHARS:
            return kernels.TOO_LONG, 0, 0
        if self._is_lenient:
            text = rewrite(text)
            expression, equals, right = text.rpartition("=")
            if equals and right.strip(" \t\n\r") == str(self.work[kernels.TARGET]):
                text = expression
        # A character beyond ASCII becomes a question mark, an error as well.
        code, numerator, denominator = kernels.grade_answer(
            text.encode("ascii", "replace"), self.work
        )
        if denominator != kernels.NOT_EVALUATED:
            return code, numerator, denominator
        # Numbers too large for the kernel: Python's integers have any size.
        numerator, denominator = _evaluate(kernels.read_postfix(self.work))
        if code == kernels.WRONG_VALUE:
            if denominator == 0:
                code = kernels.DIVISION_BY_ZERO
            elif numerator == int(self.work[kernels.TARGET]) * denominator:
                code = kernels.CORRECT
        return code, numerator, denominator


def _evaluate(codes: list[int]) -> tuple[int, int]:
    """Return the value of an answer in postfix form; the denominator is 0 for none."""
    stack: list[Fraction] = []
    for code in codes:
        if code >= 0:
            stack.append(Fraction(code))
        elif ~code == kernels.NEGATE:
            stack.append(-stack.pop())
        else:
            right = stack.pop()
            try:
                stack.append(_FUNCTIONS[~code](stack.pop(), right))
            except ZeroDivisionError:
                return 0, 0
    return stack[0].as_integer_ratio()
