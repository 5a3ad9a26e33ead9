"""Sets of levels of a wanted difficulty, drawn once with the exact solvers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from roll_vec.envs.level_sets import LevelSet
from roll_vec.errors import InvalidOptionError, LevelGenerationError
from roll_vec.options import check_int, check_number, parse_options, resolve_num_threads
from roll_vec.progress import report
from roll_vec.registration import ENVIRONMENTS
from roll_vec.registration.factories import MAX_ENVS
from roll_vec.seeding import MAX_BAND_ATTEMPTS, band_seed

Ids: TypeAlias = NDArray[np.int64]
Seeds: TypeAlias = NDArray[np.uint64]
Bands: TypeAlias = Mapping[str, tuple[Any, Any]]

# So many levels are drawn together until each is inside: a band without levels raises
# after some hundred thousand levels, not after millions.
_TOGETHER = 256
BELOW, INSIDE, ABOVE, UNSOLVABLE = range(4)


def draw_levels(
    id: str,
    num_levels: int,
    *,
    start_level: int = 0,
    num_threads: int | None = None,
    **keywords: Any,
) -> tuple[LevelSet, Ids]:
    """Draw a set of levels, of a wanted difficulty, for the keyword ``levels``.

    A band is a pair (low, high): both ends are inside, None is an open end.  Level j of
    the set belongs to the number n = ``start_level + j``.  Attempt t = 0, 1, 2, ...
    tries the level of `roll_vec.seeding.band_seed(n, t)`, and the first one inside all
    bands is in the set.  Without a band this is the level of the seed n itself.

    Parameters
    ----------
    id : str
        ``roll_vec/Sokoban-v0`` or ``roll_vec/RandomFrozenLake-v0``.
    num_levels : int
        Number of levels in the set.
    start_level : int
    num_threads : int or None
        As of `make_vec`; the levels do not depend on it.
    **keywords
        Bands, and keywords of the id that choose its levels.  Sokoban has the bands
        ``solution_steps`` and ``solution_pushes``, the fewest moves and pushes that
        solve a level; RandomFrozenLake has ``success_probability``, the chance that the
        best player reaches the goal, without a step limit, rounded to 12 decimals.

    Returns
    -------
    levels : LevelSet
        For the keyword ``levels`` of the id; ``levels.grids`` are their cell codes, (L,
        H, W) uint8.
    seeds : (L,) int64
        ``reset(seed=seeds[j])`` with the same keywords, but the bands, begins with
        level j.

    Raises
    ------
    UnknownOptionError, InvalidOptionError
    LevelGenerationError
        If `MAX_BAND_ATTEMPTS` levels of a number are outside.  It names the number, the
        bands, and the shares of these levels below, inside and above each band.
    SolverLimitError
        Lakes are too large to be measured.
    """
    registered = ENVIRONMENTS.get(id)
    env_class: Any = registered and registered.load()
    measures = getattr(env_class, "MEASURES", {})
    if not measures:
        accepted = "an id whose levels have measures, such as roll_vec/Sokoban-v0"
        raise InvalidOptionError.expected("id", accepted, id)
    bands = read_bands(measures, keywords)
    count = check_int("num_levels", num_levels, 1, MAX_ENVS)
    start = check_int("start_level", start_level, 0, (1 << 32) - count)
    options = parse_options(env_class, keywords)
    if options.levels is not None:
        raise InvalidOptionError.expected("levels", "None: levels are drawn", "levels")
    numbers = np.arange(start, start + count, dtype=np.uint64)
    levels, seeds = search_levels(
        options, numbers, bands, resolve_num_threads(num_threads)
    )
    return levels, seeds.astype(np.int64)


def read_bands(measures: Mapping[str, float], keywords: dict[str, Any]) -> Bands:
    """Return the bands among keywords, checked, and remove them there.

    Parameters
    ----------
    measures : mapping from str to number
        ``MEASURES`` of the class.
    keywords : dict, updated

    Raises
    ------
    InvalidOptionError
    """
    bands = {}
    for name, highest in measures.items():
        value = keywords.pop(name, None)
        band = _check_band(name, value, highest)
        if band is not None:
            bands[name] = band
    return bands


def _check_band(name: str, value: Any, highest: float) -> tuple[Any, Any] | None:
    """Return a pair (low, high), in which None is no bound; None: no band.

    Parameters
    ----------
    highest : int or float
        The greatest bound; an int: bounds are integers.
    """
    if value is None:
        return None
    is_integer = isinstance(highest, int)
    kind = "integers" if is_integer else "numbers"
    accepted = f"None or two {kind} (low, high), each of which may be None"
    try:
        if isinstance(value, str):
            raise TypeError
        low, high = value
    except (TypeError, ValueError):
        raise InvalidOptionError.expected(name, accepted, value) from None

    def check(bound: Any) -> Any:
        if bound is None:
            return None
        if is_integer:
            return check_int(name, bound, 0, int(highest))
        return check_number(name, bound, 0, highest)

    low, high = check(low), check(high)
    if low is not None and high is not None and low > high:
        accepted = "a low bound that is not above the high one"
        raise InvalidOptionError.expected(name, accepted, value)
    return None if low is None and high is None else (low, high)


def search_levels(
    options: Any, numbers: Seeds, bands: Bands, num_threads: int
) -> tuple[LevelSet, Seeds]:
    """Return the level of each number, see `draw_levels`, and its seed.

    Parameters
    ----------
    options : ArrayEnv
    numbers : (m,) uint64
        Below 2**32.
    bands : mapping from str to (low, high)
        May be empty.
    num_threads : int

    Raises
    ------
    LevelGenerationError, SolverLimitError
    """
    provider = options.make_provider(num_threads)
    seeds = numbers.copy()

    def draw(rows: Ids) -> LevelSet:
        arrays, indices = provider.generate_rows(seeds[rows])
        levels: LevelSet = options.make_level_set(tuple(a[indices] for a in arrays))
        return levels

    if not bands:
        return draw(np.arange(len(numbers))), seeds
    for start in range(0, len(numbers), _TOGETHER):
        rows = np.arange(start, min(start + _TOGETHER, len(numbers)))
        counts = np.zeros((len(rows), len(bands), 4), np.int64)
        first, attempt = start, 0
        while len(rows):
            if attempt == MAX_BAND_ATTEMPTS:
                number = int(numbers[rows[0]])
                raise _failure(number, bands, counts[rows[0] - first])
            seeds[rows] = [band_seed(n, attempt) for n in numbers[rows].tolist()]
            grades = _grade(options.measure(draw(rows), num_threads), bands)
            for number, of_band in enumerate(grades):
                counts[rows - first, number, of_band] += 1
            rows, attempt = rows[(grades != INSIDE).any(0)], attempt + 1
        report("levels", min(start + _TOGETHER, len(numbers)), len(numbers))
    return draw(np.arange(len(numbers))), seeds


def _grade(measures: Mapping[str, NDArray[Any]], bands: Bands) -> NDArray[np.int8]:
    """Return the (bands, m) places of levels, from `BELOW` to `UNSOLVABLE`."""
    grades = []
    for name, (low, high) in bands.items():
        values = measures[name]
        grade = np.full(len(values), INSIDE, np.int8)
        if low is not None:
            grade[values < low] = BELOW
        if high is not None:
            grade[values > high] = ABOVE
        # Below -1: beyond the limits of the solver.
        grade[values < 0] = ABOVE
        grade[values == -1] = UNSOLVABLE
        grades.append(grade)
    return np.array(grades)


def _failure(number: int, bands: Bands, counts: NDArray[np.int64]) -> Exception:
    """Return the error about a number without a level."""
    shares = []
    for name, places in zip(bands, counts.tolist(), strict=True):
        below, inside, above, unsolvable = (f"{n / sum(places):.1%}" for n in places)
        share = f"{below} are below, {inside} inside, {above} above {name}"
        # Generated levels all have a solution.
        end = f", {unsolvable} without a solution" if places[UNSOLVABLE] else ""
        shares.append(share + end)
    ranges = (f"{name}=({low}, {high})" for name, (low, high) in bands.items())
    return LevelGenerationError(
        f"no level was found for seed {number} within {' and '.join(ranges)}: of "
        f"{MAX_BAND_ATTEMPTS} levels {'; '.join(shares)}; take wider bands, or change "
        "the levels by other keywords"
    )
