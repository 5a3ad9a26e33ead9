"""PPO in one file, as CleanRL writes it: over a batch, and over SyncVectorEnv.

CleanRL is no package.  `tests.frameworks` runs this file where PyTorch is installed.
"""

import json
import sys
from pathlib import Path

import gymnasium
import numpy as np
import torch
from gymnasium.vector import SyncVectorEnv
from side_by_side import measure, share_of_calls
from torch import nn
from torch.distributions import Categorical

import roll_vec  # noqa: F401  # registers the ids

ID = "roll_vec/Sokoban-v0"
# The rooms are drawn before the measurement.
KEYWORDS = {"action_start": 0, "num_levels": 256, "obs_mode": "planes"}
NUM_STEPS = 32


def make_sync(num_envs):
    """Return Gymnasium's batch of single environments."""
    env_fns = [lambda: gymnasium.make(ID, **KEYWORDS)] * num_envs
    return SyncVectorEnv(env_fns, autoreset_mode="SameStep")


def make_ours(num_envs):
    """Return a batch of roll_vec."""
    return gymnasium.make_vec(ID, num_envs, autoreset_mode="SameStep", **KEYWORDS)


class PPO:
    """CleanRL's PPO; a call is an update, and returns its number of steps."""

    def __init__(self, envs):
        torch.manual_seed(0)
        self.envs = envs
        size = int(np.prod(envs.single_observation_space.shape))
        self.body = nn.Sequential(nn.Flatten(), nn.Linear(size, 64), nn.Tanh())
        self.actor, self.critic = nn.Linear(64, 4), nn.Linear(64, 1)
        modules = nn.ModuleList([self.body, self.actor, self.critic])
        self.optimizer = torch.optim.Adam(modules.parameters(), lr=2.5e-4, eps=1e-5)
        self.observation = torch.as_tensor(envs.reset(seed=0)[0])
        # Of all updates, for a comparison.
        self.total_reward = 0.0

    def evaluate(self, observations):
        """Return the policy and the values of observations."""
        features = self.body(observations.float())
        return Categorical(logits=self.actor(features)), self.critic(features)[:, 0]

    def __call__(self):
        """Collect and learn once."""
        rows = []
        for _ in range(NUM_STEPS):
            with torch.no_grad():
                policy, values = self.evaluate(self.observation)
                actions = policy.sample()
            following, rewards, terminated, truncated, _ = self.envs.step(
                actions.numpy()
            )
            row = self.observation, actions, policy.log_prob(actions), values
            ends = torch.as_tensor(terminated | truncated)
            rows.append((*row, torch.as_tensor(rewards).float(), ends.float()))
            self.observation = torch.as_tensor(following)
            self.total_reward += float(rewards.sum())
        self.learn(*map(torch.stack, zip(*rows, strict=True)))
        return NUM_STEPS * self.envs.num_envs

    def learn(self, observations, actions, log_probs, values, rewards, ends):
        """Make four epochs of four batches."""
        with torch.no_grad():
            next_value = self.evaluate(self.observation)[1]
        advantages = torch.zeros_like(rewards)
        advantage = torch.zeros_like(next_value)
        for step in reversed(range(NUM_STEPS)):
            goes_on = 1 - ends[step]
            delta = rewards[step] + 0.99 * next_value * goes_on - values[step]
            advantage = delta + 0.99 * 0.95 * goes_on * advantage
            advantages[step], next_value = advantage, values[step]
        returns = (advantages + values).flatten()
        advantages, old = advantages.flatten(), log_probs.flatten()
        observations, actions = observations.flatten(0, 1), actions.flatten()
        for _ in range(4):
            for part in torch.randperm(len(returns)).chunk(4):
                policy, new_values = self.evaluate(observations[part])
                ratio = (policy.log_prob(actions[part]) - old[part]).exp()
                gain = advantages[part]
                gain = (gain - gain.mean()) / (gain.std() + 1e-8)
                surrogate = torch.min(ratio * gain, ratio.clamp(0.8, 1.2) * gain)
                error = 0.5 * (new_values - returns[part]).square()
                loss = (0.5 * error - surrogate - 0.01 * policy.entropy()).mean()
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()


def main():
    """Compare, measure, and write the rows."""
    torch.set_num_threads(1)
    ours, theirs = PPO(make_ours(64)), PPO(make_sync(64))
    for learner in (ours, theirs):
        torch.manual_seed(1)  # both draw from it
        for _ in range(4):
            learner()
    assert torch.equal(ours.observation, theirs.observation)
    assert ours.total_reward == theirs.total_reward
    for own, other in zip(
        ours.body.parameters(), theirs.body.parameters(), strict=True
    ):
        assert torch.equal(own, other)
    what = "weights after four updates of PPO beside SyncVectorEnv"
    rows = [{"what": what, "result": "equal"}]
    for num_envs in (16, 256):
        batches = [make(num_envs) for make in (make_sync, make_ours)]
        shares = [share_of_calls(PPO(envs), envs) for envs in batches]
        result = "steps take {:.0f} % of the time with theirs, {:.1f} % with ours"
        rows.append(
            {
                "what": f"Sokoban, {num_envs} environments: PPO, beside SyncVectorEnv",
                "result": result.format(*shares),
                "unit": "steps/s",
                **measure(PPO(make_sync(num_envs)), PPO(make_ours(num_envs))),
            }
        )
    Path(sys.argv[1]).write_text(json.dumps(rows), "utf-8")


if __name__ == "__main__":
    main()
