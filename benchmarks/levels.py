"""The 10x10 levels that all contenders play: Boxoban's, or drawn by roll_vec.

A file has (n, 10, 10, 2) uint8, in Jumanji's format: of each cell the fixed part
(0 floor, 1 wall, 2 target), then the movable part (0 nothing, 3 player, 4 box).
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.machine import usable_cores
from benchmarks.processes import child_environment

FLOOR, WALL, TARGET = range(3)
NOTHING, PLAYER, BOX = 0, 3, 4
SIZE, NUM_BOXES = 10, 4

# roll_vec's codes by (fixed part, movable part).
_CODES = np.zeros((3, 5), np.uint8)
_CODES[FLOOR, [NOTHING, PLAYER, BOX]] = 1, 5, 4
_CODES[TARGET, [NOTHING, PLAYER, BOX]] = 2, 6, 3


def read_grids(path: str) -> NDArray[np.uint8]:
    """Return the levels of a file in roll_vec's codes, (n, 10, 10) uint8."""
    levels = np.load(path)
    return _CODES[levels[..., 0], levels[..., 1]]


def write_grids(path: Path, grids: NDArray[np.uint8]) -> None:
    """Write levels in roll_vec's codes to a file."""
    fixed, variable = np.full(7, -1), np.full(7, -1)
    for place, code in np.ndenumerate(_CODES):
        if code:
            fixed[code], variable[code] = place
    fixed[0], variable[0] = WALL, NOTHING
    np.save(path, np.stack([fixed[grids], variable[grids]], axis=-1).astype(np.uint8))


def find_levels(envpool_python: str, folder: Path, count: int) -> tuple[str, str]:
    """Return the path of a file of levels, and their description.

    Parameters
    ----------
    envpool_python : str
        An interpreter that may have EnvPool, whose wheel has a file of Boxoban's.
    folder : Path
        Folder for levels of roll_vec, if that interpreter has no EnvPool.
    count : int
        Number of levels of roll_vec.
    """
    code = "from benchmarks.peers.envpool import level_file; print(level_file())"
    try:
        process = subprocess.run(
            [envpool_python, "-c", code],
            capture_output=True,
            env=child_environment(),
            text=True,
            check=False,
            timeout=60,
        )
        path = Path(process.stdout.strip().rpartition("\n")[2])
        if process.returncode == 0 and path.is_file():
            num_levels = len(np.load(path, mmap_mode="r"))
            return str(path), f"{num_levels} Boxoban levels (unfiltered, test)"
    except (OSError, subprocess.TimeoutExpired):
        pass  # no working interpreter: the contender that needs it reports that
    from roll_vec.envs.sokoban import Sokoban
    from roll_vec.envs.sokoban.rooms import draw_rooms

    options = Sokoban(dim_room=(SIZE, SIZE), num_boxes=NUM_BOXES)
    # Leave out rooms with a box on a target: Boxoban has none.
    seeds = np.arange(2 * count, dtype=np.uint64)
    grids, statuses = draw_rooms(options, seeds, usable_cores())
    solved = (grids == _CODES[TARGET, BOX]).any(axis=(1, 2))
    grids = grids[(statuses == 0) & ~solved][:count]
    path = folder / "levels.npy"
    write_grids(path, grids)
    return str(path), f"{len(grids)} rooms of our generator"
