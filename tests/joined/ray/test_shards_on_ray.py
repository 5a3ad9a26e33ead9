"""Shards on Ray: a batch differs from a local one, or a death leaves a trace."""

import os
import signal
from typing import ClassVar

import gymnasium
import numpy as np
import pytest

import roll_vec
from roll_vec.errors import InvalidOptionError
from roll_vec.joined import make_shards
from tests.contract.cases import assert_same
from tests.joined.local_actors import pids_of
from tests.pool.cases import wait_until

pytestmark = [pytest.mark.ray, pytest.mark.filterwarnings("ignore")]


class Bell(gymnasium.Env):
    """An environment of the program itself, which the shards cannot import."""

    observation_space = gymnasium.spaces.Text(8)
    action_space = gymnasium.spaces.Discrete(2)
    metadata: ClassVar = {"render_modes": []}

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.text = str(self.np_random.integers(99))
        return self.text, {}

    def step(self, action):
        self.text = str(self.np_random.integers(99))
        return self.text, float(action), False, False, {"table": np.arange(20_000)}


def test_a_class_of_the_program_and_large_infos(cluster):
    envs, local = make_shards(Bell, 3, 2), roll_vec.PoolVectorEnv([Bell] * 3)
    assert_same(envs.reset(seed=4), local.reset(seed=4))
    for t in range(6):
        if t == 3:
            os.kill(pids_of(envs)[1], signal.SIGKILL)
        result = envs.step(np.arange(3) % 2)
        assert_same(result, local.step(np.arange(3) % 2))
        assert result[4]["table"].flags.writeable
    envs.close()


def test_a_cluster_that_is_too_small(cluster):
    with pytest.raises(InvalidOptionError, match=r"part . could not be .*GetTimeout"):
        make_shards(
            "roll_vec/Sokoban-v0",
            4,
            2,
            actor_options={"num_cpus": 3},
            start_timeout=9.0,
        )


def test_an_actor_option_that_ray_does_not_know(cluster):
    with pytest.raises(ValueError, match="memry"):
        make_shards("roll_vec/Sokoban-v0", 4, 2, actor_options={"memry": 1})


def test_errors_of_the_constructor_leave_no_shard(cluster):
    # Shards of tests before this one may be ending: then it rises beyond this.
    before = cluster.available_resources().get("CPU", 0)
    with pytest.raises(roll_vec.errors.UnknownOptionError, match="max_stepz"):
        make_shards("roll_vec/Countdown-v0", 4, 2, max_stepz=3)
    wait_until(lambda: cluster.available_resources().get("CPU", 0) >= before)
