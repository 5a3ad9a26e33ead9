"""The keywords of Countdown and their checks."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Sequence
from typing import Any

from roll_vec.envs.countdown.grading import OPERATORS
from roll_vec.envs.countdown.notation import NOTATIONS
from roll_vec.envs.countdown.task_files import MAX_NUMBER
from roll_vec.errors import InvalidOptionError
from roll_vec.kernels.countdown.targets import MAX_NUMBERS
from roll_vec.options import (
    MAX_INT,
    check_bool,
    check_choice,
    check_fields,
    check_int,
    check_levels,
    check_number,
    check_optional_text,
    check_render_mode,
    option,
    refuse_unused,
)
from roll_vec.storage.data_files import check_path

RENDER_MODES = ("ansi", "text")
# The generator marks targets in a table with a byte for each.
MAX_TARGETS = 1 << 20


def _check_range(name: str, value: Any, minimum: int, maximum: int) -> tuple[int, int]:
    """Return a pair of integers, the second at least the first."""
    try:
        low, high = value
    except (TypeError, ValueError):
        raise InvalidOptionError.expected(
            name, "two integers, least and greatest", value
        ) from None
    low = check_int(name, low, minimum, maximum)
    high = check_int(name, high, minimum, maximum)
    if high < low:
        raise InvalidOptionError.expected(name, "the least before the greatest", value)
    return low, high


def check_operators(name: str, value: Any) -> str:
    """Return operators in the order of `OPERATORS`."""
    if (
        not isinstance(value, str)
        or not value
        or len(set(value)) < len(value)
        or set(value) - set(OPERATORS)
    ):
        raise InvalidOptionError.expected(
            name, f"some of {OPERATORS!r}, each once", value
        )
    return "".join(operator for operator in OPERATORS if operator in value)


def _check_counts(name: str, value: Any) -> tuple[int, int]:
    """Return the least and the greatest count of numbers."""
    counts = value if isinstance(value, (tuple, list)) else (value, value)
    return _check_range(name, counts, 1, MAX_NUMBERS)


def _check_targets(name: str, value: Any) -> tuple[int, int]:
    """Return the least and the greatest target."""
    low, high = _check_range(name, value, -MAX_INT, MAX_INT)
    if high - low >= MAX_TARGETS:
        accepted = f"at most {MAX_TARGETS} targets"
        raise InvalidOptionError.expected(name, accepted, high - low + 1)
    return low, high


@dataclasses.dataclass(frozen=True, kw_only=True)
class CountdownOptions:
    """The keywords of `roll_vec/Countdown-v0`.

    Parameters
    ----------
    num_numbers : int or (int, int)
        Count of a task's numbers, 1 to 6, or the least and the greatest count.
    number_range : (int, int)
        Least and greatest number of a task, from 0 to 999,999,999.
    target_range : (int, int)
        Least and greatest target; a range of at most 2**20.  Every generated task has a
        solution: the target is drawn from the values that the numbers can reach.
    operators : str
        Those of ``+-*/`` in generated tasks and in answers.
    format_score : float
        Reward for an answer of the right numbers and another value.
    score : float
        Reward for a correct answer.
    max_steps : int
        Answers in an episode; a wrong answer ends it only if it is the last one.  With
        more than one the observation after a wrong answer shows its value.
    data : str, PathLike or None
        A file of tasks, ``nums`` and ``target``, as JSON lines or a JSON array.  It may
        be compressed, as ``.jsonl.gz``.  Its rows replace generated tasks: the row of a
        level is the level modulo the number of rows.  ``num_numbers``, ``number_range``
        and ``target_range`` must stay at their defaults then.
    num_levels : int
        Number of levels of a finite set; 0: unlimited.
    start_level : int
        The first level of the set.  An episode of seed s plays the level ``start_level
        + s mod num_levels``.
    reward_rule : str
        Answers that earn ``format_score``: ``roll`` or ``tinyzero``.  ``roll``: those
        of the right numbers.  ``tinyzero``: all but the empty text; an empty tag of an
        ``action_pattern`` is an answer, a text without the tag is none.
    numbers_rule : str
        ``all``: each number exactly once; ``any``: each at most once.
    notation : str
        ``strict``: only the grammar, for rewards as in ROLL; ``lenient``: also LaTeX.
        Lenient answers may have ``[ ]``, ``1,000``, ``(3)(8)``, ×, ÷, a unary minus, or
        ``= 24`` at the end; see `roll_vec.envs.countdown.notation`.
    unary_minus : bool
        Accept a minus at the beginning of an operand, ``-3 + 11`` or ``2 * -(1 - 4)``.
    seed_info : bool
        True: infos of resets have ``seed``, which opens the episode again.  It is an
        int below 2**32; ``reset(seed=seed)`` starts the same episode in an environment
        with the same keywords.
    level_info : bool
        True: infos of resets have ``level``, the number of the level.
    difficulty_info : bool
        True: infos of resets have ``difficulty``, a dict with ``num_operations``.  See
        `roll_vec.envs.countdown.solver.count_operations`.
    oracle_return_info : bool
        True: infos of resets have ``oracle_return``, the return of a correct first
        answer.  It is a float; NaN for a row without a solution.
    advantage_info : bool
        True: infos of steps have ``advantage``.  It is -1.0 for an answer that ends an
        episode whose task has a solution, without a correct answer, else 0.0.
    env_instruction : str or None
        A text that replaces the instructions.
    render_mode : str or None
        Form of frames: ``ansi`` or ``text``.  Both are the observation.

    Raises
    ------
    InvalidOptionError
    """

    num_numbers: int | tuple[int, int] = option((3, 4), _check_counts)
    number_range: tuple[int, int] = option((1, 99), _check_range, 0, MAX_NUMBER)
    target_range: tuple[int, int] = option((10, 100), _check_targets)
    operators: str = option(OPERATORS, check_operators)
    format_score: float = option(0.1, check_number, -1e300, 1e300)
    score: float = option(1.0, check_number, -1e300, 1e300)
    max_steps: int = option(1, check_int, 1)
    data: str | os.PathLike[str] | None = option(None, check_path)
    num_levels: int = option(0, check_int, 0, 1 << 32)
    start_level: int = option(0, check_int, 0, 1 << 32)
    reward_rule: str = option("roll", check_choice, ("roll", "tinyzero"))
    numbers_rule: str = option("all", check_choice, ("all", "any"))
    notation: str = option("strict", check_choice, NOTATIONS)
    unary_minus: bool = option(False, check_bool)
    seed_info: bool = option(False, check_bool)
    level_info: bool = option(False, check_bool)
    difficulty_info: bool = option(False, check_bool)
    oracle_return_info: bool = option(False, check_bool)
    advantage_info: bool = option(False, check_bool)
    env_instruction: str | None = option(None, check_optional_text)
    render_mode: str | None = option(None, check_render_mode, RENDER_MODES)

    def __post_init__(self) -> None:
        check_fields(self)
        check_levels(self.num_levels, self.start_level)
        if self.data is not None:
            names = "num_numbers", "number_range", "target_range"
            refuse_unused(self, names, f"has no effect on the tasks of {self.data}")
        count: int = self.num_numbers[1]  # type: ignore[index]
        greatest = self.number_range[1]
        if not is_exact([greatest] * count):
            message = (
                f"number_range: {count} numbers up to {greatest} are more than can be "
                f"enumerated exactly; expected {greatest}**{count} * 2**{count - 1} "
                "below 2**63"
            )
            raise InvalidOptionError(message)


def is_exact(nums: Sequence[int]) -> bool:
    """Return whether int64 is exact for all values that some numbers reach."""
    bound = 1 << (len(nums) - 1)
    for number in nums:
        bound *= max(number, 1)
    return bound < 1 << 63
