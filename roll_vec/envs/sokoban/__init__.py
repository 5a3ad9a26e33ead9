"""Sokoban: push every box onto a target."""

from roll_vec.envs.sokoban.env import Sokoban
from roll_vec.envs.sokoban.level_files import LevelSet, load_levels
from roll_vec.envs.sokoban.options import SokobanOptions

__all__ = ["LevelSet", "Sokoban", "SokobanOptions", "load_levels"]
