"""``action_start``: actions from 0 and from 1 play alike; the warning of action 0.

The first group has been seen to fail with each of these bugs planted, one at a time:

- the kernel of a step, the kernel of many steps or the single environment does not
  shift the action;
- "valid" is still "not 0";
- one action below the least one is accepted with ``action_start=0``.
"""

import copy
import pickle
import warnings

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv

import roll_vec
from roll_vec.errors import (
    ActionStartWarning,
    InvalidActionError,
    InvalidOptionError,
    UnknownOptionError,
)
from tests.conftest import JIT_OFF
from tests.contract.cases import MODES, assert_same
from tests.splits import split_all

SOKOBAN, LAKE = "roll_vec/Sokoban-v0", "roll_vec/RandomFrozenLake-v0"
FEW = {"max_episode_steps": 9, "num_levels": 3}
SMALL = {SOKOBAN: {"dim_room": (5, 5), "num_boxes": 1, **FEW}, LAKE: FEW}
NUM_ENVS, STEPS = 3, 20 if JIT_OFF else 60
DISABLED = AutoresetMode.DISABLED


@pytest.fixture(params=[SOKOBAN, LAKE])
def env_id(request):
    """The id of a family with `action_start`."""
    return request.param


def make_batch(env_id, num_envs=NUM_ENVS, **more):
    """Return a batch that was reset."""
    env = gymnasium.make_vec(env_id, num_envs=num_envs, **SMALL[env_id], **more)
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


def assert_all_valid(infos):
    """Check that every action was played, except where an episode began."""
    if "action_is_valid" in infos:
        assert infos["action_is_valid"][infos["_action_is_valid"]].all()


def warned(call, *arguments):
    """Return the warnings of action 0 that a call gives; it may give no others."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call(*arguments)
    assert all(one.category is ActionStartWarning for one in caught)
    return caught


# ------------------------------------------------------------------ the same play


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("num_threads", [1] if JIT_OFF else [1, 2])
def test_steps_equal_those_of_rolls_codes(env_id, mode, num_threads, monkeypatch):
    if num_threads == 2:
        split_all(monkeypatch, num_threads)
    more = {"autoreset_mode": mode, "num_threads": num_threads}
    ours = make_batch(env_id, action_start=0, **more)
    rolls = make_batch(env_id, **more)
    sync = SyncVectorEnv(
        [lambda: make_single(env_id, action_start=0)] * NUM_ENVS, autoreset_mode=mode
    )
    assert ours.single_action_space == sync.single_action_space
    assert ours.single_action_space == gymnasium.spaces.Discrete(4)
    sync.reset(seed=0)
    for actions in draw((STEPS, NUM_ENVS)):
        result = ours.step(actions)
        assert_same(result, rolls.step(actions + 1))
        assert_same(result, sync.step(actions))
        assert_all_valid(result[4])
        ended = result[2] | result[3]
        if mode is DISABLED and ended.any():
            for env in (ours, rolls, sync):
                env.reset(options={"reset_mask": ended.copy()})


@pytest.mark.parametrize("mode", MODES)
def test_unroll_equals_that_of_rolls_codes(env_id, mode):
    more = {"autoreset_mode": mode}
    ours = make_batch(env_id, action_start=0, **more)
    rolls = make_batch(env_id, **more)
    steps = 1 if mode is DISABLED else STEPS
    actions = draw((steps, NUM_ENVS), seed=1)
    rollout = ours.unroll(actions)
    assert_same(tuple(rollout), tuple(rolls.unroll(actions + 1)))
    assert_all_valid(rollout.infos)


def test_pools_and_copies_equal_the_batch(env_id):
    batch = make_batch(env_id, action_start=0)
    pool = roll_vec.PoolVectorEnv(
        [lambda: gymnasium.make(env_id, action_start=0, **SMALL[env_id])] * NUM_ENVS,
        workers=0 if JIT_OFF else 2,
    )
    pool.reset(seed=0)
    batch.step(draw(NUM_ENVS))
    pool.step(draw(NUM_ENVS))
    for env in (pool, copy.deepcopy(batch), pickle.loads(pickle.dumps(batch))):
        twin = copy.deepcopy(batch)
        for actions in draw((STEPS, NUM_ENVS), seed=2):
            assert_same(env.step(actions), twin.step(actions))
    pool.close()


def test_an_agent_that_counts_from_0_plays_every_action(env_id):
    batch = make_batch(env_id, 64, action_start=0, autoreset_mode="SameStep")
    for actions in draw((10, 64), seed=3):
        assert_all_valid(batch.step(actions)[4])
    sampled = batch.action_space.sample()
    assert set(sampled.tolist()) <= {0, 1, 2, 3}
    batch.step(sampled)


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


# ----------------------------------------------------------------- codes and values


def test_codes_are_shown_as_they_are_played(env_id):
    names = ["Up", "Down", "Left", "Right"]
    if env_id == LAKE:
        names = ["Left", "Down", "Right", "Up"]
    for start in (0, 1):
        single = make_single(env_id, action_start=start).unwrapped
        batch = make_batch(env_id, action_start=start)
        lookup = dict(enumerate(names, start))
        assert single.action_lookup == batch.get_attr("action_lookup")[0] == lookup
        assert single.get_all_actions() == batch.call("get_all_actions")[0]
        assert single.get_all_actions() == list(lookup)
        listed = ", ".join(f"{code} ({name})" for code, name in lookup.items())
        assert f"Actions: {listed}." in single.get_instructions()
        assert f"Actions: {listed}." in batch.call("get_instructions")[0]
    named = make_single(env_id, action_start=0, action_lookup={0: "Go", 3: "Come"})
    assert named.unwrapped.get_all_actions() == [0, 3]
    with pytest.raises(InvalidOptionError, match=r"among \[0, 1, 2, 3\], got 4"):
        make_single(env_id, action_start=0, action_lookup={4: "Go"})


@pytest.mark.parametrize("action", [-1, 4])
def test_what_is_outside_0_to_3_is_refused_and_moves_nothing(env_id, action):
    batch, twin = (make_batch(env_id, action_start=0) for _ in range(2))
    single = make_single(env_id, action_start=0)
    with pytest.raises(InvalidActionError, match="expected 0 to 3, got"):
        batch.step([1, action, 1])
    with pytest.raises(InvalidActionError, match=r"step 0: .*expected 0 to 3, got"):
        batch.unroll([[1, 1, action], [1, 1, 1]])
    with pytest.raises(InvalidActionError, match=f"from 0 to 3, got {action}"):
        single.step(action)
    assert_same(batch.step([3, 3, 3]), twin.step([3, 3, 3]))


@pytest.mark.parametrize("make", [gymnasium.make, gymnasium.make_vec])
@pytest.mark.parametrize("value", [2, -1, True, "0", "", 1.0, [0]], ids=repr)
def test_other_values_are_refused_by_name(env_id, make, value):
    with pytest.raises(InvalidOptionError, match=r"action_start: expected 0 .*, 1 "):
        make(env_id, action_start=value)
    assert make(env_id, action_start=np.int64(0)).action_space.contains(
        0 if make is gymnasium.make else np.zeros(1, np.int64)
    )


@pytest.mark.parametrize("make", [gymnasium.make, gymnasium.make_vec])
@pytest.mark.parametrize("other", ["roll_vec/FrozenLake-v1", "roll_vec/Countdown-v0"])
def test_environments_without_the_keyword_say_which_have_it(make, other):
    with pytest.raises(UnknownOptionError, match=r"action_start.*Sokoban-v0 and roll_"):
        make(other, action_start=0)


# -------------------------------------------------------------------- the warning


def line_of(function):
    """Return the line of the body of a function of one line."""
    return function.__code__.co_firstlineno + 1


@pytest.mark.parametrize("wrapped", [False, True])
def test_the_first_0_of_a_batch_warns_at_the_callers_line(env_id, wrapped):
    def step():
        env.step(np.array([1, 0, 2]))

    env = make_batch(env_id)
    if wrapped:
        env = gymnasium.wrappers.vector.RecordEpisodeStatistics(env)
        env.reset(seed=0)
    env.step(np.array([1, 4, 2]))
    (warning,) = warned(step)
    assert (warning.filename, warning.lineno) == (__file__, line_of(step))
    for part in (
        '"no valid action" here: nothing moves, the step counts',
        "action + single_action_space.start",
        "action_start=0",
        "action_start=1",
    ):
        assert part in str(warning.message)
    assert not warned(step)
    assert not warned(env.unwrapped.unroll, np.zeros((4, NUM_ENVS), int))


def test_the_first_0_of_a_single_environment_warns_at_the_callers_line(env_id):
    def step():
        env.step(0)

    env = make_single(env_id)
    env.step(1)
    (warning,) = warned(step)
    assert (warning.filename, warning.lineno) == (__file__, line_of(step))
    assert "action + action_space.start" in str(warning.message)
    assert not warned(step)


def test_unroll_warns_once_and_gives_what_it_gives_with_the_keyword(env_id):
    env, twin = make_batch(env_id), make_batch(env_id, action_start=1)
    actions = np.random.default_rng(4).integers(0, 5, (STEPS, NUM_ENVS))
    rollouts = []

    def unroll():
        rollouts.append(env.unroll(actions))

    (warning,) = warned(unroll)
    assert (warning.filename, warning.lineno) == (__file__, line_of(unroll))
    assert not warned(unroll)
    for rollout in rollouts:
        assert_same(tuple(rollout), tuple(twin.unroll(actions)))


@pytest.mark.parametrize("start", [0, 1])
def test_who_gave_the_keyword_is_not_warned(env_id, start):
    # Warnings are errors here.
    env, single = (
        make(env_id, action_start=start) for make in (make_batch, make_single)
    )
    env.step(np.zeros(NUM_ENVS, int))
    env.unroll(np.zeros((2, NUM_ENVS), int))
    single.step(0)


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
    env, twin = make_batch(env_id), make_batch(env_id)
    for call in (env.step, lambda actions: env.unroll([[1, 1, 1], actions])):
        with pytest.raises(ActionStartWarning):
            call(np.array([1, 0, 1]))
    single, other = make_single(env_id), make_single(env_id)
    for _ in range(2):
        with pytest.raises(ActionStartWarning):
            single.unwrapped.step(0)
    assert_same(env.step([2, 2, 2]), twin.step([2, 2, 2]))
    assert_same(single.step(2), other.step(2))


def test_copies_know_what_has_been_said(env_id):
    env = make_batch(env_id)
    early = pickle.loads(pickle.dumps(env))
    assert warned(env.step, [0, 0, 0])
    assert not warned(copy.deepcopy(env).step, [0, 0, 0])
    assert warned(early.step, [0, 0, 0])


def test_rolls_own_shape_and_texts_do_not_warn():
    # Warnings are errors here.
    for env in (roll_vec.SokobanEnv(), roll_vec.FrozenLakeEnv()):
        env.reset(seed=0)
        assert not env.step(0)[4]["action_is_valid"]
    for env_id in (SOKOBAN, LAKE):
        env = make_batch(env_id, action_mode="text")
        assert not env.step(["jump"] * NUM_ENVS)[4]["action_is_valid"].any()
