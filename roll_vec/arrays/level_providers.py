"""Levels of episodes: their numbers, levels of users, and levels drawn from seeds."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from roll_vec.errors import InvalidOptionError, InvalidStateError

Seeds = NDArray[np.uint64]
Levels = tuple[NDArray[Any], ...]

# A finite set of levels that takes more memory than this is not kept.
CACHE_BYTES = 1 << 30


def read_levels(levels: Any) -> NDArray[Any]:
    """Return levels of a user as one array, level by level.

    Raises
    ------
    InvalidOptionError
    """
    try:
        array = np.array(levels, order="C")
    except ValueError:  # levels of several shapes
        array = np.empty(0, object)
    if array.dtype.kind not in "biuf" or not array.ndim or not len(array):
        accepted = "an array or a list of levels, all of one shape"
        raise InvalidOptionError.expected("levels", accepted, levels)
    return array


class LevelNumbers:
    """The numbers of the levels that episodes play.

    Parameters
    ----------
    num_levels, start_level : int
        With K = ``num_levels`` above 0 an episode of seed e plays the level
        ``start_level + e mod K``.  With K = 0 it plays the level e.

    """

    def __init__(self, num_levels: int, start_level: int) -> None:
        self.num_levels, self.start_level = num_levels, start_level

    def level_seeds(self, seeds: Seeds) -> Seeds:
        """Return the seeds of the levels that episodes play, which are their numbers.

        They are `roll_vec.seeding.level_for_seed` of each seed; all (m,) uint64.
        """
        if not self.num_levels:
            return seeds
        return seeds % np.uint64(self.num_levels) + np.uint64(self.start_level)


class LevelProvider(LevelNumbers):
    """Returns the levels of episodes: those of users, or drawn when they are needed.

    Parameters
    ----------
    options : ArrayEnv
        Its ``levels`` are played, if there are any.  Else levels are drawn, those of a
        finite set once: they are kept, unless the set is above `CACHE_BYTES`.
    generate : callable
        From (m,) uint64 level seeds, all different, to a tuple of arrays of m rows: the
        values of ``level_variables``.

    Attributes
    ----------
    arrays : tuple of (l, ...) arrays
        The levels that are kept: level j is row j of each.  They are never replaced.
    is_present : (l,) bool
        The levels that are in the arrays.
    is_complete : bool
        Whether all levels are.
    """

    def __init__(self, options: Any, generate: Callable[[Seeds], Levels]) -> None:
        super().__init__(options.level_count, options.start_level)
        self.generate, self._options = generate, options
        self.is_complete = options.user_levels is not None
        self._variables = [options.variables[name] for name in options.level_variables]
        if self.is_complete:
            levels = options.user_levels
            arrays = getattr(levels, "arrays", (levels,))
            rows = slice(self.start_level, self.start_level + self.num_levels)
            arrays = self._check(f"{options.name}.levels", arrays, len(levels))
            self.arrays: Levels = tuple(array[rows] for array in arrays)
            self.is_present = np.ones(len(self.arrays[0]), np.bool_)
            return
        level_bytes = sum(
            dtype.itemsize * math.prod(shape) for dtype, shape in self._variables
        )
        count = self.num_levels if self.num_levels * level_bytes <= CACHE_BYTES else 0
        self.arrays = tuple(
            np.zeros((count, *shape), dtype) for dtype, shape in self._variables
        )
        self.is_present = np.zeros(count, np.bool_)

    def _check(self, owner: str, arrays: Any, count: int) -> Levels:
        """Return so many levels as kernels read them.

        Raises
        ------
        InvalidStateError
            For arrays that are not the values of ``level_variables``.
        """
        try:
            return tuple(
                np.asarray(values)
                .astype(dtype, "C", "same_kind", copy=False)
                .reshape(count, *shape)
                for values, (dtype, shape) in zip(arrays, self._variables, strict=True)
            )
        except (TypeError, ValueError) as error:
            names = ", ".join(self._options.level_variables)
            message = f"{owner}: expected arrays of {names}: {error}"
            raise InvalidStateError(message) from None

    def __reduce__(self) -> tuple[Any, ...]:
        # Levels can be drawn again: they are no state.
        return type(self), (self._options, self.generate)

    def get(self, seeds: Seeds) -> tuple[Levels, NDArray[np.int64]]:
        """Return levels, and the index of the level that each episode plays.

        Parameters
        ----------
        seeds : (m,) uint64
            Seeds of episodes.

        Returns
        -------
        levels : tuple of arrays
            A level has one row in each; not to be written.
        level_indices : (m,) int64
            Rows of these arrays.

        Raises
        ------
        LevelGenerationError
        """
        count = len(self.arrays[0])
        if not count:
            return self.generate_rows(self.level_seeds(seeds))
        numbers = seeds % np.uint64(count)
        if not self.is_complete:
            new = np.flatnonzero(~self.is_present[numbers])
            if len(new):
                levels, indices = self.generate_rows(self.level_seeds(seeds[new]))
                for table, array in zip(self.arrays, levels, strict=True):
                    table[numbers[new]] = array[indices]
                self.is_present[numbers[new]] = True
                self.is_complete = bool(self.is_present.all())
        return self.arrays, numbers.view(np.int64)

    def generate_rows(self, seeds: Seeds) -> tuple[Levels, NDArray[np.int64]]:
        """Return the levels of (m,) level seeds, and the level of each seed."""
        indices = np.arange(len(seeds))
        # Sorting ten million seeds takes seconds and cannot be interrupted.
        if not (seeds[1:] > seeds[:-1]).all():
            seeds, indices = np.unique(seeds, return_inverse=True)
        owner = f"{self._options.name}.draw_levels"
        return self._check(owner, self.generate(seeds), len(seeds)), indices
