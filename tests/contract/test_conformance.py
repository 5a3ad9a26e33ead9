"""Every case, in every autoreset mode, passes our own public checker."""

import functools
from unittest.mock import MagicMock

import gymnasium
import pytest
from gymnasium.utils.env_checker import check_env

from roll_vec.testing import check_vector_env
from tests.contract import cases

# The checker makes a hundred batches, and workers start slowly: one case has threads.
SLOW = {*cases.PROCESSES, *(case for case in cases.POOLS if " in " in case)} - {
    *cases.CASES
}
# And these differ from others in their maps, or in what has no threads.
SLOW |= {"roll_vec/FrozenLake8x8-v1", "roll_vec/FrozenLake-v1 text"}
SLOW |= {"tests_vector/Guess-v0", "roll_vec/WebShop-v0", "roll_vec/Sokoban-v0 text"}
SLOW |= {"roll_vec/RandomFrozenLake-v0"}


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(case, marks=[pytest.mark.slow] if case in SLOW else [])
        for case in (*cases.ALL_CASES, *cases.PROCESSES)
    ],
)
def test_every_case_passes_the_checker_in_every_mode(case):
    # Short episodes, and now and then a right answer.
    check_vector_env(functools.partial(cases.make_batch, case), seed=3, steps=20)


# Their episodes are short as well.
LONG = pytest.mark.filterwarnings("ignore:.*no episode ended within 60 steps")


@pytest.mark.slow
@pytest.mark.parametrize(
    "env_id",
    [
        pytest.param(env_id, marks=[LONG] if env_id in cases.GAME_IDS else [])
        for env_id in (*cases.IDS, *cases.CUSTOM_IDS)
    ],
)
def test_id_passes_the_checker(env_id):
    # As ids: their specs are checked as well.
    check_vector_env(env_id, steps=60)
    if env_id in cases.GAME_IDS:
        short = functools.partial(gymnasium.make_vec, env_id, max_episode_steps=9)
        check_vector_env(short, steps=30)


# Of ids whose observations are no arrays, their frames are texts.
SINGLES = [
    *((id, {"render_mode": "rgb_array"}) for id in cases.ARRAY_IDS),
    *((cases.ARRAY_IDS[0], {"obs_mode": mode}) for mode in ("planes", "rgb")),
    *(
        (case, {"render_mode": "ansi"})
        for case in (*cases.TEXTS, *cases.POOLED_IDS, *cases.CUSTOM_IDS)
    ),
]


@pytest.mark.filterwarnings("ignore:.*different from the unwrapped version")
@pytest.mark.parametrize(("case", "more"), SINGLES)
def test_single_env_passes_gymnasiums_checker(case, more, monkeypatch):
    pygame = pytest.importorskip("pygame")
    # Windows wait between frames.
    monkeypatch.setattr(pygame.time, "Clock", MagicMock)
    env = cases.make_single(case, **more)
    has_pixels = more.get("render_mode") == "rgb_array"
    check_env(env.unwrapped, skip_render_check=not has_pixels)
    if cases.is_pooled(case):
        # And with the text wrapper around it.
        while isinstance(env.env, gymnasium.Wrapper):
            env = env.env
        check_env(env, skip_render_check=True)
    env.close()
