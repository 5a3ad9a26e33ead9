"""The exact solver of rooms as bitboards: fewest moves, or fewest pushes.

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

from .._jit import IS_COMPILED, kernel
from .bitboards import (
    flood,
    frozen_boxes,
    live_cells,
    read_board,
    shift,
    spread,
)
from .cell_sets import lowest, words_of
from .reverse_search import FIRST_BITS, first_bucket, hash_combine, rehash

if not IS_COMPILED:
    from .cell_sets import cell_of, load, store
else:
    from ._compiled_cell_sets import cell_of, load, store

SOLVED, UNSOLVABLE, GAVE_UP = range(3)
MOVES, PUSHES = range(2)
# Reasons why a kernel returns before the last room: the workspace has no place for
# more of the search, or for the directions of the solution.
DONE, NEEDS_SPACE, NEEDS_PATHS = range(3)
_U = np.uint64
_0, _1 = _U(0), _U(1)


class SolverWorkspace(NamedTuple):
    """Scratch memory of one thread; index 0 of boards and entries means none.

    ``E`` is the capacity, a power of two, ``K`` the words of a set, ``C`` is 64 * K.
    """

    # Boards, in the order of their discovery.
    boards: np.ndarray  # (E * K,) uint64: cells with a box
    visited: np.ndarray  # (E * K,) uint64: cells where the player has been
    is_dead: np.ndarray  # (E,) uint8: 1 with a frozen box beside the targets
    hash_table: np.ndarray  # (2 E,) uint32: boards, by hash
    # Entries.
    entry_boards: np.ndarray  # (E,) uint32: their board
    entry_cells: np.ndarray  # (E * K,) uint64: the player's cells
    parents: np.ndarray  # (E,) uint32: the entry from which this one was reached
    followers: np.ndarray  # (E,) uint32: the next entry of the same stack
    paths: np.ndarray  # (P,) int8: the directions of solutions, one after the other
    stacks: np.ndarray  # (2 C,) int64: the latest entry of each stack
    distances: np.ndarray  # (C,) int64: see `live_cells`
    layers: np.ndarray  # (C * K,) uint64: see `_trace_walk`


def make_workspace(height, width, capacity, path_capacity):
    """Return a `SolverWorkspace`; it takes memory as rooms need it.

    Parameters
    ----------
    height, width : int
        `cell_sets.words_of` them is not None.
    capacity : int
        Entries, a power of two from 256 on; each takes up to 21 bytes and three sets.
    path_capacity : int
        Directions of the solutions of one call of `solve_rows`.
    """
    num_words = len(words_of(height, width))
    num_cells = 64 * num_words
    return SolverWorkspace(
        boards=np.empty(capacity * num_words, np.uint64),
        visited=np.empty(capacity * num_words, np.uint64),
        is_dead=np.empty(capacity, np.uint8),
        hash_table=np.empty(2 * capacity, np.uint32),
        entry_boards=np.empty(capacity, np.uint32),
        entry_cells=np.empty(capacity * num_words, np.uint64),
        parents=np.empty(capacity, np.uint32),
        followers=np.empty(capacity, np.uint32),
        paths=np.empty(path_capacity, np.int8),
        # No push changes the estimate of one box by as much.
        stacks=np.empty(2 * num_cells, np.int64),
        distances=np.empty(num_cells, np.int64),
        layers=np.empty(num_cells * num_words, np.uint64),
    )


@kernel
def _find_board(boards, hash_table, unused, words, bits):
    """Look up the board that stands at the number ``unused``.

    Returns
    -------
    board : int64
        The number of the same board, or 0.
    bucket : uint64
        Its bucket, or the free one where it belongs.
    """
    key, num_words, hashed = load(boards, unused, words), np.int64(len(words)), _0
    for word in range(num_words):
        hashed = hash_combine(hashed, boards[unused * num_words + word])
    bucket = first_bucket(hashed, bits)
    board = np.int64(hash_table[bucket])
    while board != 0 and load(boards, board // num_words, words) != key:
        bucket = (bucket + _1) & ((_1 << _U(bits)) - _1)
        board = np.int64(hash_table[bucket])
    return board // num_words, bucket


@kernel
def _add_entry(entry, slot, cells, board, parent, words, workspace):
    """Write an entry of a board, reached from its parent, and put it on a stack."""
    store(workspace.entry_cells, entry, words, cells)
    workspace.entry_boards[entry], workspace.parents[entry] = board, parent
    workspace.followers[entry] = workspace.stacks[slot]
    workspace.stacks[slot] = entry


@kernel
def _search(board, objective, most_entries, words, workspace):
    """Search for a solution of one room.

    Parameters
    ----------
    board : Board
    objective : int
        MOVES or PUSHES.
    most_entries : int
        Entries after which the search gives up.
    words : tuple
    workspace : SolverWorkspace, updated

    Returns
    -------
    status : int64
        SOLVED, UNSOLVABLE, or GAVE_UP: also with a full workspace.
    entry : int64
        The entry of the solved board.
    """
    boards, visited, is_dead = workspace.boards, workspace.visited, workspace.is_dead
    hash_table, entry_boards = workspace.hash_table, workspace.entry_boards
    entry_cells, followers = workspace.entry_cells, workspace.followers
    stacks, distances, none = workspace.stacks, workspace.distances, board.none
    num_words, last_stack = np.int64(len(words)), len(stacks) - 1
    # Floor and boxes that the player can never come to stay as they are.
    floor = flood(board.player, board.floor, board)
    if board.boxes & ~floor & ~board.targets != none:
        return UNSOLVABLE, 0
    boxes, targets = board.boxes & floor, board.targets & floor
    live = live_cells(targets, floor, board, distances)
    if boxes & ~live != none:
        return UNSOLVABLE, 0
    estimate, remaining = np.int64(0), boxes
    while remaining != none:
        box = lowest(remaining)
        remaining ^= box
        estimate += distances[cell_of(box)]

    stacks[:] = 0
    bits = FIRST_BITS
    store(boards, 1, words, boxes)
    store(visited, 1, words, none)
    num_boards, num_entries, num_waiting, step = 2, 2, 1, _U(num_words)
    rehash(boards, hash_table, step, step, step, bits)
    is_dead[1] = 0
    _add_entry(1, estimate & last_stack, board.player, 1, 0, words, workspace)
    while num_waiting > 0:
        entry = stacks[estimate & last_stack]
        if entry == 0:
            estimate += 1
            continue
        stacks[estimate & last_stack] = followers[entry]
        num_waiting -= 1
        number = np.int64(entry_boards[entry])
        been = load(visited, number, words)
        cells = load(entry_cells, entry, words) & ~been
        if cells == none:
            continue
        boxes = load(boards, number, words)
        if boxes & ~targets == none:
            return SOLVED, entry
        free = floor & ~boxes
        if objective == PUSHES:
            cells = flood(cells, free, board)
            store(visited, number, words, been | cells)
        else:
            # `trace` looks for the way back among the cells that were new.
            store(entry_cells, entry, words, cells)
            store(visited, number, words, been | cells)
            walk = spread(cells, board) & free & ~(been | cells)
            if walk != none:
                if num_entries >= most_entries:
                    return GAVE_UP, 0
                slot = (estimate + 1) & last_stack
                _add_entry(num_entries, slot, walk, number, entry, words, workspace)
                num_entries += 1
                num_waiting += 1
        for d in range(4):
            pushed = shift(cells, d, board) & boxes & shift(free & live, d ^ 1, board)
            while pushed != none:
                box = lowest(pushed)
                pushed ^= box
                to = shift(box, d, board)
                change = distances[cell_of(to)] - distances[cell_of(box)]
                if num_entries >= most_entries or num_boards >= most_entries:
                    return GAVE_UP, 0
                next_boxes = boxes ^ box ^ to
                store(boards, num_boards, words, next_boxes)
                successor, bucket = _find_board(
                    boards, hash_table, num_boards, words, bits
                )
                if successor == 0:
                    successor = num_boards
                    num_boards += 1
                    hash_table[bucket] = successor * num_words
                    store(visited, successor, words, none)
                    frozen = frozen_boxes(next_boxes, floor, live, board)
                    is_dead[successor] = frozen & ~targets != none
                    if num_boards > 1 << (bits - 1):
                        bits += 1
                        last = step * _U(successor)
                        rehash(boards, hash_table, last, step, step, bits)
                if is_dead[successor] or load(visited, successor, words) & box != none:
                    continue
                slot = (estimate + 1 + change) & last_stack
                _add_entry(num_entries, slot, box, successor, entry, words, workspace)
                num_entries += 1
                num_waiting += 1
    return UNSOLVABLE, 0


@kernel
def _trace_walk(start, stop, free, board, words, layers, paths, at):
    """Write the directions of a shortest walk, the last one first, from ``at`` on.

    ``layers`` gets the cells by their distance from the start.

    Returns
    -------
    at : int64
        The index after the last direction; they are not written if it is beyond the
        end of ``paths``.
    """
    layer, length, reached = start, 0, start
    store(layers, 0, words, layer)
    while layer & stop == board.none:
        layer = spread(layer, board) & free & ~reached
        reached |= layer
        length += 1
        store(layers, length, words, layer)
    if at + length > len(paths):
        return at + length
    cell = stop
    for step in range(length):
        for d in range(4):
            before = shift(cell, d ^ 1, board) & load(layers, length - 1 - step, words)
            if before != board.none:
                paths[at + step] = d
                cell = before
                break
    return at + length


@kernel
def _trace(board, objective, entry, begin, words, workspace):
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
    cell = lowest(load(entry_cells, entry, words))
    while parents[entry] != 0 and at < len(paths):
        parent = np.int64(parents[entry])
        boxes = load(boards, np.int64(entry_boards[parent]), words)
        change = load(boards, np.int64(entry_boards[entry]), words) ^ boxes
        start = load(entry_cells, parent, words)
        num_pushes += change != board.none
        for d in range(4):
            before = shift(cell, d ^ 1, board)
            if change != board.none:
                is_step = change == cell | shift(cell, d, board)
            else:
                is_step = before & start != board.none
            if is_step:
                paths[at] = d
                at += 1
                cell = before
                break
        if objective == PUSHES:
            free, layers = floor & ~boxes, workspace.layers
            at = _trace_walk(start, cell, free, board, words, layers, paths, at)
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
    start, stop, grids, height, width, words, objective, max_states, workspace, results
):
    """Solve rooms one after the other, until the workspace is too small for one.

    Parameters
    ----------
    start, stop : int
        The rows to work on.
    grids : (m, H * W) uint8, read
        Codes of `moves`; the border is wall, and each room has one player.
    height, width : int
    words : tuple
        `cell_sets.words_of` them.
    objective : int
        MOVES: the solutions have the fewest moves.  PUSHES: they have the fewest
        pushes, and each walk between two pushes is a shortest one.
    max_states : int
        Entries after which the search of a room gives up.
    workspace : SolverWorkspace, updated
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
    capacity = len(workspace.is_dead)
    most_entries, begin = min(capacity, max_states + 2), 0
    for i in range(start, stop):
        board = read_board(grids, i, height, width, words)
        status, entry = _search(board, objective, most_entries, words, workspace)
        if status == GAVE_UP and most_entries == capacity:
            return i, NEEDS_SPACE
        end, pushes = begin, 0
        if status == SOLVED:
            end, pushes = _trace(board, objective, entry, begin, words, workspace)
            if end > len(workspace.paths):
                return i, NEEDS_PATHS
        statuses[i], ends[i] = status, end
        num_moves[i], num_pushes[i] = end - begin, pushes
        begin = end
    return stop, DONE
