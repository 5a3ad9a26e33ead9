"""Pictures of lakes in the size that Gymnasium's FrozenLake draws.

ROLL's and RAGEN's lakes are subclasses of Gymnasium's, and show its pictures.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from roll_vec.render.tiles import TILE_SIZE

# Gymnasium's pixels of a cell, and of a side at most.
_CELL_SIZE, _LONGEST_SIDE = 64, 512


def resize_lake(observation: Any) -> Any:
    """Return pixels in Gymnasium's size, and a text as it is.

    Parameters
    ----------
    observation : (16 H, 16 W, 3) uint8, or str

    Returns
    -------
    (min(64 H, 512), min(64 W, 512), 3) uint8, or str
        Of each pixel the nearest one of ours.
    """
    if isinstance(observation, str):
        return observation
    return observation[np.ix_(*map(_nearest_pixels, observation.shape[:2]))]


def _nearest_pixels(length: int) -> NDArray[np.int64]:
    size = min(length // TILE_SIZE * _CELL_SIZE, _LONGEST_SIDE)
    return np.arange(size) * length // size
