"""The cells of a frozen lake: characters, meanings, names of the directions."""

from __future__ import annotations

from collections.abc import Mapping

from roll_vec.kernels.frozen_lake import rules as kernels
from roll_vec.stacked.grid_observations import GridObserver

__all__ = ["DIRECTIONS", "GRID_LOOKUP", "GRID_VOCAB", "make_observer"]

GRID_LOOKUP = {0: "P", 1: "_", 2: "O", 3: "G", 4: "X", 5: "√"}
GRID_VOCAB = {
    "P": "player",
    "_": "empty",
    "O": "hole",
    "G": "goal",
    "X": "player in hole",
    "√": "player on goal",
}
# Gymnasium's directions are its actions; ROLL's actions are one higher.
DIRECTIONS = ("Left", "Down", "Right", "Up")


def make_observer(
    shape: tuple[int, int],
    lookup: Mapping[int, str],
    obs_mode: str,
    num_threads: int = 1,
) -> GridObserver:
    """Return the view of a lake."""
    return GridObserver(
        "frozen_lake", shape, kernels.NUM_CODES, lookup, obs_mode, num_threads
    )
