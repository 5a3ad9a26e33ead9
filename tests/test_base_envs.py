"""Seeds are as documented; base classes have those of episodes, and states."""

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.wrappers import OrderEnforcing, TimeLimit, TransformReward
from hypothesis import given
from hypothesis import strategies as st

from roll_vec import seeding
from roll_vec.envs.countdown import Countdown
from roll_vec.errors import InvalidStateError, UnsupportedError
from roll_vec.objects import base_envs
from roll_vec.objects.states import get_env_state, set_env_state, supports_state
from roll_vec.seeding import episode_seed
from tests.pool.envs import Counter
from tests.pool.snapshot_envs import Remembering, Slippery

MASK64 = (1 << 64) - 1
GOLDEN = 0x9E3779B97F4A7C15


def avalanche(word):
    """Return splitmix64's finaliser (Steele, Lea and Flood, 2014), in plain Python."""
    word = (word ^ (word >> 30)) * 0xBF58476D1CE4E5B9 & MASK64
    word = (word ^ (word >> 27)) * 0x94D049BB133111EB & MASK64
    return word ^ (word >> 31)


def fold_in(seed, counter):
    """Return the documented `fold_in`, in plain Python."""
    start = avalanche((seed + GOLDEN) & MASK64)
    return avalanche((start + counter * GOLDEN) & MASK64) >> 32


def fold(seed):
    """Return the documented folding, in plain Python."""
    if seed < 1 << 32:
        return seed
    folded = 0
    while seed:
        seed, limb = divmod(seed, 1 << 32)
        folded = fold_in(folded, limb)
    return folded


SEEDS = (
    st.integers(0, (1 << 32) - 1) | st.integers(0, 1 << 70) | st.integers(0, 1 << 300)
)


@given(SEEDS, st.integers(0, 1 << 40), st.integers(0, 3000))
def test_seeds_are_as_documented(seed, episode, attempt):
    folded, level = fold(seed), seed & 0xFFFFFFFF
    retry, band = (1 << 63) + attempt, 3 * (1 << 62) + attempt
    first = fold_in(folded, episode) if episode else folded
    retried = fold_in(level, retry) if attempt else level
    banded = fold_in(level, band) if attempt else level
    for value, expected in (
        (seeding.fold_seed(seed), folded),
        (seeding.episode_seed(seed, episode), first),
        (seeding.retry_seed(level, attempt), retried),
        (seeding.band_seed(level, attempt), banded),
    ):
        assert type(value) is int
        assert value == expected


@given(st.lists(st.tuples(st.integers(0, (1 << 32) - 1), st.integers(0, 1 << 62))))
def test_many_episode_seeds_equal_single_ones(pairs):
    columns = np.array(pairs, np.uint64).reshape(-1, 2).T
    derived = seeding.episode_seeds(*columns)
    assert derived.dtype == np.uint64
    assert derived.tolist() == [seeding.episode_seed(s, k) for s, k in pairs]


class Guess(base_envs.BaseLanguageBasedEnv):
    """Draws a number in reset and another in each step."""

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.secret = int(self.np_random.integers(100))
        return f"{self.secret}", {"seed": self.level_seed}

    def step(self, action):
        number = int(self.np_random.integers(100))
        return f"{number} {action}", 0.0, action == str(self.secret), False, {}


@pytest.mark.parametrize("seed", [0, 7, 2**32 - 1, 2**40 + 3])
def test_each_episode_has_the_seed_that_a_batch_passes(seed):
    env = Guess()
    for episode in range(5):
        _, info = env.reset(seed=seed if episode == 0 else None)
        expected = episode_seed(seed, episode)
        assert info["seed"] == env.level_seed == expected
        twin = np.random.Generator(np.random.PCG64(expected))
        assert env.secret == twin.integers(100)
        # Draws in an episode do not change the next.
        for _ in range(episode):
            assert env.step("")[0] == f"{twin.integers(100)} "
        fresh = Guess()
        fresh.resume(seed, episode)
        fresh.reset()
        assert (fresh.level_seed, fresh.secret) == (env.level_seed, env.secret)
        assert fresh.np_random_seed == env.np_random_seed == seed
    assert fresh.reset() == env.reset()


def test_an_unseeded_first_reset_draws_entropy_and_can_be_repeated():
    first, other, second = Guess(), Guess(), Guess()
    assert first.np_random_seed is None
    for env in (first, other):
        # A generator that is drawn from before the first reset starts no stream.
        env.np_random.random()
        env.reset()
    assert first.level_seed != other.level_seed
    second.reset(seed=first.np_random_seed)
    assert second.level_seed == first.level_seed
    assert second.reset() == first.reset()


def test_what_the_base_classes_have():
    assert Guess().get_instructions() == ""
    for base in (base_envs.BaseLanguageBasedEnv, base_envs.BaseDiscreteActionEnv):
        with pytest.raises(TypeError, match="abstract"):
            base()
    assert base_envs.SeededEnv().reset(seed=2**33) == (None, {})
    assert Counter().get_all_actions() == [1, 2]
    for make in (Guess, Counter):
        check_env(make(), skip_render_check=True)
    # ROLL's name of the space is read and written as well.
    assert gymnasium.spaces.Discrete(2, start=1) == Counter().ACTION_SPACE
    ported = Counter()
    ported.ACTION_SPACE = gymnasium.spaces.Discrete(3, start=1)
    assert ported.action_space == gymnasium.spaces.Discrete(3, start=1)


class MuJoCoLike(Remembering):
    """The method of the same name is another one."""

    def set_state(self, position, velocity):
        self.clock = position


class Saving(gymnasium.Wrapper):
    """Stands for all layers below it."""

    def get_state(self):
        return {"all": self.env.unwrapped.clock}

    def set_state(self, state):
        self.env.unwrapped.clock = state["all"]


def test_the_checker_does_not_compare_with_results_of_another():
    keywords = {"id": "roll_vec/Countdown-v0", "max_steps": 5, "max_episode_steps": 9}
    env, other, fresh = (gymnasium.make(**keywords) for _ in range(3))
    env.reset(seed=1)
    for _ in range(3):
        set_env_state(other, get_env_state(env))
        assert other.step("1")[0] == env.step("1")[0]
        assert other.reset(seed=2) == fresh.reset(seed=2)


def test_a_wrapper_with_both_methods_stands_for_all_below():
    env = TimeLimit(Saving(TransformReward(Remembering(), float)), 9)
    assert supports_state(env)
    env.reset(seed=1)
    state = get_env_state(env)
    assert state == {"_elapsed_steps": 0, "env": {"all": env.unwrapped.clock}}
    set_env_state(env, {"_elapsed_steps": 2, "env": {"all": 7}})
    assert env.unwrapped.clock == 7


def test_other_layers_have_no_state():
    wrapped = TimeLimit(TransformReward(Countdown(), float), 5)
    cart = gymnasium.make("CartPole-v1")
    for env in (TransformReward(Remembering(), float), wrapped, MuJoCoLike(), cart):
        assert not supports_state(env)
        with pytest.raises(UnsupportedError, match="has no get_state and set_state"):
            get_env_state(env)
        with pytest.raises((UnsupportedError, InvalidStateError)):
            set_env_state(env, {})


@pytest.mark.parametrize("build", [Remembering, Saving, Countdown])
def test_bad_states_change_nothing(build):
    inside = build(Remembering()) if build is Saving else build()
    env = TimeLimit(OrderEnforcing(inside), 9)
    env.reset(seed=1)
    state = get_env_state(env)
    env.step("0" if build is Countdown else 0)
    later = get_env_state(env)
    bad_states = [None, 5, state["env"], {"env": state["env"]}, {**state, "env": None}]
    if isinstance(inside, Remembering):
        inner = state["env"]["env"]
        changes = [{"np_random": 5}, {"np_random": {"bit_generator": "system"}}]
        changes += [{"np_random": {"bit_generator": "PCG64"}}]
        for change in changes:
            layer = {**state["env"], "env": {**inner, **change}}
            bad_states.append({**state, "env": layer})
    for bad in bad_states:
        with pytest.raises(InvalidStateError, match="state"):
            set_env_state(env, bad)
        assert get_env_state(env) == later
    if build is Remembering:
        layer = {**state["env"], "env": {**inner, "state": {}}}
        with pytest.raises(KeyError, match="clock"):
            set_env_state(env, {**state, "env": layer})
        assert get_env_state(env) == later
    set_env_state(env, state)
    assert get_env_state(env) == state


def test_every_generator_of_numpy_goes_on():
    for name in ("PCG64", "MT19937", "Philox", "SFC64", "PCG64DXSM"):
        env, other = Remembering(), Remembering()
        env.np_random = np.random.Generator(getattr(np.random, name)(5))
        env.np_random.random(3)
        set_env_state(other, get_env_state(env))
        assert other.np_random.random(5).tolist() == env.np_random.random(5).tolist()
        assert other.np_random is not env.np_random


class Drawing(Slippery):
    """Adds to the states of the class above, and draws in `set_state`."""

    limit = 7

    def get_state(self):
        return {**super().get_state(), "limit": self.limit}

    def set_state(self, state):
        if state["limit"] != self.limit:
            raise InvalidStateError.of_array("limit", str(self.limit), state)
        assert state.keys() == {"count", "limit"}
        self.reset(seed=3)
        super().set_state({"count": state["count"]})


def test_draws_and_errors_in_set_state_leave_the_stream_alone():
    one, other = Drawing(), Drawing()
    one.reset(seed=8)
    other.reset(seed=9)
    one.step(1)
    state, before = get_env_state(one), get_env_state(other)
    for change in ({"seed_stream": 5}, {"seed_stream": {}}):
        with pytest.raises(InvalidStateError, match="state"):
            set_env_state(other, {**state, **change})
    assert get_env_state(other) == before
    set_env_state(other, state)
    assert get_env_state(other) == get_env_state(one) == state
    # A state without the position leaves the stream where it is.
    set_env_state(other, {"count": 4, "limit": 7})
    assert other.count == 4


def test_a_state_that_is_no_dict():
    class Count(Counter):
        def get_state(self):
            return self.count

        def set_state(self, state):
            self.count = state

    env = Count()
    env.reset(seed=1)
    with pytest.raises(InvalidStateError, match=r"Count\.get_state: expected a dict"):
        get_env_state(env)
