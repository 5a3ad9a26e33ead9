"""Where tasks come from: drawn from a level's number, or a row of a file."""

from __future__ import annotations

import functools
import threading
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from roll_vec.envs.countdown.answers import Judge, operator_flags
from roll_vec.envs.countdown.files import TaskFile
from roll_vec.envs.countdown.options import CountdownOptions
from roll_vec.envs.countdown.solver import needs_signs
from roll_vec.errors import LevelGenerationError
from roll_vec.kernels.countdown import targets as kernels
from roll_vec.kernels.countdown.expressions import NUM_NUMBERS, NUMBERS_OFFSET, TARGET

__all__ = ["FileTasks", "GeneratedTasks", "Tasks"]


class Tasks(Protocol):
    """What has a task for each level."""

    def draw(self, level: int) -> tuple[list[int], int]:
        """Return the numbers and the target of a level, and set the judge to them.

        Raises
        ------
        LevelGenerationError
        """


# Scratch memory of the generator, one for each thread that ever drew a task.
_scratch = threading.local()


def _thread_scratch(
    num_numbers: int, num_targets: int
) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
    """Return this thread's table and marks, at least so large."""
    key = (num_numbers, num_targets)
    if getattr(_scratch, "key", None) != key:
        _scratch.arrays = (
            np.empty(kernels.table_size(num_numbers), np.int64),
            np.empty(num_targets, np.uint8),
        )
        _scratch.key = key
    arrays: tuple[NDArray[np.int64], NDArray[np.uint8]] = _scratch.arrays
    return arrays


@functools.lru_cache(maxsize=32)
def _settings(options: CountdownOptions) -> NDArray[np.int64]:
    """Return the kernel's settings, shared by all with equal options; not written."""
    settings = np.zeros(kernels.NUM_SETTINGS, np.int64)
    settings[[kernels.LEAST_COUNT, kernels.GREATEST_COUNT]] = options.num_numbers
    settings[[kernels.LEAST_NUMBER, kernels.GREATEST_NUMBER]] = options.number_range
    settings[[kernels.LEAST_TARGET, kernels.GREATEST_TARGET]] = options.target_range
    settings[kernels.OPERATORS] = operator_flags(options.operators)
    settings[kernels.SIGNED] = needs_signs(options.operators, options.target_range[0])
    return settings


class GeneratedTasks:
    """Tasks of which each is a function of the level's number and the options alone.

    Every integer in the range of targets that the numbers reach is equally likely, so
    that every task has a solution; see `roll_vec.kernels.countdown.targets.draw_task`.

    Parameters
    ----------
    options : CountdownOptions
    judge : Judge
        Is set to each task that is drawn.
    """

    __slots__ = ("_settings", "_size", "_work", "options")

    def __init__(self, options: CountdownOptions, judge: Judge) -> None:
        self.options = options
        self._work = judge.work
        low, high = options.target_range
        self._size = (options.num_numbers[1], high - low + 1)  # type: ignore[index]
        self._settings = _settings(options)

    def draw(self, level: int) -> tuple[list[int], int]:
        """Return the numbers and the target of a level; see `Tasks.draw`."""
        work = self._work
        table, marks = _thread_scratch(*self._size)
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


class FileTasks:
    """The rows of a file: level n plays row n modulo their number.

    Parameters
    ----------
    file : TaskFile
    judge : Judge
        Is set to each task that is drawn.
    """

    __slots__ = ("_judge", "file")

    def __init__(self, file: TaskFile, judge: Judge) -> None:
        self.file, self._judge = file, judge

    def draw(self, level: int) -> tuple[list[int], int]:
        """Return the numbers and the target of a level; see `Tasks.draw`."""
        nums, target = self.file.row(level % len(self.file))
        self._judge.set_task(nums, target)
        return nums, target
