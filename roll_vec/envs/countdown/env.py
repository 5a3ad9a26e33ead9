"""The environment Countdown; a batch of it is a pool of these objects."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from roll_vec.envs.countdown.grading import REASONS, AnswerGrader
from roll_vec.envs.countdown.options import RENDER_MODES, CountdownOptions
from roll_vec.envs.countdown.solver import (
    TOO_LARGE,
    UNSOLVABLE,
    can_solve,
    count_operations,
    solve,
)
from roll_vec.envs.countdown.task_files import MAX_NUMBER, TaskFile, load_tasks
from roll_vec.envs.countdown.tasks import draw_task, make_settings
from roll_vec.envs.countdown.texts import (
    longest_observation,
    task_text,
    write_hints,
    write_instructions,
    write_value_hint,
)
from roll_vec.errors import (
    InvalidOptionError,
    LevelGenerationError,
    ResetNeededError,
    SolverLimitError,
)
from roll_vec.kernels.countdown import expressions as kernels
from roll_vec.kernels.countdown.expressions import CORRECT, EMPTY
from roll_vec.options import (
    accepts_keywords_of,
    check_bool,
    check_int,
    check_reset_keys,
    check_str,
    parse_options,
)
from roll_vec.seeding import level_for_seed
from roll_vec.spaces import UnicodeText
from roll_vec.text.level_env import TextLevelEnv
from roll_vec.text.validation import check_text

# Samples of the action space.
EXAMPLES = (
    "1 + 2 + 3",
    "(8 - 3) * 4",
    "6 * 7 - 9 / 3",
    "12 / (5 - 5)",
    "25 * 4",
    "(1 + 2",
    "seven times six",
    "",
)
# The grade of an answer without an expression that is not the empty text.
_EMPTY_TAG = len(REASONS)
# The least and the greatest target.
_INT64 = (-(1 << 63), (1 << 63) - 1)


def _check_nums(name: str, value: Any) -> list[int]:
    """Return the numbers of a state."""
    if not isinstance(value, (list, tuple)):
        raise InvalidOptionError.expected(name, "a list of integers", value)
    return [check_int(name, number, 0, MAX_NUMBER) for number in value]


class Countdown(TextLevelEnv):
    """Combine numbers into a target; the answer is an expression in text.

    An observation is ``Target: 24, nums: [3, 8, 1]``.  With ``max_steps`` above 1 the
    observation after a wrong answer has a second line: its value, or what was wrong
    with it.

    Parameters
    ----------
    **keywords
        Those of `CountdownOptions`.

    Actions
    -------
    The answer, an expression such as ``(8 - 3) * 4``.  It is never run as code.

    Rewards
    -------
    1
        A correct answer: ``score``.
    0.1
        An expression of the right numbers with another value, or without one:
        ``format_score``.  With ``reward_rule='tinyzero'``: any other answer, also an
        empty tag; the empty text is none.
    0
        All other answers.

    Episode end
    -----------
    terminated
        A correct answer: success.
    terminated
        The last of ``max_steps`` answers, also a wrong one.

    Attributes
    ----------
    options : CountdownOptions
    nums : list of int
        The numbers of the current task; empty before a reset.
    target : int
    num_env_steps : int
        Answers in the current episode.

    Infos
    -----
    value : float64; step
        The value of the expression; missing where it is no expression, or divides by
        zero.
    reason : str; step
        The grade of the answer, such as ``wrong_value``.
    success : bool; step
        The answer is correct.
    action_is_valid : bool; step
        The answer is an expression.
    action_is_effective : bool; step
        The answer is an expression of the right numbers.
    difficulty : dict; reset; difficulty_info=True
        ``num_operations``, int64: the fewest operations of a correct answer.

    Sources
    -------
    ROLL, countdown : commit 35bea6a2; https://github.com/alibaba/ROLL
        rewards of expressions
    TinyZero : https://github.com/Jiayi-Pan/TinyZero
        the rule of ``reward_rule='tinyzero'``

    Differences
    -----------
    - Tasks depend only on the seed, and all have a solution.
    - No answer is run as code. A text with the right numbers that is no expression
      earns 0; ROLL gave it ``format_score``.
    - A division by zero has the right form, as in ROLL.
    """

    metadata: ClassVar[dict[str, Any]] = {  # type: ignore[misc]
        "render_modes": list(RENDER_MODES),
        "render_fps": 4,
    }
    # TinyZero's rule tells an empty tag from none: this text stands for it, which no
    # model writes.
    EMPTY_ANSWER: ClassVar[str] = "\0"
    DATA_FILES: ClassVar[tuple[str, ...]] = ("data",)
    STATE: ClassVar[Mapping[str, tuple[Any, ...]]] = {
        "nums": (_check_nums,),
        "target": (check_int, *_INT64),
        "num_env_steps": (check_int, 0),
        "open": (check_bool,),
        "hint": (check_str,),
    }

    @accepts_keywords_of(CountdownOptions)
    def __init__(self, **keywords: Any) -> None:
        super().__init__(parse_options(CountdownOptions, keywords))
        options = self.options
        self._settings, self._outcomes, self._instructions = _share_parts(options)
        self.action_space.examples = EXAMPLES  # type: ignore[attr-defined]
        self.render_mode = options.render_mode
        max_numbers: int = options.num_numbers[1]
        self._file: TaskFile | None = None
        if options.data is not None:
            self._file = load_tasks(str(options.data))
            max_numbers = self._file.max_numbers
        self._max_numbers = max_numbers
        self.observation_space = UnicodeText(longest_observation(options, max_numbers))
        self._grader = AnswerGrader(
            options.operators,
            options.numbers_rule,
            options.notation,
            options.unary_minus,
        )
        self.nums: list[int] = []
        self.target = 0
        self.num_env_steps = 0
        self._open = False
        infos = "seed_info", "level_info", "difficulty_info", "oracle_return_info"
        self._has_reset_infos = any(getattr(options, name) for name in infos)
        self._task = self._observation = ""

    def reset(
        self,
        *,
        seed: int | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[str, dict[str, Any]]:
        """Start a new episode; see `roll_vec.objects.base_envs.SeededEnv.reset`.

        Raises
        ------
        InvalidSeedError, InvalidOptionTypeError, ClosedError
        LevelGenerationError
            If the options hardly have a task; no state changes then.
        """
        episode = self._plan_episode(seed)
        check_reset_keys((), options)
        settings = self.options
        level = level_for_seed(
            episode.level_seed, settings.num_levels, settings.start_level
        )
        try:
            nums, target = self._make_task(level)
        except LevelGenerationError:
            self._grader.set_task(self.nums, self.target)
            raise
        self._commit_episode(episode)
        self.nums, self.target = nums, target
        self.num_env_steps = 0
        self._open = True
        self._task = self._observation = task_text(nums, target)
        info = self._reset_info(level) if self._has_reset_infos else {}
        return self._observation, info

    def _make_task(self, level: int) -> tuple[list[int], int]:
        """Return numbers and target of a level; the grader gets them, too."""
        if self._file is None:
            return draw_task(level, self.options, self._settings, self._grader.work)
        nums, target = self._file.row(level % len(self._file))
        self._grader.set_task(nums, target)
        return nums, target

    def _reset_info(self, level: int) -> dict[str, Any]:
        """Return the infos of a reset that the options ask for."""
        options, difficulty = self.options, -1
        if options.difficulty_info or options.oracle_return_info:
            if self._file is None and options.numbers_rule == "all":
                # Every generated task has a solution of all numbers.
                difficulty = len(self.nums) - 1
            else:
                difficulty = count_operations(
                    self.nums, self.target, options.operators, options.numbers_rule
                )
        info = self._describe_level(
            level, lambda: options.score if difficulty >= 0 else math.nan
        )
        if options.difficulty_info:
            info["difficulty"] = {"num_operations": difficulty}
        return info

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Answer with an expression.

        Raises
        ------
        ResetNeededError
            Before a reset and after the end of the episode.
        InvalidActionError
            If the action is no str.
        ClosedError
        """
        # Calls of the checks alone would take 5 % of a step.
        if self._is_closed:
            self._check_open()
        if not self._open:
            message = "the environment must be reset before it takes an answer"
            raise ResetNeededError(message)
        text = action if type(action) is str else check_text(action)
        code, numerator, denominator = self._grader.grade(text)
        if code >= EMPTY and (
            text == self.EMPTY_ANSWER or (code == EMPTY and text.strip())
        ):
            code = _EMPTY_TAG
        reward, reason, success, valid, effective, hint = self._outcomes[code]
        info: dict[str, Any] = {
            "reason": reason,
            "success": success,
            "action_is_valid": valid,
            "action_is_effective": effective,
        }
        if denominator:
            info["value"] = int(numerator) / int(denominator)
        self.num_env_steps += 1
        max_steps = self.options.max_steps
        terminated = success or self.num_env_steps >= max_steps
        self._open = not terminated
        if self.options.advantage_info:
            is_lost = terminated and not success
            info["advantage"] = 0.0 - self._can_reach_target() if is_lost else 0.0
        if max_steps > 1:
            if hint is None:
                hint = write_value_hint(self.target, int(numerator), int(denominator))
            self._observation = f"{self._task}\n{hint}" if hint else self._task
        return self._observation, reward, terminated, False, info

    def _can_reach_target(self) -> float:
        """Return 1 for a task with a solution, else 0; NaN if it is too large."""
        if self._file is None:
            return 1.0
        options = self.options
        rules = options.operators, options.numbers_rule
        num_operations = count_operations(self.nums, self.target, *rules)
        if num_operations == TOO_LARGE:
            return math.nan
        return float(num_operations != UNSOLVABLE)

    @property
    def oracle_action(self) -> str | None:
        """A correct answer to the current task; None if there is none.

        Raises
        ------
        InvalidOptionError
            For a task from a file that is too large for `solve`.
        """
        options = self.options
        if not self.nums:
            return None
        return solve(self.nums, self.target, options.operators, options.numbers_rule)

    def solve(self) -> list[str] | None:
        """Return a correct answer of the fewest operations, as a list of one text.

        Returns
        -------
        list of str, or None
            None after the end of the episode, and for a row of a file without a
            solution; generated tasks have one.

        Raises
        ------
        ResetNeededError
            Before a reset.
        SolverLimitError
            For a row of more or larger numbers than the solver accepts.
        ClosedError
        """
        self._check_open()
        if not self.nums:
            message = "the environment must be reset before it is solved"
            raise ResetNeededError(message)
        if not self._open:
            return None
        task = task_text(self.nums, self.target)
        if not can_solve(self.nums):
            message = f"solve: more or larger numbers than the solver accepts: {task}"
            raise SolverLimitError(message)
        answer = self.oracle_action
        return None if answer is None else [answer]

    def get_instructions(self) -> str:
        """Return the prompt of an agent: the rules and the form of an answer."""
        return self._instructions

    def render(self) -> str | None:
        """Return the current observation; None without a render mode."""
        self._check_open()
        if self.render_mode is None:
            return None
        if not self.nums:
            message = "the environment must be reset before it is rendered"
            raise ResetNeededError(message)
        return self._observation

    def _get_values(self) -> dict[str, Any]:
        return {
            "nums": list(self.nums),
            "target": self.target,
            "num_env_steps": self.num_env_steps,
            "open": self._open,
            "hint": self._observation[len(self._task) :],
        }

    def _check_values(self, values: dict[str, Any]) -> None:
        count, max_numbers = len(values["nums"]), self._max_numbers
        if count > max_numbers:
            raise InvalidOptionError.expected(
                "nums", f"at most {max_numbers} nums", count
            )

    def _load_values(self, values: dict[str, Any]) -> None:
        self.nums, self.target, self.num_env_steps, self._open, hint = values.values()
        self._grader.set_task(self.nums, self.target)
        self._task = task_text(self.nums, self.target) if self.nums else ""
        self._observation = self._task + hint


# Reward, reason, success, validity and effect of an answer; its hint, empty where there
# is none, and None where it depends on the value.
Outcome = tuple[float, str, bool, bool, bool, str | None]


@functools.lru_cache(maxsize=32)
def _share_parts(
    options: CountdownOptions,
) -> tuple[NDArray[np.int64], list[Outcome], str]:
    """Return what environments of equal options share.

    These are settings of tasks, outcomes of answers, and the prompt.
    """
    return make_settings(options), _outcomes(options), write_instructions(options)


def _outcomes(options: CountdownOptions) -> list[Outcome]:
    """Return the outcome of each grade."""
    outcomes: list[Outcome] = []
    hints = {"correct": "", **write_hints(options)}
    for code in range(len(REASONS)):
        reason = REASONS[code]
        is_valid = code <= kernels.WRONG_NUMBERS
        is_effective = code <= kernels.DIVISION_BY_ZERO
        success = code == CORRECT
        has_form = is_effective
        if options.reward_rule == "tinyzero":
            has_form = code != EMPTY
        reward = options.format_score if has_form else 0.0
        if success:
            reward = options.score
        hint = hints.get(reason)
        outcomes.append((reward, reason, success, is_valid, is_effective, hint))
    reward = options.format_score if options.reward_rule == "tinyzero" else 0.0
    outcomes.append((reward, *outcomes[EMPTY][1:]))
    return outcomes
