"""Room generation for Sokoban, cell for cell as ROLL's `generate_room`.

Source of the rules: ROLL at 35bea6a2, `roll/agentic/env/sokoban/utils.py` (the
generator of gym-sokoban with a search depth, pulls only, and the player moved a
little at the end).  A room takes three stages: a random walk carves the floor,
targets and the player are placed (`sokoban_carving`), and boxes are pulled away from
their targets by a depth-first search that keeps its best state (`sokoban_search`, or
`sokoban_word_search` where the room is small enough).

Codes of a grid, as everywhere for Sokoban::

    0 wall  1 floor  2 target  3 box on target  4 box  5 player  6 player on target
"""

from typing import NamedTuple

import numpy as np

from .._jit import kernel
from ..rng.mersenne_twister import LANES, MT_ROWS, mt_seed
from ..rng.pcg64 import RETRY, fold_in
from .bitboard_search import search_words
from .carving import carve, number_floor, place, wander
from .search import LAST_BITS, MAX_VISITED, search

# What became of an attempt; the first three are the codes of the golden tables.
ROOM, TOO_FEW_CELLS, NO_SCORE = range(3)

TRIES = 4
# Rooms with fewer floor cells and boxes together are searched in words.
WORD_BITS = 64
# A level that still fails after this many attempts (each with its own seed) or
# this many searched states has a configuration for which rooms hardly exist.
MAX_ATTEMPTS = 2_000
MAX_SEARCHED = 50_000_000

_U = np.uint64
_6, _63 = _U(6), _U(63)


class RoomWorkspace(NamedTuple):
    """Scratch memory for one thread that generates rooms; holds no results.

    ``F`` is the number of inner cells, ``B`` of boxes, ``D`` the search depth, ``V``
    the most states of a search, ``K`` the words of a record.
    """

    waiting: np.ndarray  # (32, 3) int64: see `generate_rooms`
    seeds: np.ndarray  # (32,) uint32: of the attempts under way
    pythons: np.ndarray  # (625, 32) uint32: their streams, see `twisters`
    numpys: np.ndarray  # (625, 32) uint32
    numbers: np.ndarray  # (H, W) int64: floor number of a cell, or -1
    rows: np.ndarray  # (F,) int64
    cols: np.ndarray  # (F,) int64
    ahead: np.ndarray  # (F, 4) uint64: the cell in each direction; a wall is cell F
    behind: np.ndarray  # (F, 4) uint64: the opposite one; a wall is cell F + 1
    links: np.ndarray  # (F,) uint64: see `sokoban_word_search`
    target_at: np.ndarray  # (F,) uint64: 1 + the box whose target is here, or 0
    box_at: np.ndarray  # (F + 2,) uint64: 1 + the box that stands here, or 0
    distance: np.ndarray  # (B, F) uint64: from each target
    pulled: np.ndarray  # (B,) uint64: 1 once a box has been pulled
    records: np.ndarray  # ((V + 2) * K,) uint64: none begins at word 0
    slots: np.ndarray  # (2**20,) uint32: where records begin, by hash; 0 none
    forks: np.ndarray  # (min(D, V + 2), 4) uint64: see `search`
    pulls: np.ndarray  # (min(D, V + 2), 9) uint64: see `search`


def make_workspace(dim_room, num_boxes, search_depth):
    """Return a `RoomWorkspace` for rooms of one configuration.

    Its tables take address space, not memory, until rooms need them.

    Parameters
    ----------
    dim_room : (int, int)
        Rows and columns, at least 3 each.
    num_boxes, search_depth : int
        At least 1.
    """
    height, width = dim_room
    inner = (height - 2) * (width - 2)
    # As `search` counts them, for a room that is all floor.
    record_words = (inner + num_boxes + 63) // 64 + (inner + 64) // 64
    # No path is longer than the states there may be.
    longest = min(search_depth, MAX_VISITED + 2)
    return RoomWorkspace(
        waiting=np.zeros((LANES, 3), np.int64),
        seeds=np.zeros(LANES, np.uint32),
        pythons=np.zeros((MT_ROWS, LANES), np.uint32),
        numpys=np.zeros((MT_ROWS, LANES), np.uint32),
        numbers=np.full((height, width), -1, np.int64),
        rows=np.zeros(inner, np.int64),
        cols=np.zeros(inner, np.int64),
        ahead=np.zeros((inner, 4), np.uint64),
        behind=np.zeros((inner, 4), np.uint64),
        links=np.zeros(inner, np.uint64),
        target_at=np.zeros(inner, np.uint64),
        box_at=np.zeros(inner + 2, np.uint64),
        distance=np.zeros((num_boxes, inner), np.uint64),
        pulled=np.zeros(num_boxes, np.uint64),
        records=np.zeros((MAX_VISITED + 2) * record_words, np.uint64),
        slots=np.zeros(1 << LAST_BITS, np.uint32),
        forks=np.zeros((longest, 4), np.uint64),
        pulls=np.zeros((longest, 9), np.uint64),
    )


@kernel
def generate_room(lane, num_boxes, search_depth, num_gen_steps, grid, space):
    """Draw one room from one lane, as ROLL's `SokobanEnv.reset(seed)` does.

    Parameters
    ----------
    lane : int
        Of the streams in ``space``, which `twisters.mt_seed` has seeded.
    num_boxes, search_depth, num_gen_steps : int
        At least 1; the room has more inner cells than ``num_boxes + 1``.
    grid : (H, W) uint8, written
        Codes 0 to 6; meaningless where the attempt failed.
    space : RoomWorkspace

    Returns
    -------
    status : int64
        `ROOM`, `TOO_FEW_CELLS` (ROLL's RuntimeError) or `NO_SCORE` (ROLL's
        RuntimeWarning: no try moved a box off its target).
    searched : int64
        Number of states visited.
    """
    searched = np.int64(0)
    for _ in range(TRIES):
        carve(grid, num_gen_steps, space.pythons, lane)
        count = number_floor(grid, space)
        if count <= num_boxes + 1:
            return TOO_FEW_CELLS, searched
        start = place(count, num_boxes, space, lane)
        if count + num_boxes < WORD_BITS:
            score, player, displacement, board, visited = search_words(
                count, num_boxes, search_depth, start, space
            )
        else:
            score, player, displacement, board, visited = search(
                count, num_boxes, search_depth, start, space
            )
        searched += np.int64(visited)
        if score > 0:
            for f in range(count):
                cell = _U(f)
                box = (space.records[board + (cell >> _6)] >> (cell & _63)) & _U(1)
                space.box_at[f] = box
                if box != 0:
                    grid[space.rows[f], space.cols[f]] = 4
                elif space.target_at[f] != 0:
                    grid[space.rows[f], space.cols[f]] = 2
            player = wander(player, displacement, space, lane)
            code = 5 if space.target_at[player] == 0 else 6
            grid[space.rows[player], space.cols[player]] = code
            return ROOM, searched
    return NO_SCORE, searched


@kernel
def generate_rooms(
    start,
    stop,
    seeds,
    num_boxes,
    search_depth,
    num_gen_steps,
    max_attempts,
    space,
    grids,
    statuses,
):
    """Draw one room a row, with new seeds where an attempt fails.

    Attempt 0 uses the seed itself and attempt t > 0 ``fold_in(seed, RETRY + t)``, so a
    room is a function of its seed and the configuration alone.

    Attempts are seeded 32 abreast: rows that wait for a room take a lane each, and
    spare lanes go to further attempts of the same rows, which are lost where one
    before them gives a room.  Once a row has no room no row after it is begun.

    Parameters
    ----------
    start, stop : int
        The rows to work on.
    seeds : (n,) uint64, read
        Below 2**32.
    num_boxes, search_depth, num_gen_steps : int
        See `generate_room`.
    max_attempts : int
        Attempts a row; a row also ends once it has searched `MAX_SEARCHED` states.
    space : RoomWorkspace
        ``waiting`` has, for each row that waits, its number, the attempts made and
        the states searched.
    grids : (n, H, W) uint8, written
    statuses : (n,) int8, written
        `ROOM`, or why the last attempt failed.  Behind a row without a room also what
        it was, or why an attempt failed that would not have been the last one.
    """
    waiting = space.waiting
    num_waiting, taken = 0, start
    while True:
        while num_waiting < LANES and taken < stop:
            waiting[num_waiting, 0] = taken
            waiting[num_waiting, 1] = 0
            waiting[num_waiting, 2] = 0
            num_waiting += 1
            taken += 1
        if num_waiting == 0:
            return
        for lane in range(LANES):
            who = lane % num_waiting
            seed = seeds[waiting[who, 0]]
            attempt = waiting[who, 1] + lane // num_waiting
            if attempt > 0:
                seed = fold_in(seed, RETRY + _U(attempt))
            space.seeds[lane] = seed
        mt_seed(space.seeds, space.pythons, space.numpys)
        for lane in range(LANES):
            who = lane % num_waiting
            i = waiting[who, 0]
            if i >= stop or (lane >= num_waiting and statuses[i] == ROOM):
                continue
            status, searched = generate_room(
                lane, num_boxes, search_depth, num_gen_steps, grids[i], space
            )
            statuses[i] = status
            waiting[who, 1] += 1
            waiting[who, 2] += searched
            if status != ROOM and (
                waiting[who, 1] >= max_attempts or waiting[who, 2] > MAX_SEARCHED
            ):
                # This row and those after it wait no longer.
                stop = i
        still = 0
        for who in range(num_waiting):
            i = waiting[who, 0]
            if i < stop and statuses[i] != ROOM:
                for part in range(3):
                    waiting[still, part] = waiting[who, part]
                still += 1
        num_waiting = still
