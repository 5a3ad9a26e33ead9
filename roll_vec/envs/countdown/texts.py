"""The texts that an agent reads: tasks, hints after wrong answers, the prompt."""

from __future__ import annotations

import functools
import math

from roll_vec.envs.countdown.grading import MAX_CHARS
from roll_vec.envs.countdown.options import CountdownOptions
from roll_vec.kernels.countdown.expressions import MAX_DEPTH, MAX_DIGITS, MAX_TOKENS

# By reason, see `roll_vec.envs.countdown.grading.REASONS`; other reasons have no hint.
HINTS_BY_REASON = {
    "division_by_zero": "Your answer divides by zero.",
    "wrong_numbers": "Your answer does not use the given numbers as it should.",
    "empty": "You gave no answer.",
    "too_long": f"Your answer has more than {MAX_CHARS} characters.",
    "too_many_tokens": (
        f"Your answer has more than {MAX_TOKENS} numbers, operators and parentheses."
    ),
    "too_deep": f"Your answer nests more than {MAX_DEPTH} parentheses.",
    "bad_character": "Your answer has a character that no expression has.",
    "bad_number": (
        "Your answer has a number with a leading zero or more than "
        f"{MAX_DIGITS} digits."
    ),
    "forbidden_operator": "Your answer has an operator other than {operators} in it.",
    "syntax": "Your answer is no complete expression.",
}
_WRONG_VALUE = "Your answer is {value}, not {target}."
# The longest int64, and the longest value that `_format_value` returns.
_LONGEST_INTEGER = -(1 << 63)
_LONGEST_VALUE = f"-{10**15 - 1}/{10**15 - 1}"


def task_text(nums: list[int], target: int) -> str:
    """Return the observation of a task."""
    return f"Target: {target}, nums: {nums}"


@functools.lru_cache(maxsize=32)
def longest_observation(options: CountdownOptions, num_numbers: int) -> int:
    """Return an upper bound of the length of observations."""
    integer, value = _LONGEST_INTEGER, _LONGEST_VALUE
    hints = list(write_hints(options).values())
    hints.append(_WRONG_VALUE.format(value=value, target=integer))
    task = task_text([integer] * num_numbers, integer)
    return len(task) + 1 + max(map(len, hints))


def write_hints(options: CountdownOptions) -> dict[str, str]:
    """Return the second line of the observation by reason, where it is always the same.

    That is after all wrong answers but those of the reason ``wrong_value``.
    """
    operators = options.operators
    return {
        key: hint.format(operators=operators) for key, hint in HINTS_BY_REASON.items()
    }


def write_value_hint(target: int, numerator: int, denominator: int) -> str:
    """Return the second line of the observation after an answer of a wrong value."""
    value = _format_value(numerator, denominator)
    return _WRONG_VALUE.format(value=value, target=target)


def write_instructions(options: CountdownOptions) -> str:
    """Return the prompt of an agent."""
    if options.env_instruction is not None:
        return options.env_instruction
    operators = ", ".join(options.operators)
    uses = {
        "all": "Use every number exactly once.",
        "any": "Use each number at most once; you need not use all of them.",
    }[options.numbers_rule]
    return (
        "You are given some whole numbers and a target. Write an arithmetic "
        f"expression whose value is exactly the target. {uses} Allowed are the "
        f"numbers, the operators {operators} and parentheses; values in between may be "
        "fractions or negative. Answer with the expression alone, for example "
        f'"{_example(options.operators)}".'
    )


def _format_value(numerator: int, denominator: int) -> str:
    """Return a value for a hint, exact if that is short."""
    common = math.gcd(numerator, denominator)
    numerator, denominator = numerator // common, denominator // common
    if max(abs(numerator), denominator) >= 10**15:
        return f"about {numerator / denominator:.6g}"
    return str(numerator) if denominator == 1 else f"{numerator}/{denominator}"


def _example(operators: str) -> str:
    """Return an expression with an operator or two."""
    if len(operators) == 1:
        return f"8 {operators} 2"
    return f"(8 {operators[0]} 2) {operators[-1]} 5"
