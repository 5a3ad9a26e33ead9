"""``action_start``: texts play alike whatever it is; the warning of action 0."""

import copy
import pickle
import warnings

import gymnasium
import numpy as np
import pytest

from roll_vec.adapters import roll
from roll_vec.errors import ActionStartWarning
from tests.conftest import JIT_OFF
from tests.contract.cases import assert_same

pytestmark = pytest.mark.skipif(JIT_OFF, reason="envs/test_play.py has both codes")

SOKOBAN, LAKE = "roll_vec/Sokoban-v0", "roll_vec/RandomFrozenLake-v0"
FEW = {"max_episode_steps": 9, "num_levels": 3}
SMALL = {SOKOBAN: {"dim_room": (5, 5), "num_boxes": 1, **FEW}, LAKE: FEW}
NUM_ENVS, STEPS = 3, 30


@pytest.fixture(params=[SOKOBAN, LAKE])
def env_id(request):
    """The id of a family with `action_start`."""
    return request.param


def make_batch(env_id, **more):
    """Return a batch that was reset."""
    env = gymnasium.make_vec(env_id, num_envs=NUM_ENVS, **SMALL[env_id], **more)
    env.reset(seed=0)
    return env.unwrapped


def make_single(env_id, **more):
    """Return a single environment that was reset."""
    env = gymnasium.make(env_id, **SMALL[env_id], **more)
    env.reset(seed=0)
    return env


def draw(shape, seed=0):
    """Return actions from 0 to 3."""
    return np.random.default_rng(seed).integers(0, 4, shape)


def warned(call, *arguments):
    """Return the warnings of action 0 that a call gives; it may give no others."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call(*arguments)
    assert all(one.category is ActionStartWarning for one in caught)
    return caught


def test_texts_play_the_same_whatever_the_codes_are(env_id):
    more = {"action_mode": "text", "action_separator": ",", "format_penalty": -0.5}
    texts = ["Up", "jump", "Left, Down, Right"]
    results = []
    for start in (None, 1, 0):
        batch = make_batch(env_id, action_start=start, **more)
        single = make_single(env_id, action_start=start, **more)
        results.append(
            [
                [batch.step([text] * NUM_ENVS) for text in texts],
                [single.step(text) for text in texts],
            ]
        )
    assert_same(results[1], results[0])
    assert_same(results[2], results[0])
    assert not results[0][1][1][4]["action_is_valid"]


def line_of(function):
    """Return the line of the body of a function of one line."""
    return function.__code__.co_firstlineno + 1


WORDS = (
    '"no valid action" here: nothing moves, the step counts',
    "action + {}action_space.start",
    "action_start=0",
    "action_start=1",
)


@pytest.mark.parametrize("form", ["batch", "wrapped", "unroll", "single"])
def test_the_first_0_warns_once_at_the_callers_line(env_id, form):
    def step():
        getattr(env, name)(actions)

    name = "unroll" if form == "unroll" else "step"
    env, actions = make_batch(env_id), np.array([1, 0, 2])
    if form == "unroll":
        actions = np.random.default_rng(4).integers(0, 5, (STEPS, NUM_ENVS))
    elif form == "single":
        env, actions = make_single(env_id), 0
    elif form == "wrapped":
        env = gymnasium.wrappers.vector.RecordEpisodeStatistics(env)
        env.reset(seed=0)
    (env.step if form != "unroll" else env.unroll)(np.minimum(actions + 1, 4))
    early = pickle.loads(pickle.dumps(env.unwrapped))
    (warning,) = warned(step)
    assert (warning.filename, warning.lineno) == (__file__, line_of(step))
    for part in WORDS:
        prefix = "" if form == "single" else "single_"
        assert part.format(prefix) in str(warning.message)
    assert not warned(step)
    if form != "single":
        assert not warned(env.unwrapped.unroll, np.zeros((4, NUM_ENVS), int))
    # Copies know what has been said.
    assert not warned(getattr(copy.deepcopy(env.unwrapped), name), actions)
    assert warned(getattr(early, name), actions)


def test_who_gave_the_keyword_or_plays_another_interface_is_not_warned(env_id):
    # Warnings are errors here.
    for start in (0, 1):
        env, single = (
            make(env_id, action_start=start) for make in (make_batch, make_single)
        )
        env.step(np.zeros(NUM_ENVS, int))
        env.unroll(np.zeros((2, NUM_ENVS), int))
        single.step(0)
    env = make_batch(env_id, action_mode="text")
    assert not env.step(["jump"] * NUM_ENVS)[4]["action_is_valid"].any()
    rolls = roll.SokobanEnv() if env_id == SOKOBAN else roll.FrozenLakeEnv()
    rolls.reset(seed=0)
    assert not rolls.step(0)[4]["action_is_valid"]


def test_an_ignored_0_does_not_warn(env_id):
    # All episodes end in step 2 at the latest, and step 3 begins the next ones.
    env = make_batch(env_id, max_steps=2)
    for _ in range(3):
        *_, terminations, truncations, _ = env.step([1, 2, 1])
        ended = terminations | truncations
        if ended.any():
            break
    env.step(np.where(ended, 0, 1))
    assert warned(env.step, [0, 1, 1])


def test_a_warning_as_an_error_moves_nothing_and_comes_again(env_id):
    env, twin = make_batch(env_id), make_batch(env_id, action_start=1)
    for call in (env.step, lambda actions: env.unroll([actions, [1, 1, 1]])):
        with pytest.raises(ActionStartWarning):
            call(np.array([1, 0, 1]))
    single, other = make_single(env_id), make_single(env_id)
    for _ in range(2):
        with pytest.raises(ActionStartWarning):
            single.unwrapped.step(0)
    assert_same(single.step(2), other.step(2))
    assert_same(env.step([2, 2, 2]), twin.step([2, 2, 2]))
    # As a warning it changes no results.
    actions = np.random.default_rng(4).integers(0, 5, (STEPS, NUM_ENVS))
    with pytest.warns(ActionStartWarning):
        rollout = env.unroll(actions)
    assert_same(tuple(rollout), tuple(twin.unroll(actions)))
