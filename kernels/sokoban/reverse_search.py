"""Reverse search of the room generator, for rooms of any size.

Source of the rules: ROLL at 35bea6a2, `roll/agentic/env/sokoban/utils.py` (the search
of gym-sokoban with a depth, pulls only).  States are visited in the same order.

The search works on the numbers of floor cells, not on the grid.  A *board* is a state
without the player's cell.  Each board has a record, and the cells where the player has
been on that board are bits of the record::

    key                               visited cells
    bit 0 .... F-1 | F ...... F+B-1   bit 0 ........ F-1
    a pulled box   | box k is         the player has
    stands here    | untouched        been here

(F floor cells, B boxes; each part is filled up to whole words of 64 bits).  Two boards
are the same if their keys are, whichever box was pulled where.  A record is named by
the index of its first word.  A move without a pull stays on its board, so one bit says
whether it leads to a new state; the board after a pull is looked up in a hash table.

Two stacks lead back: ``branch_stack`` has the states with directions left to try,
``undo_log`` has the changes of each pull since the start.  A state without a direction
left is not stored, so the search goes back over a whole corridor at once: it undoes
the pulls since the last branch.
"""

from typing import NamedTuple

import numpy as np

from .._jit import kernel

MAX_VISITED = 300_000
# The hash table has 2**k buckets, and twice as many once half of them are full.
FIRST_BITS = 8
LAST_BITS = 20
_U = np.uint64
_HASH = _U(0x9E3779B97F4A7C15)
# All numbers are uint64: a signed integer makes a float of a uint64.
_0, _1, _2, _3, _4, _5, _6, _7, _8 = (_U(n) for n in range(9))
_63 = _U(63)


class SearchResult(NamedTuple):
    """The best state of a search; all uint64.

    The score is (changes of the pulled box) * (sum of the boxes' distances from their
    targets).
    """

    score: np.uint64  # 0: no state has one, and the fields below mean nothing
    player: np.uint64  # its cell
    displacement: np.uint64  # the sum of distances
    board: np.uint64  # the bits from ``records[board]`` on say where boxes are
    num_visited: np.uint64  # states of the whole search


@kernel
def hash_combine(hashed, word):
    """Return the hash of a key with one word more; it starts from 0."""
    return (hashed ^ word) * _HASH


@kernel
def first_bucket(hashed, bits):
    """Return where the search for a key begins in a table of 2**bits buckets."""
    return hashed >> _U(64 - bits)


@kernel
def rehash(records, hash_table, last, key_words, record_words, bits):
    """Fill the table of 2**bits buckets with the records up to the last one."""
    hash_table[: 1 << bits] = 0
    mask = (_1 << _U(bits)) - _1
    for record in range(record_words, last + _1, record_words):
        hashed = _0
        for word in range(key_words):
            hashed = hash_combine(hashed, records[_U(record + word)])
        bucket = first_bucket(hashed, bits)
        while hash_table[bucket] != 0:
            bucket = (bucket + _1) & mask
        hash_table[bucket] = record


@kernel
def _new_directions(player, visited_offset, cells_ahead, cells_behind, box_at, records):
    """Return four bits: the directions that may lead to a new state.

    In such a direction the cell ahead is free, and either the cell behind has a box, or
    the player has not been ahead on this board.  ``visited_offset`` is the index of the
    visited cells of the board.
    """
    directions = _0
    for d in range(4):
        ahead, behind = cells_ahead[player, d], cells_behind[player, d]
        is_visited = (records[visited_offset + (ahead >> _6)] >> (ahead & _63)) & _1
        is_pull = _1 if box_at[behind] != 0 else _0
        is_free = _1 if box_at[ahead] == 0 else _0
        directions |= (is_free & (is_pull | (is_visited ^ _1))) << _U(d)
    return directions


@kernel
def _find_board(records, hash_table, board, unused, bit, other_bit, key_words, bits):
    """Look up a board with two bits of its key changed.

    The key is written to the record ``unused``, where it stays if the board is new.

    Returns
    -------
    record : uint64
        The record with this key, or 0.
    bucket : uint64
        Its bucket, or the free one where it belongs.
    """
    hashed = _0
    for number in range(key_words):
        w = _U(number)
        word = records[board + w]
        if w == bit >> _6:
            word ^= _1 << (bit & _63)
        if w == other_bit >> _6:
            word ^= _1 << (other_bit & _63)
        records[unused + w] = word
        hashed = hash_combine(hashed, word)
    bucket = first_bucket(hashed, bits)
    mask = (_1 << _U(bits)) - _1
    while hash_table[bucket] != 0:
        record = _U(hash_table[bucket])
        is_same = True
        for number in range(key_words):
            w = _U(number)
            is_same = is_same and records[record + w] == records[unused + w]
        if is_same:
            return record, bucket
        bucket = (bucket + _1) & mask
    return _0, bucket


@kernel
def search(num_cells, num_boxes, search_depth, start, workspace, cells_behind):
    """Pull boxes from their targets, depth first; return the best state.

    A move goes to a free cell and drags the box that stands behind the player.  A
    state has a score if no box covers a target and the player stands on none; of equal
    scores the first one counts.

    Parameters
    ----------
    num_cells, num_boxes, search_depth : int
    start : int
        The player's cell.
    workspace : RoomWorkspace
        ``branch_stack`` has four words an entry: the player's cell, the depth, the
        directions left to try, the length of the undo log then.  ``undo_log`` has
        eight: the cell that a pull led to, the cell it led from, 1 + the box; and from
        before the pull the board, the sum of distances, the changes, 1 + the box pulled
        last, the number of covered targets.
    cells_behind : (F, 4) uint64, written
        As ``cells_ahead``; a wall is F + 1.

    Returns
    -------
    SearchResult
    """
    records, hash_table = workspace.records, workspace.hash_table
    branch_stack, undo_log = workspace.branch_stack, workspace.undo_log
    cells_ahead, distance = workspace.cells_ahead, workspace.distance
    target_at, box_at = workspace.target_at, workspace.box_at
    cells, player = _U(num_cells), _U(start)
    best = SearchResult(_0, player, _0, _0, _0)
    if search_depth <= 1:
        return best

    for number in range(num_cells):
        for d in range(4):
            # Directions 0 and 1, 2 and 3 are opposite.
            behind = cells_ahead[number, d ^ 1]
            cells_behind[number, d] = behind + (_1 if behind == cells else _0)
    # A wall ahead stops the player as a box does; a wall behind is no box.
    box_at[cells + _1] = _0
    key_words = (cells + _U(num_boxes) + _63) >> _6
    # One bit more than cells: the wall ahead.
    record_words = key_words + ((cells >> _6) + _1)
    board, unused = record_words, record_words + record_words
    for word in range(board, unused):
        records[word] = _0
    for k in range(num_boxes):
        bit = cells + _U(k)
        records[board + (bit >> _6)] |= _1 << (bit & _63)
    records[board + key_words + (player >> _6)] |= _1 << (player & _63)
    bits = FIRST_BITS
    rehash(records, hash_table, board, key_words, record_words, bits)
    # From this record on the table is half full.
    rehash_at = record_words << _U(bits - 1)

    displacement, box_changes, last_box, score = _0, _0, _0, _0
    covered_targets = _U(num_boxes)
    num_visited = _1
    max_depth = _U(search_depth - 2)
    depth, num_branches, num_pulls = _0, _0, _0
    directions = _0
    if depth < max_depth:
        directions = _new_directions(
            player, board + key_words, cells_ahead, cells_behind, box_at, records
        )
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
                behind, box = undo_log[last + _1], undo_log[last + _2]
                box_at[undo_log[last]] = _0
                box_at[behind] = box
                board, displacement = undo_log[last + _3], undo_log[last + _4]
                box_changes, last_box = undo_log[last + _5], undo_log[last + _6]
                covered_targets = undo_log[last + _7]
                score = box_changes * displacement if covered_targets == 0 else _0
            continue
        # The lowest of the bits, and its number.
        lowest = directions & (~directions + _1)
        directions ^= lowest
        direction = (lowest >> _1) - (lowest >> _3)
        ahead, behind = cells_ahead[player, direction], cells_behind[player, direction]
        bit = _1 << (ahead & _63)
        box = box_at[behind]
        next_board = board
        if box != 0:
            untouched = cells + box - _1
            word = records[board + (untouched >> _6)]
            home = untouched if (word >> (untouched & _63)) & _1 else behind
            next_board, bucket = _find_board(
                records, hash_table, board, unused, home, player, key_words, bits
            )
            if next_board == 0:
                hash_table[bucket] = unused
                next_board = unused
                for word in range(key_words, record_words):
                    records[next_board + _U(word)] = _0
                unused += record_words
                if unused > rehash_at and bits < LAST_BITS:
                    bits += 1
                    rehash_at = record_words << _U(bits - 1)
                    rehash(
                        records, hash_table, next_board, key_words, record_words, bits
                    )
        visited_word = next_board + key_words + (ahead >> _6)
        if records[visited_word] & bit:
            continue
        records[visited_word] |= bit
        # Written in any case, and kept if directions are left.
        top = num_branches * _4
        branch_stack[top], branch_stack[top + _1] = player, depth
        branch_stack[top + _2], branch_stack[top + _3] = directions, num_pulls
        num_branches += _1 if directions != 0 else _0
        if box != 0:
            k = box - _1
            last = num_pulls * _8
            undo_log[last], undo_log[last + _1] = player, behind
            undo_log[last + _2], undo_log[last + _3] = box, board
            undo_log[last + _4], undo_log[last + _5] = displacement, box_changes
            undo_log[last + _6], undo_log[last + _7] = last_box, covered_targets
            num_pulls += _1
            board = next_board
            displacement += distance[k, player] - distance[k, behind]
            box_changes += _1 if box != last_box else _0
            last_box = box
            covered_targets += _1 if target_at[player] != 0 else _0
            covered_targets -= _1 if target_at[behind] != 0 else _0
            score = box_changes * displacement if covered_targets == 0 else _0
            box_at[behind] = _0
            box_at[player] = box
        depth += _1
        num_visited += _1
        player = ahead
        if score > best.score and target_at[player] == 0:
            best = SearchResult(score, player, displacement, board, _0)
        directions = _0
        if depth < max_depth:
            directions = _new_directions(
                player, board + key_words, cells_ahead, cells_behind, box_at, records
            )
    return SearchResult(
        best.score, best.player, best.displacement, best.board, num_visited
    )
