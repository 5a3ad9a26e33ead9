"""The levels that Sokoban plays: rooms generated from seeds, or levels of users."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from roll_vec.errors import InvalidOptionError, LevelGenerationError
from roll_vec.kernels.sokoban import rooms
from roll_vec.row_threads import SliceSizer, ThreadScratch, for_row_ranges

# A room of 6x6 takes some 15 us, and handing work to a thread 20 to 130.
_ROOMS_PER_THREAD = 4

_scratch = ThreadScratch()


def _workspaces_of(options: Any) -> Any:
    """Return the scratch memory of this thread for rooms of these options."""
    key = options.dim_room, options.num_boxes, options.search_depth
    try:
        return _scratch.get(rooms.make_workspaces, *key)
    except MemoryError as error:
        message = (
            f"dim_room: {options.dim_room} is too large to search rooms in, here: "
            f"{error}; take a smaller one, or give levels"
        )
        raise InvalidOptionError(message) from None


def draw_rooms(
    options: Any,
    seeds: NDArray[np.uint64],
    num_threads: int = 1,
    max_attempts: int = rooms.MAX_ATTEMPTS,
    slices: SliceSizer | None = None,
) -> tuple[NDArray[np.uint8], NDArray[np.int8]]:
    """Return one room for each seed, and the result of its last attempt.

    Parameters
    ----------
    options : Sokoban
    seeds : (m,) uint64
        Below 2**32.
    num_threads : int
    max_attempts : int
        With 1, the rooms are those that ROLL's generator draws from these seeds.
    slices : SliceSizer or None
        Keeps the measured times from call to call.

    Returns
    -------
    grids : (m, H, W) uint8
    statuses : (m,) int8
        0 a room, 1 too few floor cells, 2 no box could be moved off its target, -1
        not tried, as another seed of the same thread found no room.
    """
    grids = np.zeros((len(seeds), *options.dim_room), np.uint8)
    statuses = np.full(len(seeds), -1, np.int8)

    settings = options.num_boxes, options.search_depth, options.num_gen_steps

    def work(start: int, stop: int) -> bool:
        arguments = seeds, settings, max_attempts, *_workspaces_of(options)
        rooms.generate_rooms(start, stop, *arguments, (grids, statuses))
        return not (statuses[start:stop] > rooms.ROOM).any()

    slices = slices or SliceSizer("rooms")
    for_row_ranges(work, len(seeds), num_threads, _ROOMS_PER_THREAD, slices)
    return grids, statuses


def generate_rooms(
    options: Any, num_threads: int, slices: SliceSizer, seeds: NDArray[np.uint64]
) -> NDArray[np.uint8]:
    """Return the rooms of some level seeds, (m, H, W) uint8.

    Raises
    ------
    LevelGenerationError
    """
    grids, statuses = draw_rooms(options, seeds, num_threads, slices=slices)
    if statuses.any():
        seed = seeds[np.flatnonzero(statuses > 0)[0]]
        message = (
            f"no room was found for level seed {seed} within "
            f"{rooms.MAX_ATTEMPTS} attempts or {rooms.MAX_SEARCHED} searched "
            f"states: dim_room={options.dim_room}, num_boxes={options.num_boxes}, "
            f"search_depth={options.search_depth}, "
            f"num_gen_steps={options.num_gen_steps} hardly has any; take fewer "
            "boxes, a larger room or a deeper search"
        )
        raise LevelGenerationError(message)
    return grids
