"""Bands of difficulty: levels are measured, and drawn again until they are inside.

A band is a pair (low, high) of an option of the same name as a measure; both bounds are
inside, and None is no bound.  The level of a seed is found by a rule of the seed alone:
attempt t = 0, 1, 2, ... tries the level of `roll_vec.seeding.band_seed(seed, t)`, and
the first level inside is played.  Attempt 0 is the level that is played without a band.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from roll_vec.errors import LevelGenerationError
from roll_vec.kernels.rng.pcg64 import BAND, fold_in_rows
from roll_vec.seeding import MAX_BAND_ATTEMPTS

Seeds = NDArray[np.uint64]
Levels = tuple[NDArray[Any], ...]
Band = tuple[float | None, float | None]

# After so many attempts for all seeds, a few seeds at a time are tried to the end: a
# band without levels raises after thousands of levels, not after millions.
_ATTEMPTS_TOGETHER = 16
_SEEDS_TOGETHER = 64
# With few seeds, so many levels are drawn in one call: the call costs more than they.
_LEVELS_AT_ONCE = 16
BELOW, INSIDE, ABOVE, UNSOLVABLE = range(4)


def draw_measured(
    generate: Callable[[Seeds], Levels],
    measure: Callable[[Levels], Levels],
    seeds: Seeds,
) -> Levels:
    """Return the arrays of the levels of some seeds, and then their measures.

    ``measure`` returns those of m levels, (m,) each; below 0: there is none.
    """
    levels = generate(seeds)
    return *levels, *measure(levels)


def search_bands(
    draw: Callable[[Seeds], Levels],
    seeds: Seeds,
    names: tuple[str, ...],
    bands: Mapping[str, Band],
) -> Levels:
    """Return the first level within all bands of each seed.

    Parameters
    ----------
    draw : callable
        From (m,) uint64 seeds to a tuple of new arrays of m rows, of which the last are
        measures.
    seeds : (m,) uint64
    names : tuple of str
        Of the measures.
    bands : mapping from str to Band

    Returns
    -------
    tuple of arrays
        Of m rows, as ``draw`` returns them.

    Raises
    ------
    LevelGenerationError
        If `MAX_BAND_ATTEMPTS` levels of a seed are outside.  It names the seed, the
        bands, and the shares of these levels below, inside and above each band.
    """
    search = _Search(draw, seeds, names, bands)
    rows = search.first_rows
    attempt = 1
    while len(rows) and attempt < _ATTEMPTS_TOGETHER:
        rows, attempt = search.try_more(rows, attempt)
    for start in range(0, len(rows), _SEEDS_TOGETHER):
        part, number = rows[start : start + _SEEDS_TOGETHER], attempt
        while len(part):
            if number >= MAX_BAND_ATTEMPTS:
                raise search.failure(part[0])
            part, number = search.try_more(part, number)
    return search.levels


class _Search:
    """The levels of some seeds so far, and where the levels that were tried lie.

    Attributes
    ----------
    levels : tuple of arrays
        Of m rows: the level of the last attempt of each seed.
    first_rows : (k,) int64
        Seeds whose attempt 0 is outside.
    """

    def __init__(
        self,
        draw: Callable[[Seeds], Levels],
        seeds: Seeds,
        names: tuple[str, ...],
        bands: Mapping[str, Band],
    ) -> None:
        self._draw, self._seeds, self._bands = draw, seeds, bands
        self._columns = [names.index(name) - len(names) for name in bands]
        self._counts = np.zeros((len(seeds), len(bands), 4), np.int64)
        self.levels = draw(seeds)
        grades = self._grade(self.levels)
        self.first_rows = np.flatnonzero((grades != INSIDE).any(0))
        self._count(self.first_rows, grades[:, self.first_rows])

    def try_more(
        self, rows: NDArray[np.int64], attempt: int
    ) -> tuple[NDArray[np.int64], int]:
        """Try one or more levels of some seeds.

        Returns
        -------
        rows : (k,) int64
            The seeds that still have no level inside.
        attempt : int
            The next attempt.
        """
        # As many as were tried before: at most half of the levels are drawn in vain.
        number = max(min(attempt, _LEVELS_AT_ONCE // len(rows)), 1)
        number = min(number, MAX_BAND_ATTEMPTS - attempt)
        try:
            levels = self._draw(self._attempt_seeds(rows, attempt, number))
        except LevelGenerationError:
            if number == 1:
                raise
            # It may be that of an attempt after one inside, which is not needed.
            number = 1
            levels = self._draw(self._attempt_seeds(rows, attempt, number))
        grades = self._grade(levels).reshape(-1, len(rows), number)
        is_inside = (grades == INSIDE).all(0)
        has_level, first = is_inside.any(1), is_inside.argmax(1)
        sources = np.arange(len(rows)) * number + first
        for own, new in zip(self.levels, levels, strict=True):
            own[rows[has_level]] = new[sources[has_level]]
        remaining = rows[~has_level]
        for j in range(number):
            self._count(remaining, grades[:, ~has_level, j])
        return remaining, attempt + number

    def _attempt_seeds(
        self, rows: NDArray[np.int64], attempt: int, number: int
    ) -> Seeds:
        """Return the seeds of the next ``number`` attempts at some seeds, in turn."""
        counters = BAND + np.arange(attempt, attempt + number, dtype=np.uint64)
        seeds = np.empty(len(rows) * number, np.uint64)
        fold_in_rows(
            np.repeat(self._seeds[rows], number), np.tile(counters, len(rows)), seeds
        )
        return seeds

    def _grade(self, levels: Levels) -> NDArray[np.int8]:
        """Return the (bands, m) places of levels, from `BELOW` to `UNSOLVABLE`."""
        grades = np.full((len(self._bands), len(levels[0])), INSIDE, np.int8)
        for band, column, row in zip(
            self._bands.values(), self._columns, grades, strict=True
        ):
            (low, high), values = band, levels[column]
            if low is not None:
                row[values < low] = BELOW
            if high is not None:
                row[values > high] = ABOVE
            # Below -1: beyond the limits of the solver.
            row[values < 0] = ABOVE
            row[values == -1] = UNSOLVABLE
        return grades

    def _count(self, rows: NDArray[np.int64], grades: NDArray[np.int8]) -> None:
        for number, of_band in enumerate(grades):
            self._counts[rows, number, of_band] += 1

    def failure(self, row: int) -> LevelGenerationError:
        """Return the error about a seed without a level."""
        counts = {
            # Generated levels all have a solution.
            name: of_band if of_band[UNSOLVABLE] else of_band[:UNSOLVABLE]
            for name, of_band in zip(
                self._bands, self._counts[row].tolist(), strict=True
            )
        }
        source = f"seed {self._seeds[row]}"
        return LevelGenerationError.outside_bands("level", source, self._bands, counts)
