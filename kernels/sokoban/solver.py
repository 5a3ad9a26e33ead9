"""The exact solver of rooms of any size: fewest moves, or fewest pushes.

A* over boards and the player's cell after each push; `bitboard_solver` explains the
estimate and the boards that are left out, and is many times as fast where it fits.
A *board* is a set of cells with a box, and its record has

    key                       visited cells
    bit 0 ......... H*W - 1   bit 0 .................. H*W - 1
    a box stands here         the player has been here

each filled up to whole words of 64 bits.  A *node* is a board and the player's cell.
A walk over all cells that the player comes to finds the next pushes, and each leads to
a node.  Nodes wait in a stack for each estimate; the lowest estimate goes first, the
latest node of a stack before the others.
"""

from typing import NamedTuple

import numpy as np

from .._jit import kernel
from .bitboards import cell_of
from .room_arrays import mark_frozen, measure_distances, offset_of, walk
from .rules import BOX, FLOOR, IS_BOX, IS_TARGET, PLAYER, TARGET, WALL
from .search import FIRST_BITS, first_bucket, hash_combine, rehash

SOLVED, UNSOLVABLE, GAVE_UP = range(3)
MOVES, PUSHES = range(2)
# Reasons why a kernel returns before the last room: the workspace has no place for
# more of the search, or for the directions of the solution.
DONE, NEEDS_SPACE, NEEDS_PATHS = range(3)
_U = np.uint64
_1, _6, _63 = _U(1), _U(6), _U(63)
_DEAD = -1


class SolverWorkspace(NamedTuple):
    """Scratch memory of one thread; index 0 of boards and nodes means none.

    ``E`` is the capacity, a power of two, ``C`` is H * W, ``K`` the words of a record.
    """

    # Boards, in the order of their discovery.
    records: np.ndarray  # (E * K,) uint64
    bounds: np.ndarray  # (E,) int32: the pushes that it needs at least, or _DEAD
    hash_table: np.ndarray  # (2 E,) uint32: boards, by hash
    # Nodes.
    node_boards: np.ndarray  # (E,) uint32
    players: np.ndarray  # (E,) int32: the player's cell
    parents: np.ndarray  # (E,) uint32: the node from which this one was reached
    followers: np.ndarray  # (E,) uint32: the next node of the same stack
    paths: np.ndarray  # (P,) int8: the directions of solutions, one after the other
    # One room.
    stacks: np.ndarray  # (a power of two above 2 C,) int64: the latest node of each
    room: np.ndarray  # (1, C) uint8: wall, floor or target; wall where no player comes
    distances: np.ndarray  # (C,) int32: see `room_arrays.measure_distances`
    is_box: np.ndarray  # (C,) uint8: the board under work
    boxes: np.ndarray  # (C,) int32: its boxes
    is_frozen: np.ndarray  # (C,) uint8
    steps: np.ndarray  # (C,) int32: from the player's cell, or -1
    queue: np.ndarray  # (C,) int32


def make_workspace(height, width, capacity, path_capacity):
    """Return a `SolverWorkspace` for rooms of H x W cells; rooms take it as needed.

    Parameters
    ----------
    height, width : int
    capacity : int
        Nodes, a power of two from 256 on.
    path_capacity : int
        Directions of all solutions of one call of `solve_rows`.
    """
    cells = height * width
    return SolverWorkspace(
        records=np.empty(capacity * 2 * ((cells + 63) // 64), np.uint64),
        bounds=np.empty(capacity, np.int32),
        hash_table=np.empty(2 * capacity, np.uint32),
        node_boards=np.empty(capacity, np.uint32),
        players=np.empty(capacity, np.int32),
        parents=np.empty(capacity, np.uint32),
        followers=np.empty(capacity, np.uint32),
        paths=np.empty(path_capacity, np.int8),
        stacks=np.empty(1 << (2 * cells + 1).bit_length(), np.int64),
        room=np.empty((1, cells), np.uint8),
        distances=np.empty(cells, np.int32),
        is_box=np.zeros(cells, np.uint8),
        boxes=np.empty(cells, np.int32),
        is_frozen=np.zeros(cells, np.uint8),
        steps=np.empty(cells, np.int32),
        queue=np.empty(cells, np.int32),
    )


@kernel
def _read_room(grids, i, width, workspace):
    """Read a room without the parts where the player never comes.

    Returns
    -------
    player : int64
    num_boxes : int64
        -1: a box that the player never comes to is not on a target.
    """
    room, is_box, boxes = workspace.room, workspace.is_box, workspace.boxes
    player = np.int64(0)
    for cell in range(room.shape[1]):
        room[0, cell] = grids[i, cell]
        is_box[cell] = 0
        if grids[i, cell] >= PLAYER:
            player = np.int64(cell)
    walk(room, 0, is_box, player, width, workspace.steps, workspace.queue)
    num_boxes = 0
    for cell in range(room.shape[1]):
        code = grids[i, cell]
        if workspace.steps[cell] < 0:
            room[0, cell] = WALL
            if code == BOX:
                return player, -1
            continue
        room[0, cell] = TARGET if IS_TARGET[code] else FLOOR
        if IS_BOX[code]:
            is_box[cell] = 1
            boxes[num_boxes] = cell
            num_boxes += 1
    return player, num_boxes


@kernel
def _load_board(record, key_words, workspace):
    """Make a board the one under work; return its number of boxes."""
    records, is_box, boxes = workspace.records, workspace.is_box, workspace.boxes
    is_box[:] = 0
    num_boxes = 0
    for word in range(key_words):
        remaining = records[record + _U(word)]
        while remaining != 0:
            bit = remaining & (~remaining + _1)
            remaining ^= bit
            cell = (_U(word) << _6) + cell_of(bit)
            is_box[cell] = 1
            boxes[num_boxes] = cell
            num_boxes += 1
    return num_boxes


@kernel
def _find_board(records, hash_table, record, unused, box, to, key_words, bits):
    """Look up a board after a push from ``box`` to ``to``.

    The key is written to the record ``unused``, where it stays if the board is new.

    Returns
    -------
    record : uint64
        The record with this key, or 0.
    bucket : uint64
        Its bucket, or the free one where it belongs.
    """
    for word in range(key_words):
        records[unused + _U(word)] = records[record + _U(word)]
    records[unused + (box >> _6)] ^= _1 << (box & _63)
    records[unused + (to >> _6)] ^= _1 << (to & _63)
    hashed = _U(0)
    for word in range(key_words):
        hashed = hash_combine(hashed, records[unused + _U(word)])
    bucket = first_bucket(hashed, bits)
    mask = (_1 << _U(bits)) - _1
    while hash_table[bucket] != 0:
        other = _U(hash_table[bucket])
        is_same = True
        for word in range(key_words):
            w = _U(word)
            is_same = is_same and records[other + w] == records[unused + w]
        if is_same:
            return other, bucket
        bucket = (bucket + _1) & mask
    return _U(0), bucket


@kernel
def _has_lost_box(num_boxes, width, workspace):
    """Return whether a box of `workspace.boxes` is frozen beside the targets."""
    room, boxes, is_frozen = workspace.room, workspace.boxes, workspace.is_frozen
    mark_frozen(room, 0, width, workspace.distances, boxes, num_boxes, is_frozen)
    is_lost = False
    for k in range(num_boxes):
        is_lost |= is_frozen[boxes[k]] != 0 and room[0, boxes[k]] != TARGET
        is_frozen[boxes[k]] = 0
    return is_lost


@kernel
def _search(grids, i, width, objective, most_nodes, workspace):
    """Search for a solution of room i.

    Parameters
    ----------
    grids, i, width, objective
        See `solve_rows`.
    most_nodes : int
        Nodes and boards after which the search gives up.
    workspace : SolverWorkspace, updated

    Returns
    -------
    status : int64
        SOLVED, UNSOLVABLE or GAVE_UP.
    node : int64
        The node of the solved board.
    """
    records, bounds, hash_table = (
        workspace.records,
        workspace.bounds,
        workspace.hash_table,
    )
    node_boards, players = workspace.node_boards, workspace.players
    parents, followers = workspace.parents, workspace.followers
    stacks, room, steps = workspace.stacks, workspace.room, workspace.steps
    distances, is_box, boxes = workspace.distances, workspace.is_box, workspace.boxes
    queue = workspace.queue
    player, num_boxes = _read_room(grids, i, width, workspace)
    if num_boxes < 0:
        return UNSOLVABLE, 0
    measure_distances(room, 0, width, queue, distances)
    key_words = _U((room.shape[1] + 63) >> 6)
    record_words = key_words + key_words
    unused, bound = record_words, np.int64(0)
    for word in range(record_words):
        records[unused + _U(word)] = 0
    for k in range(num_boxes):
        if distances[boxes[k]] < 0:
            return UNSOLVABLE, 0
        bound += distances[boxes[k]]
        box = _U(boxes[k])
        records[unused + (box >> _6)] |= _1 << (box & _63)
    bounds[1] = bound
    bits = FIRST_BITS
    rehash(records, hash_table, unused, key_words, record_words, bits)
    node_boards[1], players[1], parents[1], followers[1] = 1, player, 0, 0
    stacks[:] = 0
    estimate, slots = bound, len(stacks) - 1
    stacks[estimate & slots] = 1
    num_boards, num_nodes, num_waiting = 2, 2, 1
    unused += record_words
    while num_waiting > 0:
        node = stacks[estimate & slots]
        if node == 0:
            estimate += 1
            continue
        stacks[estimate & slots] = followers[node]
        num_waiting -= 1
        board = np.int64(node_boards[node])
        record = _U(board) * record_words
        visited, cell = record + key_words, _U(players[node])
        if (records[visited + (cell >> _6)] >> (cell & _63)) & _1:
            continue
        if bounds[board] == 0:
            return SOLVED, node
        _load_board(record, key_words, workspace)
        num_reached = walk(room, 0, is_box, np.int64(cell), width, steps, queue)
        for k in range(num_reached if objective == PUSHES else 1):
            cell = _U(queue[k])
            records[visited + (cell >> _6)] |= _1 << (cell & _63)
        for k in range(num_boxes):
            for d in range(4):
                box, offset = np.int64(boxes[k]), offset_of(d, width)
                to = box + offset
                if steps[box - offset] < 0 or is_box[to] or distances[to] < 0:
                    continue
                if num_nodes >= most_nodes or num_boards >= most_nodes:
                    return GAVE_UP, 0
                change = np.int64(distances[to]) - np.int64(distances[box])
                next_record, bucket = _find_board(
                    records,
                    hash_table,
                    record,
                    unused,
                    _U(box),
                    _U(to),
                    key_words,
                    bits,
                )
                if next_record == 0:
                    next_record = unused
                    for word in range(key_words, record_words):
                        records[next_record + _U(word)] = 0
                    hash_table[bucket] = next_record
                    bounds[num_boards] = bounds[board] + change
                    boxes[k] = to
                    if _has_lost_box(num_boxes, width, workspace):
                        bounds[num_boards] = _DEAD
                    boxes[k] = box
                    num_boards += 1
                    unused += record_words
                    if num_boards > 1 << (bits - 1):
                        bits += 1
                        rehash(
                            records,
                            hash_table,
                            next_record,
                            key_words,
                            record_words,
                            bits,
                        )
                next_board = np.int64(next_record // record_words)
                if bounds[next_board] == _DEAD:
                    continue
                walked = np.int64(steps[box - offset]) if objective == MOVES else 0
                slot = (estimate + walked + 1 + change) & slots
                node_boards[num_nodes], players[num_nodes] = next_board, box
                parents[num_nodes], followers[num_nodes] = node, stacks[slot]
                stacks[slot] = num_nodes
                num_nodes += 1
                num_waiting += 1
    return UNSOLVABLE, 0


@kernel
def _trace(node, begin, width, workspace):
    """Write the directions of a solution from ``paths[begin]`` on.

    Returns
    -------
    end : int64
        The index after the last one; they are not complete if it is beyond the end of
        ``paths``.
    num_pushes : int64
    """
    paths, parents, players = workspace.paths, workspace.parents, workspace.players
    room, is_box, steps = workspace.room, workspace.is_box, workspace.steps
    records, node_boards = workspace.records, workspace.node_boards
    key_words = _U((room.shape[1] + 63) >> 6)
    at, num_pushes = begin, 0
    while parents[node] != 0:
        parent = np.int64(parents[node])
        record = _U(node_boards[node]) * (key_words + key_words)
        before = _U(node_boards[parent]) * (key_words + key_words)
        _load_board(before, key_words, workspace)
        player, start = np.int64(players[node]), np.int64(players[parent])
        walk(room, 0, is_box, start, width, steps, workspace.queue)
        # The box came to the cell ahead, where there was none.
        d = 0
        while True:
            to = _U(player + offset_of(d, width))
            is_there = (records[record + (to >> _6)] >> (to & _63)) & _1
            if is_there and not is_box[to]:
                break
            d += 1
        cell = player - offset_of(d, width)
        length = np.int64(steps[cell])
        if at + 1 + length > len(paths):
            return np.int64(len(paths) + 1), num_pushes
        paths[at] = d
        at += 1
        num_pushes += 1
        for _ in range(length):
            d = 0
            while True:
                source = cell - offset_of(d, width)
                if steps[source] >= 0 and steps[source] == steps[cell] - 1:
                    break
                d += 1
            paths[at] = d
            at += 1
            cell = source
        node = parent
    for k in range((at - begin) // 2):
        first, last = begin + k, at - 1 - k
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
        The height is not used; `bitboard_solver.solve_rows` takes the same.
    objective : int
        MOVES: the solutions have the fewest moves.  PUSHES: they have the fewest
        pushes, and each walk between two pushes is a shortest one.
    max_states : int
        Nodes after which the search of a room gives up.
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
    capacity = len(workspace.bounds)
    most_nodes, begin = min(capacity, max_states + 2), 0
    for i in range(start, stop):
        status, node = _search(grids, i, width, objective, most_nodes, workspace)
        if status == GAVE_UP and most_nodes == capacity:
            return i, NEEDS_SPACE
        end, pushes = begin, 0
        if status == SOLVED:
            end, pushes = _trace(node, begin, width, workspace)
            if end > len(workspace.paths):
                return i, NEEDS_PATHS
        statuses[i], ends[i] = status, end
        num_moves[i], num_pushes[i] = end - begin, pushes
        begin = end
    return stop, DONE
