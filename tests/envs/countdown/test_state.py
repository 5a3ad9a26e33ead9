"""States, copies and pickles of Countdown go on as the original does."""

import copy
import json
import pickle

import pytest

from roll_vec.envs.countdown import Countdown
from roll_vec.errors import ClosedError, InvalidStateError

# Each makes a state of an environment with the default options one that cannot be set.
BAD_ENTRIES = (
    {"nums": "abc"},
    {"nums": 5},
    {"nums": [10**30]},
    {"nums": [1.5]},
    {"nums": [True, 2]},
    {"target": 1 << 63},
    {"target": "24"},
    {"num_env_steps": -1},
    {"num_env_steps": None},
    {"open": 1},
    {"hint": None},
    {"level_options": None},
    {"level_options": {"foo": 1}},
    {"level_options": {"num_numbers": 6}},
    {"level_options": {"num_levels": "two"}},
)


def play(env, episodes=6):
    """Return the results of some episodes, with good and bad answers."""
    results = []
    for episode in range(episodes):
        results.append((env.reset(), env.level_seed, env.nums, env.target))
        for answer in ("1", f"{env.nums[0]}+1", env.oracle_action)[episode % 3 :]:
            results.append(env.step(answer))
            if results[-1][2]:
                break
    results.append(env.np_random.random())
    return results


def go_on(env):
    """Finish the current episode, then play; return the results."""
    return [env.step("1/3"), env.step(env.oracle_action), play(env)]


def make_in_an_episode():
    """Return an environment within its second episode."""
    env = Countdown(max_steps=3, render_mode="text")
    env.reset(seed=5)
    env.reset()
    env.np_random.random()
    env.step("2+2")
    return env


def through_state(env):
    """Return a new environment in the state of another."""
    other = Countdown(max_steps=3, render_mode="text")
    other.set_state(env.get_state())
    return other


def through_json(env):
    """Return another environment, in use, in a state that was JSON."""
    other = Countdown(max_steps=3, render_mode="text")
    other.reset(seed=99)
    other.step("1")
    other.set_state(json.loads(json.dumps(env.get_state())))
    return other


@pytest.mark.parametrize(
    "duplicate",
    [
        through_state,
        through_json,
        copy.deepcopy,
        lambda env: pickle.loads(pickle.dumps(env)),
    ],
)
def test_a_duplicate_goes_on_alike_and_apart(duplicate):
    env = make_in_an_episode()
    first, second = duplicate(env), duplicate(env)
    assert first.render() == env.render()
    assert first.get_state() == env.get_state()
    expected = go_on(env)
    assert go_on(first) == expected
    assert go_on(second) == expected


def test_a_state_is_a_snapshot():
    env = make_in_an_episode()
    state = env.get_state()
    copied_state = copy.deepcopy(state)
    expected = go_on(env)
    assert state == copied_state
    for _ in range(2):
        env.set_state(state)
        assert go_on(env) == expected
    assert state == copied_state


@pytest.mark.parametrize("moment", ["new", "ended"])
def test_states_outside_an_episode(moment):
    env = Countdown()
    if moment == "ended":
        env.reset(seed=3)
        env.step("1")
    state = env.get_state()
    if moment == "ended":
        expected = play(env)
        env.set_state(state)
        assert play(env) == expected
    else:
        env.reset(seed=3)
        env.set_state(state)
        assert env.get_state() == state
    env.set_state(state)
    with pytest.raises(Exception, match="must be reset"):
        env.step("1")


def test_a_state_that_does_not_fit_moves_nothing():
    env = make_in_an_episode()
    before = env.get_state()
    states = [{k: v for k, v in before.items() if k != key} for key in before]
    states += [{**before, **entry} for entry in BAD_ENTRIES]
    states += [{}, None, [before]]
    for episode in ("1", (1 << 63) - 1):
        stream = {**before["stream"], "episode": episode}
        states.append({**before, "stream": stream})
    for state in states:
        for method in (env.check_state, env.set_state):
            with pytest.raises(InvalidStateError, match="state: "):
                method(state)
        assert env.get_state() == before
    with pytest.raises(InvalidStateError, match="at most 4 nums, got 5"):
        env.set_state({**before, "nums": [1, 2, 3, 4, 5]})


def test_a_check_of_a_state_moves_nothing():
    env, other = make_in_an_episode(), Countdown(max_steps=3)
    other.set_level_options(num_levels=4)
    other.reset(seed=8)
    state = env.get_state()
    env.check_state(other.get_state())
    assert env.get_state() == state
    env.close()
    for method in (env.check_state, env.set_state):
        with pytest.raises(ClosedError):
            method(state)


def test_environments_share_their_options():
    env, twin = Countdown(max_steps=2), Countdown(max_steps=2)
    assert env.options is twin.options is env._tasks.options
    assert len(pickle.dumps(env)) < 6000
