"""The maps of FrozenLake: Gymnasium's, those of users, random ones from seeds."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from roll_vec.arrays.level_providers import Levels
from roll_vec.envs.level_sets import flood_fill
from roll_vec.errors import (
    InvalidOptionError,
    LevelGenerationError,
    RollVecWarning,
    shorten,
    warn_caller,
)
from roll_vec.kernels.frozen_lake import moves as kernels
from roll_vec.kernels.frozen_lake import random_maps as map_kernels
from roll_vec.kernels.rng.pcg64 import PCG_WORDS
from roll_vec.row_threads import SliceSizer, for_row_ranges

MAPS = {
    "4x4": ("SFFF", "FHFH", "FFFH", "HFFG"),
    "8x8": (
        "SFFFFFFF",
        "FFFFFFFF",
        "FFFHFFFF",
        "FFFFFHFF",
        "FFFHFFFF",
        "FHHFFFHF",
        "FHFFHFHF",
        "FFFHFFFG",
    ),
}
_TILES = {b"S": kernels.ICE, b"F": kernels.ICE, b"H": kernels.HOLE, b"G": kernels.GOAL}


def parse_letters(name: str, rows: Any) -> NDArray[np.bytes_]:
    """Return the rows of a map as an (H, W) array of S, F, H and G bytes.

    Parameters
    ----------
    name : str
        The argument, for messages.
    rows : sequence of str or bytes, or array of letters

    Raises
    ------
    InvalidOptionError
        If they are not a rectangle of these letters.
    """
    try:
        texts = np.asarray(rows)
        if texts.dtype.kind in "SU" and texts.ndim == 1:
            # numpy would take bytes for numbers.
            rows = texts.astype(str).tolist()
        tiles = np.asarray(rows, dtype="c")
    except (TypeError, ValueError):
        tiles = np.empty(0, "c")
    if tiles.ndim != 2 or not tiles.size:
        accepted = "rows of one length of the letters SFHG"
        raise InvalidOptionError.expected(name, accepted, rows)
    unknown = sorted(set(tiles.ravel().tolist()) - set(_TILES))
    if unknown:
        letters = b"".join(unknown).decode("latin-1")
        accepted = "only the letters S, F, H and G"
        raise InvalidOptionError.expected(name, accepted, letters)
    return tiles


def can_reach_goal(
    starts: NDArray[np.bool_], tiles: NDArray[np.uint8]
) -> NDArray[np.bool_]:
    """Return whether each map has a way from a start to a goal without holes.

    Parameters
    ----------
    starts : (l, H, W) bool
        No hole is a start.
    tiles : (l, H, W) uint8
        Codes of `roll_vec.kernels.frozen_lake.moves`.

    Returns
    -------
    (l,) bool
    """
    region = starts.copy()
    flood_fill(region, tiles != kernels.HOLE)
    reached: NDArray[np.bool_] = (region & (tiles == kernels.GOAL)).any(axis=(1, 2))
    return reached


def parse_map(desc: Any) -> NDArray[np.bytes_]:
    """Return a map as an (H, W) array of S, F, H and G bytes.

    A map without a way from a start to a goal gives a warning.

    Raises
    ------
    InvalidOptionError
        If it is not a rectangle of these letters with a start.
    """
    letters = parse_letters("desc", desc)
    starts = letters == b"S"
    if not starts.any():
        raise InvalidOptionError.expected("desc", "at least one start S", desc)
    if not can_reach_goal(starts[np.newaxis], tile_codes(letters)[np.newaxis])[0]:
        message = f"desc: no way leads from S to G without holes: {shorten(desc)}"
        warn_caller(message, RollVecWarning)
    return letters


def tile_codes(desc: NDArray[np.bytes_]) -> NDArray[np.uint8]:
    """Return the (H, W) uint8 codes of a map of bytes: 1 ice, 2 hole, 3 goal."""
    codes = np.zeros(desc.shape, np.uint8)
    for letter, code in _TILES.items():
        codes[desc == letter] = code
    return codes


def tiles_below(grids: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Return the tiles of grids that are observed: without the player, uint8."""
    tiles: NDArray[np.uint8] = kernels.TILES_BELOW[grids]
    return tiles


def start_distribution(desc: NDArray[np.bytes_]) -> NDArray[np.float64]:
    """Return the (H * W,) probabilities of starting in each cell of a map."""
    starts = (desc == b"S").astype(np.float64).ravel()
    distribution: NDArray[np.float64] = starts / starts.sum()
    return distribution


# A map takes 1 us or more.
_MAPS_PER_THREAD = 64


def generate_maps(
    size: int, p: float, num_threads: int, slices: SliceSizer, seeds: NDArray[np.uint64]
) -> Levels:
    """Return the grids of some level seeds, as they are observed at the start.

    Returns
    -------
    grids : (m, size, size) uint8
    starts : (m,) int64
        Start cells.

    Raises
    ------
    LevelGenerationError
    """
    maps = np.zeros((len(seeds), size * size), np.uint8)
    starts = np.zeros(len(seeds), np.int64)
    ok = np.zeros(len(seeds), np.bool_)
    # Generator.choice compares with the normalised sum of its probabilities.
    cumulative = np.cumsum([p, 1 - p])
    frozen = float(cumulative[0] / cumulative[1])
    neighbours = kernels.make_neighbours(size, size)

    def work(start: int, stop: int) -> bool:
        # The items of `MapWorkspace`.
        workspace = (
            np.zeros((PCG_WORDS, 1), np.uint64),
            np.zeros(size * size, np.int64),
            np.zeros(size * size, np.bool_),
        )
        batch = (maps, starts, ok)
        map_kernels.generate_maps(
            start, stop, seeds, size, frozen, neighbours, workspace, batch
        )
        return bool(ok[start:stop].all())

    for_row_ranges(work, len(seeds), num_threads, _MAPS_PER_THREAD, slices)
    if not ok.all():
        seed = seeds[np.flatnonzero(~ok)[0]]
        message = (
            f"no solvable map was found for level seed {seed} within "
            f"{map_kernels.MAX_DRAWS} draws or {map_kernels.MAX_DRAWN_CELLS} drawn "
            f"cells: size={size}, p={p} hardly has any; take a higher p or a "
            "smaller size"
        )
        raise LevelGenerationError(message)
    maps[np.arange(len(maps)), starts] = kernels.PLAYER
    return maps.reshape(-1, size, size), starts
