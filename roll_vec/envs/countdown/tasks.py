"""Tasks of levels: generated from the level's number, or rows of a file; bands."""

from __future__ import annotations

import functools
import threading
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from roll_vec.envs.countdown.grading import AnswerGrader, operator_flags
from roll_vec.envs.countdown.options import CountdownOptions
from roll_vec.envs.countdown.solver import count_operations, needs_signs
from roll_vec.envs.countdown.task_files import TaskFile
from roll_vec.errors import LevelGenerationError
from roll_vec.kernels.countdown import targets as kernels
from roll_vec.kernels.countdown.expressions import NUM_NUMBERS, NUMBERS_OFFSET, TARGET
from roll_vec.seeding import MAX_BAND_ATTEMPTS, band_seed

# Buffers of the generator, for each thread those of the sizes that it used last.
# `ThreadScratch` would take a twentieth of a reset.
_buffers = threading.local()


def _thread_buffers(
    max_numbers: int, num_targets: int
) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
    """Return this thread's table of values and marks of targets."""
    sizes = (max_numbers, num_targets)
    if getattr(_buffers, "sizes", None) != sizes:
        _buffers.arrays = (
            np.empty(kernels.table_size(max_numbers), np.int64),
            np.empty(num_targets, np.uint8),
        )
        _buffers.sizes = sizes
    arrays: tuple[NDArray[np.int64], NDArray[np.uint8]] = _buffers.arrays
    return arrays


@functools.lru_cache(maxsize=32)
def _settings(options: CountdownOptions) -> NDArray[np.int64]:
    """Return the kernel's settings; environments of equal options share them."""
    settings = np.zeros(kernels.NUM_SETTINGS, np.int64)
    settings[[kernels.LEAST_COUNT, kernels.GREATEST_COUNT]] = options.num_numbers
    settings[[kernels.LEAST_NUMBER, kernels.GREATEST_NUMBER]] = options.number_range
    settings[[kernels.LEAST_TARGET, kernels.GREATEST_TARGET]] = options.target_range
    settings[kernels.OPERATORS] = operator_flags(options.operators)
    settings[kernels.SIGNED] = needs_signs(options.operators, options.target_range[0])
    return settings


class Tasks:
    """The task of each level: generated, or a row of a file.

    A generated task is a function of the level's number and the options alone, and has
    a solution: its target is drawn from the integers that the numbers reach, all
    equally likely; see `roll_vec.kernels.countdown.targets.draw_task`.  Of a file,
    level n plays row n modulo their number.

    With a band of difficulty a level whose task is outside is drawn again.  Attempt 0
    is the task of the level itself, attempt t that of the level
    ``roll_vec.seeding.band_seed(level, t)``: a function of the level and the options
    alone.

    Parameters
    ----------
    options : CountdownOptions
    grader : AnswerGrader
        Is set to each task.
    file : TaskFile or None
        None: tasks are generated.
    """

    __slots__ = ("_grader", "_settings", "_size", "file", "options")

    def __init__(
        self, options: CountdownOptions, grader: AnswerGrader, file: TaskFile | None
    ) -> None:
        self.options, self._grader, self.file = options, grader, file
        low, high = options.target_range
        self._size = (options.num_numbers[1], high - low + 1)  # type: ignore[index]
        self._settings = _settings(options)

    def get(self, level: int) -> tuple[list[int], int]:
        """Return the numbers and the target of a level; the grader gets them too.

        Raises
        ------
        LevelGenerationError
        """
        band: Any = self.options.num_operations
        if band is None:
            return self._get(level)
        low, high = band
        num_below = num_above = 0
        for attempt in range(MAX_BAND_ATTEMPTS):
            nums, target = self._get(band_seed(level, attempt))
            difficulty = self.measure(nums, target)
            if low <= difficulty <= high:
                return nums, target
            num_below += 0 <= difficulty < low
            num_above += difficulty > high
        num_others = MAX_BAND_ATTEMPTS - num_below - num_above
        raise LevelGenerationError.outside_bands(
            "task",
            f"level {level}",
            {"num_operations": band},
            {"num_operations": (num_below, 0, num_above, num_others)},
        )

    def _get(self, level: int) -> tuple[list[int], int]:
        """Return the task of a level, whatever its difficulty."""
        if self.file is not None:
            nums, target = self.file.row(level % len(self.file))
            self._grader.set_task(nums, target)
            return nums, target
        work = self._grader.work
        table, marks = _thread_buffers(*self._size)
        if not kernels.draw_task(level, self._settings, work, table, marks):
            options = self.options
            message = (
                f"no task was found for level {level} within {kernels.MAX_ATTEMPTS} "
                f"draws of numbers: num_numbers={options.num_numbers}, "
                f"number_range={options.number_range} and operators="
                f"{options.operators!r} hardly reach a target in "
                f"target_range={options.target_range}"
            )
            raise LevelGenerationError(message)
        count = int(work[NUM_NUMBERS])
        nums = work[NUMBERS_OFFSET : NUMBERS_OFFSET + count].tolist()
        return nums, int(work[TARGET])

    def measure(self, nums: Sequence[int], target: int) -> int:
        """Return the difficulty of a task; see `count_operations`.

        Every generated task has a solution that uses all numbers.
        """
        options, count = self.options, len(nums)
        if self.file is not None:
            rules = options.operators, options.numbers_rule
            return count_operations(nums, target, *rules)
        if options.numbers_rule == "all":
            return count - 1
        # As `count_operations`, without checks and a new table: a fifth of the time.
        table, _ = _thread_buffers(*self._size)
        numbers, stop = np.array(nums, np.int64), (1 << count) - 1
        flags, signed = self._settings[[kernels.OPERATORS, kernels.SIGNED]].tolist()
        kernels.fill_table(numbers, count, stop, flags, bool(signed), table)
        return int(kernels.smallest_subset(target, stop, table) or count) - 1
