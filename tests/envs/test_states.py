"""States of every id: copies go on alike, states that do not fit move nothing."""

import copy
import json
import pickle

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Text

from roll_vec import errors
from roll_vec.arrays.state_checks import FINITE
from roll_vec.registration import ENVIRONMENTS
from tests.contract.cases import ALL_IDS, EACH_ID, assert_same
from tests.mutations import change_each

SOKOBAN, LAKE = "roll_vec/Sokoban-v0", "roll_vec/FrozenLake-v1"
RANDOM_LAKE, LAKE_8X8 = "roll_vec/RandomFrozenLake-v0", "roll_vec/FrozenLake8x8-v1"
COUNTDOWN, WEBSHOP = "roll_vec/Countdown-v0", "roll_vec/WebShop-v0"

# Small, with a frame to compare, and with all that a state can have in it.
# Other environments are played with their defaults.
PLAYED = {
    SOKOBAN: {
        "dim_room": (5, 5),
        "num_boxes": 1,
        "max_steps": 9,
        "render_mode": "text",
        "action_start": 1,
    },
    LAKE: {"render_mode": "text"},
    LAKE_8X8: {"render_mode": "text"},
    RANDOM_LAKE: {"render_mode": "text", "max_steps": 9, "action_start": 1},
    COUNTDOWN: {"max_steps": 3, "render_mode": "text"},
    WEBSHOP: {
        "num_products": 60,
        "observation_mode": "text_rich",
        "render_mode": "text",
        "limit_goals": 40,
    },
}
WRONG_ENTRIES = {
    COUNTDOWN: ({"nums": [10**30]}, {"nums": [True, 2]}),
    WEBSHOP: (),
    SOKOBAN: (
        {"elapsed_steps": np.int32(-1)},
        {"player": np.int32(-1)},
        {"boxes_left": np.int32(7)},
        {"grid": np.full((5, 5), 9, np.uint8)},
    ),
    RANDOM_LAKE: (
        {"grid": np.zeros((4, 4), np.uint8)},
        {"position": np.int64(16)},
        {"start": np.int64(-1)},
    ),
    "roll_vec/Taxi-v4": (
        {"taxi": np.int8(25)},
        {"passenger": np.int8(-7)},
        {"prob": np.nan},
        {"generator_states": np.zeros(6, np.uint64)},
    ),
    "roll_vec/Acrobot-v1": ({"theta_1": 1e300}, {"theta_2_dot": -np.inf}),
    "roll_vec/CartPole-v1": ({"x": np.inf}, {"theta": np.nan}),
    "roll_vec/Blackjack-v1": ({"dealer_card": np.int16(11)},),
    "roll_vec/Game2048-v0": (
        {"random_words": np.full(625, 624, np.uint32)},
        {"board": np.full((4, 4), 18, np.uint8)},
        {"first_best": np.int8(11)},
    ),
    "roll_vec/SlidingTiles-v0": (
        {"board": np.zeros((3, 3), np.uint8)},
        {"row": np.int8(0), "column": np.int8(0)},
    ),
    "roll_vec/Minesweeper-v0": (
        {"order": np.zeros(19, np.uint16)},
        {"num_hidden": np.int32(1)},
    ),
    "roll_vec/Sudoku-v0": (
        {"board": np.ones((9, 9), np.uint8)},
        {"num_missing": np.uint8(0)},
        {"num_empty": np.uint8(0)},
        {"box_digits": np.zeros(9, np.uint16)},
    ),
    LAKE: ({"position": np.int64(16)}, {"elapsed_steps": np.int32(-1)}),
}


def is_text(env):
    """Return whether the actions of an environment are texts."""
    return isinstance(env.action_space, Text)


def actions_of(env):
    """Return some valid actions."""
    return env.get_all_actions() or [env.action_space.low, env.action_space.high]


def make(id):
    if ENVIRONMENTS[id].pooled:
        return ENVIRONMENTS[id].load()(**PLAYED[id])
    return gymnasium.make(id, **PLAYED.get(id, {"render_mode": "ansi"})).unwrapped


def started(id):
    """Return an environment within its second episode."""
    env = make(id)
    if id == WEBSHOP:
        env.reset(seed=5)
        env.reset(options={"session": 2, "instruction_text": "Buy!"})
        for _ in range(2):
            env.step(env.oracle_action)
    else:
        env.reset(seed=5)
        env.reset()
        # The first action of Blackjack ends the episode.
        env.step("2+2" if is_text(env) else actions_of(env)[-1])
    if is_text(env):
        env.np_random.random()
    return env


def play_on(env, num_steps=40):
    """Return the results of steps, which meet the end of episodes."""
    results, rng = [getattr(env, "level_seed", None)], np.random.default_rng(1)
    for step in range(num_steps):
        if is_text(env):
            action = getattr(env, "oracle_action", "1/3") if step % 4 else "1/3"
        else:
            actions = actions_of(env)
            action = actions[rng.integers(len(actions))]
        results.append((env.step(action), env.render()))
        if results[-1][0][2] or step % 9 == 8:
            results.append(env.reset())
    if is_text(env):
        results.append((env.level_seed, env.np_random.random()))
    return results


def through_state(env, state, id):
    """Return another environment in the state of one; it has been in use."""
    other = make(id)
    other.reset(seed=99)
    other.step("1" if is_text(other) else actions_of(other)[-1])
    other.set_state(state)
    return other


DUPLICATES = {
    "state": lambda env, id: through_state(env, env.get_state(), id),
    "JSON": lambda env, id: through_state(
        env, json.loads(json.dumps(env.get_state())), id
    ),
    "pickle": lambda env, id: pickle.loads(pickle.dumps(env)),
    "deepcopy": lambda env, id: copy.deepcopy(env),
}


@pytest.mark.parametrize("how", DUPLICATES)
@pytest.mark.parametrize("id", ALL_IDS)
def test_a_duplicate_goes_on_alike_and_apart(id, how):
    env = started(id)
    if how == "JSON" and not is_text(env):
        pytest.skip("states of arrays are arrays")
    first, second = (DUPLICATES[how](env, id) for _ in range(2))
    assert first.render() == env.render()
    state = env.get_state()
    assert_same(first.get_state(), state)
    before = copy.deepcopy(state)
    expected = play_on(env)
    assert_same(play_on(first), expected)
    assert_same(play_on(second), expected)
    # A state is a snapshot, and can be set more than once.
    assert_same(state, before)
    for _ in range(2):
        env.set_state(state)
        assert_same(env.get_state(), before)
    if not is_text(env):
        assert_same(play_on(env), expected)


@pytest.mark.parametrize("id", ALL_IDS)
def test_states_outside_an_episode(id):
    env = make(id)
    if is_text(env):
        new, used = env.get_state(), started(id)
        used.set_state(new)
        assert used.get_state() == new
        with pytest.raises(errors.ResetNeededError):
            used.step("1")
    else:
        with pytest.raises(errors.ResetNeededError):
            env.get_state()
    env.reset(seed=3)
    for step in range(200):
        actions = [env.oracle_action] if is_text(env) else actions_of(env)
        if any(env.step(actions[step % len(actions)])[2:4]):
            break
    else:
        return  # Neither the rules nor an option end an episode.
    ended = env.get_state()
    assert ended.get("has_ended", True)
    assert not started(id).get_state().get("has_ended", False)
    expected = env.reset(), env.get_state()
    env.set_state(ended)
    assert_same(env.get_state(), ended)
    if is_text(env):
        with pytest.raises(errors.ResetNeededError, match="must be reset"):
            env.step("1")
    assert_same((env.reset(), env.get_state()), expected)


@pytest.mark.parametrize("id", ALL_IDS)
def test_a_state_that_does_not_fit_moves_nothing(id):
    env, twin = started(id), started(id)
    before = env.get_state()
    keys = before.keys() - {"has_ended"}
    states = [{k: v for k, v in before.items() if k != key} for key in sorted(keys)]
    states += [{**before, key: object()} for key in sorted(keys)]
    states += [{**before, **entry} for entry in WRONG_ENTRIES.get(id, ())]
    states += [{}, None, [before]]
    if is_text(env):
        for entry in ({"episode": "1"}, {"episode": (1 << 63) - 1}, {"stream": -1}):
            states.append({**before, "stream": {**before["stream"], **entry}})
    for state in states:
        with pytest.raises(errors.InvalidStateError, match="state"):
            env.set_state(state)
        assert_same(env.get_state(), before)
    assert_same(play_on(env), play_on(twin))
    env.close()
    with pytest.raises(errors.ClosedError):
        env.set_state(before)


@pytest.mark.parametrize("id", EACH_ID)
def test_a_state_at_its_limits_is_played_on(id):
    if ENVIRONMENTS[id].pooled:
        pytest.skip("an object has no limits of variables")
    env = make(id)
    env.reset(seed=0)
    before, actions = env.get_state(), actions_of(env)
    for name, limits in env.options.state_limits.items():
        if limits == FINITE:
            continue  # A number that has no size may grow out of all bounds.
        for limit in limits:
            state = {**before, name: np.full_like(before[name], limit)}
            try:
                env.set_state(state)
            except errors.InvalidStateError:
                continue  # It fits no other variable.
            for action in actions[:: len(actions) // 30 + 1]:
                env.set_state(state)
                assert env.step(action)[0] in env.observation_space, (name, limit)
                env.render()
                env.set_state(env.get_state())


# In the place of every part of a state.
VALUES = (None, True, -1, 1.5, 1 << 32, 1 << 63, "", "x", [], {}, [3], {"size": "x"})


@pytest.mark.parametrize(("id", "num_kept"), [(COUNTDOWN, 19), (WEBSHOP, 19)])
def test_a_changed_state_is_kept_or_refused(id, num_kept):
    env = started(id)
    before, kept = env.get_state(), []
    for place, changed in change_each(before, VALUES):
        if "np_random']" in place:
            continue  # NumPy checks these, in every version in its own way.
        try:
            env.set_state(changed)
            kept.append(place)
            env.set_state(before)
        except errors.InvalidStateError as error:
            assert str(error).startswith("state: ")  # noqa: PT017
        assert_same(env.get_state(), before)
    assert len(kept) == num_kept, kept


def test_a_resumed_environment_begins_that_episode():
    env, twin = make(SOKOBAN), make(SOKOBAN)
    env.reset(seed=1)
    env.resume(7, 3)
    with pytest.raises(errors.ResetNeededError):
        env.get_state()
    twin.reset(seed=7)
    for _ in range(2):
        twin.reset()
    assert_same(env.reset(), twin.reset())
    assert_same(env.get_state(), twin.get_state())


def test_what_comes_after_an_end_or_is_refused_takes_nothing_back():
    more = {"desc": ["SG"], "is_slippery": False, "action_mode": "text"}
    env = gymnasium.make(LAKE, **more).unwrapped
    env.reset(seed=0)
    assert env.step("Right")[2]
    assert not env.step("no action")[2]
    assert env.get_state()["has_ended"]
    with pytest.raises(errors.InvalidSeedError):
        env.reset(seed=-1)
    assert env.get_state()["has_ended"]
