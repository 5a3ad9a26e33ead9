"""FrozenLake: walk over the ice to the goal."""

from roll_vec.envs.frozen_lake.env import FrozenLake, RandomFrozenLake

__all__ = ["FrozenLake", "RandomFrozenLake"]
