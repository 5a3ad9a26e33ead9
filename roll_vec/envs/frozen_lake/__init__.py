"""FrozenLake: one map for all episodes, or a random map for each."""

from roll_vec.envs.frozen_lake.env import (
    FrozenLake,
    FrozenLakeEngine,
    RandomFrozenLake,
    RandomFrozenLakeEngine,
)
from roll_vec.envs.frozen_lake.options import FrozenLakeOptions, RandomFrozenLakeOptions
from roll_vec.envs.frozen_lake.solver import LakeSolution

__all__ = [
    "FrozenLake",
    "FrozenLakeEngine",
    "FrozenLakeOptions",
    "LakeSolution",
    "RandomFrozenLake",
    "RandomFrozenLakeEngine",
    "RandomFrozenLakeOptions",
]
