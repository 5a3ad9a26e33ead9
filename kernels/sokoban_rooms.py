"""Room generation for Sokoban, cell for cell as ROLL's `generate_room`.

Source of the rules: ROLL at 35bea6a2, `roll/agentic/env/sokoban/utils.py` (the
generator of gym-sokoban with a search depth, pulls only, and the player moved a
little at the end).  A room takes three stages: a random walk carves the floor,
targets and the player are placed, and boxes are pulled away from their targets by
a depth-first search that keeps its best state.

Codes of a grid, as everywhere for Sokoban::

    0 wall  1 floor  2 target  3 box on target  4 box  5 player  6 player on target

The search works on floor cells numbered in row-major order, not on the grid.  Of a
state the board, which is all but the player's cell, has a record, and the cells
where the player has been on that board are bits of the record::

    key                               visited
    bit 0 .... F-1 | F ...... F+B-1   bit 0 ........ F-1
    a pulled box   | box k is         the player has
    stands here    | untouched        been here

(F floor cells, B boxes, each part filled up to whole words of 64 bits; which box was
pulled where does not distinguish boards.)  A record is known by where it begins.  A
step without a pull stays on its board, so that one bit says whether it leads to a new
state; a pull looks its board up in a hash table.
"""

# depends: _jit.py sha256:e75ec21cdcff0df5
# depends: _random.py sha256:2668e1ab89eaa352

from typing import NamedTuple

import numpy as np

from ._jit import kernel
from ._random import (
    MT_WORDS,
    RETRY,
    mix,
    mt_randbelow,
    mt_randint,
    mt_random,
    mt_seed_numpy,
    mt_seed_python,
)

# What became of an attempt; the first three are the codes of the golden tables.
ROOM, TOO_FEW_CELLS, NO_SCORE = range(3)

TRIES = 4
P_CHANGE_DIRECTIONS = 0.35
MAX_VISITED = 300_000
# A level that still fails after this many attempts (each with its own seed) or
# this many searched states has a configuration for which rooms hardly exist.
MAX_ATTEMPTS = 2_000
MAX_SEARCHED = 50_000_000

# Down, right, up, left: gym-sokoban's order of the walk's directions.
_WALK_ROW = (1, 0, -1, 0)
_WALK_COL = (0, 1, 0, -1)
# Nine bits of a 3x3 mask, row by row; the middle bit lies on the walk's position.
#   ...   .#.   ...   ...   ...
#   ###   .#.   ##.   ##.   .##
#   ...   .#.   .#.   ##.   .#.
_MASKS = (0b000_111_000, 0b010_010_010, 0b010_011_000, 0b011_011_000, 0b010_110_000)

# Up, down, left, right: the order of the search's directions.
_ROW = (-1, 1, 0, 0)
_COL = (0, 0, -1, 1)

# The hash table has 2**k slots and is doubled when it is half full.
_FIRST_BITS = 8
_LAST_BITS = 20
_U = np.uint64
_HASH = _U(0x9E3779B97F4A7C15)
# The search counts in uint64, and in nothing else: a signed index costs a test for
# being negative, and with a signed integer a uint64 becomes a float.
_0, _1, _2, _3, _4, _6, _32, _63 = (_U(n) for n in (0, 1, 2, 3, 4, 6, 32, 63))
_PYTHON_TEMPLATE_SEED = _U(19650218)


class RoomWorkspace(NamedTuple):
    """Scratch memory for one thread that generates rooms; holds no results.

    ``F`` is the number of inner cells, ``B`` of boxes, ``D`` the search depth, ``V``
    the most states of a search, ``K`` the words of a record.
    """

    template: np.ndarray  # (625,) uint64: see `mt_seed_python`
    python_rng: np.ndarray  # (625,) uint64
    numpy_rng: np.ndarray  # (625,) uint64
    numbers: np.ndarray  # (H, W) int64: floor number of a cell, or -1
    rows: np.ndarray  # (F,) int64
    cols: np.ndarray  # (F,) int64
    ahead: np.ndarray  # (F, 4) uint64: the cell in each direction; a wall is cell F
    behind: np.ndarray  # (F, 4) uint64: the opposite one; a wall is cell F + 1
    target_at: np.ndarray  # (F,) uint64: 1 + the box whose target is here, or 0
    box_at: np.ndarray  # (F + 2,) uint64: 1 + the box that stands here, or 0
    distance: np.ndarray  # (B, F) uint64: from each target
    pulled: np.ndarray  # (B,) uint64: 1 once a box has been pulled
    records: np.ndarray  # ((V + 2) * K,) uint64: none begins at word 0
    slots: np.ndarray  # (2**20,) uint32: where records begin, by hash; 0 none
    stack: np.ndarray  # (min(D, V + 2), 10) uint64: see `_search`


def make_workspace(dim_room, num_boxes, search_depth):
    """Return a `RoomWorkspace` for rooms of one configuration.

    Its tables take address space, not memory, until rooms need them.
    """
    height, width = dim_room
    inner = (height - 2) * (width - 2)
    record_words = (inner + num_boxes + 63) // 64 + (inner + 64) // 64
    template = np.zeros(MT_WORDS, np.uint64)
    mt_seed_numpy(template, _PYTHON_TEMPLATE_SEED)
    return RoomWorkspace(
        template=template,
        python_rng=np.zeros(MT_WORDS, np.uint64),
        numpy_rng=np.zeros(MT_WORDS, np.uint64),
        numbers=np.full((height, width), -1, np.int64),
        rows=np.zeros(inner, np.int64),
        cols=np.zeros(inner, np.int64),
        ahead=np.zeros((inner, 4), np.uint64),
        behind=np.zeros((inner, 4), np.uint64),
        target_at=np.zeros(inner, np.uint64),
        box_at=np.zeros(inner + 2, np.uint64),
        distance=np.zeros((num_boxes, inner), np.uint64),
        pulled=np.zeros(num_boxes, np.uint64),
        records=np.zeros((MAX_VISITED + 2) * record_words, np.uint64),
        slots=np.zeros(1 << _LAST_BITS, np.uint32),
        # No path is longer than the states there may be.
        stack=np.zeros((min(search_depth, MAX_VISITED + 2), 10), np.uint64),
    )


@kernel
def _carve(grid, num_gen_steps, rng):
    """Walk at random and turn inner cells of an all-wall grid into floor."""
    height, width = grid.shape
    grid[:, :] = 0
    direction = mt_randbelow(rng, 4)
    row = 1 + mt_randbelow(rng, height - 1)
    col = 1 + mt_randbelow(rng, width - 1)
    for _ in range(num_gen_steps):
        if mt_random(rng) < P_CHANGE_DIRECTIONS:
            direction = mt_randbelow(rng, 4)
        row = max(min(row + _WALK_ROW[direction], height - 2), 1)
        col = max(min(col + _WALK_COL[direction], width - 2), 1)
        mask = _MASKS[mt_randbelow(rng, 5)]
        for bit in range(9):
            grid[row - 1 + bit // 3, col - 1 + bit % 3] |= (mask >> bit) & 1
    grid[0, :] = 0
    grid[height - 1, :] = 0
    grid[:, 0] = 0
    grid[:, width - 1] = 0


@kernel
def _number_floor(grid, space):
    """Give numbers to the floor cells, row by row, and link them; return how many."""
    height, width = grid.shape
    numbers, rows, cols = space.numbers, space.rows, space.cols
    count = 0
    for r in range(1, height - 1):
        for c in range(1, width - 1):
            numbers[r, c] = -1
            if grid[r, c] == 1:
                numbers[r, c] = count
                rows[count] = r
                cols[count] = c
                count += 1
    for f in range(count):
        space.target_at[f] = 0
        space.box_at[f] = 0
        for d in range(4):
            ahead = numbers[rows[f] + _ROW[d], cols[f] + _COL[d]]
            space.ahead[f, d] = ahead if ahead >= 0 else count
            space.behind[f, d ^ 1] = ahead if ahead >= 0 else count + 1
    # A wall ahead is as good as a box, and one behind as good as nothing.
    space.box_at[count] = 1
    space.box_at[count + 1] = 0
    return count


@kernel
def _place(count, num_boxes, space):
    """Draw the player's cell and one target a box; return the player's cell.

    Each draw is among the cells still free, counted row by row.
    """
    rows, cols = space.rows, space.cols
    player = mt_randint(space.numpy_rng, count)
    for k in range(num_boxes):
        left = mt_randint(space.numpy_rng, count - 1 - k)
        cell = 0
        while True:
            if cell != player and space.target_at[cell] == 0:
                if left == 0:
                    break
                left -= 1
            cell += 1
        space.target_at[cell] = k + 1
        space.box_at[cell] = k + 1
        space.pulled[k] = 0
        for f in range(count):
            space.distance[k, f] = abs(rows[f] - rows[cell]) + abs(cols[f] - cols[cell])
    return player


@kernel
def _rebuild(records, slots, first, last, key_words, record_words, bits):
    """Fill the table of 2**bits slots with the records from first to last."""
    slots[: 1 << bits] = 0
    mask = (_1 << _U(bits)) - _1
    for record in range(first, last + _1, record_words):
        hashed = _0
        for w in range(key_words):
            hashed = (hashed ^ records[_U(record + w)]) * _HASH
            hashed ^= hashed >> _32
        slot = (hashed * _HASH) >> _U(64 - bits)
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
    for w in range(key_words):
        word = records[board + w]
        if w == gone >> _6:
            word ^= _1 << (gone & _63)
        if w == come >> _6:
            word ^= _1 << (come & _63)
        records[unused + w] = word
        hashed = (hashed ^ word) * _HASH
        hashed ^= hashed >> _32
    slot = (hashed * _HASH) >> _U(64 - bits)
    mask = (_1 << _U(bits)) - _1
    while slots[slot] != 0:
        found = _U(slots[slot])
        same = True
        for w in range(key_words):
            same = same and records[found + w] == records[unused + w]
        if same:
            return found, slot
        slot = (slot + _1) & mask
    return _0, slot


@kernel
def _search(count, num_boxes, search_depth, start, space):
    """Pull boxes from their targets, depth first; return the best state found.

    A move goes to a free cell and drags the box that stands behind the player.
    A state scores (changes of the pulled box) * (sum of the boxes' distances from
    their targets) if every target lies open, else 0; the first best one is kept.

    ``space.stack[d]`` holds what was at depth d: the player's cell and the
    directions left to try there; 1 + the box pulled on the way on, or 0; and, for a
    pull, the box's cell, whether it had been pulled before, the record, the sum of
    distances, the changes, 1 + the box pulled last, the targets that boxes cover.

    Returns
    -------
    score, player, displacement, board, visited : uint64
        Of the best state; the bits at ``space.records[board]`` say where its boxes
        are.  Score 0: none.
    """
    # Local names: an array read out of the workspace costs a reference count.
    records, slots, stack = space.records, space.slots, space.stack
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
    bits = _FIRST_BITS
    _rebuild(records, slots, board, board, key_words, record_words, bits)
    crowded = record_words << _U(bits - 1)

    displacement, swaps, last, score = _0, _0, _0, _0
    covered = _U(num_boxes)
    visited = _1
    deepest = _U(search_depth - 2)
    depth = _0
    left = _0
    if depth < deepest:
        left = _open_directions(
            player, board + key_words, ahead_of, behind_of, box_at, records
        )
    while visited < MAX_VISITED:
        if left == 0:
            # Back to where depth was reached from.
            if depth == 0:
                break
            depth -= _1
            before, left, box = stack[depth, 0], stack[depth, 1], stack[depth, 2]
            if box != 0:
                box_at[before] = _0
                box_at[stack[depth, 3]] = box
                pulled[box - _1] = stack[depth, 4]
                board, displacement = stack[depth, 5], stack[depth, 6]
                swaps, last, covered = stack[depth, 7], stack[depth, 8], stack[depth, 9]
                score = swaps * displacement if covered == 0 else _0
            player = before
            continue
        # The lowest of the bits, and its number.
        lowest = left & (~left + _1)
        left ^= lowest
        direction = (lowest >> _1) - (lowest >> _3)
        ahead, behind = ahead_of[player, direction], behind_of[player, direction]
        bit = _1 << (ahead & _63)
        box = box_at[behind]
        if box == 0:
            at = board + key_words + (ahead >> _6)
            if records[at] & bit:
                continue
        else:
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
                    records[found + w] = _0
                unused += record_words
                if unused > crowded and bits < _LAST_BITS:
                    bits += 1
                    crowded = record_words << _U(bits - 1)
                    _rebuild(
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
            stack[depth, 3] = behind
            stack[depth, 4] = pulled[k]
            stack[depth, 5] = board
            stack[depth, 6] = displacement
            stack[depth, 7] = swaps
            stack[depth, 8] = last
            stack[depth, 9] = covered
            board = found
            displacement += distance[k, player]
            displacement -= distance[k, behind]
            if box != last:
                swaps += _1
                last = box
            if target_at[player] != 0:
                covered += _1
            if target_at[behind] != 0:
                covered -= _1
            score = swaps * displacement if covered == 0 else _0
            pulled[k] = _1
            box_at[behind] = _0
            box_at[player] = box
        records[at] |= bit
        stack[depth, 0] = player
        stack[depth, 1] = left
        stack[depth, 2] = box
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


@kernel
def _wander(player, displacement, space):
    """Move the player up to three cells, never back; return the player's cell.

    ``space.box_at`` holds the boxes of the room.
    """
    rng = space.python_rng
    if mt_random(rng) > (0.8 if displacement == 1 else 0.5):
        return player
    first = second = third = player
    for step in range(3):
        choices = 0
        for f in space.ahead[player]:
            if space.box_at[f] == 0 and f != first and f != second and f != third:
                choices += 1
        if choices == 0:
            break
        left = mt_randbelow(rng, choices)
        for f in space.ahead[player]:
            if space.box_at[f] == 0 and f != first and f != second and f != third:
                if left == 0:
                    player = f
                left -= 1
        if step == 0:
            second = player
        else:
            third = player
        if step == 2 or mt_random(rng) > 0.5:
            break
    return player


@kernel
def generate_room(seed, num_boxes, search_depth, num_gen_steps, grid, space):
    """Draw one room from one seed, as ROLL's `SokobanEnv.reset(seed)` does.

    Parameters
    ----------
    seed : uint64
        Below 2**32.
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
    mt_seed_python(space.python_rng, seed, space.template)
    mt_seed_numpy(space.numpy_rng, seed)
    searched = np.int64(0)
    for _ in range(TRIES):
        _carve(grid, num_gen_steps, space.python_rng)
        count = _number_floor(grid, space)
        if count <= num_boxes + 1:
            return TOO_FEW_CELLS, searched
        start = _place(count, num_boxes, space)
        score, player, displacement, board, visited = _search(
            count, num_boxes, search_depth, start, space
        )
        searched += np.int64(visited)
        if score > 0:
            for f in range(count):
                cell = _U(f)
                box = (space.records[board + (cell >> _6)] >> (cell & _63)) & _1
                space.box_at[f] = box
                if box != 0:
                    grid[space.rows[f], space.cols[f]] = 4
                elif space.target_at[f] != 0:
                    grid[space.rows[f], space.cols[f]] = 2
            player = _wander(player, displacement, space)
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

    The work stops at the first row for which no attempt gave a room.

    Attempt 0 uses the seed itself and attempt t > 0 ``mix(seed, RETRY + t)``, so a
    room is a function of its seed and the configuration alone.

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
    grids : (n, H, W) uint8, written
    statuses : (n,) int8, written up to that row
        `ROOM`, or why the last attempt failed.
    """
    for i in range(start, stop):
        searched = 0
        for attempt in range(max_attempts):
            seed = seeds[i]
            if attempt > 0:
                seed = mix(seeds[i], RETRY + _U(attempt))
            status, visited = generate_room(
                seed, num_boxes, search_depth, num_gen_steps, grids[i], space
            )
            statuses[i] = status
            searched += visited
            if status == ROOM or searched > MAX_SEARCHED:
                break
        if statuses[i] != ROOM:
            return
