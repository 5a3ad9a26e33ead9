"""Sokoban: push every box onto a target."""

from roll_vec.envs.sokoban.env import Sokoban
from roll_vec.envs.sokoban.level_files import LevelSet, load_levels

__all__ = ["LevelSet", "Sokoban", "load_levels"]
