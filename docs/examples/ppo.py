"""PPO on 1024 environments at once: boards, MiniGrid, CartPole or Taxi.

    python docs/examples/ppo.py --id roll_vec/Sokoban-v0 --checkpoint sokoban.pt

The agent is tested on levels, or seeds of episodes, that it was not trained on.
`load_policy` returns the policy of a checkpoint.
"""

from __future__ import annotations

import argparse
import dataclasses
import os
from collections.abc import Mapping
from typing import Any

import gymnasium
import numpy as np
import torch
from display import LearningCurve, progress_bar
from gymnasium.spaces import Discrete
from learning import EnvTime, add_training_arguments, load_checkpoint, save_checkpoint
from policies import (
    Network,
    Policy,
    evaluate,
    greedy_policy,
    held_out_report,
    load_policy,
)
from recipes import RECIPES, Recipe, training_keywords
from torch import nn

import roll_vec  # noqa: F401 - registers the ids

__all__ = ["RECIPES", "Recipe", "Training", "evaluate", "load_policy", "train"]

PERIOD = 20  # updates from one test, picture and checkpoint to the next
BATCH_NAMES = (
    *("observations", "actions", "log_probs", "mask"),
    *("rewards", "terminations", "ended", "values"),
)
SAVED_ATTRIBUTES = (
    *("task", "num_updates", "stage", "success", "mean_return", "ended", "returns"),
    *("network_arguments", "first_action"),
)


class Training:
    """An agent, its environments, and everything that lasts from update to update."""

    def __init__(self, id: str, recipe: Recipe, num_envs: int, seed: int) -> None:
        self.recipe, self.env_time, self.curve = recipe, EnvTime(), LearningCurve()
        # The learning rate of an update depends on their number.
        self.task = {"id": id, "num_envs": num_envs, "updates": recipe.updates}
        with self.env_time:
            self.envs = self.make_envs(id, num_envs)
            self.observations, _ = self.envs.reset(seed=seed)
        space, view = self.envs.single_action_space, self.envs.single_observation_space
        self.first_action = int(space.start)
        shape = int(view.n) if isinstance(view, Discrete) else list(view.shape)
        self.network_arguments = [shape, int(space.n)]
        with torch.random.fork_rng():  # leaves the global generator as it is
            torch.manual_seed(seed)
            self.network = Network(*self.network_arguments)
        self.optimizer = torch.optim.Adam(self.network.parameters(), eps=1e-5)
        self.generator = torch.Generator().manual_seed(seed)
        # Environments whose episode has ended: they will ignore the next action.
        self.ended = np.zeros(num_envs, bool)
        self.returns = np.zeros(num_envs)  # of the episodes so far
        self.num_updates, self.stage = 0, 0
        self.success, self.mean_return = 0.0, 0.0  # moving averages

    def make_envs(self, id: str, num_envs: int) -> gymnasium.vector.VectorEnv:
        """Return the batch to train on."""
        keywords = training_keywords(id, self.recipe)
        keywords["obs_mode"] = self.recipe.obs_mode
        return gymnasium.make_vec(id, num_envs=num_envs, **keywords)

    def successes(self, rewards: np.ndarray) -> np.ndarray:  # noqa: ARG002 - of a base
        """Return which environments have solved their task in the last step."""
        successes: np.ndarray = self.envs.unwrapped.successes  # type: ignore[attr-defined]
        return successes

    def update(self) -> None:
        """Play, learn, and go on in the curriculum."""
        progress = self.num_updates / self.recipe.updates
        self.learn(self.collect(), self.recipe.learning_rate * (1 - progress))
        self.num_updates += 1
        if self.success > 0.9 and self.stage + 1 < len(self.recipe.curriculum):
            self.stage, self.success = self.stage + 1, 0.0
            with self.env_time:
                self.begin_stage()

    def begin_stage(self) -> None:
        """Play levels of the present stage from the next episodes on."""
        first_level = self.stage * self.recipe.num_levels
        self.envs.set_level_options(start_level=first_level)

    @torch.no_grad()
    def collect(self) -> dict[str, np.ndarray]:
        """Play `num_steps` steps; return arrays (T, N, ...), values (T + 1, N)."""
        steps, values, episodes = [], [], []
        for _ in range(self.recipe.num_steps):
            observations, mask = self.observations, ~self.ended
            logits, value = self.network(torch.from_numpy(observations))
            chances = logits.softmax(1)
            actions = torch.multinomial(chances, 1, generator=self.generator)
            log_probs = chances.gather(1, actions).log()[:, 0].numpy()
            actions = actions[:, 0].numpy()
            with self.env_time:
                result = self.envs.step(actions + self.first_action)
            self.observations, rewards, terminations, truncations, _ = result
            self.ended = terminations | truncations
            self.returns += rewards
            successes = self.successes(rewards)
            rewards = (self.recipe.reward_scale * rewards).astype(np.float32)
            step = (observations, actions, log_probs, mask, rewards, terminations)
            steps.append((*step, self.ended))
            values.append(value.numpy())
            results = np.stack([successes, self.returns])
            episodes.append(results[:, self.ended])
            self.returns[self.ended] = 0
        values.append(self.network(torch.from_numpy(self.observations))[1].numpy())
        if (results := np.concatenate(episodes, axis=1)).size:
            success, mean_return = results.mean(axis=1).tolist()
            self.success += 0.1 * (success - self.success)
            self.mean_return += 0.1 * (mean_return - self.mean_return)
        arrays = [np.stack(column) for column in (*zip(*steps, strict=True), values)]
        return dict(zip(BATCH_NAMES, arrays, strict=True))

    def learn(self, batch: Mapping[str, np.ndarray], learning_rate: float) -> None:
        """Improve the network by the transitions of a batch that count."""
        names = ("observations", "actions", "log_probs")
        arrays = {name: batch[name] for name in names}
        arrays["advantages"] = compute_advantages(batch, self.recipe)
        arrays["returns"] = arrays["advantages"] + batch["values"][:-1]
        # In NEXT_STEP mode the action after the end of an episode is ignored: the loss
        # is of the other transitions alone.
        mask = batch["mask"]
        rows = {name: torch.from_numpy(array[mask]) for name, array in arrays.items()}
        self.optimizer.param_groups[0]["lr"] = learning_rate
        for _ in range(self.recipe.num_epochs):
            order = torch.randperm(len(rows["actions"]), generator=self.generator)
            for indices in order.chunk(self.recipe.num_minibatches):
                self.optimizer.zero_grad()
                self.loss({n: tensor[indices] for n, tensor in rows.items()}).backward()
                nn.utils.clip_grad_norm_(self.network.parameters(), 0.5)
                self.optimizer.step()

    def loss(self, rows: Mapping[str, torch.Tensor]) -> torch.Tensor:
        """Return PPO's clipped loss, with those of values and entropy."""
        logits, values = self.network(rows["observations"])
        all_log_probs = logits.log_softmax(1)
        log_probs = all_log_probs.gather(1, rows["actions"][:, None])[:, 0]
        ratio = (log_probs - rows["log_probs"]).exp()
        clipped_ratio = ratio.clamp(1 - self.recipe.clip, 1 + self.recipe.clip)
        advantages = rows["advantages"] - rows["advantages"].mean()
        advantages = advantages / (advantages.std() + 1e-8)
        policy_loss = -torch.min(ratio * advantages, clipped_ratio * advantages).mean()
        value_loss = (values - rows["returns"]).square().mean()
        entropy = -(all_log_probs.exp() * all_log_probs).sum(1).mean()
        return policy_loss + 0.5 * value_loss - self.recipe.entropy_bonus * entropy

    def num_env_steps(self) -> int:
        """Return the steps of all environments so far."""
        return self.num_updates * self.recipe.num_steps * self.envs.num_envs

    def policy(self) -> Policy:
        """Return the greedy policy of the present weights."""
        return greedy_policy(self.network, self.first_action)

    def parts(self) -> dict[str, Any]:
        """Return the objects that a checkpoint restores."""
        names = ("network", "optimizer", "generator", "curve", "env_time")
        return {name: getattr(self, name) for name in names}

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a checkpoint."""
        values = {name: getattr(self, name) for name in SAVED_ATTRIBUTES}
        state = self.envs.get_state()
        save_checkpoint(path, envs_state=state, parts=self.parts(), values=values)

    def load(self, path: str | os.PathLike[str]) -> None:
        """Go back to a checkpoint; ValueError if it is of another task."""
        state, values = load_checkpoint(path, self.parts(), self.task)
        self.__dict__.update(values)
        if self.recipe.curriculum:
            self.begin_stage()
        self.observations = self.envs.set_state(state)


def compute_advantages(batch: Mapping[str, np.ndarray], recipe: Recipe) -> np.ndarray:
    """Return advantages (T, N): generalized advantage estimation.

    In NEXT_STEP mode row t + 1 has the last observation of an episode that ends at step
    t, so values[t + 1] is right where an episode is truncated, too.
    """
    values, advantages = batch["values"], np.zeros_like(batch["rewards"])
    later = np.zeros_like(advantages[0])
    for t in reversed(range(len(advantages))):
        next_values = np.where(batch["terminations"][t], 0, values[t + 1])
        error = batch["rewards"][t] + recipe.gamma * next_values - values[t]
        later = np.where(batch["ended"][t], 0, later)
        later = error + recipe.gamma * recipe.gae_lambda * later
        advantages[t] = later
    return advantages


def train(training: Training, args: argparse.Namespace) -> None:
    """Update until the limits of the arguments; show, draw and store the progress."""
    recipe, env_time = training.recipe, training.env_time
    measure = recipe.measure
    seconds = 60 * args.minutes if args.minutes is not None else float("inf")
    with progress_bar(recipe.updates, "PPO") as bar:
        bar.advance(training.num_updates)
        is_over = training.num_updates >= recipe.updates
        while not is_over:
            training.update()
            bar.advance()
            value = getattr(training, measure)
            bar.show(**{measure: value, "time_in_envs": env_time.share()})
            values = {f"training_{measure}": value, "stage": training.stage}
            training.curve.add(training.num_env_steps(), **values)
            is_over = training.num_updates >= recipe.updates
            is_over |= env_time.total() > seconds
            if is_over or training.num_updates % PERIOD == 0:
                show_and_store(training, args)


def show_and_store(training: Training, args: argparse.Namespace) -> None:
    """Test on some held-out levels; write the picture and the checkpoint."""
    recipe = training.recipe
    results = evaluate(training.policy(), args.id, 512, **recipe.keywords)
    values = {f"held_out_{recipe.measure}": results.mean()}
    training.curve.add(training.num_env_steps(), **values)
    if args.picture:
        training.curve.save_picture(args.picture, f"PPO on {args.id}")
    if args.checkpoint:
        training.save(args.checkpoint)


def main() -> None:
    """Train, and test on held-out levels."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add_training_arguments(parser)
    add = parser.add_argument
    add("--id", choices=RECIPES, default="roll_vec/RandomFrozenLake-v0")
    add("--num-envs", type=int, default=1024)
    add("--test-levels", type=int, default=4096, help="held-out levels at the end")
    args = parser.parse_args()
    recipe = RECIPES[args.id]
    recipe = dataclasses.replace(recipe, updates=args.updates or recipe.updates)
    training = Training(args.id, recipe, args.num_envs, args.seed)
    if args.resume:
        training.load(args.resume)
    train(training, args)
    env_time = training.env_time
    print(f"{training.num_updates} updates in {env_time.total():.0f} s", end=", ")
    print(f"{env_time.share():.1%} of them in the environments")
    print(held_out_report(training.policy(), args.id, recipe, args.test_levels))


if __name__ == "__main__":
    main()
