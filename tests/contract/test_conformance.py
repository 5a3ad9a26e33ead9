"""Every case, in every autoreset mode, passes our own public checker."""

import functools

import gymnasium
import pytest
from gymnasium.utils.env_checker import check_env

import roll_vec  # noqa: F401  registers the ids
from roll_vec.factories import make_single as make_object
from roll_vec.pool import PoolVectorEnv
from roll_vec.registration import ENVIRONMENTS
from roll_vec.testing import check_vector_env
from tests.conftest import JIT_OFF
from tests.contract.cases import (
    ALL_CASES,
    ARRAY_IDS,
    CUSTOM_IDS,
    POOLED_IDS,
    PROCESSES,
    TEXTS,
    id_of,
    is_pooled,
    keywords,
    make_batch,
    make_single,
)


@pytest.mark.parametrize(
    "case",
    # Processes start slowly, and the checker makes a hundred batches.
    [*ALL_CASES, *(pytest.param(case, marks=pytest.mark.slow) for case in PROCESSES)],
)
def test_every_case_passes_the_checker_in_every_mode(case):
    # Short episodes, and now and then a right answer.
    check_vector_env(functools.partial(make_batch, case), seed=3, steps=40)


@pytest.mark.slow
@pytest.mark.parametrize("env_id", [*ENVIRONMENTS, *CUSTOM_IDS])
def test_id_passes_the_checker(env_id):
    # Far beyond all limits, and as ids: their specs are checked as well.
    check_vector_env(env_id, steps=60 if JIT_OFF else 250)


def make_pool_of_single_forms(num_envs, **keywords):
    make = functools.partial(gymnasium.make, "tests_vector/Guess-v0")
    make = functools.partial(make, max_episode_steps=4)
    return PoolVectorEnv([make] * num_envs, **keywords)


def make_with_episode_infos(num_envs, **keywords):
    keywords |= {"max_episode_steps": 7, "action_start": 1, "episode_info": True}
    id = "roll_vec/RandomFrozenLake-v0"
    return gymnasium.make_vec(id, num_envs=num_envs, **keywords)


@pytest.mark.parametrize("make", [make_pool_of_single_forms, make_with_episode_infos])
def test_batch_passes_the_checker(make):
    check_vector_env(make, steps=30)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("env_id", "more"),
    [
        ("Sokoban-v0", {"obs_mode": "text", "num_boxes": 1, "dim_room": (5, 5)}),
        ("Sokoban-v0", {"obs_mode": "planes", "num_levels": 3, "max_steps": 9}),
        ("FrozenLake-v1", {"obs_mode": "planes", "desc": ["SFS", "HFG"]}),
        ("FrozenLake8x8-v1", {"obs_mode": "text", "is_slippery": False}),
        ("RandomFrozenLake-v0", {"obs_mode": "text", "num_levels": 3}),
        ("RandomFrozenLake-v0", {"obs_mode": "tiny_rgb", "size": 5, "p": 0.9}),
    ],
)
def test_batch_with_options_passes_the_checker(env_id, more):
    factory = functools.partial(
        gymnasium.make_vec, f"roll_vec/{env_id}", max_episode_steps=20, **more
    )
    check_vector_env(factory, seed=2**64, steps=60)


@pytest.mark.parametrize(
    ("env_id", "more"),
    [
        *((env_id, {}) for env_id in ARRAY_IDS),
        *((ARRAY_IDS[0], {"obs_mode": mode}) for mode in ("text", "planes", "rgb")),
    ],
)
def test_single_env_passes_gymnasiums_checker(env_id, more):
    env = gymnasium.make(env_id, render_mode="rgb_array", **more)
    check_env(env.unwrapped)
    env.close()


@pytest.mark.filterwarnings("ignore:.*different from the unwrapped version")
@pytest.mark.parametrize("case", [*TEXTS, *POOLED_IDS, *CUSTOM_IDS])
def test_single_env_of_texts_or_objects_passes_gymnasiums_checker(case):
    env = make_single(case, render_mode="ansi")
    check_env(env.unwrapped, skip_render_check=True)
    env.close()
    if is_pooled(case):
        # And with the text wrapper around it.
        own = {**keywords(case), "render_mode": "ansi"}
        del own["max_episode_steps"]
        check_env(make_object(id_of(case), **own), skip_render_check=True)
