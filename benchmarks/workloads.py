"""What is run, by name and size: shared by the benchmarks and the ratios."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

import roll_vec  # noqa: F401 - registers the ids
from roll_vec.array_envs.sokoban_rooms import SokobanOptions, draw_rooms

# The registered step limit of every environment here.
EPISODE_STEPS = 100


@dataclass(frozen=True)
class Workload:
    """An environment to step.

    Parameters
    ----------
    name : str
        For ids of benchmarks.
    title : str
        For tables.
    id : str
    first_action : int
        The lowest action.
    num_levels : int
        Levels to generate before anything is measured.
    keywords : dict
        For `gymnasium.make_vec`.
    """

    name: str
    title: str
    id: str
    first_action: int = 0
    num_levels: int = 0
    keywords: dict[str, Any] = field(default_factory=dict)

    @property
    def is_ours(self) -> bool:
        """Whether the environment is one of roll_vec's."""
        return self.id.startswith("roll_vec/")

    def make(self, num_envs: int, num_levels: int = 0) -> Any:
        """Make the batch; ``num_levels`` replaces a larger number of levels."""
        levels = min(num_levels or self.num_levels, self.num_levels)
        own = {"num_levels": levels} if levels else {}
        return gymnasium.make_vec(self.id, num_envs=num_envs, **self.keywords, **own)


FROZEN_LAKE = Workload("frozen_lake", "FrozenLake", "roll_vec/FrozenLake-v1")
SOKOBAN_FRESH = Workload(
    "sokoban_fresh", "Sokoban, fresh rooms", "roll_vec/Sokoban-v0", 1
)
SOKOBAN_CACHED = Workload(
    "sokoban_4096_levels", "Sokoban, 4096 levels", "roll_vec/Sokoban-v0", 1, 4096
)
SYNC_FROZEN_LAKE = Workload(
    "sync_frozen_lake",
    "SyncVectorEnv of FrozenLake-v1",
    "FrozenLake-v1",
    keywords={"vectorization_mode": "sync"},
)
OURS = (FROZEN_LAKE, SOKOBAN_CACHED, SOKOBAN_FRESH)


class StepLoop:
    """A batch in the middle of its episodes, and actions for some steps.

    Parameters
    ----------
    workload : Workload
    num_envs : int
    num_steps : int
        Steps of one `run`.
    num_levels : int
        See `Workload.make`.
    """

    def __init__(
        self, workload: Workload, num_envs: int, num_steps: int, num_levels: int = 0
    ) -> None:
        self.env = workload.make(num_envs, num_levels)
        self.env_steps = num_envs * num_steps
        low = workload.first_action
        generator = np.random.default_rng(0)
        self.actions = generator.integers(low, low + 4, (num_steps, num_envs))
        levels = min(num_levels or workload.num_levels, workload.num_levels)
        for first in range(0, levels, num_envs):
            self.env.reset(seed=first)
        self.env.reset(seed=0)
        if workload.is_ours:
            self._spread()
        self.run()

    def _spread(self) -> None:
        """Bring the environments into different steps of their episodes.

        Short random episodes spread by themselves; those that all last until the
        step limit stay together for long.
        """
        num_envs = self.env.num_envs
        steps = min(EPISODE_STEPS, num_envs)
        begins = np.arange(num_envs) % steps
        for step in range(steps):
            self.env.reset(options={"reset_mask": begins == step})
            self.env.step(self.actions[step % len(self.actions)])

    def run(self) -> None:
        """Step through all the actions."""
        step = self.env.step
        for batch in self.actions:
            step(batch)

    def close(self) -> None:
        """Close the batch."""
        self.env.close()


@dataclass(frozen=True)
class RoomConfig:
    """A configuration of Sokoban rooms, one that both generators can draw.

    gym-sokoban always searches to a depth of 300.
    """

    size: int
    num_boxes: int

    @property
    def name(self) -> str:
        """For ids of benchmarks."""
        return f"{self.size}x{self.size}_{self.num_boxes}"

    @property
    def title(self) -> str:
        """For tables."""
        return f"{self.size}x{self.size} with {self.num_boxes}"

    def draw(self, seeds: NDArray[np.uint64]) -> int:
        """Draw one room a seed with our generator, on one thread; return how many."""
        options = SokobanOptions(
            dim_room=(self.size, self.size), num_boxes=self.num_boxes, search_depth=300
        )
        _, statuses = draw_rooms(options, seeds)
        return int((statuses == 0).sum())


def seconds(function: Callable[[], Any]) -> float:
    """Return the wall time of one call."""
    start = time.perf_counter()
    function()
    return time.perf_counter() - start
