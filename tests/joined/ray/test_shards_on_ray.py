"""Shards on Ray: a batch differs from a local one, or a death leaves a trace."""

import os
import signal
from pathlib import Path
from typing import ClassVar

import gymnasium
import numpy as np
import pytest

import roll_vec
from roll_vec.errors import InvalidOptionError
from roll_vec.joined import make_shards
from tests.contract.cases import assert_same
from tests.joined.local_actors import pids_of, restarts_of
from tests.pool.cases import wait_until

pytestmark = [pytest.mark.ray, pytest.mark.filterwarnings("ignore")]

ROOMS = {"dim_room": (5, 5), "num_boxes": 1}


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


def play(envs, local, num_steps, rng, before_step=lambda t: None):
    """Step both batches at random, and compare all results."""
    space = local.single_action_space
    for t in range(num_steps):
        actions = ["x"] * local.num_envs
        if isinstance(space, gymnasium.spaces.Discrete):
            actions = rng.integers(space.start, space.start + space.n, local.num_envs)
        before_step(t)
        assert_same(envs.step(actions), local.step(actions))


def test_steps_snapshots_and_kills(cluster):
    rng = np.random.default_rng(0)
    envs = make_shards(
        "roll_vec/Sokoban-v0", 7, 3, snapshot_interval=5, obs_mode="planes", **ROOMS
    )
    local = roll_vec.make_vec("roll_vec/Sokoban-v0", 7, obs_mode="planes", **ROOMS)

    def kill(t):
        if t in (3, 9, 10):
            os.kill(pids_of(envs)[t % 3], signal.SIGKILL)

    result = envs.reset(seed=1)
    assert_same(result, local.reset(seed=1))
    play(envs, local, 15, rng, kill)
    assert restarts_of(envs) == 3
    state = envs.get_state()
    assert state == local.get_state()
    actions = rng.integers(1, 5, (20, 7))
    os.kill(pids_of(envs)[0], signal.SIGKILL)
    assert_same(tuple(envs.unroll(actions)), tuple(local.unroll(actions)))
    assert_same(envs.set_state(state), local.set_state(state))
    observations = envs.step(actions[0])[0]
    assert observations.flags.writeable
    local.step(actions[0])
    assert_same(envs.reset(seed=2), local.reset(seed=2))
    pids = pids_of(envs)
    envs.close()
    envs.close()
    wait_until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in pids))
    with pytest.raises(roll_vec.errors.ClosedError):
        envs.reset()


def test_a_class_of_the_program_and_large_infos(cluster):
    envs, local = make_shards(Bell, 3, 2), roll_vec.PoolVectorEnv([Bell] * 3)
    assert_same(envs.reset(seed=4), local.reset(seed=4))
    rng = np.random.default_rng(1)
    play(envs, local, 3, rng)
    infos = envs.step(np.ones(3, int))[4]
    local.step(np.ones(3, int))
    assert infos["table"].flags.writeable
    os.kill(pids_of(envs)[1], signal.SIGKILL)
    play(envs, local, 3, rng)
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
