"""FrozenLake: walk over the ice to the goal."""

from roll_vec.envs.frozen_lake.env import FrozenLake, RandomFrozenLake
from roll_vec.envs.frozen_lake.solver import LakeSolution

__all__ = ["FrozenLake", "LakeSolution", "RandomFrozenLake"]
