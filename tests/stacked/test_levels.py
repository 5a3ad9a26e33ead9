"""Levels: of finite sets, providers and their caches, slips, interrupts, slices."""

import copy
import pickle

import gymnasium
import numpy as np
import pytest

import roll_vec  # noqa: F401  registers the ids
from roll_vec.progress import listen
from roll_vec.seeding import episode_seed, fold_seed
from roll_vec.stacked import level_providers
from roll_vec.stacked import row_threads as threads
from roll_vec.stacked.level_providers import GeneratedLevels
from roll_vec.stacked.levels import EpisodeSeeds
from tests.conftest import JIT_OFF

SOKOBAN, RANDOM_LAKE = "roll_vec/Sokoban-v0", "roll_vec/RandomFrozenLake-v0"
CONFIG = {
    SOKOBAN: {"dim_room": (5, 6), "num_boxes": 1, "search_depth": 30},
    RANDOM_LAKE: {"size": 3},
}
SETS = [(1, 0), (7, 1000), (5, 2**32 - 5), (2**32, 0)]


@pytest.fixture(params=CONFIG)
def id(request):
    """The id of a family with levels."""
    return request.param


# ---------------------------------------------------------------- through the ids


@pytest.mark.parametrize(("num_levels", "start_level"), SETS)
def test_an_episode_plays_start_level_plus_its_seed_modulo_the_number(
    id, num_levels, start_level
):
    keywords = {"num_levels": num_levels, "start_level": start_level, **CONFIG[id]}
    env = gymnasium.make(id, **keywords)
    batch = gymnasium.make_vec(id, num_envs=2, autoreset_mode="Disabled", **keywords)
    unlimited = gymnasium.make(id, **CONFIG[id])
    for seed in (2**40 + 5,) if JIT_OFF else (0, 11, 2**32 - 2, 2**40 + 5):
        for episode in range(1 if JIT_OFF else 2):
            played, _ = batch.reset(seed=None if episode else [seed, seed + 1])
            grid, _ = env.reset(seed=None if episode else seed)
            for i in range(2):
                number = episode_seed(seed + i, episode) % num_levels
                expected = unlimited.reset(seed=start_level + number)[0]
                np.testing.assert_array_equal(played[i], expected)
            np.testing.assert_array_equal(grid, played[0])


def test_playing_a_level_does_not_wear_it(id):
    # Two environments and two visits of one level: each has its own grid.
    more = {"num_levels": 2, "action_start": 1, **CONFIG[id]}
    env = gymnasium.make_vec(id, num_envs=3, **more)
    first, _ = env.reset(seed=[0, 0, 2])
    for action in (1, 2, 3, 4, 2, 3):
        env.step([action, 0, 0])
    again, _ = env.reset(seed=[2, 4, 6])
    np.testing.assert_array_equal(again, first)
    alone = gymnasium.make(id, **more)
    for seed in (0, 2):
        np.testing.assert_array_equal(alone.reset(seed=seed)[0], first[0])
        for action in (1, 2, 3, 4, 2, 3):
            alone.unwrapped.step(action)


@pytest.mark.skipif(JIT_OFF, reason="no kernel is new")
def test_cached_levels_are_no_state(id):
    env = gymnasium.make_vec(id, num_envs=4, num_levels=300, **CONFIG[id])
    alone = gymnasium.make(id, num_levels=300, **CONFIG[id])
    env.reset(seed=0)
    alone.reset(seed=0)
    sizes = len(pickle.dumps(env)), len(pickle.dumps(alone.unwrapped))
    for seed in range(4, 20, 4):
        env.reset(seed=seed)
        alone.reset(seed=seed)
    assert abs(len(pickle.dumps(env)) - sizes[0]) < 100
    assert abs(len(pickle.dumps(alone.unwrapped)) - sizes[1]) < 100
    copied = pickle.loads(pickle.dumps(env))
    np.testing.assert_array_equal(copied.reset(seed=2)[0], env.reset(seed=2)[0])


@pytest.mark.parametrize("num_levels", [0, 1])
def test_slips_are_those_of_the_episodes_seed_and_not_of_the_level(num_levels):
    env = gymnasium.make(RANDOM_LAKE, num_levels=num_levels).unwrapped
    for episode in range(4):
        env.reset(seed=None if episode else 2**40)
        rng = np.random.default_rng(episode_seed(2**40, episode))
        rng.random()
        assert env._slip_generator.bit_generator.state == rng.bit_generator.state
        env.step(1)


# ------------------------------------------------------------------ the provider itself


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
    """Return the values of the levels that seeds play."""
    parts, level_indices = provider.get(np.array(seeds, np.uint64))
    assert level_indices.dtype == np.int64
    first, second = parts
    return first[level_indices].tolist(), second[level_indices].tolist()


def test_a_level_is_generated_once_and_cached():
    generate = Counted()
    provider = GeneratedLevels(generate, 5, 100, 8)
    for seeds in ([0, 7, 2, 12], [5, 1], [0, 1, 2], [3, 4, 8, 9]):
        expected = [100 + seed % 5 for seed in seeds]
        first, second = pick(provider, seeds)
        assert first == [10 * level for level in expected]
        assert second == [[level, level + 1] for level in expected]
    assert generate.asked == [[100, 102], [101], [103, 104]]
    # Copies begin without levels.
    copied = copy.deepcopy(provider)
    assert copied._cache is None
    assert pick(copied, [2])[0] == [1020]
    assert copied.generate.asked[-1] == [102]


def test_unlimited_levels_are_drawn_each_time_but_once_a_call():
    generate = Counted()
    provider = GeneratedLevels(generate, 0, 0, 8)
    assert pick(provider, [9, 3, 9, 9])[0] == [90, 30, 90, 90]
    assert pick(provider, [9])[0] == [90]
    assert generate.asked == [[3, 9], [9]]


def test_a_set_that_is_too_large_is_not_cached(monkeypatch):
    monkeypatch.setattr(level_providers, "CACHE_BYTES", 100)
    for num_levels, keeps in ((25, True), (26, False)):
        generate = Counted()
        provider = GeneratedLevels(generate, num_levels, 7, 4)
        for _ in range(2):
            first, _ = pick(provider, [1, 27, 1])
            assert first == [80, 70 + 10 * (27 % num_levels), 80]
        assert len(generate.asked) == (1 if keeps else 2)


def test_a_failure_leaves_the_cache_as_it_is():
    generate = Counted()
    provider = GeneratedLevels(generate, 5, 664, 8)
    pick(provider, [0])
    with pytest.raises(RuntimeError, match="no level"):
        pick(provider, [1, 2])
    assert pick(provider, [1, 0])[0] == [6650, 6640]
    assert generate.asked == [[664], [665, 666], [665]]


def test_episodes_are_planned_before_they_change():
    episodes = EpisodeSeeds(4)
    rows = np.arange(4)
    first_seeds, numbers = episodes.plan(rows, [5, 2**40, None, 0])
    assert first_seeds.tolist() == [5, fold_seed(2**40), 0, 0]
    assert numbers.tolist() == [0, 0, 1, 0]
    assert not episodes.first_seeds.any()
    assert not episodes.numbers.any()
    episodes.commit(rows, first_seeds, numbers)
    some = np.array([1, 3])
    first_seeds, numbers = episodes.plan(some, [None, 9])
    assert (first_seeds.tolist(), numbers.tolist()) == ([fold_seed(2**40), 9], [1, 0])
    first, second = episodes.next_seeds(some).tolist()
    assert (first, second) == (episode_seed(fold_seed(2**40), 1), episode_seed(0, 1))
    assert episodes.numbers.tolist() == [0, 0, 1, 0]


# ------------------------------------------------------------------- interrupts


@pytest.mark.skipif(JIT_OFF, reason="takes minutes uncompiled")
@pytest.mark.parametrize(("num_levels", "num_threads"), [(0, 2), (500, 1)])
def test_interrupt_while_levels_are_drawn_moves_nothing(
    id, num_levels, num_threads, monkeypatch
):
    monkeypatch.setattr(threads, "SLICE_SECONDS", 0.0)  # a slice is one level
    keywords = {**CONFIG[id], "num_levels": num_levels, "num_threads": num_threads}
    n = 100
    env, other = (
        gymnasium.make_vec(id, num_envs=n, autoreset_mode="Disabled", **keywords)
        for _ in range(2)
    )

    def interrupt(unit, done, total):
        assert unit in ("rooms", "maps")
        assert 0 < done < total
        raise KeyboardInterrupt

    for seed in (7, None):  # before the first reset, and after it
        with listen(interrupt), pytest.raises(KeyboardInterrupt):
            env.reset(seed=1234567)
        np.testing.assert_array_equal(
            env.reset(seed=seed)[0], other.reset(seed=seed)[0]
        )
        assert env.get_attr("np_random_seed") == other.get_attr("np_random_seed")
    actions = np.full(n, 2)
    stepped, expected = env.step(actions), other.step(actions)
    for part in range(4):
        np.testing.assert_array_equal(stepped[part], expected[part])


@pytest.mark.skipif(JIT_OFF, reason="takes minutes uncompiled")
def test_levels_do_not_depend_on_slices_and_threads(id, monkeypatch):
    whole = gymnasium.make_vec(id, num_envs=100, num_threads=1).reset(seed=3)[0]
    # Slices of one level, and of a few.
    for seconds, num_threads in ((0.0, 1), (0.0, 3), (1e-4, 3)):
        monkeypatch.setattr(threads, "SLICE_SECONDS", seconds)
        env = gymnasium.make_vec(id, num_envs=100, num_threads=num_threads)
        np.testing.assert_array_equal(env.reset(seed=3)[0], whole)
