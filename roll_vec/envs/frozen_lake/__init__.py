"""FrozenLake: one map for all episodes, or a random map for each."""

from roll_vec.envs.frozen_lake.env import FrozenLake, RandomFrozenLake
from roll_vec.envs.frozen_lake.options import FrozenLakeOptions, RandomFrozenLakeOptions
from roll_vec.envs.frozen_lake.solver import LakeSolution

__all__ = [
    "FrozenLake",
    "FrozenLakeOptions",
    "LakeSolution",
    "RandomFrozenLake",
    "RandomFrozenLakeOptions",
]
