"""Generated tasks: a function of the level's number and the options alone."""

from __future__ import annotations

import threading

import numpy as np
from numpy.typing import NDArray

from roll_vec.envs.countdown.grading import operator_flags
from roll_vec.envs.countdown.options import CountdownOptions
from roll_vec.envs.countdown.solver import needs_signs
from roll_vec.errors import LevelGenerationError
from roll_vec.kernels.countdown import targets as kernels
from roll_vec.kernels.countdown.expressions import NUM_NUMBERS, NUMBERS_OFFSET, TARGET

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


def make_settings(options: CountdownOptions) -> NDArray[np.int64]:
    """Return the settings of `draw_task`, (NUM_SETTINGS,) int64."""
    settings = np.zeros(kernels.NUM_SETTINGS, np.int64)
    settings[[kernels.LEAST_COUNT, kernels.GREATEST_COUNT]] = options.num_numbers
    settings[[kernels.LEAST_NUMBER, kernels.GREATEST_NUMBER]] = options.number_range
    settings[[kernels.LEAST_TARGET, kernels.GREATEST_TARGET]] = options.target_range
    settings[kernels.OPERATORS] = operator_flags(options.operators)
    settings[kernels.SIGNED] = needs_signs(options.operators, options.target_range[0])
    return settings


def draw_task(
    level: int,
    options: CountdownOptions,
    settings: NDArray[np.int64],
    work: NDArray[np.int64],
) -> tuple[list[int], int]:
    """Return the numbers and the target of a generated task.

    It has a solution: the target is drawn from the integers that the numbers reach, all
    equally likely; see `roll_vec.kernels.countdown.targets.draw_task`.

    Parameters
    ----------
    level : int
    options : CountdownOptions
    settings : (NUM_SETTINGS,) int64
        Of the options, see `make_settings`.
    work : (w,) int64, updated
        `AnswerGrader.work`, which gets the task.

    Raises
    ------
    LevelGenerationError
        If the options hardly have a task; ``work`` has none then.
    """
    low, high = options.target_range
    table, marks = _thread_buffers(options.num_numbers[1], high - low + 1)  # type: ignore[index]
    if not kernels.draw_task(level, settings, work, table, marks):
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
