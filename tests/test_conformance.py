"""Every registered id, and batches with options, pass our own public checker."""

import functools

import gymnasium
import pytest
from gymnasium.utils.env_checker import check_env

import roll_vec  # noqa: F401  registers the ids
from roll_vec.registration import ENVIRONMENTS
from roll_vec.testing import check_vector_env
from tests.conftest import JIT_OFF

STEPS = 60 if JIT_OFF else 300

FACTORIES = [
    ("roll_vec/Sokoban-v0", {"obs_mode": "text", "num_boxes": 1, "dim_room": (5, 5)}),
    ("roll_vec/Sokoban-v0", {"obs_mode": "planes", "num_levels": 3, "max_steps": 9}),
    ("roll_vec/FrozenLake-v1", {"obs_mode": "planes", "desc": ["SFS", "HFG"]}),
    ("roll_vec/FrozenLake8x8-v1", {"obs_mode": "text", "is_slippery": False}),
    ("roll_vec/RandomFrozenLake-v0", {"obs_mode": "text", "num_levels": 3}),
    ("roll_vec/RandomFrozenLake-v0", {"obs_mode": "tiny_rgb", "size": 5, "p": 0.9}),
]


@pytest.mark.parametrize("env_id", ENVIRONMENTS)
def test_registered_id_passes_the_checker(env_id):
    check_vector_env(env_id, steps=STEPS)


@pytest.mark.parametrize(("env_id", "more"), FACTORIES)
def test_batch_with_options_passes_the_checker(env_id, more):
    factory = functools.partial(
        gymnasium.make_vec, env_id, max_episode_steps=20, **more
    )
    check_vector_env(factory, seed=2**64, steps=60)


@pytest.mark.parametrize("obs_mode", ["default", "text", "planes", "rgb"])
@pytest.mark.parametrize("env_id", ENVIRONMENTS)
def test_single_form_passes_gymnasiums_checker(env_id, obs_mode):
    more = {} if obs_mode == "default" else {"obs_mode": obs_mode}
    env = gymnasium.make(env_id, render_mode="rgb_array", **more)
    check_env(env.unwrapped)
    env.close()
