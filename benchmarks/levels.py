"""The 10x10 levels that everyone plays: Boxoban's, or drawn by our generator.

A file has (n, 10, 10, 2) uint8, as Jumanji has it: of a cell the first number is what
is fixed (0 floor, 1 wall, 2 target), the second what is not (0 nothing, 3 player,
4 box).
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

# Our codes by (fixed, variable).
_CODES = np.zeros((3, 5), np.uint8)
_CODES[FLOOR, [NOTHING, PLAYER, BOX]] = 1, 5, 4
_CODES[TARGET, [NOTHING, PLAYER, BOX]] = 2, 6, 3


def read_grids(path: str) -> NDArray[np.uint8]:
    """Return the levels of a file in our codes, (n, 10, 10) uint8."""
    levels = np.load(path)
    return _CODES[levels[..., 0], levels[..., 1]]


def write_grids(path: Path, grids: NDArray[np.uint8]) -> None:
    """Write levels in our codes to a file."""
    fixed, variable = np.full(7, -1), np.full(7, -1)
    for place, code in np.ndenumerate(_CODES):
        if code:
            fixed[code], variable[code] = place
    fixed[0], variable[0] = WALL, NOTHING
    np.save(path, np.stack([fixed[grids], variable[grids]], axis=-1).astype(np.uint8))


def find_levels(envpool_python: str, folder: Path, count: int) -> tuple[str, str]:
    """Return the path of a file of levels, and what they are.

    Parameters
    ----------
    envpool_python : str
        An interpreter that may have EnvPool, whose wheel has a file of Boxoban's.
    folder : Path
        Where to write our own if it has not.
    count : int
        How many of our own.
    """
    code = "from benchmarks.peers.envpool import level_file; print(level_file())"
    try:
        done = subprocess.run(
            [envpool_python, "-c", code],
            capture_output=True,
            env=child_environment(),
            text=True,
            check=False,
            timeout=60,
        )
        path = Path(done.stdout.strip().rpartition("\n")[2])
        if done.returncode == 0 and path.is_file():
            known = len(np.load(path, mmap_mode="r"))
            return str(path), f"{known} Boxoban levels (unfiltered, test)"
    except (OSError, subprocess.TimeoutExpired):
        pass  # no such interpreter, or none that answers: who needs it says so
    from roll_vec.envs.sokoban import SokobanOptions
    from roll_vec.envs.sokoban.rooms import draw_rooms

    options = SokobanOptions(dim_room=(SIZE, SIZE), num_boxes=NUM_BOXES)
    # In some rooms a box stands on a target; Boxoban has none of those.
    seeds = np.arange(2 * count, dtype=np.uint64)
    grids, statuses = draw_rooms(options, seeds, usable_cores())
    solved = (grids == _CODES[TARGET, BOX]).any(axis=(1, 2))
    grids = grids[(statuses == 0) & ~solved][:count]
    path = folder / "levels.npy"
    write_grids(path, grids)
    return str(path), f"{len(grids)} rooms of our generator"
