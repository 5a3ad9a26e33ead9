"""Base classes: an episode of a user's environment has another seed than it should."""

from __future__ import annotations

import copy
import pickle
from typing import ClassVar

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from roll_vec.base_envs import BaseDiscreteActionEnv, BaseLanguageBasedEnv, SeededEnv
from roll_vec.errors import InvalidSeedError, InvalidStateError
from roll_vec.seeding import episode_seed, fold_seed


class Guess(BaseLanguageBasedEnv):
    """Draws a number in reset and another in each step."""

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.secret = int(self.np_random.integers(100))
        return f"{self.secret}", {"seed": self.level_seed}

    def step(self, action):
        number = int(self.np_random.integers(100))
        return f"{number} {action}", 0.0, action == str(self.secret), False, {}


class Walk(BaseDiscreteActionEnv):
    """Walks left and right from a random position; ends at a distance of 3."""

    ACTION_LOOKUP: ClassVar = {1: "Left", 2: "Right"}

    def __init__(self):
        self.action_space = gymnasium.spaces.Discrete(2, start=1)
        self.observation_space = gymnasium.spaces.Box(-9, 9, (), np.int64)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.at = int(self.np_random.integers(-2, 3))
        return np.array(self.at), {}

    def step(self, action):
        self.at += {0: 0, 1: -1, 2: 1}[int(action)]
        return np.array(self.at), float(self.at), abs(self.at) == 3, False, {}


@pytest.mark.parametrize("seed", [0, 7, 2**32 - 1, 2**40 + 3])
def test_each_episode_has_the_seed_that_a_batch_passes(seed):
    env = Guess()
    for episode in range(5):
        _, info = env.reset(seed=seed if episode == 0 else None)
        expected = episode_seed(seed, episode)
        assert info["seed"] == env.level_seed == expected
        twin = np.random.Generator(np.random.PCG64(expected))
        assert env.secret == twin.integers(100)
        assert env.step("")[0] == f"{twin.integers(100)} "
    assert env.np_random_seed == seed


def test_draws_in_one_episode_do_not_change_the_next():
    quiet, busy = Guess(), Guess()
    quiet.reset(seed=3)
    busy.reset(seed=3)
    for _ in range(50):
        busy.step("")
    assert quiet.reset() == busy.reset()


def test_an_unseeded_first_reset_draws_entropy_and_can_be_repeated():
    first, other = Guess(), Guess()
    assert first.np_random_seed is None
    first.reset()
    other.reset()
    assert first.level_seed != other.level_seed
    second = Guess()
    second.reset(seed=first.np_random_seed)
    assert second.level_seed == first.level_seed
    assert second.reset() == first.reset()


def test_a_generator_drawn_from_before_the_first_reset_starts_no_stream():
    one, two = Guess(), Guess()
    one.np_random.random()
    two.np_random.random()
    one.reset()
    two.reset()
    assert one.level_seed != two.level_seed


@pytest.mark.parametrize("episode", [0, 1, 4])
def test_resume_begins_the_same_episode_as_the_stream(episode):
    env, fresh = Guess(), Guess()
    env.reset(seed=11)
    for _ in range(episode):
        env.reset()
    fresh.resume(11, episode)
    fresh.reset()
    assert fresh.level_seed == env.level_seed
    assert fresh.secret == env.secret
    assert fresh.reset() == env.reset()


def test_resume_keeps_the_users_seed():
    env = Guess()
    env.resume(2**40, 0)
    env.reset()
    assert env.np_random_seed == 2**40
    assert env.level_seed == fold_seed(2**40)


def test_a_bad_seed_changes_nothing():
    env = Guess()
    env.reset(seed=5)
    twin = copy.deepcopy(env)
    for bad in (-1, 1.5, "2"):
        with pytest.raises(InvalidSeedError, match="seed: expected a non-negative"):
            env.reset(seed=bad)
    assert env.reset() == twin.reset()


@pytest.mark.parametrize("num_draws", [0, 3])
def test_set_stream_restores_the_position_of_get_stream(num_draws):
    env = Guess()
    env.reset(seed=5)
    env.reset()
    for _ in range(num_draws):
        env.step("")
    state = pickle.loads(pickle.dumps(env.get_stream()))
    expected = [env.step("x"), env.step("y"), env.reset()]
    fresh = Guess()
    fresh.set_stream(state)
    fresh.secret = env.secret
    assert [fresh.step("x")[0], fresh.step("y")[0]] == [r[0] for r in expected[:2]]
    assert fresh.reset() == expected[2]
    assert fresh.np_random_seed == 5


def test_optional_methods_name_themselves_in_the_error():
    env = Guess()
    assert env.get_instructions() == ""
    with pytest.raises(NotImplementedError, match="Guess has no get_state"):
        env.get_state()
    with pytest.raises(NotImplementedError, match="Guess has no set_state"):
        env.set_state({})


def test_the_base_classes_are_abstract():
    for base in (BaseLanguageBasedEnv, BaseDiscreteActionEnv):
        with pytest.raises(TypeError, match="abstract"):
            base()
    assert Walk().get_all_actions() == [1, 2]


def test_action_space_has_rolls_name_as_well():
    class Ported(Walk):
        def __init__(self):
            super().__init__()
            self.ACTION_SPACE = gymnasium.spaces.Discrete(3, start=1)

    assert gymnasium.spaces.Discrete(2, start=1) == Walk().ACTION_SPACE
    assert Ported().action_space == gymnasium.spaces.Discrete(3, start=1)


@pytest.mark.parametrize("make", [Guess, Walk])
def test_gymnasiums_checker_accepts_a_subclass(make):
    check_env(make(), skip_render_check=True)


def test_the_base_reset_returns_no_observation():
    assert SeededEnv().reset(seed=2**33) == (None, {})
    assert fold_seed(2**33) < 2**32


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ({"stream": "5"}, "state: stream: expected None, or a seed, got '5'"),
        ({"level_seed": 1 << 32}, "state: level_seed"),
        ({"np_random_seed": 1.0}, "state: np_random_seed"),
        ({"episode": -2}, "state: episode"),
        ({"episode": True}, "state: episode"),
        ({"np_random": {}}, "state: np_random"),
        ({"np_random": {"bit_generator": "os"}}, "state: np_random"),
        (None, "a dict with"),
    ],
)
def test_a_stream_that_is_none_changes_nothing(entry, words):
    env = Guess()
    env.reset(seed=5)
    env.step("x")
    before = env.get_stream()
    with pytest.raises(InvalidStateError, match=words):
        env.set_stream(entry if entry is None else {**before, **entry})
    assert env.get_stream() == before
