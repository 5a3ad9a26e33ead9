"""Batches in Tianshou: the steps of its own DummyVectorEnv, its collectors, learning.

`tests.frameworks` runs this file where Tianshou is installed.
"""

import json
import sys
import time
import warnings
from pathlib import Path

import gymnasium
import numpy as np
import torch
from side_by_side import measure, share_of_calls
from tianshou.algorithm.modelfree.dqn import DQN, DiscreteQLearningPolicy
from tianshou.algorithm.modelfree.ppo import PPO
from tianshou.algorithm.modelfree.reinforce import DiscreteActorPolicy
from tianshou.algorithm.optim import AdamOptimizerFactory
from tianshou.data import AsyncCollector, Batch, Collector, VectorReplayBuffer
from tianshou.env import DummyVectorEnv
from tianshou.env.venv_wrappers import VectorEnvNormObs
from tianshou.trainer import OffPolicyTrainerParams, OnPolicyTrainerParams
from tianshou.utils.net.common import Net
from tianshou.utils.net.discrete import DiscreteActor, DiscreteCritic

import roll_vec
from roll_vec.adapters.tianshou import BatchVectorEnv, make_vector_env

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
# Four lakes; about three of ten random episodes reach the goal.
TASK = {
    "is_slippery": False,
    "start_level": 16,
    "num_levels": 4,
    "obs_mode": "planes",
    "max_episode_steps": 20,
}
# The rooms are drawn before the measurement.
ROOMS = {"action_start": 0, "num_levels": 256, "obs_mode": "planes"}


def make_dummy(id, num_envs, **keywords):
    """Return Tianshou's own batch of single environments."""
    return DummyVectorEnv([lambda: gymnasium.make(id, **keywords)] * num_envs)


def assert_same(ours, theirs):
    """Compare observations, infos and the rest, with types."""
    if isinstance(ours, np.ndarray):
        assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape)
        if ours.dtype != object:
            np.testing.assert_array_equal(ours, theirs)
            return
        ours, theirs = list(ours), list(theirs)
    if isinstance(ours, list | tuple):
        for one, other in zip(ours, theirs, strict=True):
            assert_same(one, other)
    elif isinstance(ours, dict):
        assert ours.keys() == theirs.keys(), (ours, theirs)
        for key in ours:
            assert_same(ours[key], theirs[key])
    else:
        assert ours == theirs, (ours, theirs)


def compare_steps(id, keywords, num_envs, num_steps=30):
    """Step and reset some of the environments; return the ends of episodes."""
    ours = make_vector_env(id, num_envs, **keywords)
    theirs = make_dummy(id, num_envs, **keywords)
    assert len(ours) == len(theirs) == num_envs
    assert ours.action_space == theirs.action_space
    assert ours.observation_space == theirs.observation_space
    assert ours.seed(5) == theirs.seed(5)
    samples = [[each.sample() for each in envs.action_space] for envs in (ours, theirs)]
    assert samples[0] == samples[1]
    assert_same(ours.reset(), theirs.reset())
    assert_same(ours.reset([3, 1], seed=9), theirs.reset([3, 1], seed=9))
    rng, num_ends = np.random.default_rng(0), 0
    for step in range(num_steps):
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


def compare_wrapper():
    """Compare the results of its wrapper that normalises observations."""
    id, keywords = CASES[1]
    ours = VectorEnvNormObs(make_vector_env(id, 16, **keywords))
    theirs = VectorEnvNormObs(make_dummy(id, 16, **keywords))
    for envs in (ours, theirs):
        envs.seed(0)
    assert_same(ours.reset(), theirs.reset())
    for _ in range(7):
        actions = np.ones(16, int)
        assert_same(ours.step(actions), theirs.step(actions))


def make_policy(envs, *, eps=0.0, policy_class=DiscreteQLearningPolicy):
    """Return a small Q network's policy."""
    space, actions = envs.observation_space[0], envs.action_space[0]
    net = Net(state_shape=space.shape, action_shape=actions.n, hidden_sizes=[64, 64])
    return policy_class(
        model=net, action_space=actions, observation_space=space, eps_training=eps
    )


def compare_collectors():
    """Compare what a collector stores; return the number of its episodes."""
    id, keywords = CASES[1]
    buffers = []
    for envs in (make_vector_env(id, 16, **keywords), make_dummy(id, 16, **keywords)):
        torch.manual_seed(0)
        np.random.seed(0)  # Tianshou draws from it
        envs.seed(0)
        collector = Collector(make_policy(envs, eps=0.5), envs, exploration_noise=True)
        collector.reset()
        collector.collect(n_step=800)
        stats = collector.collect(n_episode=40)
        buffers.append(collector.buffer)
    ours, theirs = buffers
    assert len(ours) == len(theirs)
    for key in ("obs", "act", "rew", "terminated", "truncated", "obs_next"):
        assert_same(ours[:][key], theirs[:][key])
    assert_same(ours[:].info.success, theirs[:].info.success)
    return stats.n_collected_episodes


class RecurrentPolicy(DiscreteQLearningPolicy):
    """A policy with a state and an entry; `AsyncCollector` takes no other (2.0.1)."""

    def forward(self, batch, state=None, **keywords):
        """Add both to the result."""
        result = super().forward(batch, state, **keywords)
        result.policy = Batch(scores=result.logits.detach())
        result.state = Batch(hidden=torch.zeros(len(result.act), 1))
        return result


class Sleeper(gymnasium.Env):
    """Steps that take a millisecond, and 20 of them now and then."""

    observation_space = gymnasium.spaces.Box(0, 99, (2,), np.float32)
    action_space = gymnasium.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        """Start at 0."""
        super().reset(seed=seed)
        self.count = 0
        return np.zeros(2, np.float32), {}

    def step(self, action):
        """Count."""
        time.sleep(0.02 if self.np_random.random() < 0.1 else 0.001)
        self.count += 1
        observation = np.array([self.count, float(action)], np.float32)
        return observation, 1.0, self.count == 12, False, {}


def collect_asynchronously():
    """Collect from a pool with `AsyncCollector`; return the number of episodes."""
    pool = roll_vec.PoolVectorEnv(
        [Sleeper] * 8, workers=8, executor="thread", autoreset_mode="Disabled"
    )
    envs = BatchVectorEnv(pool, wait_num=3)
    envs.seed(0)
    buffer = VectorReplayBuffer(4000, 8)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Using async setting")
        policy = make_policy(envs, policy_class=RecurrentPolicy)
        collector = AsyncCollector(policy, envs, buffer)
    collector.reset()
    stats = collector.collect(n_step=600)
    # Each buffer has the steps of one environment in order.
    for part in buffer.buffers:
        counts = part[:].obs_next[:, 0]
        np.testing.assert_array_equal(counts, np.arange(len(counts)) % 12 + 1)
        np.testing.assert_array_equal(part[:].obs_next[:, 1], part[:].act)
    # While some are under way.
    collector.reset()
    collector.collect(n_step=100)
    envs.close()
    return stats.n_collected_episodes


def train(algorithm):
    """Train on four lakes; return the mean return before and after."""
    torch.manual_seed(0)
    np.random.seed(0)  # Tianshou draws from it
    envs = make_vector_env(LAKE, 16, info_keys=(), **TASK)
    judges = make_vector_env(LAKE, 32, info_keys=(), **TASK)
    for each, seed in ((envs, 0), (judges, 100)):
        each.seed(seed)
    keywords = {"optim": AdamOptimizerFactory(lr=1e-3), "gamma": 0.95}
    if algorithm is DQN:
        policy = make_policy(envs, eps=0.3)
        learner = DQN(policy=policy, target_update_freq=100, **keywords)
        options = {"update_step_num_gradient_steps_per_sample": 0.1, "batch_size": 128}
        params = OffPolicyTrainerParams
    else:
        space, actions = envs.observation_space[0], envs.action_space[0]
        body = Net(state_shape=space.shape, hidden_sizes=[64, 64])
        head = {"action_shape": actions.n, "softmax_output": False}
        actor = DiscreteActor(preprocess_net=body, **head)
        policy = DiscreteActorPolicy(actor=actor, action_space=actions)
        critic = DiscreteCritic(preprocess_net=body)
        learner = PPO(policy=policy, critic=critic, **keywords)
        options = {"update_step_num_repetitions": 4, "batch_size": 256}
        params = OnPolicyTrainerParams
    judge = Collector(learner, judges)
    judge.reset()
    before = judge.collect(n_episode=64).returns.mean()
    buffer = VectorReplayBuffer(20_000, 16)
    collector = Collector(learner, envs, buffer, exploration_noise=True)
    collector.reset()
    learner.run_training(
        params(
            training_collector=collector,
            max_epochs=1,
            epoch_num_steps=20_000,
            collection_step_num_env_steps=1024
            if params is OnPolicyTrainerParams
            else 64,
            show_progress=False,
            verbose=False,
            **options,
        )
    )
    judge.reset()
    return before, judge.collect(n_episode=64).returns.mean()


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

    def ours(**keywords):
        return make_vector_env(SOKOBAN, num_envs, **ROOMS, **keywords)

    def theirs():
        return make_dummy(SOKOBAN, num_envs, **ROOMS)

    name = f"Sokoban, {num_envs} environments"
    batches = theirs(), ours(), ours(info_keys=())
    shares = [share_of_calls(collecting(envs), envs) for envs in batches]
    for what, keywords, share in (
        ("all infos", {}, shares[1]),
        ("info_keys=()", {"info_keys": ()}, shares[2]),
    ):
        result = "steps take {:.0f} % of the time with theirs, {:.0f} % with ours"
        rows.append(
            {
                "what": f"{name}: Collector, {what}, beside DummyVectorEnv",
                "result": result.format(shares[0], share),
                "unit": "steps/s",
                **measure(collecting(theirs()), collecting(ours(**keywords))),
            }
        )
    return rows


def main():
    """Compare, train, measure, and write the rows."""
    torch.set_num_threads(1)
    num_ends = sum(compare_steps(id, keywords, NUM_ENVS) for id, keywords in CASES)
    what = f"{NUM_ENVS} seeds of {len(CASES)} configurations beside DummyVectorEnv"
    rows = [{"what": what, "result": f"equal steps, {num_ends:,} episodes"}]
    compare_wrapper()
    num_episodes = compare_collectors()
    what = "buffers of its Collector over both"
    rows.append({"what": what, "result": f"equal, {num_episodes} episodes"})
    num_episodes = collect_asynchronously()
    what = "its AsyncCollector over a pool with threads"
    rows.append({"what": what, "result": f"steps in order, {num_episodes} episodes"})
    for algorithm in (DQN, PPO):
        before, after = train(algorithm)
        assert after > max(before + 0.4, 0.9), (algorithm, before, after)
        what = f"{algorithm.__name__} on four lakes, 20,000 steps"
        rows.append({"what": what, "result": f"return {before:.2f} to {after:.2f}"})
    rows += measure_rates()
    Path(sys.argv[1]).write_text(json.dumps(rows), "utf-8")


if __name__ == "__main__":
    main()
