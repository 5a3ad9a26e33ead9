"""Rooms of Sokoban for the searches in this folder: lanes, budgets and a heuristic.

`Rooms` has many environments ("lanes") for each level, a budget of environment steps
for each level, and two things that need no model:

- the push distance of a room: for each box the pushes that it is away from the nearest
  target, with walls but without other boxes;
- the greedy policy: of the valid actions one that shortens the push distance, if there
  is one, and else a walk in any direction.
"""

from __future__ import annotations

import argparse
import sys

import gymnasium
import numpy as np

import roll_vec  # noqa: F401 - registers the ids
from roll_vec.envs.sokoban import load_levels

BOX_ON_TARGET, BOX, PLAYER = 3, 4, 5  # codes of cells; 6: the player on a target
FAR = 1000.0  # push distance of a box that cannot get to a target


class Rooms:
    """Levels of Sokoban, each with `lanes` environments that stand together.

    `start` is a snapshot with one environment for each level, `solved` (num_levels,)
    bool, `used` (num_levels,) the environment steps so far.
    """

    def __init__(self, args: argparse.Namespace, lanes: int) -> None:
        self.num_levels, self.lanes = args.num_levels, lanes
        if args.levels:
            start_level = len(load_levels(args.levels)) - args.num_levels
            keywords = {"levels": args.levels, "start_level": start_level}
        else:
            keywords = {"dim_room": (8, 8), "num_boxes": 3}
        self.envs = gymnasium.make_vec(
            "roll_vec/Sokoban-v0",
            num_envs=self.num_levels * lanes,
            num_levels=self.num_levels,
            level_info=True,
            action_mask=True,
            deadlock=True,
            max_episode_steps=-1,
            **keywords,
        )
        # Lane j plays level[j].  A reset draws levels at random, many times each.
        self.level = np.repeat(np.arange(self.num_levels), lanes)
        first, seed = np.array([]), args.seed
        while len(first) < self.num_levels:
            grids, infos = self.envs.reset(seed=seed)
            first = np.unique(infos["level"], return_index=True)[1]
            seed += self.envs.num_envs
        self.start = self.envs.get_state().select_rows(first)
        self.tables = push_distances(grids[first])
        self.solved = np.zeros(self.num_levels, bool)
        self.used = np.zeros(self.num_levels, np.int64)
        self.budget = args.steps_per_level
        self.rng = np.random.default_rng(args.seed)
        self._keys = self.rng.integers(1 << 63, size=self.tables.shape[1], dtype="u8")
        self._seen: set[int] = set()

    def restart(self) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        """Put every lane at the start of its level; return grids and infos."""
        grids = self.envs.set_state(self.start, rows=self.level)
        masks = np.ones((len(grids), 4), np.int8)
        return grids, {"action_mask": masks, "deadlock": np.zeros(len(grids), bool)}

    def open_levels(self, num_steps: int = 1) -> np.ndarray:
        """Return the levels to go on with: not solved, and the budget is enough."""
        return ~self.solved & (self.used + num_steps * self.lanes <= self.budget)

    def step(self, actions, counted=None):
        """Step all lanes; count those of open levels; return grids and infos."""
        grids, _, _, _, infos = self.envs.step(actions)
        is_open = np.repeat(self.open_levels(), self.lanes)
        counted = is_open if counted is None else is_open & counted
        self.used += self._by_level(counted).sum(1)
        self.solved |= self._by_level(infos["success"] & counted).any(1)
        show_progress(int(self.used.sum()), self.budget * self.num_levels)
        return grids, infos

    def distances(self, grids, infos) -> np.ndarray:
        """Return the push distance of each lane, at least `FAR` in a dead end."""
        boxes = (grids == BOX) | (grids == BOX_ON_TARGET)
        boxes = boxes.reshape(self.num_levels, self.lanes, -1).astype(np.float32)
        return (boxes @ self.tables[:, :, None]).ravel() + FAR * infos["deadlock"]

    def greedy_actions(self, grids, infos, noise: float = 0.0) -> np.ndarray:
        """Return an action for each lane, any valid one for the share `noise`."""
        careless = self.rng.random((len(grids), 1)) < noise
        ties = self.rng.random((len(grids), 4))
        tables = self.tables[self.level]
        return greedy_actions(grids, tables, infos["action_mask"], ties, careless)

    def unseen(self, grids, lanes) -> np.ndarray:
        """Return those of some lanes whose position their level has not had before."""
        keys = grids[lanes].reshape(len(lanes), len(self._keys)) @ self._keys
        keys += self.level[lanes].astype("u8") * np.uint64(0x9E3779B97F4A7C15)
        is_new = np.zeros(len(lanes), bool)
        for i, key in enumerate(keys.tolist()):
            is_new[i] = key not in self._seen
            self._seen.add(key)
        return lanes[is_new]

    def _by_level(self, values) -> np.ndarray:
        return values.reshape(self.num_levels, self.lanes)


def greedy_actions(grids, tables, masks, ties, careless=False) -> np.ndarray:
    """Return an action for each room: of the valid ones, one that shortens a way.

    `tables` (n, H * W) are the push distances of each room, `masks` (n, 4) the valid
    actions, `ties` (n, 4) uniforms that choose between equal actions, `careless` (n, 1)
    the rooms that take any action except for a push into a dead end.
    """
    cells = grids.reshape(len(grids), -1)
    width = grids.shape[-1]
    player = (cells >= PLAYER).argmax(1)[:, None]
    ahead = player + np.array([-width, width, -1, 1])
    # Beyond a wall may be outside.
    beyond = (2 * ahead - player).clip(0, cells.shape[1] - 1)
    codes = np.take_along_axis(cells, ahead, 1)
    is_push = (codes == BOX) | (codes == BOX_ON_TARGET)
    after, before = (np.take_along_axis(tables, at, 1) for at in (beyond, ahead))
    cost = np.where(is_push, after - before, 0.0)
    cost[careless & (cost < FAR / 2)] = 0.0
    cost += 0.9 * ties + 2 * FAR * (masks == 0)
    return 1 + cost.argmin(1)


def push_distances(grids: np.ndarray) -> np.ndarray:
    """Return (n, H * W): pushes from a cell to the nearest target, `FAR` if none."""
    cells = grids.reshape(len(grids), -1)
    width, is_wall = grids.shape[-1], cells == 0
    distances = np.where(np.isin(cells, (2, 3, 6)), 0, FAR).astype(np.float32)
    for _ in range(cells.shape[1]):
        for delta in (-width, width, -1, 1):
            # A box goes from c to c + delta, the player stands at c - delta.
            after = np.roll(distances, -delta, 1) + 1
            after[is_wall | np.roll(is_wall, delta, 1)] = FAR
            distances = np.minimum(distances, after)
    return distances


def show_progress(count: int, total: int) -> None:
    """Show a bar, if stderr is a terminal; it vanishes with the next line."""
    if sys.stderr.isatty():
        bar = "#" * (40 * count // total)
        print(f"\r[{bar:<40}] {count:,} steps \r", end="", file=sys.stderr)
