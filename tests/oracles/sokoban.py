"""The rules of play of gym-sokoban 0.0.6 as ROLL uses them, stated plainly.

Only the four pushes exist: a push into a free cell is a move.  A room is a list of
rows of codes.  ``room_fixed`` holds walls, floor and targets; ``room_state`` also boxes
and the player, who hides the target under him.
"""

from typing import NamedTuple

WALL, FLOOR, TARGET, BOX_ON_TARGET, BOX, PLAYER, PLAYER_ON_TARGET = range(7)
BOXES = {BOX, BOX_ON_TARGET}

NO_MOVE, UP, DOWN, LEFT, RIGHT = range(5)
DIRECTIONS = {UP: (-1, 0), DOWN: (1, 0), LEFT: (0, -1), RIGHT: (0, 1)}

PER_STEP = -0.1
BOX_ONTO_TARGET = 1.0
BOX_OFF_TARGET = -1.0
ALL_ON_TARGET = 10.0


class Step(NamedTuple):
    """Results of one step."""

    reward: float
    done: bool  # success, or the last step allowed
    success: bool  # no target is left open
    effective: bool  # the player moved


class OracleSokoban:
    """One game, from a given room on.

    Parameters
    ----------
    room_fixed : rows of codes
        0 wall, 1 floor, 2 target.
    room_state : rows of codes
        The same with 3 box on target, 4 box and 5 player; a 4 on a target stays
        until it is pushed onto another target, and becomes a 3 then.
    max_steps : int
        The game is over after this many steps.
    """

    def __init__(self, room_fixed, room_state, max_steps):
        self.room_fixed = [[int(code) for code in row] for row in room_fixed]
        self.room_state = [[int(code) for code in row] for row in room_state]
        self.max_steps = max_steps
        self.steps = 0
        self.num_boxes = sum(
            row.count(BOX) + row.count(BOX_ON_TARGET) for row in self.room_state
        )
        self.boxes_on_target = self._count_boxes_on_target()

    def step(self, action):
        """Play one action: 0 no move, 1 up, 2 down, 3 left, 4 right."""
        self.steps += 1
        effective = action != NO_MOVE and self._push(*DIRECTIONS[action])

        # The order of the additions decides the last bit of the sum.
        before = self.boxes_on_target
        self.boxes_on_target = self._count_boxes_on_target()
        success = self._count_open_targets() == 0
        reward = PER_STEP
        if self.boxes_on_target > before:
            reward += BOX_ONTO_TARGET
        elif self.boxes_on_target < before:
            reward += BOX_OFF_TARGET
        if success:
            reward += ALL_ON_TARGET

        return Step(reward, success or self.steps == self.max_steps, success, effective)

    def observe(self):
        """Return ``room_state`` with 6 for a player on a target."""
        grid = [list(row) for row in self.room_state]
        row, column = self.player
        if self.room_fixed[row][column] == TARGET:
            grid[row][column] = PLAYER_ON_TARGET
        return grid

    @property
    def player(self):
        """Row and column of the player."""
        for row, codes in enumerate(self.room_state):
            if PLAYER in codes:
                return row, codes.index(PLAYER)
        raise ValueError("no player in the room")

    def _push(self, down, right):
        """Move the player, and a box before him, if possible; return whether it was."""
        row, column = self.player
        to = (row + down, column + right)
        beyond = (row + 2 * down, column + 2 * right)
        if self._state_at(to) in BOXES:
            if self._state_at(beyond) not in (FLOOR, TARGET):
                return False
            on_target = self.room_fixed[beyond[0]][beyond[1]] == TARGET
            self.room_state[beyond[0]][beyond[1]] = BOX_ON_TARGET if on_target else BOX
        elif self._state_at(to) not in (FLOOR, TARGET):
            return False
        self.room_state[to[0]][to[1]] = PLAYER
        self.room_state[row][column] = self.room_fixed[row][column]
        return True

    def _state_at(self, cell):
        """Code of a cell; outside the grid is wall."""
        row, column = cell
        rows, columns = len(self.room_state), len(self.room_state[0])
        if not (0 <= row < rows and 0 <= column < columns):
            return WALL
        return self.room_state[row][column]

    def _count_open_targets(self):
        """Targets without a box; one under the player is open too."""
        open_targets = 0
        for row, codes in enumerate(self.room_fixed):
            for column, code in enumerate(codes):
                if code == TARGET and self.room_state[row][column] not in BOXES:
                    open_targets += 1
        return open_targets

    def _count_boxes_on_target(self):
        """Boxes are as many as targets."""
        return self.num_boxes - self._count_open_targets()
