"""The reverse search of Sokoban's room generator, state for state as ROLL's.

Source of the rules: ROLL at 35bea6a2, `roll/agentic/env/sokoban/utils.py` (the search
of gym-sokoban with a depth, pulls only).

The search works on floor cells numbered in row-major order, not on the grid.  Of a
state the board, which is all but the player's cell, has a record, and the cells where
the player has been on that board are bits of the record::

    key                               visited
    bit 0 .... F-1 | F ...... F+B-1   bit 0 ........ F-1
    a pulled box   | box k is         the player has
    stands here    | untouched        been here

(F floor cells, B boxes, each part filled up to whole words of 64 bits; which box was
pulled where does not distinguish boards.)  A record is known by where it begins.  A
step without a pull stays on its board, so that one bit says whether it leads to a new
state; a pull looks its board up in a hash table.

The way back is kept in two stacks: ``forks`` has the states with directions left to
try, ``pulls`` what each pull since the start has changed.  A state without a direction
left is not kept: the search goes back over a whole corridor at once, undoing the pulls
that were made since the fork.
"""

import numpy as np

from .._jit import kernel

MAX_VISITED = 300_000
# The hash table has 2**k slots and is doubled when it is half full.
FIRST_BITS = 8
LAST_BITS = 20
_U = np.uint64
_HASH = _U(0x9E3779B97F4A7C15)
# The search counts in uint64, and in nothing else: a signed index costs a test for
# being negative, and with a signed integer a uint64 becomes a float.
_0, _1, _3, _6, _32, _63 = (_U(n) for n in (0, 1, 3, 6, 32, 63))


@kernel
def stir(hashed, word):
    """Return the hash of a key with one word more; it starts from 0."""
    hashed = (hashed ^ word) * _HASH
    return hashed ^ (hashed >> _32)


@kernel
def slot_of(hashed, bits):
    """Return where the search for a key begins in a table of 2**bits slots."""
    return (hashed * _HASH) >> _U(64 - bits)


@kernel
def rebuild(records, slots, first, last, key_words, record_words, bits):
    """Fill the table of 2**bits slots with the records from first to last."""
    slots[: 1 << bits] = 0
    mask = (_1 << _U(bits)) - _1
    for record in range(first, last + _1, record_words):
        hashed = _0
        for w in range(key_words):
            hashed = stir(hashed, records[_U(record + w)])
        slot = slot_of(hashed, bits)
        while slots[slot] != 0:
            slot = (slot + _1) & mask
        slots[slot] = record


@kernel
def _open_directions(player, visited, ahead_of, behind_of, box_at, records):
    """Return four bits: the directions that may lead to a new state.

    The cell ahead is free there, and behind stands a box, or the player has not
    been ahead on this board; ``visited`` is where the bits for that begin.
    """
    bits = _0
    for d in range(4):
        ahead, behind = ahead_of[player, d], behind_of[player, d]
        seen = (records[visited + (ahead >> _6)] >> (ahead & _63)) & _1
        pulls = _1 if box_at[behind] != 0 else _0
        free = _1 if box_at[ahead] == 0 else _0
        bits |= (free & (pulls | (seen ^ _1))) << _U(d)
    return bits


@kernel
def _look_up(records, slots, board, unused, gone, come, key_words, bits):
    """Write the key of a board with two bits changed to the unused record; find it.

    Returns
    -------
    found : uint64
        The record with this key, or 0.
    slot : uint64
        Its slot, or the free one where it belongs.
    """
    hashed = _0
    for number in range(key_words):
        w = _U(number)
        word = records[board + w]
        if w == gone >> _6:
            word ^= _1 << (gone & _63)
        if w == come >> _6:
            word ^= _1 << (come & _63)
        records[unused + w] = word
        hashed = stir(hashed, word)
    slot = slot_of(hashed, bits)
    mask = (_1 << _U(bits)) - _1
    while slots[slot] != 0:
        found = _U(slots[slot])
        same = True
        for number in range(key_words):
            w = _U(number)
            same = same and records[found + w] == records[unused + w]
        if same:
            return found, slot
        slot = (slot + _1) & mask
    return _0, slot


@kernel
def search(count, num_boxes, search_depth, start, space):
    """Pull boxes from their targets, depth first; return the best state found.

    A move goes to a free cell and drags the box that stands behind the player.
    A state scores (changes of the pulled box) * (sum of the boxes' distances from
    their targets) if every target lies open, else 0; the first best one is kept.

    Parameters
    ----------
    count, num_boxes, search_depth : int
    start : int
        The player's cell.
    space : RoomWorkspace
        A fork is the player's cell, the directions left to try, the depth, the number
        of pulls until then.  A pull is the cells it led to and from, 1 + the box, and
        from before it: whether the box had been pulled, the record, the sum of
        distances, the changes, 1 + the box pulled last, the targets that boxes cover.

    Returns
    -------
    score, player, displacement, board, visited : uint64
        Of the best state; the bits at ``space.records[board]`` say where its boxes
        are.  Score 0: none.
    """
    # Local names: an array read out of the workspace costs a reference count.
    records, slots = space.records, space.slots
    forks, pulls = space.forks, space.pulls
    ahead_of, behind_of, distance = space.ahead, space.behind, space.distance
    target_at, box_at, pulled = space.target_at, space.box_at, space.pulled
    cells, player = _U(count), _U(start)
    best_score, best_player, best_displacement, best_board = _0, player, _0, _0
    visited = _0
    if search_depth <= 1:
        return best_score, best_player, best_displacement, best_board, visited

    key_words = (cells + _U(num_boxes) + _63) >> _6
    # One bit more: the wall ahead.
    record_words = key_words + ((cells >> _6) + _1)
    board, unused = record_words, record_words + record_words
    for w in range(board, unused):
        records[w] = _0
    for k in range(num_boxes):
        bit = cells + _U(k)
        records[board + (bit >> _6)] |= _1 << (bit & _63)
    records[board + key_words + (player >> _6)] |= _1 << (player & _63)
    bits = FIRST_BITS
    rebuild(records, slots, board, board, key_words, record_words, bits)
    crowded = record_words << _U(bits - 1)

    displacement, swaps, last, score = _0, _0, _0, _0
    covered = _U(num_boxes)
    visited = _1
    deepest = _U(search_depth - 2)
    depth, num_forks, num_pulls = _0, _0, _0
    left = _0
    if depth < deepest:
        left = _open_directions(
            player, board + key_words, ahead_of, behind_of, box_at, records
        )
    while visited < MAX_VISITED:
        if left == 0:
            if num_forks == 0:
                break
            num_forks -= _1
            player, left = forks[num_forks, 0], forks[num_forks, 1]
            depth, kept = forks[num_forks, 2], forks[num_forks, 3]
            while num_pulls > kept:
                num_pulls -= _1
                behind, box = pulls[num_pulls, 1], pulls[num_pulls, 2]
                box_at[pulls[num_pulls, 0]] = _0
                box_at[behind] = box
                pulled[box - _1] = pulls[num_pulls, 3]
                board, displacement = pulls[num_pulls, 4], pulls[num_pulls, 5]
                swaps, last = pulls[num_pulls, 6], pulls[num_pulls, 7]
                covered = pulls[num_pulls, 8]
                score = swaps * displacement if covered == 0 else _0
            continue
        # The lowest of the bits, and its number.
        lowest = left & (~left + _1)
        left ^= lowest
        direction = (lowest >> _1) - (lowest >> _3)
        ahead, behind = ahead_of[player, direction], behind_of[player, direction]
        bit = _1 << (ahead & _63)
        box = box_at[behind]
        at = board + key_words + (ahead >> _6)
        found = board
        if box != 0:
            # The board after the pull, as a record that may be kept.
            k = box - _1
            gone = behind if pulled[k] != 0 else cells + k
            found, slot = _look_up(
                records, slots, board, unused, gone, player, key_words, bits
            )
            if found == 0:
                slots[slot] = unused
                found = unused
                for w in range(key_words, record_words):
                    records[found + _U(w)] = _0
                unused += record_words
                if unused > crowded and bits < LAST_BITS:
                    bits += 1
                    crowded = record_words << _U(bits - 1)
                    rebuild(
                        records,
                        slots,
                        record_words,
                        found,
                        key_words,
                        record_words,
                        bits,
                    )
            at = found + key_words + (ahead >> _6)
        if records[at] & bit:
            continue
        records[at] |= bit
        # Written in any case, and kept if it is a fork.
        forks[num_forks, 0] = player
        forks[num_forks, 1] = left
        forks[num_forks, 2] = depth
        forks[num_forks, 3] = num_pulls
        num_forks += _1 if left != 0 else _0
        if box != 0:
            k = box - _1
            pulls[num_pulls, 0] = player
            pulls[num_pulls, 1] = behind
            pulls[num_pulls, 2] = box
            pulls[num_pulls, 3] = pulled[k]
            pulls[num_pulls, 4] = board
            pulls[num_pulls, 5] = displacement
            pulls[num_pulls, 6] = swaps
            pulls[num_pulls, 7] = last
            pulls[num_pulls, 8] = covered
            num_pulls += _1
            board = found
            displacement += distance[k, player]
            displacement -= distance[k, behind]
            swaps += _1 if box != last else _0
            last = box
            covered += _1 if target_at[player] != 0 else _0
            covered -= _1 if target_at[behind] != 0 else _0
            score = swaps * displacement if covered == 0 else _0
            pulled[k] = _1
            box_at[behind] = _0
            box_at[player] = box
        depth += _1
        visited += _1
        player = ahead
        if score > best_score and target_at[player] == 0:
            best_score, best_player = score, player
            best_displacement, best_board = displacement, board
        left = _0
        if depth < deepest:
            left = _open_directions(
                player, board + key_words, ahead_of, behind_of, box_at, records
            )
    return best_score, best_player, best_displacement, best_board, visited
