"""Tianshou: its PPO on one batch of roll_vec."""

import numpy as np
from tianshou.algorithm.modelfree.ppo import PPO
from tianshou.algorithm.modelfree.reinforce import DiscreteActorPolicy
from tianshou.algorithm.optim import AdamOptimizerFactory
from tianshou.data import Collector, VectorReplayBuffer
from tianshou.env import BaseVectorEnv
from tianshou.trainer import OnPolicyTrainerParams
from tianshou.utils.net.common import Net
from tianshou.utils.net.discrete import DiscreteActor, DiscreteCritic

import roll_vec


class Batch(BaseVectorEnv):
    """A batch in Disabled mode; Tianshou's constructor would make a worker each."""

    def __init__(self, batch):
        self.batch, self.env_num = batch, batch.num_envs
        self.is_async = self.is_closed = False

    def _mask(self, ids):
        return np.isin(np.arange(self.env_num), ids)

    def reset(self, env_id=None, seed=None, **_):
        ids = self._wrap_id(env_id)
        options = {"reset_mask": self._mask(ids)} if len(ids) < self.env_num else None
        observations, _ = self.batch.reset(seed=seed, options=options)
        return observations[ids], np.array([{} for _ in ids])

    def step(self, action, id=None):
        ids = self._wrap_id(id)  # all of them: the trainer collects by steps
        *arrays, _ = self.batch.step(action)
        infos = np.array([{"env_id": env_id} for env_id in ids])
        return *arrays, infos

    def get_env_attr(self, key, id=None):
        names = {"observation_space", "action_space"}
        value = getattr(self.batch, f"single_{key}" if key in names else key)
        return [value for _ in self._wrap_id(id)]

    def close(self):
        self.batch.close()


def main():
    """Train for an epoch, and print the mean return."""
    batch = roll_vec.make_vec(
        "roll_vec/RandomFrozenLake-v0",
        16,
        obs_mode="planes",
        action_start=0,
        autoreset_mode="Disabled",
    )
    envs = Batch(batch)
    space, num_actions = envs.observation_space[0], envs.action_space[0].n
    body = Net(state_shape=space.shape, hidden_sizes=[64, 64])
    actor = DiscreteActor(
        preprocess_net=body, action_shape=num_actions, softmax_output=False
    )
    algorithm = PPO(
        policy=DiscreteActorPolicy(actor=actor, action_space=envs.action_space[0]),
        critic=DiscreteCritic(preprocess_net=body),
        optim=AdamOptimizerFactory(lr=1e-3),
    )
    collector = Collector(algorithm, envs, VectorReplayBuffer(20_000, 16))
    algorithm.run_training(
        OnPolicyTrainerParams(
            training_collector=collector,
            max_epochs=1,
            epoch_num_steps=4096,
            collection_step_num_env_steps=1024,
            batch_size=256,
            show_progress=False,
        )
    )
    collector.reset()
    print(collector.collect(n_episode=64).returns.mean())


if __name__ == "__main__":
    main()
