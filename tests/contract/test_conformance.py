"""Every registered id, and batches with options, pass our own public checker."""

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
    register_custom_ids,
    unregister_custom_ids,
)

# More than Sokoban's limit of 100; the slow tests go far beyond all limits.
STEPS = 60 if JIT_OFF else 110

FACTORIES = [
    ("roll_vec/Sokoban-v0", {"obs_mode": "text", "num_boxes": 1, "dim_room": (5, 5)}),
    ("roll_vec/Sokoban-v0", {"obs_mode": "planes", "num_levels": 3, "max_steps": 9}),
    ("roll_vec/FrozenLake-v1", {"obs_mode": "planes", "desc": ["SFS", "HFG"]}),
    ("roll_vec/FrozenLake8x8-v1", {"obs_mode": "text", "is_slippery": False}),
    ("roll_vec/RandomFrozenLake-v0", {"obs_mode": "text", "num_levels": 3}),
    ("roll_vec/RandomFrozenLake-v0", {"obs_mode": "tiny_rgb", "size": 5, "p": 0.9}),
]


@pytest.fixture(autouse=True)
def _custom_ids():
    """Know the ids of a user's own here, and nowhere else."""
    register_custom_ids()
    yield
    unregister_custom_ids()


@pytest.mark.parametrize("steps", [STEPS, pytest.param(400, marks=pytest.mark.slow)])
@pytest.mark.parametrize("env_id", ENVIRONMENTS)
def test_registered_id_passes_the_checker(env_id, steps):
    check_vector_env(env_id, steps=steps)


@pytest.mark.parametrize("env_id", CUSTOM_IDS)
def test_id_of_a_users_own_passes_the_checker(env_id):
    check_vector_env(env_id, steps=40)


# One whose infos differ from row to row in threads, one in processes.
POOLED = [*POOLED_IDS, "tests_vector/Guess-v0 in threads", PROCESSES[-1]]


@pytest.mark.slow
@pytest.mark.parametrize(
    "case",
    [
        TEXTS[0],
        *POOLED[:-1],
        # They share all code of texts with the first; processes start slowly.
        *(pytest.param(case, marks=pytest.mark.slow) for case in TEXTS[1:]),
        pytest.param(POOLED[-1], marks=pytest.mark.slow),
    ],
)
def test_batch_of_texts_or_objects_passes_the_checker(case):
    # Short episodes, and now and then a right answer.
    check_vector_env(functools.partial(make_batch, case), seed=3, steps=40)


@pytest.mark.parametrize("env_id", CUSTOM_IDS)
def test_pool_over_gymnasiums_single_forms_passes_the_checker(env_id):
    def factory(num_envs, **keywords):
        make = functools.partial(gymnasium.make, env_id, max_episode_steps=4)
        return PoolVectorEnv([make] * num_envs, **keywords)

    check_vector_env(factory, steps=30)


@pytest.mark.slow
@pytest.mark.parametrize(("env_id", "more"), FACTORIES)
def test_batch_with_options_passes_the_checker(env_id, more):
    factory = functools.partial(
        gymnasium.make_vec, env_id, max_episode_steps=20, **more
    )
    check_vector_env(factory, seed=2**64, steps=60)


@pytest.mark.parametrize(
    ("env_id", "obs_mode"),
    [
        *((env_id, "default") for env_id in ARRAY_IDS),
        *((ARRAY_IDS[0], obs_mode) for obs_mode in ("text", "planes", "rgb")),
    ],
)
def test_single_env_passes_gymnasiums_checker(env_id, obs_mode):
    more = {} if obs_mode == "default" else {"obs_mode": obs_mode}
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
