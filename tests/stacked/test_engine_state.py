"""The state of an engine: checkpoints restore all of it, single environments get it."""

import gymnasium
import numpy as np
import pytest

import roll_vec  # noqa: F401  registers the ids
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


def test_a_checkpoint_restores_all_state(id, engine):
    restore = engine.checkpoint()
    expected = play(engine, actions_of(id), 40)
    restore()
    assert_same(play(engine, actions_of(id), 40), expected)


def test_a_single_environment_gets_the_state_of_a_row(engine):
    grids = engine._grids(None)
    for row in range(NUM_ENVS):
        env = engine.make_single()
        engine.load_row_into(env, row)
        np.testing.assert_array_equal(env._grid(), grids[row])
        assert env.num_env_steps == engine.elapsed_steps[row]
        for name in engine.PER_ENV_ATTRIBUTES:
            assert_same(getattr(env, name), engine.get_attribute(name)[row])
