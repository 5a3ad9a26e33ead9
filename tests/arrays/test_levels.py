"""Levels: sets that are kept, slices and interrupts."""

import copy
from types import SimpleNamespace

import gymnasium
import numpy as np
import pytest

import roll_vec
from roll_vec.arrays import level_providers
from roll_vec.arrays import row_threads as threads
from roll_vec.arrays.level_providers import LevelProvider
from roll_vec.progress import listen
from roll_vec.seeding import episode_seed
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


def make_provider(generate, num_levels, start_level):
    """Return the provider of levels of two numbers of 8 bytes, and one of 8."""
    options = SimpleNamespace(
        level_count=num_levels,
        start_level=start_level,
        name="Levels",
        user_levels=None,
        level_variables=("a", "b"),
        variables={"a": (np.dtype("u8"), ()), "b": (np.dtype("u8"), (2,)), "c": None},
    )
    return LevelProvider(options, generate)


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
    provider = make_provider(generate, 5, 100)
    for seeds in ([0, 7, 2, 12], [5, 1], [0, 1, 2], [3, 4, 8, 9]):
        assert pick(provider, seeds) == [100 + seed % 5 for seed in seeds]
    assert generate.asked == [[100, 102], [101], [103, 104]]
    # Copies begin without levels.
    copied = copy.deepcopy(provider)
    assert pick(copied, [2]) == [102]
    assert copied.generate.asked[-1] == [102]
    # Unlimited levels are drawn each time, but once a call.
    generate = Counted()
    provider = make_provider(generate, 0, 0)
    assert pick(provider, [9, 3, 9, 9]) == [9, 3, 9, 9]
    assert pick(provider, [9]) == [9]
    assert generate.asked == [[3, 9], [9]]
    # A failure leaves the cache as it is.
    generate = Counted()
    provider = make_provider(generate, 5, 664)
    pick(provider, [0])
    with pytest.raises(RuntimeError, match="no level"):
        pick(provider, [1, 2])
    assert pick(provider, [1, 0]) == [665, 664]
    assert generate.asked == [[664], [665, 666], [665]]


def test_a_set_that_is_too_large_is_not_cached(monkeypatch):
    monkeypatch.setattr(level_providers, "CACHE_BYTES", 25 * 24)
    for num_levels, keeps in ((25, True), (26, False)):
        generate = Counted()
        provider = make_provider(generate, num_levels, 7)
        for _ in range(2):
            assert pick(provider, [1, 27, 1]) == [8, 7 + 27 % num_levels, 8]
        assert len(generate.asked) == (1 if keeps else 2)


# ------------------------------------------------------------------- interrupts


INTERRUPTED = [(id, {**CONFIG[id], "num_levels": n}) for id in CONFIG for n in (0, 500)]


@UNCOMPILED
@pytest.mark.parametrize(("id", "keywords"), INTERRUPTED, ids=str)
def test_an_interrupted_reset_leaves_no_trace(id, keywords, monkeypatch):
    # By one thread: helpers can be done before the calling one begins.
    monkeypatch.setattr(threads, "SLICE_SECONDS", 0.0)  # a slice is one level
    n = 100
    keywords = {"num_threads": 1, "action_start": 1, **keywords}
    env, other = (
        gymnasium.make_vec(id, num_envs=n, autoreset_mode="Disabled", **keywords)
        for _ in range(2)
    )

    def interrupt(unit, done, total):
        assert unit == "levels"
        assert 0 < done < total
        raise KeyboardInterrupt

    for seed in (7, 8):  # before the first reset, and after it
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


# ------------------------------------------------------------------------- unrolls


@pytest.mark.parametrize(
    ("id", "level"), [(SOKOBAN, "#####\n#@$.#\n#####"), (LAKES, ["SFF", "FHG"])]
)
@pytest.mark.parametrize("unrolls", [False, True])
def test_episodes_that_begin_in_compiled_code_note_their_level(id, level, unrolls):
    more = {"max_episode_steps": 1, "autoreset_mode": "SameStep", "action_start": 1}
    more["level_info"] = True
    env = roll_vec.make_vec(id, 9, levels=[level] * 3, start_level=1, **more)
    env.reset(seed=0)
    for k in range(1, 9):
        actions = np.zeros((1, 9), int)
        infos = env.unroll(actions)[-1] if unrolls else env.step(actions[0])[-1]
        expected = [1 + episode_seed(i, k) % 2 for i in range(9)]
        assert infos["level"].reshape(-1).tolist() == expected
