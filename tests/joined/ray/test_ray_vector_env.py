"""Shards on Ray: a batch differs from a local one, or a death leaves a trace."""

import os
import signal
from pathlib import Path
from typing import ClassVar

import gymnasium
import numpy as np
import pytest

import roll_vec
from roll_vec.distributed import RayVectorEnv
from roll_vec.errors import InvalidOptionError
from tests.contract.cases import assert_same
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
    envs = RayVectorEnv(
        "roll_vec/Sokoban-v0", 7, 3, snapshot_interval=5, obs_mode="planes", **ROOMS
    )
    local = roll_vec.make_vec("roll_vec/Sokoban-v0", 7, obs_mode="planes", **ROOMS)

    def kill(t):
        if t in (3, 9, 10):
            os.kill(envs.pids[t % 3], signal.SIGKILL)

    result = envs.reset(seed=1)
    assert_same(result, local.reset(seed=1))
    play(envs, local, 15, rng, kill)
    assert sum(envs.restarts) == 3
    state = envs.get_state()
    assert state == local.get_state()
    actions = rng.integers(1, 5, (20, 7))
    os.kill(envs.pids[0], signal.SIGKILL)
    assert_same(tuple(envs.unroll(actions)), tuple(local.unroll(actions)))
    assert_same(envs.set_state(state), local.set_state(state))
    observations = envs.step(actions[0])[0]
    assert observations.flags.writeable
    local.step(actions[0])
    assert_same(envs.reset(seed=2), local.reset(seed=2))
    pids = envs.pids
    envs.close()
    envs.close()
    wait_until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in pids))
    with pytest.raises(roll_vec.errors.ClosedError):
        envs.reset()


def test_a_class_of_the_program_and_large_infos(cluster):
    envs, local = RayVectorEnv(Bell, 3, 2), roll_vec.PoolVectorEnv([Bell] * 3)
    assert_same(envs.reset(seed=4), local.reset(seed=4))
    rng = np.random.default_rng(1)
    play(envs, local, 3, rng)
    infos = envs.step(np.ones(3, int))[4]
    local.step(np.ones(3, int))
    assert infos["table"].flags.writeable
    os.kill(envs.pids[1], signal.SIGKILL)
    play(envs, local, 3, rng)
    envs.close()


def test_send_and_recv(cluster):
    envs = RayVectorEnv("roll_vec/Countdown-v0", 6, 2, max_steps=3)
    local = roll_vec.make_vec("roll_vec/Countdown-v0", 6, max_steps=3)
    assert_same(envs.reset(seed=0), local.reset(seed=0))
    for t in range(8):
        for env in (envs, local):
            env.send([f"{t}"] * 4, [5, 1, 0, 4])
        if t == 4:
            os.kill(envs.pids[1], signal.SIGKILL)
        results = [env.recv(None, 60.0) for env in (envs, local)]
        assert_same(*results)
    assert envs.restarts == (0, 1)
    envs.close()


def test_a_cluster_that_is_too_small(cluster):
    with pytest.raises(InvalidOptionError, match="start_timeout=1") as error:
        RayVectorEnv("roll_vec/Sokoban-v0", 4, 2, num_cpus=3, start_timeout=1.0)
    assert "the cluster has 4, of which 1 are free" in str(error.value)


def test_an_actor_option_that_ray_does_not_know(cluster):
    with pytest.raises(InvalidOptionError, match="actor_options"):
        RayVectorEnv("roll_vec/Sokoban-v0", 4, 2, actor_options={"num_cpu": 1})


def test_errors_of_the_constructor_leave_no_shard(cluster):
    # Shards of tests before this one may be ending: then it rises beyond this.
    before = cluster.available_resources().get("CPU", 0)
    with pytest.raises(roll_vec.errors.UnknownOptionError, match="max_stepz"):
        RayVectorEnv("roll_vec/Countdown-v0", 4, 2, max_stepz=3)
    wait_until(lambda: cluster.available_resources().get("CPU", 0) >= before)
