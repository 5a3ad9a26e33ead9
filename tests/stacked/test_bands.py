"""Bands of difficulty: which level a seed plays, by the documented rule.

It is for bugs such as these:

- attempt 1 is skipped;
- of several levels drawn at once, the last one inside is played;
- a bound itself is outside;
- a level without a solution is inside an open band;
- an attempt after one inside, drawn with it, cannot be generated: an error.
"""

import copy

import gymnasium
import numpy as np
import pytest

import roll_vec
from roll_vec.envs.sokoban.solver import measure_rooms
from roll_vec.errors import LevelGenerationError
from roll_vec.progress import listen
from roll_vec.seeding import MAX_BAND_ATTEMPTS, band_seed, episode_seed
from roll_vec.stacked import row_threads as threads
from roll_vec.stacked.bands import MeasuredGenerator, search_bands
from roll_vec.stacked.level_providers import FixedLevels, GeneratedLevels
from tests.conftest import JIT_OFF

SOKOBAN = "roll_vec/Sokoban-v0"
SMALL = {"dim_room": (5, 6), "num_boxes": 1}
NUM_SEEDS = 20
UNCOMPILED = pytest.mark.skipif(JIT_OFF, reason="takes minutes uncompiled")


def naive_level(seed, draw, bands):
    """Return the first level within the bands, and its attempt."""
    for attempt in range(1000):
        level, measures = draw(band_seed(seed, attempt))
        inside = [
            value >= 0
            and (low is None or value >= low)
            and (high is None or value <= high)
            for value, (low, high) in zip(measures, bands, strict=True)
        ]
        if all(inside):
            return level, attempt
    raise AssertionError("no level")


# ------------------------------------------------------------------------ the search


def draw(seeds):
    """Return levels that are their seeds, and two measures, -1 for some."""
    first = (seeds % np.uint64(97)).astype(np.int64)
    second = (seeds // np.uint64(97) % np.uint64(13)).astype(np.int64) - 1
    return seeds.copy(), first, second


@pytest.mark.parametrize(
    "ranges",
    [
        ((None, None), (None, None)),
        ((0, 96), (None, 5)),
        ((3, 3), (None, None)),
        ((50, 60), (2, 4)),
        ((80, None), (10, None)),
    ],
)
@pytest.mark.parametrize("count", [1, 3, 10 if JIT_OFF else 100])
def test_the_first_level_inside_is_played(count, ranges):
    seeds = np.random.default_rng(count).integers(0, 1 << 32, count, np.uint64)
    levels, *measures = search_bands(
        draw,
        seeds,
        ("first", "second"),
        dict(zip(("first", "second"), ranges, strict=True)),
    )

    def draw_one(seed):
        level, *values = draw(np.array([seed], np.uint64))
        return int(level[0]), [int(value[0]) for value in values]

    for j, seed in enumerate(seeds.tolist()):
        expected, _ = naive_level(seed, draw_one, ranges)
        assert levels[j] == expected
        assert [int(m[j]) for m in measures] == draw_one(expected)[1]


def test_a_band_without_levels_is_an_error_with_shares():
    tried = []

    def noting(seeds):
        tried.extend(seeds.tolist())
        return draw(seeds)

    ranges = {"first": (97, None), "second": (6, 7)}
    with pytest.raises(LevelGenerationError) as caught:
        search_bands(noting, np.array([5], np.uint64), ("first", "second"), ranges)
    assert tried == [band_seed(5, attempt) for attempt in range(MAX_BAND_ATTEMPTS)]
    _, first, second = draw(np.array(tried, np.uint64))
    below = np.count_nonzero((second >= 0) & (second < 6)) / 1000
    inside = np.count_nonzero((second == 6) | (second == 7)) / 1000
    above, unsolved = (second > 7).mean(), (second == -1).mean()
    expected = (
        "no level was found for seed 5 within first=(97, None) and second=(6, 7): of "
        "1000 levels 100.0% are below, 0.0% inside, 0.0% above first; "
        f"{below:.1%} are below, {inside:.1%} inside, {above:.1%} above second, "
        f"{unsolved:.1%} without a solution"
    )
    assert str(caught.value).startswith(expected)
    assert (first < 97).all()


@pytest.mark.parametrize("num_others", [0, 40])
def test_an_attempt_that_is_not_needed_may_have_no_level(num_others):
    """Of seed 7 attempt 2 is the first inside, and attempt 3 has no level at all."""
    inside, without_level = band_seed(7, 2), band_seed(7, 3)

    def draw_some(seeds):
        if (seeds == without_level).any():
            raise LevelGenerationError("none")
        return seeds.copy(), (seeds == inside) | (seeds > 1 << 40)

    others = np.arange(num_others, dtype=np.uint64) + np.uint64(1 << 50)
    seeds = np.append(np.array([7], np.uint64), others)
    levels, _ = search_bands(draw_some, seeds, ("first",), {"first": (1, None)})
    assert levels.tolist() == [inside, *others.tolist()]

    def draw_none(seeds):
        return draw_some(seeds)[0], np.zeros(len(seeds))

    with pytest.raises(LevelGenerationError, match="none"):
        search_bands(draw_none, seeds[:1], ("first",), {"first": (1, None)})


@UNCOMPILED
def test_one_seed_without_a_level_ends_a_large_batch_soon():
    count = 0

    def counting(seeds):
        nonlocal count
        count += len(seeds)
        return draw(seeds)

    seeds = np.arange(1000, dtype=np.uint64)
    with pytest.raises(LevelGenerationError, match="seed 0 within"):
        search_bands(counting, seeds, ("first", "second"), {"first": (97, None)})
    assert count < 100_000


def test_levels_of_a_finite_set_are_drawn_once_and_by_their_own_numbers():
    calls = []

    def generate(seeds):
        calls.append(len(seeds))
        return (seeds.copy(),)

    class Measure:
        names = ("first",)

        def __call__(self, levels):
            return (draw(levels[0])[1],)

    generator = MeasuredGenerator(generate, Measure(), {"first": (10, 40)})
    provider = GeneratedLevels(generator, 9, 100, 16, Measure.names)
    for _ in range(2):
        (levels, measures), indices = provider.get(np.arange(18, dtype=np.uint64))
        for k, index in enumerate(indices.tolist()):
            expected, _ = naive_level(100 + k % 9, lambda s: (s, [s % 97]), [(10, 40)])
            assert levels[index] == expected
            assert measures[index] == expected % 97
        made = sum(calls)
    assert sum(calls) == made
    assert sum(calls) >= 9


class Numbers:
    """A set of levels that are numbers."""

    def __init__(self, count):
        self.arrays = (np.arange(count),)


def test_given_levels_are_chosen_by_the_documented_rule_and_measured_once():
    measured = []

    class Measure:
        names = ("value",)

        def __call__(self, levels):
            measured.extend(levels[0].tolist())
            return (np.where(levels[0] == 7, -1, levels[0]),)

    provider = FixedLevels(Numbers(30), 20, 4, Measure(), {"value": (6, 9)})
    for _ in range(2):
        seeds = np.arange(50, dtype=np.uint64)
        (levels, values), indices = provider.get(seeds)
        for seed, index in enumerate(indices.tolist()):
            expected, _ = naive_level(
                seed,
                lambda s: (4 + s % 20, [-1 if 4 + s % 20 == 7 else 4 + s % 20]),
                [(6, 9)],
            )
            assert levels[index] == values[index] == expected
    assert len(measured) == len(set(measured)) <= 20
    assert provider.level_numbers(seeds, indices).tolist() == indices.tolist()
    copied = copy.deepcopy(provider)
    assert copied._measured is None
    np.testing.assert_array_equal(copied.get(seeds)[1], indices)


# --------------------------------------------------------------------------- Sokoban

RANGES = [
    {"solution_steps": (6, 9)},
    {"solution_pushes": (3, None)},
    {"solution_steps": (None, 8), "solution_pushes": [2, 3]},
]


@UNCOMPILED
@pytest.mark.parametrize("ranges", RANGES)
@pytest.mark.parametrize("num_levels", [0, 11])
def test_rooms_are_those_of_the_rule(ranges, num_levels):
    more = {**SMALL, "num_levels": num_levels, **ranges}
    if num_levels:
        more["start_level"] = 1000
    env = roll_vec.make_vec(SOKOBAN, NUM_SEEDS, autoreset_mode="Disabled", **more)
    alone = gymnasium.make(SOKOBAN, **SMALL)

    def draw_one(seed):
        grid = alone.reset(seed=seed)[0]
        steps, pushes = measure_rooms(grid[np.newaxis])
        measures = {"solution_steps": steps[0], "solution_pushes": pushes[0]}
        return grid, [measures[name] for name in ranges]

    attempts = set()
    for k in range(2):
        grids, _ = env.reset(seed=7 if k == 0 else None)
        for i, grid in enumerate(grids):
            seed = episode_seed(7 + i, k)
            if num_levels:
                seed = 1000 + seed % num_levels
            expected, attempt = naive_level(seed, draw_one, ranges.values())
            np.testing.assert_array_equal(grid, expected)
            attempts.add(attempt)
    assert len(attempts) > 2


@UNCOMPILED
def test_levels_do_not_depend_on_the_batch():
    more = {**SMALL, "solution_steps": (9, None)}
    whole = roll_vec.make_vec(SOKOBAN, 30, num_threads=1, **more).reset(seed=0)[0]
    split = roll_vec.make_vec(SOKOBAN, 30, num_threads=3, **more)
    np.testing.assert_array_equal(split.reset(seed=0)[0], whole)
    mask = np.arange(30) % 3 == 1
    split.reset(seed=50)
    grids, _ = split.reset(seed=0, options={"reset_mask": mask})
    np.testing.assert_array_equal(grids[mask], whole[mask])


@UNCOMPILED
def test_a_band_that_hardly_exists_moves_nothing():
    env = roll_vec.make_vec(SOKOBAN, 4, autoreset_mode="SameStep", **SMALL)
    env.reset(seed=3)
    state = env.get_state()
    env.set_level_options(solution_steps=(100, 200))
    with pytest.raises(LevelGenerationError, match=r"seed \d+ within solution_steps"):
        env.reset(seed=4)
    assert env.np_random_seed == (3, 4, 5, 6)
    env.set_level_options(solution_steps=None)
    assert env.get_state() == state
    alone = gymnasium.make(SOKOBAN, solution_pushes=(90, None), **SMALL)
    with pytest.raises(LevelGenerationError, match="seed 0 within solution_pushes"):
        alone.reset(seed=0)


@UNCOMPILED
def test_interrupt_while_a_band_is_searched(monkeypatch):
    monkeypatch.setattr(threads, "SLICE_SECONDS", 0.0)
    env, other = (
        roll_vec.make_vec(SOKOBAN, 20, solution_steps=(8, None), **SMALL)
        for _ in range(2)
    )
    env.reset(seed=1), other.reset(seed=1)
    reports = []

    def interrupt(unit, done, total):
        reports.append(total)
        # After the first attempt, with fewer rooms.
        if total < 20:
            raise KeyboardInterrupt

    with listen(interrupt), pytest.raises(KeyboardInterrupt):
        env.reset(seed=50)
    assert reports[0] == 20
    np.testing.assert_array_equal(env.reset()[0], other.reset()[0])


def test_levels_without_a_solution_have_a_share_of_their_own():
    env = roll_vec.make_vec(
        SOKOBAN, 1, levels=["#####\n#.@$#\n#####"], solution_steps=(1, None)
    )
    open_band = gymnasium.make(SOKOBAN, solution_steps=(None, None))
    assert open_band.unwrapped.options.solution_steps is None
    shares = r"0\.0% above solution_steps, 100\.0% without a solution"
    with pytest.raises(LevelGenerationError, match=shares):
        env.reset(seed=0)
