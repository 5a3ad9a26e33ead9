"""Room generation for Sokoban, cell for cell as ROLL's `generate_room`.

Source of the rules: ROLL at 35bea6a2, `roll/agentic/env/sokoban/utils.py` (the
generator of gym-sokoban with a search depth, pulls only, and the player moved a
little at the end).  A room takes three stages:

1. A random walk carves the floor (`carving.carve_floor`).
2. The player and the targets are placed, a box on each (`carving.place_targets`).
3. A depth-first search pulls the boxes away and keeps its best state
   (`reverse_search.search`, or `bitboard_reverse_search.bitboard_search` in small
   rooms); the player then moves a little (`carving.random_player_moves`).

`moves` has the codes of a grid.
"""

from typing import NamedTuple

import numpy as np

from .._jit import kernel
from ..rng.pcg64 import RETRY, fold_in
from .bitboard_reverse_search import bitboard_search
from .carving import (
    carve_floor,
    index_floor_cells,
    place_targets,
    plan_walk,
    random_player_moves,
)
from .mersenne_twisters import FIRST_WORDS, LANES, make_states, mt_seed
from .moves import BOX, PLAYER, PLAYER_ON_TARGET, TARGET
from .reverse_search import LAST_BITS, MAX_VISITED, search

# Outcomes of an attempt, the codes of the golden tables.
ROOM, TOO_FEW_CELLS, NO_SCORE = range(3)

TRIES = 4
# Rooms with fewer floor cells and boxes together use the bitboard search.  The two
# searches visit the same states: `search` is for rooms of any size, the other one is
# faster (a room of 10x10 takes 2.0 ms, and 2.6 with `search`).
BITBOARD_BITS = 64
# A level that still fails after this many attempts (each with another seed) or
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

    # Of the attempts under way, see `generate_rooms`.
    queue: np.ndarray  # (32, 3) int64: row, attempts, searched states
    seeds: np.ndarray  # (32,) uint32
    python_states: np.ndarray  # (w,) uint32: see `mersenne_twisters`
    numpy_states: np.ndarray  # (v,) uint32
    # Floor cells by number, see `carving`.
    floor_index: np.ndarray  # (H, W) int64: the number of a cell, or -1
    cell_rows: np.ndarray  # (F,) int64
    cell_cols: np.ndarray  # (F,) int64
    cells_ahead: np.ndarray  # (F, 4) uint64: the cell in each direction; a wall is F
    neighbours: np.ndarray  # (F,) uint64: see `bitboard_reverse_search`
    target_at: np.ndarray  # (F,) uint64: 1 + the box whose target is here, or 0
    # (F + 2,) uint64: 0 without a box; in a search 1 + the box, after it 1
    box_at: np.ndarray
    distance: np.ndarray  # (B, F) uint64: from each target
    # See `search`.  Flat: an index of two axes multiplies, a tenth of a state's time.
    records: np.ndarray  # ((V + 2) * K,) uint64: none begins at word 0
    hash_table: np.ndarray  # (2**20,) uint32: the records, by hash; 0: none
    branch_stack: np.ndarray  # (4 * min(D, V + 2),) uint64
    undo_log: np.ndarray  # (8 * min(D, V + 2),) uint64


def make_workspaces(dim_room, num_boxes, search_depth):
    """Return the scratch memory for rooms of one configuration.

    Its tables take address space, not memory, until rooms need them.

    Parameters
    ----------
    dim_room : (int, int)
        Rows and columns, at least 3 each.
    num_boxes, search_depth : int
        At least 1.

    Returns
    -------
    workspace : RoomWorkspace
    cells_behind : (F, 4) uint64, or None
        That of `search`; None if all rooms are small enough for the bitboard search.
        `search`, which takes 2 s to compile, is then no part of `generate_rooms`.
    """
    height, width = dim_room
    inner = (height - 2) * (width - 2)
    # As `search` counts them, for a room that is all floor.
    record_words = (inner + num_boxes + 63) // 64 + (inner + 64) // 64
    # No path is longer than the states there may be.
    longest = min(search_depth, MAX_VISITED + 2)
    workspace = RoomWorkspace(
        queue=np.zeros((LANES, 3), np.int64),
        seeds=np.zeros(LANES, np.uint32),
        python_states=make_states(FIRST_WORDS),
        # Few draws: the player and the targets.
        numpy_states=make_states(32),
        floor_index=np.full((height, width), -1, np.int64),
        cell_rows=np.zeros(inner, np.int64),
        cell_cols=np.zeros(inner, np.int64),
        cells_ahead=np.zeros((inner, 4), np.uint64),
        neighbours=np.zeros(inner, np.uint64),
        target_at=np.zeros(inner, np.uint64),
        box_at=np.zeros(inner + 2, np.uint64),
        distance=np.zeros((num_boxes, inner), np.uint64),
        records=np.zeros((MAX_VISITED + 2) * record_words, np.uint64),
        hash_table=np.zeros(1 << LAST_BITS, np.uint32),
        branch_stack=np.zeros(4 * longest, np.uint64),
        undo_log=np.zeros(8 * longest, np.uint64),
    )
    needs_search = inner + num_boxes >= BITBOARD_BITS
    return workspace, np.zeros((inner, 4), np.uint64) if needs_search else None


@kernel
def generate_room(lane, settings, grid, workspace, cells_behind):
    """Draw one room from one lane, as ROLL's `SokobanEnv.reset(seed)` does.

    Parameters
    ----------
    lane : int
        Of the generators in ``workspace``, as `mt_seed` and `plan_walk` leave them.
    settings : (int, int, int)
        ``num_boxes``, ``search_depth`` and ``num_gen_steps``, at least 1 each; the room
        has more inner cells than ``num_boxes + 1``.
    grid : (H, W) uint8, written
        Codes 0 to 6; meaningless where the attempt failed.
    workspace : RoomWorkspace
    cells_behind : (F, 4) uint64, written, or None
        None: all rooms use the bitboard search.

    Returns
    -------
    status : int64
        `ROOM`, `TOO_FEW_CELLS` (ROLL's RuntimeError) or `NO_SCORE` (ROLL's
        RuntimeWarning: no try moved a box off its target).
    searched : int64
        Number of states visited.
    """
    num_boxes, search_depth, num_gen_steps = settings
    searched = np.int64(0)
    for _ in range(TRIES):
        carve_floor(grid, num_gen_steps, workspace.python_states, lane)
        num_cells = index_floor_cells(grid, workspace)
        if num_cells <= num_boxes + 1:
            return TOO_FEW_CELLS, searched
        start = place_targets(num_cells, num_boxes, workspace, lane)
        if cells_behind is None or num_cells + num_boxes < BITBOARD_BITS:
            best = bitboard_search(num_cells, num_boxes, search_depth, start, workspace)
        else:
            best = search(
                num_cells, num_boxes, search_depth, start, workspace, cells_behind
            )
        searched += np.int64(best.num_visited)
        if best.score > 0:
            cell_rows, cell_cols = workspace.cell_rows, workspace.cell_cols
            box_at, target_at = workspace.box_at, workspace.target_at
            for number in range(num_cells):
                cell = _U(number)
                word = workspace.records[best.board + (cell >> _6)]
                box_at[cell] = (word >> (cell & _63)) & _U(1)
                if box_at[cell] != 0:
                    grid[cell_rows[cell], cell_cols[cell]] = BOX
                elif target_at[cell] != 0:
                    grid[cell_rows[cell], cell_cols[cell]] = TARGET
            player = random_player_moves(
                best.player, best.displacement, workspace, lane
            )
            code = PLAYER if target_at[player] == 0 else PLAYER_ON_TARGET
            grid[cell_rows[player], cell_cols[player]] = code
            return ROOM, searched
    return NO_SCORE, searched


@kernel
def generate_rooms(
    start, stop, seeds, settings, max_attempts, workspace, cells_behind, results
):
    """Draw one room a row, with new seeds where an attempt fails.

    Attempt 0 uses the seed itself and attempt t > 0 ``fold_in(seed, RETRY + t)``, so a
    room is a function of its seed and the configuration alone.

    Attempts are seeded 32 at once.  Each row in the queue gets a lane.  Spare lanes go
    to further attempts of the same rows, which are dropped where an earlier attempt
    gives a room.  Once a row has failed for good no row after it is begun.

    Parameters
    ----------
    start, stop : int
        The rows to work on.
    seeds : (n,) uint64, read
        Below 2**32.
    settings : (int, int, int)
        See `generate_room`.
    max_attempts : int
        Attempts a row; a row also fails for good once it has searched `MAX_SEARCHED`
        states.
    workspace : RoomWorkspace
        ``queue`` has the rows that have no room yet.
    cells_behind
        See `generate_room`.
    results : tuple of arrays, written
        The rooms, (n, H, W) uint8; (n,) int8: `ROOM`, or why the last attempt failed,
        meaningless behind a row that failed for good.
    """
    (grids, statuses), queue = results, workspace.queue
    length, next_row = 0, start
    while True:
        while length < LANES and next_row < stop:
            queue[length, 0] = next_row
            queue[length, 1] = 0
            queue[length, 2] = 0
            length += 1
            next_row += 1
        if length == 0:
            return
        for lane in range(LANES):
            k = lane % length
            seed = seeds[queue[k, 0]]
            attempt = queue[k, 1] + lane // length
            if attempt > 0:
                seed = fold_in(seed, RETRY + _U(attempt))
            workspace.seeds[lane] = seed
        mt_seed(workspace.seeds, workspace.python_states, workspace.numpy_states)
        plan_walk(workspace.python_states)
        for lane in range(LANES):
            k = lane % length
            i = queue[k, 0]
            if i >= stop or (lane >= length and statuses[i] == ROOM):
                continue
            status, searched = generate_room(
                lane, settings, grids[i], workspace, cells_behind
            )
            statuses[i] = status
            queue[k, 1] += 1
            queue[k, 2] += searched
            if status != ROOM and (
                queue[k, 1] >= max_attempts or queue[k, 2] > MAX_SEARCHED
            ):
                # This row and those after it leave the queue.
                stop = i
        num_open = 0
        for k in range(length):
            i = queue[k, 0]
            if i < stop and statuses[i] != ROOM:
                for column in range(3):
                    queue[num_open, column] = queue[k, column]
                num_open += 1
        length = num_open
