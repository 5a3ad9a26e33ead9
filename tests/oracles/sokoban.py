"""Sokoban stated plainly: play, shortest solutions, and the room generator of ROLL.

The rules are those of gym-sokoban 0.0.6 as ROLL uses them.  Only the four pushes exist:
a push into a free cell is a move.  A room is a list of rows of codes.  ``room_fixed``
holds walls, floor and targets; ``room_state`` also boxes and the player, who hides the
target under him.  A ``grid`` has all seven codes.
"""

import random
from collections import deque
from typing import NamedTuple

import numpy as np

WALL, FLOOR, TARGET, BOX_ON_TARGET, BOX, PLAYER, PLAYER_ON_TARGET = range(7)
BOXES = {BOX, BOX_ON_TARGET}

NO_MOVE, UP, DOWN, LEFT, RIGHT = range(5)
DIRECTIONS = {UP: (-1, 0), DOWN: (1, 0), LEFT: (0, -1), RIGHT: (0, 1)}

PER_STEP = -0.1
BOX_ONTO_TARGET = 1.0
BOX_OFF_TARGET = -1.0
ALL_ON_TARGET = 10.0


# ------------------------------------------------------------------ shortest solutions

# By direction: up, down, left, right.
STEPS = [*DIRECTIONS.values()]


def read(grid):
    """Return walls and targets as sets of (row, column), and the first state.

    A state is the player's cell and a frozenset of the boxes' cells.
    """
    cells = {(r, c): code for r, row in enumerate(grid) for c, code in enumerate(row)}
    walls = {cell for cell, code in cells.items() if code == WALL}
    on_target = (TARGET, BOX_ON_TARGET, PLAYER_ON_TARGET)
    targets = {cell for cell, code in cells.items() if code in on_target}
    boxes = frozenset(cell for cell, code in cells.items() if code in BOXES)
    (player,) = (cell for cell, code in cells.items() if code >= PLAYER)
    return walls, targets, (player, boxes)


def move(walls, state, direction):
    """Return the next state, or None if nothing moves, and whether a box was pushed."""
    player, boxes = state
    down, right = STEPS[direction]
    to = (player[0] + down, player[1] + right)
    beyond = (to[0] + down, to[1] + right)
    if to in walls:
        return None, False
    if to not in boxes:
        return (to, boxes), False
    if beyond in walls or beyond in boxes:
        return None, False
    return (to, boxes - {to} | {beyond}), True


def solve(grid, objective="moves"):
    """Return a solution of the fewest moves or pushes, as directions, and their number.

    It ends when no box is beside the targets; None if it never does.
    ``pushes``: states are taken in the order of their pushes, as a walk is free.
    """
    walls, targets, first = read(grid)
    costs, came_from = {first: 0}, {first: None}
    queue, done = deque([first]), set()
    while queue:
        state = queue.popleft()
        if state in done:
            continue
        done.add(state)
        if state[1] <= targets:
            cost, directions = costs[state], []
            while came_from[state] is not None:
                state, direction = came_from[state]
                directions.append(direction)
            return directions[::-1], cost
        for direction in range(4):
            following, is_push = move(walls, state, direction)
            if following is None:
                continue
            is_free = objective == "pushes" and not is_push
            cost = costs[state] + (not is_free)
            if cost < costs.get(following, cost + 1):
                costs[following], came_from[following] = cost, (state, direction)
                (queue.appendleft if is_free else queue.append)(following)
    return None


def measure(grid, objective):
    """Return the fewest moves or pushes of a solution, or None."""
    solution = solve(grid, objective)
    return None if solution is None else solution[1]


def replay(grid, directions):
    """Return whether moves solve a room, and how many of them are pushes.

    The room must be solved by the last move and not before, and each must move.
    """
    walls, targets, state = read(grid)
    num_pushes = 0
    for direction in directions:
        assert not state[1] <= targets
        state, is_push = move(walls, state, direction)
        assert state is not None
        num_pushes += is_push
    return state[1] <= targets, num_pushes


# ------------------------------------------------------------------------------ play


class Step(NamedTuple):
    """Results of one step."""

    reward: float
    success: bool  # no target is left open
    effective: bool  # the player moved


class OracleSokoban:
    """One game, from a grid on; boxes are as many as targets."""

    def __init__(self, grid):
        self.shape = len(grid), len(grid[0])
        self.walls, self.targets, self.state = read(grid)

    def step(self, action):
        """Play one action: 0 no move, 1 up, 2 down, 3 left, 4 right."""
        before, following = self.boxes_on_target, None
        if action != NO_MOVE:
            following, _ = move(self.walls, self.state, action - 1)
        self.state = following or self.state

        # The order of the additions decides the last bit of the sum.
        success = self.targets <= self.state[1]
        reward = PER_STEP
        if self.boxes_on_target > before:
            reward += BOX_ONTO_TARGET
        elif self.boxes_on_target < before:
            reward += BOX_OFF_TARGET
        if success:
            reward += ALL_ON_TARGET
        return Step(reward, success, following is not None)

    @property
    def player(self):
        """Row and column of the player."""
        return self.state[0]

    @property
    def boxes_on_target(self):
        """The number of these boxes."""
        return len(self.state[1] & self.targets)

    @property
    def rooms(self):
        """The grids ``room_fixed`` and ``room_state``."""
        floor = {*np.ndindex(self.shape)} - self.walls
        player, boxes = self.state
        fixed, state = draw(self.shape, floor, self.targets, boxes, player)
        for row, column in boxes & self.targets:
            state[row][column] = BOX_ON_TARGET
        return fixed, state

    def observe(self):
        """Return ``room_state`` with 6 for a player on a target."""
        grid = self.rooms[1]
        if self.player in self.targets:
            grid[self.player[0]][self.player[1]] = PLAYER_ON_TARGET
        return grid


# ------------------------------------------------------------------ the room generator

# That of ROLL (commit 35bea6a2).  A random walk carves the floor, boxes are put on
# targets, and a depth-first search pulls the boxes away; the pulls undone are a
# solution of the room.  One seed starts two Mersenne Twisters, Python's for the walks
# and numpy's legacy one for the placing, and each goes on through all the tries.

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


def generate_room(seed, dim_room, num_boxes, search_depth, num_gen_steps=None):
    """Draw the room of a seed below 2**32.

    ``search_depth`` is how deep the backward search may go, its first state counted.
    Returns the status, ``room_fixed`` and ``room_state``; None and None without a room.
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
        for move in STEPS:
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
        neighbours = [(player[0] + r, player[1] + c) for r, c in STEPS]
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
    return (*values[:index], value, *values[index + 1 :])
