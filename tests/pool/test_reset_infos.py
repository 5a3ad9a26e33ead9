"""Infos of resets on request: the seed opens the same episode alone."""

import gymnasium
import numpy as np
import pytest

import roll_vec
from tests.pool.cases import EACH_EXECUTOR

IDS = {
    "roll_vec/Countdown-v0": {"num_operations": 3, "difficulty_info": True},
    "roll_vec/WebShop-v0": {"num_products": 60},
}
INFOS = {"seed_info": True, "level_info": True, "oracle_return_info": True}


@pytest.mark.parametrize("mode", ["NextStep", "SameStep", "Disabled"])
@pytest.mark.parametrize("id", IDS)
def test_the_seed_opens_the_episode_alone(id, mode):
    keywords = {**IDS[id], **INFOS, "num_levels": 1000, "start_level": 5}
    envs = roll_vec.make_vec(
        id, 4, autoreset_mode=mode, group_size=2, max_episode_steps=2, **keywords
    )
    alone = gymnasium.make(id, **keywords)
    observations, infos = envs.reset(seed=2**40)
    num_episodes = 0
    for _ in range(9):
        for env_id in np.flatnonzero(infos.get("_seed", np.zeros(4))):
            seed = int(infos["seed"][env_id])
            assert seed < 2**32
            observation, info = alone.reset(seed=seed)
            assert observation == observations[env_id]
            assert info["seed"] == seed
            assert info["level"] == infos["level"][env_id] == 5 + seed % 1000
            assert info["oracle_return"] == infos["oracle_return"][env_id]
            if "difficulty" in info:
                assert infos["difficulty"]["num_operations"][env_id] == 3
            num_episodes += 1
        texts = [("", "search[coat]")[env_id % 2] for env_id in range(4)]
        observations, _, terminations, truncations, infos = envs.step(texts)
        has_ended = terminations | truncations
        if mode == "Disabled" and has_ended.any():
            observations, infos = envs.reset(options={"reset_mask": has_ended})
    assert num_episodes >= 12
    envs.close()


@EACH_EXECUTOR
def test_infos_have_one_dtype_each(workers):
    envs = roll_vec.make_vec("roll_vec/Countdown-v0", 3, **INFOS, **workers)
    infos = envs.reset(seed=1)[1]
    assert infos["seed"].dtype == infos["level"].dtype == np.int64
    assert infos["seed"].tolist() == [1, 2, 3]
    assert infos["oracle_return"].dtype == np.float64
    envs.close()


@EACH_EXECUTOR
def test_nothing_is_there_that_nobody_asked_for(workers):
    envs = roll_vec.make_vec("roll_vec/Countdown-v0", 3, **workers)
    assert envs.reset(seed=1)[1].keys() == {"env_instruction", "_env_instruction"}
    envs.close()
