"""Reverse search of the room generator, where floor and boxes fit into one word.

The same search as `search`, for at most 63 floor cells and boxes together: each room
up to 9x9 and nearly all of 10x10.  Words have bits by the number of a cell::

    bit        63 | .. F+B | F+B-1 ........ F | F-1 ............ 0
    boxes       0 |   0    |        0         | a box is here
    targets     0 |   0    |        0         | a target is here
    visited     0 |   0    |        0         | the player has been here on this board
    key         0 |   0    | box k untouched  | a pulled box is here
    _WALL       1 |   0    |        0         |        0

    neighbours[f]   the cells up, down, left, right of cell f, a byte each; 63: a wall

A record is a key and its visited cells.  A state takes 17 ns: from one cell of the
player to the next there are two loads, where `search` has six and takes 23 ns.
"""

import numpy as np

from .._jit import kernel
from .reverse_search import (
    FIRST_BITS,
    LAST_BITS,
    MAX_VISITED,
    SearchResult,
    first_bucket,
    hash_combine,
    rehash,
)

_U = np.uint64
_0, _1, _2, _3, _4, _5, _6, _8, _63 = (_U(n) for n in (0, 1, 2, 3, 4, 5, 6, 8, 63))
_WALL = _U(1 << 63)


@kernel
def _new_directions(around, boxes, visited):
    """Return four bits: the directions that may lead to a new state.

    ``around`` has the neighbours of the player's cell.
    """
    blocked, closed = boxes | _WALL, _0
    for number in range(_4):
        d = _U(number)
        ahead = (around >> (d * _8)) & _63
        behind = (around >> ((d ^ _1) * _8)) & _63
        # With a box behind, the move is a pull to another board than that of `visited`.
        is_old = (visited >> ahead) & ~(boxes >> behind)
        closed |= (((blocked >> ahead) | is_old) & _1) << d
    return closed ^ _U(15)


@kernel
def bitboard_search(num_cells, num_boxes, search_depth, start, workspace):
    """Pull boxes from their targets, depth first; return the best state.

    See `search.search`, which has the same arguments and results, and the same words in
    ``branch_stack``.  ``undo_log`` has eight words an entry: the cell that a pull
    dragged from, 1 + the box; and from before the pull the boxes, the board, the sum of
    distances, the changes, 1 + the box pulled last, nothing.
    """
    records, hash_table = workspace.records, workspace.hash_table
    branch_stack, undo_log = workspace.branch_stack, workspace.undo_log
    neighbours, distance = workspace.neighbours, workspace.distance
    box_at = workspace.box_at
    cells, player = _U(num_cells), _U(start)
    best = SearchResult(_0, player, _0, _0, _0)
    if search_depth <= 1:
        return best

    targets = _0
    for cell in range(cells):
        targets |= (_1 if workspace.target_at[cell] != 0 else _0) << _U(cell)
    boxes, visited = targets, _1 << player
    board, unused = _2, _4
    records[board] = ((_1 << _U(num_boxes)) - _1) << cells
    records[board + _1] = visited
    bits = FIRST_BITS
    rehash(records, hash_table, board, _1, _2, bits)

    displacement, box_changes, last_box, score = _0, _0, _0, _0
    num_branches, num_pulls = _0, _0
    num_visited, depth, max_depth = _1, _0, _U(search_depth - 2)
    around, directions = neighbours[player], _0
    if depth < max_depth:
        directions = _new_directions(around, boxes, visited)
    while num_visited < MAX_VISITED:
        if directions == 0:
            if num_branches == 0:
                break
            num_branches -= _1
            top = num_branches * _4
            player, depth = branch_stack[top], branch_stack[top + _1]
            directions = branch_stack[top + _2]
            while num_pulls > branch_stack[top + _3]:
                num_pulls -= _1
                last = num_pulls * _8
                box_at[undo_log[last]] = undo_log[last + _1]
                boxes, board = undo_log[last + _2], undo_log[last + _3]
                displacement = undo_log[last + _4]
                box_changes, last_box = undo_log[last + _5], undo_log[last + _6]
                score = box_changes * displacement if boxes & targets == 0 else _0
            around, visited = neighbours[player], records[board + _1]
        # The lowest of the bits, and its number; comparisons cost 9 %.
        lowest = directions & (~directions + _1)
        directions ^= lowest
        direction = (lowest >> _1) - (lowest >> _3)
        ahead = (around >> (direction * _8)) & _63
        behind = (around >> ((direction ^ _1) * _8)) & _63
        bit, next_board, box = _1 << ahead, board, _0
        if (boxes >> behind) & _1:
            # Look up the board after the pull.
            box = box_at[behind]
            key, untouched = records[board], cells + box - _1
            home = untouched if (key >> untouched) & _1 else behind
            key ^= (_1 << home) | (_1 << player)
            bucket = first_bucket(hash_combine(_0, key), bits)
            next_board = _U(hash_table[bucket])
            while next_board != 0 and records[next_board] != key:
                bucket = (bucket + _1) & ((_1 << _U(bits)) - _1)
                next_board = _U(hash_table[bucket])
            if next_board == 0:
                hash_table[bucket] = unused
                next_board = unused
                records[next_board], records[next_board + _1] = key, _0
                unused += _2
                if unused > _2 << _U(bits - 1) and bits < LAST_BITS:
                    bits += 1
                    rehash(records, hash_table, next_board, _1, _2, bits)
            visited = records[next_board + _1]
        if visited & bit:
            visited = records[board + _1]
            continue
        # Written in any case, and kept if directions are left: a branch costs 5 %.
        top = num_branches * _4
        branch_stack[top], branch_stack[top + _1] = player, depth
        branch_stack[top + _2], branch_stack[top + _3] = directions, num_pulls
        num_branches += _1 if directions != 0 else _0
        if box != 0:
            last = num_pulls * _8
            undo_log[last], undo_log[last + _1] = behind, box
            undo_log[last + _2], undo_log[last + _3] = boxes, board
            undo_log[last + _4] = displacement
            undo_log[last + _5], undo_log[last + _6] = box_changes, last_box
            num_pulls += _1
            displacement += distance[box - _1, player] - distance[box - _1, behind]
            box_changes += _1 if box != last_box else _0
            board, last_box = next_board, box
            boxes ^= (_1 << behind) | (_1 << player)
            box_at[player] = box
            score = box_changes * displacement if boxes & targets == 0 else _0
        visited |= bit
        records[board + _1] = visited
        depth += _1
        num_visited += _1
        player = ahead
        around = neighbours[player]
        if score > best.score and (targets >> player) & _1 == 0:
            best = SearchResult(score, player, displacement, board, _0)
        directions = _0
        if depth < max_depth:
            directions = _new_directions(around, boxes, visited)
    return SearchResult(
        best.score, best.player, best.displacement, best.board, num_visited
    )
