"""The reverse search of `sokoban_search` where floor and boxes fit into one word.

State for state the same search, for at most 63 floor cells and boxes together: each
room up to 9x9 and nearly all of 10x10.  Words have bits by the number of a cell::

    bit        63 | .. F+B | F+B-1 ........ F | F-1 ............ 0
    boxes       0 |   0    |        0         | a box is here
    targets     0 |   0    |        0         | a target is here
    seen        0 |   0    |        0         | the player has been here on this board
    key         0 |   0    | box k untouched  | a pulled box is here
    _WALL       1 |   0    |        0         |        0

    links[f]    the cells up, down, left, right of cell f in a byte each; a wall is 63

A record is a key and its ``seen``.  A state took 27 ns with boxes and cells looked up
in arrays and each step of the way back kept, 23 ns with forks instead, 17 ns in words:
from one cell of the player to the next two loads are left, not six.
"""

import numpy as np

from .._jit import kernel
from .search import FIRST_BITS, LAST_BITS, MAX_VISITED, rebuild, slot_of, stir

_U = np.uint64
_0, _1, _2, _3, _4, _8, _63 = (_U(n) for n in (0, 1, 2, 3, 4, 8, 63))
_WALL = _U(1 << 63)


@kernel
def _open_directions(around, boxes, seen):
    """Return four bits: the directions that may lead to a new state."""
    blocked, closed = boxes | _WALL, _0
    for number in range(_4):
        d = _U(number)
        ahead = (around >> (d * _8)) & _63
        behind = (around >> ((d ^ _1) * _8)) & _63
        # With a box behind it is a pull, to another board than that of ``seen``.
        known = (seen >> ahead) & ~(boxes >> behind)
        closed |= (((blocked >> ahead) | known) & _1) << d
    return closed ^ _U(15)


@kernel
def search_words(count, num_boxes, search_depth, start, space):
    """Pull boxes from their targets, depth first; return the best state found.

    See `sokoban_search.search`, which takes and returns the same.  A fork is the same
    as there; a pull is the cell it dragged from and 1 + the box, and from before it:
    boxes, record, sum of distances, changes, 1 + the box pulled last.
    """
    records, slots = space.records, space.slots
    forks, pulls = space.forks, space.pulls
    links, distance, box_at = space.links, space.distance, space.box_at
    cells, player = _U(count), _U(start)
    best_score, best_player, best_displacement, best_board = _0, player, _0, _0
    if search_depth <= 1:
        return best_score, best_player, best_displacement, best_board, _0

    targets = _0
    for f in range(cells):
        targets |= (_1 if space.target_at[f] != 0 else _0) << _U(f)
    boxes, seen = targets, _1 << player
    board, unused = _2, _4
    records[board], records[board + _1] = ((_1 << _U(num_boxes)) - _1) << cells, seen
    bits = FIRST_BITS
    rebuild(records, slots, board, board, _1, _2, bits)

    displacement, swaps, last, score, num_forks, num_pulls = _0, _0, _0, _0, _0, _0
    visited, depth, deepest = _1, _0, _U(search_depth - 2)
    around, left = links[player], _0
    if depth < deepest:
        left = _open_directions(around, boxes, seen)
    while visited < MAX_VISITED:
        if left == 0:
            if num_forks == 0:
                break
            num_forks -= _1
            player, left = forks[num_forks, 0], forks[num_forks, 1]
            depth, kept = forks[num_forks, 2], forks[num_forks, 3]
            while num_pulls > kept:
                num_pulls -= _1
                box_at[pulls[num_pulls, 0]] = pulls[num_pulls, 1]
                boxes, board = pulls[num_pulls, 2], pulls[num_pulls, 3]
                displacement, swaps = pulls[num_pulls, 4], pulls[num_pulls, 5]
                last = pulls[num_pulls, 6]
                score = swaps * displacement if boxes & targets == 0 else _0
            around, seen = links[player], records[board + _1]
            continue
        # The lowest of the bits, and its number; comparisons cost 9 %.
        lowest = left & (~left + _1)
        left ^= lowest
        direction = (lowest >> _1) - (lowest >> _3)
        ahead = (around >> (direction * _8)) & _63
        behind = (around >> ((direction ^ _1) * _8)) & _63
        bit, found, box = _1 << ahead, board, _0
        if (boxes >> behind) & _1:
            # The board after the pull, as a record that may be kept.
            box = box_at[behind]
            key, home = records[board], cells + box - _1
            gone = home if (key >> home) & _1 else behind
            key ^= (_1 << gone) | (_1 << player)
            slot = slot_of(stir(_0, key), bits)
            found = _U(slots[slot])
            while found != 0 and records[found] != key:
                slot = (slot + _1) & ((_1 << _U(bits)) - _1)
                found = _U(slots[slot])
            if found == 0:
                slots[slot] = unused
                found = unused
                records[found], records[found + _1] = key, _0
                unused += _2
                if unused > _2 << _U(bits - 1) and bits < LAST_BITS:
                    bits += 1
                    rebuild(records, slots, _2, found, _1, _2, bits)
            seen = records[found + _1]
        if seen & bit:
            seen = records[board + _1]
            continue
        # Written in any case, and kept if it is a fork: a branch costs 5 %.
        forks[num_forks, 0], forks[num_forks, 1] = player, left
        forks[num_forks, 2], forks[num_forks, 3] = depth, num_pulls
        num_forks += _1 if left != 0 else _0
        if box != 0:
            pulls[num_pulls, 0], pulls[num_pulls, 1] = behind, box
            pulls[num_pulls, 2], pulls[num_pulls, 3] = boxes, board
            pulls[num_pulls, 4], pulls[num_pulls, 5] = displacement, swaps
            pulls[num_pulls, 6] = last
            num_pulls += _1
            displacement += distance[box - _1, player] - distance[box - _1, behind]
            swaps += _1 if box != last else _0
            board, last = found, box
            boxes ^= (_1 << behind) | (_1 << player)
            box_at[player] = box
            score = swaps * displacement if boxes & targets == 0 else _0
        seen |= bit
        records[board + _1] = seen
        depth += _1
        visited += _1
        player = ahead
        around = links[player]
        if score > best_score and (targets >> player) & _1 == 0:
            best_score, best_player = score, player
            best_displacement, best_board = displacement, board
        left = _0
        if depth < deepest:
            left = _open_directions(around, boxes, seen)
    return best_score, best_player, best_displacement, best_board, visited
