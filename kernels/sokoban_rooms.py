"""Room generation for Sokoban, cell for cell as ROLL's `generate_room`.

Source of the rules: ROLL at 35bea6a2, `roll/agentic/env/sokoban/utils.py` (the
generator of gym-sokoban with a search depth, pulls only, and the player moved a
little at the end).  A room takes three stages: a random walk carves the floor,
targets and the player are placed, and boxes are pulled away from their targets by
a depth-first search that keeps its best state.

Codes of a grid, as everywhere for Sokoban::

    0 wall  1 floor  2 target  3 box on target  4 box  5 player  6 player on target

The search works on floor cells numbered in row-major order, not on the grid.  A
visited state is one key of `key_words` 64-bit words::

    bit 0 ........ F-1 | F .......... F+B-1 |  ...  | top 16 bits of the last word
    a pulled box here  | box k is untouched | zeros | the player's cell

(F floor cells, B boxes; which box was pulled where does not distinguish states.)
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

# Table sizes are powers of two; the table of 2**k slots lies at slots 2**k onward.
_FIRST_BITS = 10
_LAST_BITS = 20
_U = np.uint64
_HASH = _U(0x9E3779B97F4A7C15)
_1, _32 = _U(1), _U(32)
_PYTHON_TEMPLATE_SEED = _U(19650218)


class RoomWorkspace(NamedTuple):
    """Scratch memory for one thread that generates rooms; holds no results.

    ``F`` is the number of inner cells, ``B`` of boxes, ``D`` the search depth.
    """

    template: np.ndarray  # (625,) uint64: see `mt_seed_python`
    python_rng: np.ndarray  # (625,) uint64
    numpy_rng: np.ndarray  # (625,) uint64
    numbers: np.ndarray  # (H, W) int32: floor number of a cell, or -1
    rows: np.ndarray  # (F,) int32
    cols: np.ndarray  # (F,) int32
    neighbours: np.ndarray  # (F, 4) int32: up, down, left, right, or -1
    target_at: np.ndarray  # (F,) int32: 1 + the box whose target is here, or 0
    box_at: np.ndarray  # (F,) int32: 1 + the box that stands here, or 0
    boxes: np.ndarray  # (3, B) int32: cell now, target's cell, cell in the best state
    pulled: np.ndarray  # (B,) bool
    key: np.ndarray  # (K,) uint64
    spare_key: np.ndarray  # (K,) uint64
    table: np.ndarray  # (2**20, 1 + K) uint64: search number, key
    search: np.ndarray  # (1,) uint64: number of the current search
    stack: np.ndarray  # (D, 7) int32: see `_search`


def make_workspace(dim_room, num_boxes, search_depth):
    """Return a `RoomWorkspace` for rooms of one configuration.

    Its table takes address space, not memory, until rooms need it.
    """
    height, width = dim_room
    inner = (height - 2) * (width - 2)
    key_words = (inner + num_boxes + 16 + 63) // 64
    template = np.zeros(MT_WORDS, np.uint64)
    mt_seed_numpy(template, _PYTHON_TEMPLATE_SEED)
    return RoomWorkspace(
        template=template,
        python_rng=np.zeros(MT_WORDS, np.uint64),
        numpy_rng=np.zeros(MT_WORDS, np.uint64),
        numbers=np.full((height, width), -1, np.int32),
        rows=np.zeros(inner, np.int32),
        cols=np.zeros(inner, np.int32),
        neighbours=np.zeros((inner, 4), np.int32),
        target_at=np.zeros(inner, np.int32),
        box_at=np.zeros(inner, np.int32),
        boxes=np.zeros((3, num_boxes), np.int32),
        pulled=np.zeros(num_boxes, np.bool_),
        key=np.zeros(key_words, np.uint64),
        spare_key=np.zeros(key_words, np.uint64),
        table=np.zeros((1 << _LAST_BITS, 1 + key_words), np.uint64),
        search=np.zeros(1, np.uint64),
        stack=np.zeros((search_depth, 7), np.int32),
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
            r, c = row - 1 + bit // 3, col - 1 + bit % 3
            inner = 0 < r < height - 1 and 0 < c < width - 1
            if inner and (mask >> bit) & 1:
                grid[r, c] = 1


@kernel
def _number_floor(grid, space):
    """Give the floor cells numbers row by row and link them; return how many."""
    height, width = grid.shape
    count = 0
    for r in range(1, height - 1):
        for c in range(1, width - 1):
            space.numbers[r, c] = -1
            if grid[r, c] == 1:
                space.numbers[r, c] = count
                space.rows[count] = r
                space.cols[count] = c
                space.target_at[count] = 0
                space.box_at[count] = 0
                count += 1
    for f in range(count):
        r, c = space.rows[f], space.cols[f]
        space.neighbours[f, 0] = space.numbers[r - 1, c]
        space.neighbours[f, 1] = space.numbers[r + 1, c]
        space.neighbours[f, 2] = space.numbers[r, c - 1]
        space.neighbours[f, 3] = space.numbers[r, c + 1]
    return count


@kernel
def _place(count, num_boxes, space):
    """Draw the player's cell and one target a box; return the player's cell.

    Each draw is among the cells still free, counted row by row.
    """
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
        space.boxes[0, k] = cell
        space.boxes[1, k] = cell
        space.pulled[k] = False
    return player


@kernel
def _insert(table, search, key, words, bits):
    """Add the key to the table of 2**bits slots; return whether it was new."""
    hashed = _U(0)
    for w in range(words):
        hashed = (hashed ^ key[w]) * _HASH
        hashed ^= hashed >> _32
    size = np.int64(1) << bits
    slot = np.int64((hashed * _HASH) >> _U(64 - bits))
    while table[size + slot, 0] == search:
        same = True
        for w in range(words):
            same = same and table[size + slot, 1 + w] == key[w]
        if same:
            return False
        slot = (slot + 1) & (size - 1)
    table[size + slot, 0] = search
    for w in range(words):
        table[size + slot, 1 + w] = key[w]
    return True


@kernel
def _grow(table, search, key, words, bits):
    """Copy all keys from the table of 2**bits slots to the next larger one.

    ``key`` is scratch here and holds anything afterwards.
    """
    size = np.int64(1) << bits
    for slot in range(size, 2 * size):
        if table[slot, 0] == search:
            for w in range(words):
                key[w] = table[slot, 1 + w]
            _insert(table, search, key, words, bits + 1)


@kernel
def _distance(rows, cols, a, b):
    """Return the Manhattan distance of two floor cells."""
    return abs(rows[a] - rows[b]) + abs(cols[a] - cols[b])


@kernel
def _search(count, num_boxes, search_depth, player, space):
    """Pull boxes from their targets, depth first; return the best state found.

    A move goes to a free cell and drags the box that stands behind the player.
    A state scores (changes of the pulled box) * (sum of the boxes' distances from
    their targets) if every target lies open, else 0; the first best one is kept.

    ``space.stack[d]`` tells how depth d was reached: the next direction to try
    there, the player's cell before, the box pulled or -1, its cell before,
    whether it had been pulled before, the box pulled last, the changes so far.

    Returns
    -------
    score, player, displacement, visited : int64
        Of the best state; its boxes are ``space.boxes[2]``.  Score 0: none.
    """
    # Local names: an array read out of the workspace costs a reference count.
    stack, table, key, spare_key = space.stack, space.table, space.key, space.spare_key
    rows, cols, neighbours = space.rows, space.cols, space.neighbours
    target_at, box_at, pulled = space.target_at, space.box_at, space.pulled
    box_cell, box_target, best_cell = space.boxes[0], space.boxes[1], space.boxes[2]
    words = (count + num_boxes + 16 + 63) // 64
    top = words - 1
    space.search[0] += _1
    search = space.search[0]
    for w in range(words):
        key[w] = _U(0)
    for k in range(num_boxes):
        bit = count + k
        key[bit >> 6] |= _1 << _U(bit & 63)
    key[top] |= _U(player) << _U(48)

    bits = _FIRST_BITS
    visited = 0
    best_score, best_player, best_displacement = 0, 0, 0
    displacement = 0
    covered = num_boxes
    depth = 0
    if search_depth > 1:
        _insert(table, search, key, words, bits)
        visited = 1
        stack[0, 0] = 0
        stack[0, 5] = -1
        stack[0, 6] = 0
    else:
        depth = -1

    while depth >= 0 and visited < MAX_VISITED:
        direction = stack[depth, 0]
        if direction == 4 or depth == search_depth - 2:
            # Back to where depth was reached from.
            if depth > 0:
                before, k = stack[depth, 1], stack[depth, 2]
                key[top] ^= _U(player ^ before) << _U(48)
                if target_at[player] != 0:
                    covered -= 1
                if k >= 0:
                    cell = stack[depth, 3]
                    key[before >> 6] ^= _1 << _U(before & 63)
                    box_at[before] = 0
                    box_at[cell] = k + 1
                    displacement -= _distance(rows, cols, before, box_target[k])
                    displacement += _distance(rows, cols, cell, box_target[k])
                    box_cell[k] = cell
                    pulled[k] = stack[depth, 4] != 0
                    bit = cell if pulled[k] else count + k
                    key[bit >> 6] ^= _1 << _U(bit & 63)
                    if target_at[cell] != 0:
                        covered += 1
                elif target_at[before] != 0:
                    covered += 1
                player = before
            depth -= 1
            continue
        stack[depth, 0] = direction + 1
        ahead = neighbours[player, direction]
        if ahead < 0 or box_at[ahead] != 0:
            continue
        behind = neighbours[player, direction ^ 1]
        k = box_at[behind] - 1 if behind >= 0 else -1

        key[top] ^= _U(player ^ ahead) << _U(48)
        bit = 0
        if k >= 0:
            bit = behind if pulled[k] else count + k
            key[bit >> 6] ^= _1 << _U(bit & 63)
            key[player >> 6] ^= _1 << _U(player & 63)
        if not _insert(table, search, key, words, bits):
            key[top] ^= _U(player ^ ahead) << _U(48)
            if k >= 0:
                key[bit >> 6] ^= _1 << _U(bit & 63)
                key[player >> 6] ^= _1 << _U(player & 63)
            continue
        visited += 1
        if 2 * visited > (1 << bits) and bits < _LAST_BITS - 1:
            _grow(table, search, spare_key, words, bits)
            bits += 1

        last, swaps = stack[depth, 5], stack[depth, 6]
        depth += 1
        stack[depth, 0] = 0
        stack[depth, 1] = player
        stack[depth, 2] = k
        if target_at[ahead] != 0:
            covered += 1
        if k >= 0:
            stack[depth, 3] = behind
            stack[depth, 4] = 1 if pulled[k] else 0
            if k != last:
                swaps += 1
                last = k
            pulled[k] = True
            box_cell[k] = player
            box_at[behind] = 0
            box_at[player] = k + 1
            displacement += _distance(rows, cols, player, box_target[k])
            displacement -= _distance(rows, cols, behind, box_target[k])
            if target_at[behind] != 0:
                covered -= 1
        elif target_at[player] != 0:
            covered -= 1
        stack[depth, 5] = last
        stack[depth, 6] = swaps
        player = ahead
        score = swaps * displacement
        if covered == 0 and score > best_score:
            best_score, best_player = score, player
            best_displacement = displacement
            for b in range(num_boxes):
                best_cell[b] = box_cell[b]
    return best_score, best_player, best_displacement, visited


@kernel
def _wander(player, displacement, space):
    """Move the player up to three cells, never back; return the player's cell.

    ``space.box_at`` holds the boxes of the room.
    """
    rng = space.python_rng
    if mt_random(rng) > (0.8 if displacement == 1 else 0.5):
        return player
    first, second, third = player, -1, -1
    for step in range(3):
        ahead = space.neighbours[player]
        choices = 0
        for f in ahead:
            if f >= 0 and space.box_at[f] == 0:
                if f != first and f != second and f != third:
                    choices += 1
        if choices == 0:
            break
        left = mt_randbelow(rng, choices)
        for f in ahead:
            if f >= 0 and space.box_at[f] == 0:
                if f != first and f != second and f != third:
                    if left == 0:
                        player = np.int64(f)
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
    searched = 0
    for _ in range(TRIES):
        _carve(grid, num_gen_steps, space.python_rng)
        count = _number_floor(grid, space)
        if count <= num_boxes + 1:
            return TOO_FEW_CELLS, searched
        player = _place(count, num_boxes, space)
        score, player, displacement, visited = _search(
            count, num_boxes, search_depth, player, space
        )
        searched += visited
        if score > 0:
            for f in range(count):
                space.box_at[f] = 0
                if space.target_at[f] != 0:
                    grid[space.rows[f], space.cols[f]] = 2
            for k in range(num_boxes):
                f = space.boxes[2, k]
                space.box_at[f] = k + 1
                grid[space.rows[f], space.cols[f]] = 4
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
