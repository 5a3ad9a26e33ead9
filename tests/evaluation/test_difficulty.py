"""`draw_levels`: sets of levels within bands of difficulty.

It is for bugs such as these:

- attempt 1 of a band is skipped;
- a bound itself is outside;
- a level without a solution is inside an open band;
- the seed of a level is that of another attempt.
"""

from types import SimpleNamespace

import gymnasium
import numpy as np
import pytest

import roll_vec
from roll_vec.envs.sokoban.solver import measure_rooms
from roll_vec.errors import InvalidOptionError, LevelGenerationError, UnknownOptionError
from roll_vec.evaluation import draw_levels
from roll_vec.evaluation.difficulty import search_levels
from roll_vec.evaluation.splits import SPLITS, TEST_START
from roll_vec.seeding import MAX_BAND_ATTEMPTS, band_seed
from tests.conftest import JIT_OFF

SOKOBAN, LAKES = "roll_vec/Sokoban-v0", "roll_vec/RandomFrozenLake-v0"
SMALL = {"dim_room": (5, 6), "num_boxes": 1}
UNCOMPILED = pytest.mark.skipif(JIT_OFF, reason="takes minutes uncompiled")


def measure(seeds):
    """Return two measures of levels that are their seeds.

    -1 stands for a level without a solution, -2 for one that the solver gives up.
    """
    first = (seeds % np.uint64(97)).astype(np.int64)
    second = (seeds // np.uint64(97) % np.uint64(13)).astype(np.int64) - 2
    return {"first": first, "second": second}


def make_options(asked=None):
    """Return options whose levels are their seeds."""

    def generate_rows(seeds):
        if asked is not None:
            asked.extend(seeds.tolist())
        return (seeds.copy(),), np.arange(len(seeds))

    provider = SimpleNamespace(generate_rows=generate_rows)
    return SimpleNamespace(
        make_provider=lambda _: provider,
        make_level_set=lambda arrays: arrays[0],
        measure=lambda levels, _: measure(levels),
    )


@pytest.mark.parametrize(
    "ranges",
    [
        {},
        {"first": (0, 96), "second": (None, 5)},
        {"first": (3, 3)},
        {"first": (50, 60), "second": (2, 4)},
        {"first": (80, None), "second": (10, None)},
    ],
)
@pytest.mark.parametrize("count", [1, 300])
def test_the_first_level_inside_is_drawn(count, ranges):
    numbers = np.random.default_rng(count).integers(0, 1 << 32, count, np.uint64)
    levels, seeds = search_levels(make_options(), numbers, ranges, 1)
    assert levels.tolist() == seeds.tolist()
    for number, seed in zip(numbers.tolist(), seeds.tolist(), strict=True):
        for attempt in range(MAX_BAND_ATTEMPTS):
            own = band_seed(number, attempt)
            values = measure(np.array([own], np.uint64))
            if all(
                values[name] >= 0
                and (low is None or values[name] >= low)
                and (high is None or values[name] <= high)
                for name, (low, high) in ranges.items()
            ):
                break
        assert seed == own


def test_a_band_without_levels_is_an_error_with_shares():
    tried, ranges = [], {"first": (97, None), "second": (6, 7)}
    with pytest.raises(LevelGenerationError) as caught:
        search_levels(make_options(tried), np.array([5], np.uint64), ranges, 1)
    assert tried == [band_seed(5, attempt) for attempt in range(MAX_BAND_ATTEMPTS)]
    second = measure(np.array(tried, np.uint64))["second"]
    below = np.count_nonzero((second >= 0) & (second < 6)) / 1000
    inside = np.count_nonzero((second == 6) | (second == 7)) / 1000
    above = ((second > 7) | (second == -2)).mean()
    unsolved = (second == -1).mean()
    expected = (
        "no level was found for seed 5 within first=(97, None) and second=(6, 7): of "
        "1000 levels 100.0% are below, 0.0% inside, 0.0% above first; "
        f"{below:.1%} are below, {inside:.1%} inside, {above:.1%} above second, "
        f"{unsolved:.1%} without a solution"
    )
    assert str(caught.value).startswith(expected)


@UNCOMPILED
@pytest.mark.parametrize(
    ("id", "more", "band"),
    [
        (SOKOBAN, SMALL, {"solution_steps": (6, 9), "solution_pushes": [3, None]}),
        (LAKES, {"size": 3, "p": 0.6}, {"success_probability": (0.2, 0.5)}),
        (LAKES, {"is_slippery": False, "size": 5}, {}),
    ],
)
def test_a_set_is_played_and_its_seeds_begin_with_its_levels(id, more, band):
    levels, seeds = draw_levels(id, 20, start_level=7, **more, **band)
    assert seeds.dtype == np.int64
    envs = gymnasium.make_vec(id, num_envs=20, **more)
    grids, _ = envs.reset(seed=seeds.tolist())
    np.testing.assert_array_equal(grids, levels.grids)
    more = {name: more[name] for name in more.keys() & {"is_slippery"}}
    envs = roll_vec.make_vec(id, 20, levels=levels, level_info=True, **more)
    grids, infos = envs.reset(seed=0)
    np.testing.assert_array_equal(grids, levels.grids)
    assert infos["level"].tolist() == list(range(20))
    if id == SOKOBAN:
        steps, pushes = measure_rooms(levels.grids)
        assert steps.min() >= 6
        assert steps.max() <= 9
        assert pushes.min() >= 3


@UNCOMPILED
def test_stored_seeds_are_those_of_the_bands():
    for id in (SOKOBAN, LAKES):
        for split in SPLITS[id].values():
            if split.bands:
                more = {**split.keywords, **split.bands}
                _, seeds = draw_levels(id, len(split), start_level=TEST_START, **more)
                assert seeds.tolist() == split.seeds


@pytest.mark.parametrize(
    ("id", "keywords", "message"),
    [
        ("roll_vec/FrozenLake-v1", {}, "^id: "),
        ("roll_vec/Nothing-v0", {}, "^id: "),
        (SOKOBAN, {"solution_steps": (5, 3)}, "^solution_steps: "),
        (SOKOBAN, {"success_probability": (0.1, 0.3)}, "success_probability"),
        (SOKOBAN, {"levels": ["#####\n#@$.#\n#####"]}, "^levels: "),
        (SOKOBAN, {"start_level": 1 << 32}, "^start_level: "),
    ],
)
def test_bad_arguments(id, keywords, message):
    with pytest.raises((InvalidOptionError, UnknownOptionError), match=message):
        draw_levels(id, 3, **keywords)
