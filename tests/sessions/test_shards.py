"""Sessions over shards: the results of single environments there, too."""

from concurrent.futures import ThreadPoolExecutor

import gymnasium
import pytest

from roll_vec.pool.observations import same_data
from roll_vec.sessions import Sessions
from tests.distributed.local_actors import make_env
from tests.sessions.test_sessions import play, texts_or_codes


@pytest.mark.parametrize("id", ["roll_vec/FrozenLake-v1", "roll_vec/Countdown-v0"])
def test_results_are_those_of_single_environments(id):
    envs = make_env(id, 4, 2, autoreset_mode="Disabled", max_episode_steps=6)
    with Sessions(envs) as sessions, ThreadPoolExecutor(4) as threads:
        plans = [texts_or_codes(envs.single_action_space, seed) for seed in range(4)]
        opened = [sessions.open() for _ in plans]
        # The other environments were never reset.
        results = [play(opened[3], plans[3], 3)]
        results += threads.map(play, opened, plans, range(4))
    for seed, result in zip((3, *range(4)), results, strict=True):
        single = gymnasium.make(id, max_episode_steps=6)
        assert same_data(result, play(single, plans[seed], seed))
