"""PufferLib's Boxoban in C, compiled from a checkout that the user names.

It has four one-hot planes, edited in place, a reward, a terminal, and a level that is
drawn by chance at an end.  It has no infos, no seed of an episode, no last observation
and no truncation: a limit of steps is a terminal.
"""

from __future__ import annotations

import ctypes
import os
import subprocess
import tempfile
from pathlib import Path

import numpy as np

from benchmarks.levels import BOX, PLAYER, SIZE, TARGET, WALL
from benchmarks.tasks import Rate, Unavailable

_SOURCES = Path(__file__).with_name("boxoban")
_FLAGS = ("-O3", "-march=native", "-w", "-shared", "-fPIC")
_STEPS = 8


def boxoban(num_envs: int, checkout: str, levels: str, limit: int) -> Rate:
    """Step Boxoban with the levels of a file; see `benchmarks.levels`."""
    if not checkout:
        raise Unavailable("no checkout: --pufferlib PATH")
    library = _compile(Path(checkout), levels)
    library.make.restype = ctypes.c_void_p
    observations = np.zeros((num_envs, 4, SIZE, SIZE), np.uint8)
    rewards, terminals = np.zeros((2, num_envs), np.float32)
    actions = np.zeros(num_envs, np.float32)
    arrays = observations, actions, rewards, terminals
    addresses = [ctypes.c_void_p(array.ctypes.data) for array in arrays]
    envs = ctypes.c_void_p(library.make(num_envs, limit, *addresses))
    drawn = np.random.default_rng(0).integers(1, 5, (_STEPS, num_envs))
    batches, step = drawn.astype(np.float32), library.step

    def work() -> int:
        # Its batch writes into these arrays, which must live as long.
        _, actions, *_ = arrays
        for batch in batches:
            actions[:] = batch
            step(envs, num_envs)
        return batches.size

    settings = {
        "batch": num_envs,
        "observation": "four planes, 4x10x10 uint8, in place",
        "levels": f"{len(np.load(levels, mmap_mode='r'))} levels, drawn by chance",
    }
    return Rate(work, "steps/s", settings)


def _compile(checkout: Path, levels: str) -> ctypes.CDLL:
    """Return the library, whose batches play the levels of a file."""
    headers = sorted(checkout.glob("**/ocean/boxoban/boxoban.h"))
    if not headers:
        raise Unavailable(f"no ocean/boxoban/boxoban.h in {checkout}")
    folder = tempfile.mkdtemp()
    path = Path(folder, "boxoban.so")
    include = [f"-I{_SOURCES}", f"-I{headers[0].parent}"]
    command = ["gcc", *_FLAGS, *include, str(_SOURCES / "batch.c"), "-o", str(path)]
    try:
        result = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        raise Unavailable("gcc is not installed") from None
    if result.returncode:
        raise Unavailable(f"gcc: {result.stderr.strip().splitlines()[0]}")
    maps = Path(folder, "maps.bin")
    maps.write_bytes(_encode(np.load(levels)).tobytes())
    os.environ["BOXOBAN_MAP_BIN"] = str(maps)
    return ctypes.CDLL(str(path))


def _encode(levels: np.ndarray) -> np.ndarray:
    """Return the levels as Boxoban reads them, (n, 405) uint8.

    Planes of the player, walls, boxes and targets; then the player's column and row,
    the numbers of boxes, of targets, and of boxes on targets.
    """
    fixed, movable = levels[..., 0], levels[..., 1]
    planes = np.stack(
        [movable == PLAYER, fixed == WALL, movable == BOX, fixed == TARGET], axis=1
    )
    cells = planes.reshape(len(levels), 4, -1).astype(np.uint8)
    rows, columns = np.divmod(cells[:, 0].argmax(axis=1), SIZE)
    on_targets = (cells[:, 2] & cells[:, 3]).sum(axis=1)
    counts = [cells[:, 2].sum(axis=1), cells[:, 3].sum(axis=1), on_targets]
    meta = np.stack([columns, rows, *counts], axis=1).astype(np.uint8)
    return np.concatenate([cells.reshape(len(levels), -1), meta], axis=1)
