"""Levels: sets and their caches, bands of difficulty, slices and interrupts.

It is for bugs such as these:

- attempt 1 of a band is skipped;
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
from roll_vec.arrays import level_providers
from roll_vec.arrays import row_threads as threads
from roll_vec.arrays.bands import search_bands
from roll_vec.arrays.level_providers import LevelProvider
from roll_vec.envs.sokoban.solver import measure_rooms
from roll_vec.errors import LevelGenerationError
from roll_vec.progress import listen
from roll_vec.seeding import MAX_BAND_ATTEMPTS, band_seed, episode_seed
from tests.conftest import JIT_OFF
from tests.contract.cases import assert_undisturbed

SOKOBAN, LAKES = "roll_vec/Sokoban-v0", "roll_vec/RandomFrozenLake-v0"
SMALL = {"dim_room": (5, 6), "num_boxes": 1}
CONFIG = {SOKOBAN: {**SMALL, "search_depth": 30}, LAKES: {"size": 3}}
UNCOMPILED = pytest.mark.skipif(JIT_OFF, reason="takes minutes uncompiled")


@pytest.fixture(params=CONFIG)
def id(request):
    """The id of a family with levels."""
    return request.param


# ------------------------------------------------------------------ kept levels


class Counted:
    """A generator of levels that notes what it is asked for."""

    def __init__(self):
        self.asked = []

    def __call__(self, seeds):
        self.asked.append(seeds.tolist())
        assert len(np.unique(seeds)) == len(seeds) > 0
        if 666 in seeds:
            raise RuntimeError("no level")
        return seeds * np.uint64(10), np.stack([seeds, seeds + np.uint64(1)], axis=1)


def pick(provider, seeds):
    """Return the numbers of the levels that seeds play."""
    parts, level_indices = provider.get(np.array(seeds, np.uint64))
    assert level_indices.dtype == np.int64
    first, second = (part[level_indices] for part in parts)
    assert (second[:, 0] * 10 == first).all()
    assert (second[:, 1] == second[:, 0] + 1).all()
    return second[:, 0].tolist()


# What is generated again and what is not shows in no result.
def test_a_level_is_generated_once_and_cached():
    generate = Counted()
    provider = LevelProvider(generate, 5, 100, 8)
    for seeds in ([0, 7, 2, 12], [5, 1], [0, 1, 2], [3, 4, 8, 9]):
        assert pick(provider, seeds) == [100 + seed % 5 for seed in seeds]
    assert generate.asked == [[100, 102], [101], [103, 104]]
    # Copies begin without levels.
    copied = copy.deepcopy(provider)
    assert pick(copied, [2]) == [102]
    assert copied.generate.asked[-1] == [102]
    # Unlimited levels are drawn each time, but once a call.
    generate = Counted()
    provider = LevelProvider(generate, 0, 0, 8)
    assert pick(provider, [9, 3, 9, 9]) == [9, 3, 9, 9]
    assert pick(provider, [9]) == [9]
    assert generate.asked == [[3, 9], [9]]
    # A failure leaves the cache as it is.
    generate = Counted()
    provider = LevelProvider(generate, 5, 664, 8)
    pick(provider, [0])
    with pytest.raises(RuntimeError, match="no level"):
        pick(provider, [1, 2])
    assert pick(provider, [1, 0]) == [665, 664]
    assert generate.asked == [[664], [665, 666], [665]]


def test_a_set_that_is_too_large_is_not_cached(monkeypatch):
    monkeypatch.setattr(level_providers, "CACHE_BYTES", 100)
    for num_levels, keeps in ((25, True), (26, False)):
        generate = Counted()
        provider = LevelProvider(generate, num_levels, 7, 4)
        for _ in range(2):
            assert pick(provider, [1, 27, 1]) == [8, 7 + 27 % num_levels, 8]
        assert len(generate.asked) == (1 if keeps else 2)


# ------------------------------------------------------------------- interrupts


INTERRUPTED = [
    *((id, {**CONFIG[id], "num_levels": n}) for id in CONFIG for n in (0, 500)),
    (SOKOBAN, {**SMALL, "solution_steps": (8, None)}),
]


@UNCOMPILED
@pytest.mark.parametrize(("id", "keywords"), INTERRUPTED, ids=str)
def test_interrupt_while_levels_are_drawn_moves_nothing(id, keywords, monkeypatch):
    # By one thread: helpers can be done before the calling one begins.
    monkeypatch.setattr(threads, "SLICE_SECONDS", 0.0)  # a slice is one level
    n, has_band = 100, "solution_steps" in keywords
    keywords = {"num_threads": 1, "action_start": 1, **keywords}
    env, other = (
        gymnasium.make_vec(id, num_envs=n, autoreset_mode="Disabled", **keywords)
        for _ in range(2)
    )

    def interrupt(unit, done, total):
        assert unit in ("rooms", "maps")
        assert 0 < done < total or has_band
        # Of a band after the first attempt, with fewer rooms.
        if total < n or not has_band:
            raise KeyboardInterrupt

    for seed in (7, None):  # before the first reset, and after it
        with listen(interrupt), pytest.raises(KeyboardInterrupt):
            env.reset(seed=1234567)
        np.testing.assert_array_equal(
            env.reset(seed=seed)[0], other.reset(seed=seed)[0]
        )
        assert env.get_attr("np_random_seed") == other.get_attr("np_random_seed")
    assert_undisturbed(env, other)


@UNCOMPILED
def test_levels_do_not_depend_on_slices_and_threads(id, monkeypatch):
    whole = gymnasium.make_vec(id, num_envs=100, num_threads=1).reset(seed=3)[0]
    # Slices of one level, and of a few.
    for seconds, num_threads in ((0.0, 1), (0.0, 3), (1e-4, 3)):
        monkeypatch.setattr(threads, "SLICE_SECONDS", seconds)
        env = gymnasium.make_vec(id, num_envs=100, num_threads=num_threads)
        np.testing.assert_array_equal(env.reset(seed=3)[0], whole)


# ---------------------------------------------------------------- bands, the search


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


def draw(seeds):
    """Return levels that are their seeds, and two measures.

    -1 stands for a level without a solution, -2 for one that the solver gives up.
    """
    first = (seeds % np.uint64(97)).astype(np.int64)
    second = (seeds // np.uint64(97) % np.uint64(13)).astype(np.int64) - 2
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
    above = ((second > 7) | (second == -2)).mean()
    unsolved = (second == -1).mean()
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


# ---------------------------------------------------------------- bands, of Sokoban

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
    env = roll_vec.make_vec(SOKOBAN, 20, autoreset_mode="Disabled", **more)
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


def test_given_levels_within_a_band_are_those_of_the_rule(monkeypatch):
    counts = []

    def counted(grids, **more):
        # Not what the threads of another test's batch still measure.
        if grids.shape[1:] == (3, 14):
            counts.append(len(grids))
        return measure_rooms(grids, **more)

    # No result shows that each of the 20 levels is measured once.
    monkeypatch.setattr("roll_vec.envs.sokoban.solver.measure_rooms", counted)
    # The solution of level k takes k % 10 pushes and steps; one level has none.
    rooms = [f"#@${' ' * (k % 10 - 1)}.{' ' * (10 - k % 10)}#" for k in range(30)]
    rooms = [room if k % 10 else "#$@         .#" for k, room in enumerate(rooms)]
    levels = ["\n".join(["#" * 14, room.ljust(14, "#"), "#" * 14]) for room in rooms]
    more = {"levels": levels, "num_levels": 20, "start_level": 4, "level_info": True}
    more |= {"solution_steps": (6, 9), "autoreset_mode": "Disabled"}
    env = roll_vec.make_vec(SOKOBAN, 50, **more)
    for _ in range(2):
        grids, infos = env.reset(seed=0)
        for seed, level in enumerate(infos["level"].tolist()):
            expected, _ = naive_level(
                seed, lambda s: (4 + s % 20, [(4 + s % 20) % 10 or -1]), [(6, 9)]
            )
            assert level == expected
            assert measure_rooms(grids[seed : seed + 1])[0] == [level % 10]
    assert sum(counts) <= 20


# ------------------------------------------------------------------------- unrolls


@pytest.mark.parametrize(
    ("id", "level"), [(SOKOBAN, "#####\n#@$.#\n#####"), (LAKES, "SFF\nFHG")]
)
@pytest.mark.parametrize("unrolls", [False, True])
def test_episodes_that_begin_in_compiled_code_note_their_level(id, level, unrolls):
    more = {"max_episode_steps": 1, "autoreset_mode": "SameStep", "action_start": 1}
    env = roll_vec.make_vec(id, 9, levels=[level] * 3, start_level=1, **more)
    env.reset(seed=0)
    for k in range(1, 9):
        actions = np.zeros((1, 9), int)
        env.unroll(actions) if unrolls else env.step(actions[0])
        expected = [1 + episode_seed(i, k) % 2 for i in range(9)]
        assert env.get_state().arrays["level_numbers"].tolist() == expected
