"""The room generator of ROLL's Sokoban (commit 35bea6a2), stated plainly.

A random walk carves the floor, boxes are put on targets, and a depth-first search
pulls the boxes away; the pulls undone are a solution of the room.  One seed starts two
Mersenne Twisters, Python's for the walks and numpy's legacy one for the placing, and
each goes on through all the tries.

The rules of play are in ``sokoban.py``.
"""

import random

import numpy as np

WALL, FLOOR, TARGET, BOX, PLAYER = 0, 1, 2, 4, 5

ROOM, TOO_SMALL, NO_SCORE = 0, 1, 2
"""Statuses: a room; fewer free cells than needed; nothing could be pulled."""

TRIES = 4
CHANGE_DIRECTION = 0.35
MAX_STATES = 300_000
MAX_PLAYER_MOVES = 3

WALK_DIRECTIONS = [(1, 0), (0, 1), (-1, 0), (0, -1)]

# The cells that a step of the walk carves around its position (the centre).
MASKS = [
    ("...", "xxx", "..."),
    (".x.", ".x.", ".x."),
    ("...", "xx.", ".x."),
    ("...", "xx.", "xx."),
    ("...", ".xx", ".x."),
]

UP_DOWN_LEFT_RIGHT = [(-1, 0), (1, 0), (0, -1), (0, 1)]


def generate_room(seed, dim_room, num_boxes, search_depth, num_gen_steps=None):
    """Draw the room of a seed.

    Parameters
    ----------
    seed : int, below 2**32
    dim_room : (rows, columns), the outer walls included
    num_boxes : int
    search_depth : int
        How deep the backward search may go, its first state counted.
    num_gen_steps : int, optional
        Steps of the carving walk; ``int(1.7 * (rows + columns))`` by default.

    Returns
    -------
    status : int
        ``ROOM``, ``TOO_SMALL`` or ``NO_SCORE``.
    room_fixed : list of rows, or None without a room
        0 wall, 1 floor, 2 target.
    room_state : list of rows, or None without a room
        The same with 4 for a box and 5 for the player, on targets too.
    """
    rows, columns = dim_room
    if num_gen_steps is None:
        num_gen_steps = int(1.7 * (rows + columns))
    walk_rng = random.Random(seed)
    place_rng = np.random.RandomState(seed)

    for _ in range(TRIES):
        floor = carve_floor(walk_rng, dim_room, num_gen_steps)
        if len(floor) <= num_boxes + 1:
            return TOO_SMALL, None, None
        player, targets = place(place_rng, floor, num_boxes)
        player, boxes = pull_boxes_away(floor, targets, player, search_depth)
        displacement = sum(map(manhattan, targets, boxes))
        if displacement > 0:
            free = floor - set(boxes)
            player = move_player(
                walk_rng, free, player, 0.8 if displacement == 1 else 0.5
            )
            return ROOM, *draw(dim_room, floor, targets, boxes, player)
    return NO_SCORE, None, None


def carve_floor(rng, dim_room, num_steps):
    """Walk at random through solid wall; return the set of cells turned to floor."""
    rows, columns = dim_room
    inner_rows, inner_columns = range(1, rows - 1), range(1, columns - 1)
    floor = set()

    direction = rng.sample(WALK_DIRECTIONS, 1)[0]
    # The last row and column can be drawn; the first step leads back inside.
    row = rng.randint(1, rows - 1)
    column = rng.randint(1, columns - 1)
    for _ in range(num_steps):
        if rng.random() < CHANGE_DIRECTION:
            direction = rng.sample(WALK_DIRECTIONS, 1)[0]
        row = min(max(row + direction[0], 1), rows - 2)
        column = min(max(column + direction[1], 1), columns - 2)
        mask = rng.sample(MASKS, 1)[0]
        for i in range(3):
            for j in range(3):
                if mask[i][j] == "x":
                    floor.add((row + i - 1, column + j - 1))

    return {(r, c) for r, c in floor if r in inner_rows and c in inner_columns}


def place(rng, floor, num_boxes):
    """Draw the player's cell, then the targets, none twice, from the floor in order."""
    free = sorted(floor)
    player = free.pop(rng.randint(len(free)))
    targets = [free.pop(rng.randint(len(free))) for _ in range(num_boxes)]
    return player, targets


def pull_boxes_away(floor, targets, player, search_depth):
    """Search backwards from the solved room for the state with the best score.

    Returns the player's cell and, target by target, the cell of the box that started
    there.  Without any score above 0 this is the solved room itself.

    The score is the number of times the search turned to another box, times the sum
    of the boxes' distances from their targets; 0 while a box or the player covers a
    target.  Of equal scores the first one met counts.

    Two states are the same if player and boxes stand alike *and* the same boxes have
    been pulled before; which box is which does not matter.  A state is entered
    only once, even if a later path reaches it in fewer moves.
    """
    best_score, best = -1, None
    visited = set()
    # Last in, first out.  Entries: moves left, player, cell of each box, whether each
    # box has been pulled, the box pulled last, how often that box changed.
    untouched = (False,) * len(targets)
    stack = [(search_depth, player, tuple(targets), untouched, None, 0)]

    while stack and len(visited) < MAX_STATES:
        moves_left, player, boxes, pulled, last_box, box_changes = stack.pop()
        moves_left -= 1
        state = (player, frozenset(zip(boxes, pulled, strict=True)))
        if moves_left <= 0 or state in visited:
            continue
        visited.add(state)

        score = 0
        if player not in targets and not set(boxes) & set(targets):
            score = box_changes * sum(map(manhattan, targets, boxes))
        if score > best_score:
            best_score, best = score, (player, boxes)

        following = []
        for move in UP_DOWN_LEFT_RIGHT:
            next_cell = (player[0] + move[0], player[1] + move[1])
            if next_cell not in floor or next_cell in boxes:
                continue
            behind = (player[0] - move[0], player[1] - move[1])
            if behind in boxes:
                box = boxes.index(behind)
                next_boxes = replaced(boxes, box, player)
                next_pulled = replaced(pulled, box, True)
                next_changes = box_changes + (box != last_box)
                following.append(
                    (moves_left, next_cell, next_boxes, next_pulled, box, next_changes)
                )
            else:
                following.append(
                    (moves_left, next_cell, boxes, pulled, last_box, box_changes)
                )
        stack.extend(reversed(following))

    # A depth of 1 ends before the first state is looked at.
    return best or (player, targets)


def move_player(rng, free, player, move_probability):
    """Move the player a few cells at random; return its cell."""
    if rng.random() > move_probability:
        return player
    visited_cells = [player]
    for move in range(1, MAX_PLAYER_MOVES + 1):
        neighbours = [(player[0] + r, player[1] + c) for r, c in UP_DOWN_LEFT_RIGHT]
        candidates = [
            cell for cell in neighbours if cell in free and cell not in visited_cells
        ]
        if not candidates:
            break
        player = rng.choice(candidates)
        visited_cells.append(player)
        if move == MAX_PLAYER_MOVES or rng.random() > 0.5:
            break
    return player


def draw(dim_room, floor, targets, boxes, player):
    """Return the two grids of codes."""
    rows, columns = dim_room
    room_fixed = [[WALL] * columns for _ in range(rows)]
    for row, column in floor:
        room_fixed[row][column] = FLOOR
    for row, column in targets:
        room_fixed[row][column] = TARGET
    room_state = [list(row) for row in room_fixed]
    for row, column in boxes:
        room_state[row][column] = BOX
    room_state[player[0]][player[1]] = PLAYER
    return room_fixed, room_state


def manhattan(a, b):
    """Return the distance of two cells."""
    return abs(a[0] - b[0]) + abs(a[1] - b[1])


def replaced(values, index, value):
    """Return a tuple with one value replaced."""
    return (*values[:index], value, *values[index + 1 :])
