"""Single environments: errors, frames, names of actions, their state and an engine's.

That they equal the rows of a batch is said by the lockstep of the contract.
"""

import copy

import gymnasium
import numpy as np
import pytest

from roll_vec.errors import (
    InvalidActionError,
    InvalidSeedError,
    InvalidStateError,
    ResetNeededError,
)
from roll_vec.render import ansi
from roll_vec.stacked.options import RENDER_MODES
from roll_vec.vector.engine import EngineState
from tests.contract.cases import assert_same
from tests.stacked.ids import FAMILIES, IDS, LEVEL_IDS, actions_of, silent


@pytest.fixture(params=IDS)
def id(request):
    """An id of stacked environments."""
    return request.param


def make(id, **keywords):
    """Return a single environment without wrappers, after a reset."""
    env = gymnasium.make(id, **keywords).unwrapped
    env.reset(seed=2)
    return env


def test_infos_have_the_keys_of_the_game(id):
    env = make(id, **silent(id))
    assert env.reset(seed=3)[1] == ({} if id in LEVEL_IDS else {"prob": 1.0})
    info = env.step(0)[4]
    of_levels = {"action_is_effective", "action_is_valid", "success"}
    assert set(info) == (of_levels if id in LEVEL_IDS else {"prob"})


def test_observations_are_the_callers_own(id):
    env, twin = make(id, obs_mode="grid"), make(id, obs_mode="grid")
    obs, _ = env.reset(seed=8, options={"anything": 1})
    twin.reset(seed=8)
    for action in actions_of(id):
        assert obs.flags.writeable
        obs[:] = 77
        obs = env.step(action)[0]
        np.testing.assert_array_equal(obs, twin.step(action)[0])


# ---------------------------------------------------------------- bad input


def test_a_step_needs_a_reset(id):
    env = gymnasium.make(id, render_mode="text").unwrapped
    with pytest.raises(gymnasium.error.ResetNeeded, match="must be reset"):
        env.step(1)
    with pytest.raises(ResetNeededError):
        env.render()


BAD_ACTIONS = [True, -1, 99, 2**70, 1.0, "1", None, [1], np.array([1, 2]), np.nan]


def test_a_bad_action_or_seed_is_named_and_moves_nothing(id):
    env, twin = make(id), make(id)
    high = actions_of(id)[-1]
    for action in (*BAD_ACTIONS, high + 1):
        with pytest.raises(InvalidActionError, match=f"from 0 to {high}, got"):
            env.step(action)
    for seed in (-1, -(2**40), 1.5, "7", [1]):
        with pytest.raises(InvalidSeedError, match=r"seed: .* got"):
            env.reset(seed=seed)
        with pytest.raises(gymnasium.error.Error, match=r"seed: .* got"):
            gymnasium.make(id).unwrapped.reset(seed=seed)
    # Integers of any kind are actions.
    for kind in (np.int8, np.uint8, np.int64, np.array):
        assert repr(env.step(kind(high))) == repr(twin.step(high))
    assert env.num_env_steps == twin.num_env_steps == 4
    assert repr(env.reset()) == repr(twin.reset())
    assert env.num_env_steps == 0


@pytest.mark.parametrize(
    ("action", "shown"),
    [
        ("1", "got '1'; names of actions are taken with action_mode='text'(?m:$)"),
        (1.0, "got 1.0(?m:$)"),
        (None, "got None(?m:$)"),
        (b"1", "got b'1'(?m:$)"),
    ],
)
def test_an_action_of_another_type_is_shown_as_it_is(action, shown):
    with pytest.raises(InvalidActionError, match=shown):
        make("roll_vec/Sokoban-v0").step(action)


# ---------------------------------------------------------------- rendering


def test_no_colour_is_asked_for_by_a_variable(id, monkeypatch):
    env = make(id, render_mode="ansi")
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b" not in env.render()
    monkeypatch.setenv("NO_COLOR", "")
    assert "\x1b" in env.render()
    assert ansi.strip_colours(env.render()) == make(id, render_mode="text").render()


def test_without_a_mode_rendering_warns_and_says_which_there_are(id):
    env = make(id)
    with pytest.warns(UserWarning, match="without a render_mode.*'rgb_array'.*'text'"):
        assert env.render() is None


def test_human_mode_shows_every_reset_and_step(id, monkeypatch):
    from roll_vec.render import window

    shown = []

    class FakeWindow:
        closed = 0

        def show(self, frame, fps):
            shown.append(frame)

        def close(self):
            FakeWindow.closed += 1

    monkeypatch.setattr(window, "Window", FakeWindow)
    env, twin = make(id, render_mode="human"), make(id, render_mode="rgb_array")
    assert env.metadata["render_modes"] == list(RENDER_MODES)
    np.testing.assert_array_equal(shown[-1], twin.render())
    env.step(1)
    twin.step(1)
    np.testing.assert_array_equal(shown[-1], twin.render())
    assert len(shown) == 2
    assert env.render() is None
    assert len(shown) == 3
    # The window is no state: a copy has none, and opens its own.
    copied = copy.deepcopy(env)
    copied.close()
    assert FakeWindow.closed == 0
    env.close()
    env.close()
    assert FakeWindow.closed == 1


def test_actions_have_names(id):
    env, names = make(id), list(FAMILIES[id].action_names)
    assert env.get_all_actions() == list(actions_of(id))
    assert list(env.action_lookup.values()) == names
    # What is read is no handle on the options.
    env.action_lookup.clear()
    assert list(env.action_lookup.values()) == names


# --------------------------------------------------------- the state of an engine

NUM_ENVS = 6


@pytest.fixture
def engine(id):
    """An engine after some steps, in the middle of episodes."""
    envs = gymnasium.make_vec(id, NUM_ENVS, max_episode_steps=9, **silent(id))
    envs.reset(seed=3)
    for action in actions_of(id)[1:]:
        envs.step([action] * NUM_ENVS)
    return envs.unwrapped.engine


def row_of(state, row):
    """Return the state of one environment; values of shared tables are looked up."""
    values = {name: array[row] for name, array in state.arrays.items()}
    for name in state.shared.keys() & values.keys():
        if not np.ndim(values[name]):
            values[name] = state.shared[name][int(values[name])]
    return values


def test_a_single_environment_has_the_state_of_a_row(engine):
    grids, engine_state = engine.grids(None), engine.get_state()
    for row in range(NUM_ENVS):
        env = engine.make_single()
        state = row_of(engine_state, row)
        env.set_state(state)
        np.testing.assert_array_equal(env._grid(), grids[row])
        assert env.num_env_steps == engine.elapsed_steps[row]
        for name in engine.PER_ENV_ATTRIBUTES:
            assert_same(getattr(env, name), engine.get_attribute(name)[row])
        again = env.get_state()
        assert again.keys() == state.keys() | {"seeds", "has_ended"}
        for name, value in state.items():
            if name not in engine_state.shared:
                assert np.asarray(again[name]).dtype == value.dtype
            np.testing.assert_array_equal(again[name], value)


RANGED = {"episodes_numbers", "elapsed_steps", "cells", "players", "boxes_left"}
RANGED |= {"positions", "maps", "starts"}


def wrong_values(engine):
    """Yield states with one bad array each, and the name of that array."""
    arrays = engine.get_state().arrays
    for name, array in arrays.items():
        yield name, {**arrays, name: array.astype(np.float32)}
        yield name, {**arrays, name: array[..., np.newaxis]}
        yield "state", {k: v for k, v in arrays.items() if k != name}
        if name in RANGED:
            highest = {"uint8": 255, "uint64": (1 << 63) - 1}
            for value in (-1, highest.get(str(array.dtype), 1 << 30)):
                bad = array.copy()
                bad[-1] = np.array(value).astype(array.dtype)
                yield name, {**arrays, name: bad}


def test_a_wrong_array_is_refused_by_name(engine):
    shared = engine.get_state().shared
    for name, arrays in wrong_values(engine):
        with pytest.raises(InvalidStateError, match=name):
            engine.check_state(EngineState(arrays, shared))
        row = row_of(EngineState(arrays, shared), -1)
        if name != "state" and arrays[name].dtype == np.float32:
            continue  # a single environment takes numbers of any dtype
        if name == "elapsed_steps" and row[name] > 0:
            continue  # it does not know the limit of a batch
        env = engine.make_single()
        with pytest.raises(InvalidStateError, match=name):
            env.set_state(row)
