"""Imitation: a small network that clones the solver and is tested on other levels.

    python docs/examples/imitation.py --data rooms.npz --picture curve.png

The solver's episodes are the data set (`solver_episodes.py`).  The network is trained,
by cross entropy, to choose the solver's action from the codes of a board.  Its test is
the fixed split of `roll_vec.evaluation`, whose levels it was not trained on.
"""

from __future__ import annotations

import argparse
import dataclasses
import math
from pathlib import Path
from typing import Any

import numpy as np
import torch
from display import LearningCurve, progress_bar
from learning import EnvTime, add_training_arguments, load_checkpoint, save_checkpoint
from solver_episodes import GRIDS, Episodes, load_or_collect
from torch import nn

from roll_vec.evaluation import (
    Split,
    UniformPolicy,
    find_split,
    play_split,
    wilson_interval,
)

SPLITS = {
    "roll_vec/Sokoban-v0": "test-1-box",
    "roll_vec/RandomFrozenLake-v0": "test-no-slip",
}
NUM_CODES = 7  # of the cells of Sokoban; the lake has 6
BATCH_SIZE = 512
TEST_INTERVAL = 250  # updates


class Network(nn.Module):
    """Codes of cells (n, H, W) to logits of the actions (n, 4)."""

    def __init__(self, num_cells: int, width: int, seed: int) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            *(nn.Linear(NUM_CODES * num_cells, width), nn.ReLU()),
            *(nn.Linear(width, width), nn.ReLU()),
            *(nn.Linear(width, width), nn.ReLU()),
            nn.Linear(width, 4),
        )
        # A generator of its own: the weights do not depend on what ran before.
        generator = torch.Generator().manual_seed(seed)
        with torch.no_grad():
            for layer in self.layers[::2]:
                scale = math.sqrt(2 / layer.in_features)  # for ReLU
                layer.weight.normal_(0, scale, generator=generator)
                layer.bias.zero_()

    def forward(self, grids: torch.Tensor) -> torch.Tensor:
        """Return the logits."""
        planes = nn.functional.one_hot(grids.flatten(1).long(), NUM_CODES)
        return self.layers(planes.flatten(1).float())

    def act(self, grids: np.ndarray) -> np.ndarray:
        """Return the most likely action of each board, (n,) int64."""
        with torch.no_grad():
            return self(torch.from_numpy(grids)).argmax(1).numpy()


class Cloning:
    """The network and the state of its training."""

    def __init__(self, episodes: Episodes, seed: int, width: int = 512) -> None:
        self.observations = torch.from_numpy(episodes.observations)
        self.actions = torch.from_numpy(episodes.actions)
        self.task = f"seed {seed}, {episodes.task()}"
        self.network = Network(episodes.observations[0].size, width, seed)
        self.optimizer = torch.optim.AdamW(self.network.parameters())
        self.curve, self.time = LearningCurve(), EnvTime()
        names = ("network", "optimizer", "curve", "time")
        self.parts = {name: getattr(self, name) for name in names}
        self.seed, self.num_updates = seed, 0

    def update(self) -> float:
        """Take one step of the optimiser on a random batch; return its loss.

        Batch and learning rate are functions of the seed and the number of the update,
        so a checkpoint needs this number alone, and no state of a generator.
        """
        rng = np.random.default_rng([self.seed, self.num_updates])
        rows = torch.from_numpy(rng.integers(len(self.actions), size=BATCH_SIZE))
        logits = self.network(self.observations[rows])
        loss = nn.functional.cross_entropy(logits, self.actions[rows])
        for group in self.optimizer.param_groups:
            group["lr"] = 1e-3 * 0.5 ** (self.num_updates / 1000)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.num_updates += 1
        return loss.item()

    def save(self, path: Path, test: TestLevels) -> None:
        """Write a checkpoint."""
        save_checkpoint(
            path,
            envs_state=test.envs.get_state(),
            parts=self.parts,
            values={"num_updates": self.num_updates, "task": self.task},
        )

    def load(self, path: Path) -> None:
        """Continue from a checkpoint; ValueError if it is of another task.

        A test begins with a reset, so the state of its environments has no effect.
        """
        _, values = load_checkpoint(path, self.parts, self.task)
        self.num_updates = values["num_updates"]


class TestLevels:
    """The test levels, played once each by any policy.

    `is_new` (n,) bool: True for levels that do not equal the start of a training level.
    Small rooms repeat: levels with other numbers are often equal.
    """

    def __init__(self, split: Split, episodes: Episodes) -> None:
        self.split = split
        self.envs = split.make_vec(len(split), **GRIDS)
        grids, _ = self.envs.reset(seed=list(split.seeds))
        known = {grid.tobytes() for grid in episodes.starts()}
        self.is_new = np.array([grid.tobytes() not in known for grid in grids])

    def play(self, policy: Any) -> np.ndarray:
        """Return which levels a policy solves, (n,) bool."""
        return play_split(self.split, self.envs, policy).successes

    def play_network(self, network: Network) -> np.ndarray:
        """Return which levels the network's most likely actions solve, (n,) bool."""
        return self.play(lambda turn: network.act(turn.observations))

    def solver_actions(self) -> list[int]:
        """Return the solver's next actions; any action where a level is solved."""
        ignored = int(self.envs.single_action_space.start)
        return [plan[0] if len(plan) else ignored for plan in self.envs.solve()]

    def print_table(self, network: Network, seed: int) -> None:
        """Print the shares that the network and others solve, with 95 % intervals."""
        print(f"{'solved':<14}{'test levels':<26}levels not in the training set")
        for name, solved in (
            ("random play", self.play(UniformPolicy(self.envs, seed=seed))),
            ("network", self.play_network(network)),
            ("solver", self.play(lambda _: self.solver_actions())),
        ):
            line = f"{name:<14}"
            for part in (solved, solved[self.is_new]):
                if len(part):
                    share, low, high = wilson_interval(int(part.sum()), len(part))
                    line += f"{f'{share:.1%} ({low:.1%} to {high:.1%})':<26}"
            print(line.rstrip())


def train(cloning: Cloning, test: TestLevels, args: argparse.Namespace) -> None:
    """Train until the updates or the minutes are over; test and save on the way."""
    with progress_bar(1.0, "training") as bar:
        shown = 0.0
        while (share := share_done(cloning, args)) < 1.0:
            bar.advance(share - shown)
            shown = share
            number, loss = cloning.num_updates, cloning.update()
            if number % 10 == 0:
                cloning.curve.add(number, loss=loss)
            if cloning.num_updates % TEST_INTERVAL == 0:
                solved = test.play_network(cloning.network).mean()
                cloning.curve.add(cloning.num_updates, solved_test_levels=solved)
                bar.show(loss=loss, solved=solved)
                if args.checkpoint:
                    cloning.save(args.checkpoint, test)
    if args.checkpoint:
        cloning.save(args.checkpoint, test)


def share_done(cloning: Cloning, args: argparse.Namespace) -> float:
    """Return the share of the updates, or of the minutes, that are over."""
    updates = cloning.num_updates / args.updates
    return max(updates, cloning.time.total() / 60 / args.minutes)


def find_task(id: str, num_boxes: int, test_levels: int) -> Split:
    """Return the test split; its keywords are those of the training levels as well."""
    split = find_split(id, SPLITS[id])
    keywords, seeds = dict(split.keywords), split.seeds[:test_levels]
    if "num_boxes" in keywords:
        keywords["num_boxes"] = num_boxes
    return dataclasses.replace(split, keywords=keywords, make_seeds=lambda: seeds)


def parse_arguments() -> argparse.Namespace:
    """Return the arguments of the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--id", choices=[*SPLITS], default="roll_vec/Sokoban-v0")
    add("--num-boxes", type=int, default=1, help="of Sokoban")
    add("--num-levels", type=int, default=50_000, help="training levels: 0, 1, ...")
    add("--test-levels", type=int, default=1000, help="at most 1000")
    add("--data", type=Path, metavar="FILE", help="read the data set, or write it")
    add_training_arguments(parser)
    args = parser.parse_args()
    if args.updates is None and args.minutes is None:
        args.updates = 2000
    limits = {"num_levels": 1_000_000, "test_levels": 1000}  # tests begin at 1,000,000
    for name, most in limits.items():
        if not 1 <= (value := getattr(args, name)) <= most:
            parser.error(f"--{name.replace('_', '-')}: expected 1 to {most}: {value}")
    args.updates, args.minutes = args.updates or math.inf, args.minutes or math.inf
    return args


def main() -> None:
    """Read or collect the data set, train, test, and draw the learning curve."""
    args = parse_arguments()
    torch.set_num_threads(1)  # sums of more threads differ in their last bits
    split = find_task(args.id, args.num_boxes, args.test_levels)
    episodes = load_or_collect(args.data, split.id, split.keywords, args.num_levels)
    test = TestLevels(split, episodes)
    print(f"{len(episodes.levels):,} episodes, {len(episodes.actions):,} pairs")
    print(f"{len(split)} test levels; {test.is_new.sum()} equal no training level")
    cloning = Cloning(episodes, args.seed)
    if args.resume:
        cloning.load(args.resume)
    train(cloning, test, args)
    test.print_table(cloning.network, args.seed)
    if args.picture:
        cloning.curve.save_picture(args.picture, args.id, "updates")


if __name__ == "__main__":
    main()
