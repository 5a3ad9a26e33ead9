"""The exact solver of rooms that are bitboards: fewest moves, or fewest pushes.

A* over sets of positions.  A *board* is the set of cells with a box; an *entry* is a
board with the set of cells where the player can be after the same number of moves (or
of pushes).  One walk of one cell from an entry is one set of shifts, for all cells of
the player at once.  Entries wait in a stack for each estimate of the whole solution;
the lowest estimate goes first, the latest entry of a stack before the others.

The estimate is the cost so far, and for each box the pushes to the target that is
nearest to it.  One move changes one box by one cell, so it never falls along a
solution, and the first solved board that is reached has the lowest cost.

Boards that can no longer be solved are left out: those with a box on a dead cell, from
which no target can be reached, and those with a frozen box beside the targets (see
`bitboards.frozen_boxes`).  With no entry left the room has no solution.
"""

from typing import NamedTuple

import numpy as np

from .._jit import kernel
from .bitboards import (
    MAX_CELLS,
    cell_of,
    flood,
    frozen_boxes,
    pull_sources,
    read_board,
    shift,
    spread,
)
from .search import FIRST_BITS, first_bucket, hash_combine, rehash
from .solver import (
    DONE,
    GAVE_UP,
    NEEDS_PATHS,
    NEEDS_SPACE,
    PUSHES,
    SOLVED,
    UNSOLVABLE,
)

# No push changes the estimate of one box by as much.
_NUM_BUCKETS = 2 * MAX_CELLS
_U = np.uint64
_0, _1 = _U(0), _U(1)


class BitboardWorkspace(NamedTuple):
    """Scratch memory of one thread; index 0 of boards and entries means none.

    ``E`` is the capacity, a power of two.
    """

    # Boards, in the order of their discovery.
    boards: np.ndarray  # (E,) uint64: cells with a box
    visited: np.ndarray  # (E,) uint64: cells where the player has been
    is_dead: np.ndarray  # (E,) uint8: 1 with a frozen box beside the targets
    hash_table: np.ndarray  # (2 E,) uint32: boards, by hash
    # Entries.
    entry_boards: np.ndarray  # (E,) uint32: their board
    entry_cells: np.ndarray  # (E,) uint64: the player's cells
    parents: np.ndarray  # (E,) uint32: the entry from which this one was reached
    followers: np.ndarray  # (E,) uint32: the next entry of the same stack
    paths: np.ndarray  # (P,) int8: the directions of solutions, one after the other
    stacks: np.ndarray  # (_NUM_BUCKETS,) int64: the latest entry of each stack
    distances: np.ndarray  # (64,) int64: see `_measure_distances`
    layers: np.ndarray  # (64,) uint64: see `_trace_walk`


def make_workspace(height, width, capacity, path_capacity):
    """Return a `BitboardWorkspace`; it takes memory as rooms need it.

    Parameters
    ----------
    height, width : int
        Not used; `solver.make_workspace` takes the same.
    capacity : int
        Entries, a power of two from 256 on; each takes up to 45 bytes.
    path_capacity : int
        Directions of the solutions of one call of `solve_rows`.
    """
    return BitboardWorkspace(
        boards=np.empty(capacity, np.uint64),
        visited=np.empty(capacity, np.uint64),
        is_dead=np.empty(capacity, np.uint8),
        hash_table=np.empty(2 * capacity, np.uint32),
        entry_boards=np.empty(capacity, np.uint32),
        entry_cells=np.empty(capacity, np.uint64),
        parents=np.empty(capacity, np.uint32),
        followers=np.empty(capacity, np.uint32),
        paths=np.empty(path_capacity, np.int8),
        stacks=np.empty(_NUM_BUCKETS, np.int64),
        distances=np.empty(MAX_CELLS, np.int64),
        layers=np.empty(MAX_CELLS, np.uint64),
    )


@kernel
def _measure_distances(board, floor, distances):
    """Write the pushes from each cell to the nearest target; return the live cells.

    ``distances`` (64,) int64; other boxes are ignored, and so is the player's way.
    """
    live = layer = board.targets & floor
    distance = 0
    while layer != 0:
        remaining = layer
        while remaining != 0:
            bit = remaining & (~remaining + _1)
            remaining ^= bit
            distances[cell_of(bit)] = distance
        layer = pull_sources(layer, floor, board) & ~live
        live |= layer
        distance += 1
    return live


@kernel
def _search(board, objective, most_entries, workspace):
    """Search for a solution of one room.

    Parameters
    ----------
    board : Board
    objective : int
        MOVES or PUSHES.
    most_entries : int
        Entries after which the search gives up.
    workspace : BitboardWorkspace, updated

    Returns
    -------
    status : int64
        SOLVED, UNSOLVABLE, or GAVE_UP: also with a full workspace.
    entry : int64
        The entry of the solved board.
    """
    boards, visited, is_dead = workspace.boards, workspace.visited, workspace.is_dead
    hash_table, entry_boards = workspace.hash_table, workspace.entry_boards
    entry_cells, parents = workspace.entry_cells, workspace.parents
    followers, stacks = workspace.followers, workspace.stacks
    distances = workspace.distances
    # Floor and boxes that the player can never come to stay as they are.
    floor = flood(board.player, board.floor, board)
    if board.boxes & ~floor & ~board.targets != 0:
        return UNSOLVABLE, 0
    boxes, targets = board.boxes & floor, board.targets & floor
    live = _measure_distances(board, floor, distances)
    if boxes & ~live != 0:
        return UNSOLVABLE, 0
    estimate, remaining = np.int64(0), boxes
    while remaining != 0:
        bit = remaining & (~remaining + _1)
        remaining ^= bit
        estimate += distances[cell_of(bit)]

    stacks[:] = 0
    bits = FIRST_BITS
    boards[1], visited[1], is_dead[1] = boxes, _0, 0
    num_boards, num_entries, num_waiting = 2, 2, 1
    rehash(boards, hash_table, _U(num_boards - 1), _1, _1, bits)
    entry_boards[1], entry_cells[1], parents[1], followers[1] = 1, board.player, 0, 0
    stacks[estimate & (_NUM_BUCKETS - 1)] = 1
    while num_waiting > 0:
        entry = stacks[estimate & (_NUM_BUCKETS - 1)]
        if entry == 0:
            estimate += 1
            continue
        stacks[estimate & (_NUM_BUCKETS - 1)] = followers[entry]
        num_waiting -= 1
        number = np.int64(entry_boards[entry])
        cells = entry_cells[entry] & ~visited[number]
        if cells == 0:
            continue
        boxes = boards[number]
        if boxes & ~targets == 0:
            return SOLVED, entry
        free = floor & ~boxes
        if objective == PUSHES:
            cells = flood(cells, free, board)
            visited[number] |= cells
        else:
            # `trace` looks for the way back among the cells that were new.
            entry_cells[entry] = cells
            visited[number] |= cells
            walk = spread(cells, board) & free & ~visited[number]
            if walk != 0:
                if num_entries >= most_entries:
                    return GAVE_UP, 0
                slot = (estimate + 1) & (_NUM_BUCKETS - 1)
                entry_boards[num_entries], entry_cells[num_entries] = number, walk
                parents[num_entries], followers[num_entries] = entry, stacks[slot]
                stacks[slot] = num_entries
                num_entries += 1
                num_waiting += 1
        for d in range(4):
            pushed = shift(cells, d, board) & boxes & shift(free & live, d ^ 1, board)
            while pushed != 0:
                box = pushed & (~pushed + _1)
                pushed ^= box
                to = shift(box, d, board)
                next_boxes = boxes ^ box ^ to
                change = distances[cell_of(to)] - distances[cell_of(box)]
                bucket = first_bucket(hash_combine(_0, next_boxes), bits)
                successor = np.int64(hash_table[bucket])
                while successor != 0 and boards[successor] != next_boxes:
                    bucket = (bucket + _1) & ((_1 << _U(bits)) - _1)
                    successor = np.int64(hash_table[bucket])
                if num_entries >= most_entries or num_boards >= most_entries:
                    return GAVE_UP, 0
                if successor == 0:
                    successor = num_boards
                    num_boards += 1
                    hash_table[bucket] = successor
                    boards[successor], visited[successor] = next_boxes, _0
                    frozen = frozen_boxes(next_boxes, floor, live, board)
                    is_dead[successor] = frozen & ~targets != 0
                    if num_boards > 1 << (bits - 1):
                        bits += 1
                        rehash(boards, hash_table, _U(num_boards - 1), _1, _1, bits)
                if is_dead[successor] or visited[successor] & box != 0:
                    continue
                slot = (estimate + 1 + change) & (_NUM_BUCKETS - 1)
                entry_boards[num_entries], entry_cells[num_entries] = successor, box
                parents[num_entries], followers[num_entries] = entry, stacks[slot]
                stacks[slot] = num_entries
                num_entries += 1
                num_waiting += 1
    return UNSOLVABLE, 0


@kernel
def _trace_walk(start, stop, free, board, layers, paths, at):
    """Write the directions of a shortest walk, the last one first, from ``at`` on.

    ``layers`` gets the cells by their distance from the start.

    Returns
    -------
    at : int64
        The index after the last direction; they are not written if it is beyond the
        end of ``paths``.
    """
    layers[0], length, reached = start, 0, start
    while layers[length] & stop == 0:
        layers[length + 1] = spread(layers[length], board) & free & ~reached
        reached |= layers[length + 1]
        length += 1
    if at + length > len(paths):
        return at + length
    cell = stop
    for step in range(length):
        for d in range(4):
            before = shift(cell, d ^ 1, board) & layers[length - 1 - step]
            if before != 0:
                paths[at + step] = d
                cell = before
                break
    return at + length


@kernel
def _trace(board, objective, entry, begin, workspace):
    """Write the directions of a solution from ``paths[begin]`` on.

    Returns
    -------
    end : int64
        The index after the last one; they are not complete if it is beyond the end of
        ``paths``.
    num_pushes : int64
    """
    boards, paths, parents = workspace.boards, workspace.paths, workspace.parents
    entry_boards, entry_cells = workspace.entry_boards, workspace.entry_cells
    floor = flood(board.player, board.floor, board)
    at, num_pushes = begin, 0
    # Any one of the cells; in the first entry of a walk it is the only one.
    cells = entry_cells[entry]
    cell = cells & (~cells + _1)
    while parents[entry] != 0 and at < len(paths):
        parent = np.int64(parents[entry])
        boxes = boards[np.int64(entry_boards[parent])]
        change = boards[np.int64(entry_boards[entry])] ^ boxes
        num_pushes += change != 0
        for d in range(4):
            before = shift(cell, d ^ 1, board)
            if change != 0:
                is_step = change == cell | shift(cell, d, board)
            else:
                is_step = before & entry_cells[parent] != 0
            if is_step:
                paths[at] = d
                at += 1
                cell = before
                break
        if objective == PUSHES:
            start = entry_cells[parent]
            free = floor & ~boxes
            at = _trace_walk(start, cell, free, board, workspace.layers, paths, at)
            cell = start
        entry = parent
    if parents[entry] != 0:
        return np.int64(len(paths) + 1), num_pushes
    if at <= len(paths):
        for step in range((at - begin) // 2):
            first, last = begin + step, at - 1 - step
            paths[first], paths[last] = paths[last], paths[first]
    return at, num_pushes


@kernel
def solve_rows(
    start, stop, grids, height, width, objective, max_states, workspace, results
):
    """Solve rooms one after the other, until the workspace is too small for one.

    Parameters
    ----------
    start, stop : int
        The rows to work on.
    grids : (m, H * W) uint8, read
        Codes of `rules`; the border is wall, and each room has one player.
    height, width : int
        `bitboards.fits` them.
    objective : int
        MOVES: the solutions have the fewest moves.  PUSHES: they have the fewest
        pushes, and each walk between two pushes is a shortest one.
    max_states : int
        Entries after which the search of a room gives up.
    workspace : BitboardWorkspace, updated
    results : tuple of arrays, written
        ``statuses`` (m,) int8: SOLVED, UNSOLVABLE or GAVE_UP; ``num_moves`` (m,) and
        ``num_pushes`` (m,) int32 of the solution, or 0; ``ends`` (m,) int64: the
        directions of room i end before ``workspace.paths[ends[i]]``, and those of the
        next room begin there; those of ``start`` begin at 0.

    Returns
    -------
    row : int64
        The first room that is not solved yet; ``stop`` if all are.
    reason : int64
        DONE, NEEDS_SPACE or NEEDS_PATHS.
    """
    statuses, num_moves, num_pushes, ends = results
    capacity = len(workspace.boards)
    most_entries, begin = min(capacity, max_states + 2), 0
    for i in range(start, stop):
        board = read_board(grids, i, height, width)
        status, entry = _search(board, objective, most_entries, workspace)
        if status == GAVE_UP and most_entries == capacity:
            return i, NEEDS_SPACE
        end, pushes = begin, 0
        if status == SOLVED:
            end, pushes = _trace(board, objective, entry, begin, workspace)
            if end > len(workspace.paths):
                return i, NEEDS_PATHS
        statuses[i], ends[i] = status, end
        num_moves[i], num_pushes[i] = end - begin, pushes
        begin = end
    return stop, DONE
