"""The state of an engine: it is restored whole, single environments have the same."""

import gymnasium
import numpy as np
import pytest

import roll_vec  # noqa: F401  registers the ids
from roll_vec.errors import InvalidStateError
from roll_vec.vector.engine import EngineState
from tests.contract.cases import assert_same
from tests.stacked.ids import IDS, actions_of, silent

NUM_ENVS = 6


@pytest.fixture(params=IDS)
def id(request):
    """An id of stacked environments."""
    return request.param


@pytest.fixture
def engine(id):
    """An engine after some steps, in the middle of episodes."""
    envs = gymnasium.make_vec(id, NUM_ENVS, max_episode_steps=9, **silent(id))
    engine = envs.unwrapped.engine
    envs.reset(seed=3)
    play(engine, actions_of(id), 5)
    return engine


def play(engine, actions, num_steps):
    """Step an engine at random, begin episodes that ended; return all results."""
    rng, none = np.random.default_rng(0), np.zeros(NUM_ENVS, np.bool_)
    results = []
    for _ in range(num_steps):
        batch = engine.check_actions(rng.choice(actions, NUM_ENVS), none)
        result = engine.step(batch, none)
        results.append((*result, engine.observe()))
        ended = np.flatnonzero(result[1] | result[2])
        if len(ended):
            engine.advance(ended)
    return results


def test_a_state_restores_everything(id, engine):
    state, everyone = engine.get_state(), np.arange(NUM_ENVS)
    expected = play(engine, actions_of(id), 40)
    engine.check_state(state)
    engine.set_state(state, everyone, everyone)
    assert_same(play(engine, actions_of(id), 40), expected)


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


RANGED = {
    "episodes_numbers",
    "elapsed_steps",
    "cells",
    "players",
    "boxes_left",
    "positions",
    "maps",
    "starts",
}


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
