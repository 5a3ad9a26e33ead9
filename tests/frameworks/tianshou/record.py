"""Batches in Tianshou: the steps of its own DummyVectorEnv, and speed.

``python record.py FOLDER`` writes rows.
"""

import gymnasium
import numpy as np
import torch
from side_by_side import assert_same, measure, write
from tianshou.algorithm.modelfree.dqn import DiscreteQLearningPolicy
from tianshou.data import Collector, VectorReplayBuffer
from tianshou.env import DummyVectorEnv
from tianshou.utils.net.common import Net

from roll_vec.adapters.tianshou import make_vector_env

SOKOBAN, LAKE = "roll_vec/Sokoban-v0", "roll_vec/RandomFrozenLake-v0"
SHORT = {"action_start": 0, "max_episode_steps": 8}
CASES = (
    (SOKOBAN, {**SHORT, "dim_room": (5, 5), "num_boxes": 1, "seed_info": True}),
    (SOKOBAN, {**SHORT, "action_mask": True, "obs_mode": "planes"}),
    (SOKOBAN, {**SHORT, "obs_mode": "text"}),
    (LAKE, {**SHORT, "level_info": True, "num_levels": 99}),
    (LAKE, {"action_start": 0}),
    ("roll_vec/FrozenLake-v1", {}),
)
NUM_ENVS = 1000
ROOMS = {"action_start": 0, "num_levels": 256, "obs_mode": "planes"}


def make_dummy(id, num_envs, **keywords):
    """Return Tianshou's own batch of single environments."""
    return DummyVectorEnv([lambda: gymnasium.make(id, **keywords)] * num_envs)


def compare_steps(id, keywords, num_envs):
    """Step and reset some of the environments; return the ends of episodes."""
    ours = make_vector_env(id, num_envs, **keywords)
    theirs = make_dummy(id, num_envs, **keywords)
    assert len(ours) == len(theirs) == num_envs
    assert ours.action_space == theirs.action_space
    assert ours.observation_space == theirs.observation_space
    assert ours.seed(5) == theirs.seed(5)
    assert_same(ours.reset(), theirs.reset())
    assert_same(ours.reset([3, 1], seed=9), theirs.reset([3, 1], seed=9))
    rng, num_ends = np.random.default_rng(0), 0
    for step in range(30):
        env_ids = rng.permutation(num_envs)[: rng.integers(num_envs // 2, num_envs + 1)]
        if step % 5 == 0:
            env_ids = np.arange(num_envs)
        actions = rng.integers(0, 4, len(env_ids))
        own, their = ours.step(actions, env_ids), theirs.step(actions, env_ids)
        assert_same(own, their)
        ended = env_ids[own[2] | own[3]]
        num_ends += len(ended)
        if len(ended):
            assert_same(ours.reset(ended), theirs.reset(ended))
    assert num_ends
    for envs in (ours, theirs):
        envs.close()
    return num_ends


def make_policy(envs):
    """Return a small Q network's policy."""
    space, actions = envs.observation_space[0], envs.action_space[0]
    net = Net(state_shape=space.shape, action_shape=actions.n, hidden_sizes=[64, 64])
    return DiscreteQLearningPolicy(
        model=net, action_space=actions, observation_space=space
    )


def collecting(envs):
    """Return a function that collects some steps with a small network."""
    envs.seed(0)
    num_envs = len(envs)
    buffer = VectorReplayBuffer(64 * num_envs, num_envs)
    collector = Collector(make_policy(envs), envs, buffer, exploration_noise=True)
    collector.reset()

    def work():
        collector.collect(n_step=16 * num_envs)
        return 16 * num_envs

    return work


def measure_rates(num_envs=64):
    """Return the rows of rates."""
    rows = []
    for what, keywords in (("all infos", {}), ("info_keys=()", {"info_keys": ()})):
        theirs = make_dummy(SOKOBAN, num_envs, **ROOMS)
        ours = make_vector_env(SOKOBAN, num_envs, **ROOMS, **keywords)
        name = f"Sokoban, {num_envs} environments: Collector, {what}"
        name += ", beside DummyVectorEnv"
        rows.append(measure(name, collecting(theirs), collecting(ours)))
    return rows


def main():
    """Compare, measure, and write the rows."""
    torch.set_num_threads(1)
    num_ends = sum(compare_steps(id, keywords, NUM_ENVS) for id, keywords in CASES)
    what = f"{NUM_ENVS} seeds of {len(CASES)} configurations beside DummyVectorEnv"
    rows = [{"what": what, "result": f"equal steps, {num_ends:,} episodes"}]
    write("rows", rows + measure_rates())


if __name__ == "__main__":
    main()
