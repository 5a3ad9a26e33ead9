"""The reverse search of `sokoban_search` where floor and boxes fit into one word.

State for state the same search, for at most 63 floor cells and boxes together: each
room up to 9x9 and nearly all of 10x10.  What the other one keeps in arrays is bits of
words here, by the number of the floor cell::

    bit 63     62 ......... F+B   F+B-1 ......... F   F-1 ............. 0
    a wall     0                  box k untouched     floor cells

``boxes``, ``targets`` and ``seen`` (where the player has been on this board) have bits
of floor cells alone, and so do tests for a wall, which is bit 63; a key has the boxes
that were pulled and those untouched.  A record is a key and its ``seen``.
``space.links[cell]`` has the four cells around one in a byte each.

A search took 27 ns a state with its boxes and cells looked up in arrays and each step
of the way back kept; 23 ns with forks instead (see `sokoban_search`), 17 ns in words:
from one cell of the player to the next there are two loads left, not six.
"""

# depends: _jit.py sha256:e75ec21cdcff0df5
# depends: sokoban_search.py sha256:d3ac6cec8dd7c1a6

import numpy as np

from ._jit import kernel
from .sokoban_search import FIRST_BITS, LAST_BITS, MAX_VISITED, rebuild

_U = np.uint64
_HASH = _U(0x9E3779B97F4A7C15)
_0, _1, _2, _3, _8, _16 = (_U(n) for n in (0, 1, 2, 3, 8, 16))
_32, _63, _64, _255 = (_U(n) for n in (32, 63, 64, 255))
_WALL = _U(1 << 63)


@kernel
def _open_directions(around, boxes, seen):
    """Return four bits: the directions that may lead to a new state."""
    up, down = around & _63, (around >> _8) & _63
    left, right = (around >> _16) & _63, (around >> _U(24)) & _63
    blocked = boxes | _WALL
    # A box behind makes it a pull: whether the player has been ahead says nothing then.
    bits = (blocked >> up) | ((seen >> up) & ~(boxes >> down))
    bits = bits & _1
    bits |= (((blocked >> down) | ((seen >> down) & ~(boxes >> up))) & _1) << _1
    bits |= (((blocked >> left) | ((seen >> left) & ~(boxes >> right))) & _1) << _2
    bits |= (((blocked >> right) | ((seen >> right) & ~(boxes >> left))) & _1) << _3
    return bits ^ _U(15)


@kernel
def search_words(count, num_boxes, search_depth, start, space):
    """Pull boxes from their targets, depth first; return the best state found.

    See `sokoban_search.search`, which takes and returns the same.  A fork is the
    player's cell, directions left to try and the depth in one word, and the number of
    pulls until then; a pull is the cell it dragged from, 1 + the box and 1 + the box
    pulled last in one word, and from before it: boxes, record, sum of distances,
    changes.
    """
    records, slots = space.records, space.slots
    forks, pulls = space.forks, space.pulls
    links, distance, box_at = space.links, space.distance, space.box_at
    cells, player = _U(count), _U(start)
    best_score, best_player, best_displacement, best_board = _0, player, _0, _0
    visited = _0
    if search_depth <= 1:
        return best_score, best_player, best_displacement, best_board, visited

    targets = _0
    for f in range(cells):
        targets |= (_1 if space.target_at[f] != 0 else _0) << f
    boxes, seen = targets, _1 << player
    key = ((_1 << _U(num_boxes)) - _1) << cells
    board, unused = _2, _2 + _2
    records[board], records[board + _1] = key, seen
    bits = FIRST_BITS
    rebuild(records, slots, board, board, _1, _2, bits)
    crowded = _2 << _U(bits - 1)

    displacement, swaps, last, score = _0, _0, _0, _0
    visited = _1
    deepest = _U(search_depth - 2)
    depth, num_forks, num_pulls = _0, _0, _0
    around, left = links[player], _0
    if depth < deepest:
        left = _open_directions(around, boxes, seen)
    while visited < MAX_VISITED:
        if left == 0:
            if num_forks == 0:
                break
            num_forks -= _1
            packed, kept = forks[num_forks, 0], forks[num_forks, 1]
            player, left, depth = packed & _255, (packed >> _8) & _255, packed >> _16
            while num_pulls > kept:
                num_pulls -= _1
                packed = pulls[num_pulls, 0]
                box_at[packed & _255] = (packed >> _8) & _255
                last = packed >> _16
                boxes, board = pulls[num_pulls, 1], pulls[num_pulls, 2]
                displacement, swaps = pulls[num_pulls, 3], pulls[num_pulls, 4]
                score = swaps * displacement if boxes & targets == 0 else _0
            around, seen = links[player], records[board + _1]
            continue
        # The lowest of the bits, and its number.
        lowest = left & (~left + _1)
        left ^= lowest
        direction = (lowest >> _1) - (lowest >> _3)
        ahead = (around >> (direction * _8)) & _63
        behind = (around >> ((direction ^ _1) * _8)) & _63
        bit = _1 << ahead
        found, box = board, _0
        if (boxes >> behind) & _1:
            # The board after the pull, as a record that may be kept.
            box = box_at[behind]
            key = records[board]
            untouched = (key >> (cells + box - _1)) & _1
            gone = cells + box - _1 if untouched else behind
            key ^= (_1 << gone) | (_1 << player)
            hashed = key * _HASH
            slot = ((hashed ^ (hashed >> _32)) * _HASH) >> _U(64 - bits)
            found = _U(slots[slot])
            while found != 0 and records[found] != key:
                slot = (slot + _1) & ((_1 << _U(bits)) - _1)
                found = _U(slots[slot])
            if found == 0:
                slots[slot] = unused
                found = unused
                records[found], records[found + _1] = key, _0
                unused += _2
                if unused > crowded and bits < LAST_BITS:
                    bits += 1
                    crowded = _2 << _U(bits - 1)
                    rebuild(records, slots, _2, found, _1, _2, bits)
            seen = records[found + _1]
        if seen & bit:
            seen = records[board + _1]
            continue
        # Written in any case, and kept if it is a fork.
        forks[num_forks, 0] = player | (left << _8) | (depth << _16)
        forks[num_forks, 1] = num_pulls
        num_forks += _1 if left != 0 else _0
        if box != 0:
            pulls[num_pulls, 0] = behind | (box << _8) | (last << _16)
            pulls[num_pulls, 1], pulls[num_pulls, 2] = boxes, board
            pulls[num_pulls, 3], pulls[num_pulls, 4] = displacement, swaps
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
