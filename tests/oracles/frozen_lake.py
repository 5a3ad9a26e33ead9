"""ROLL's random maps stated plainly, and what follows from Gymnasium's rules of play.

Maps come from ROLL (commit 35bea6a2), whose start and goal are random cells; it plays
``FrozenLakeEnv`` of Gymnasium on them, which is the oracle of the rules here.  A map is
a list of strings of S (start), F (frozen), H (hole) and G (goal).
"""

from typing import NamedTuple

import numpy as np
from gymnasium.utils.seeding import np_random

from tests.gymnasium_versions import Lake

LEFT, DOWN, RIGHT, UP = range(4)
DIRECTIONS = {LEFT: (0, -1), DOWN: (1, 0), RIGHT: (0, 1), UP: (-1, 0)}


def lake_is_solvable(rows):
    """Say whether a goal can be reached from a start without entering a hole.

    ``rows`` are strings of S, F, H and G; one moves to the four neighbours.
    """
    cells = {(r, c): cell for r, row in enumerate(rows) for c, cell in enumerate(row)}
    reached = {cell for cell, letter in cells.items() if letter == "S"}
    frontier = list(reached)
    while frontier:
        row, column = frontier.pop()
        for down, right in DIRECTIONS.values():
            cell = (row + down, column + right)
            if cells.get(cell, "H") != "H" and cell not in reached:
                reached.add(cell)
                frontier.append(cell)
    return any(cells[cell] == "G" for cell in reached)


def generate_map(size, p, seed):
    """Draw the map of a seed: one start, one goal, a way from one to the other.

    A cell is frozen with probability ``p``; more than 1 counts as 1.
    """
    p = min(1, p)
    rng, _ = np_random(seed)
    while True:
        board = rng.choice(["F", "H"], (size, size), p=[p, 1 - p]).tolist()
        start_row, start_column = rng.integers(size, size=2)
        goal_row, goal_column = rng.integers(size, size=2)
        # On the same cell they have no way between them: a new board is drawn.
        if (start_row, start_column) != (goal_row, goal_column):
            board[start_row][start_column] = "S"
            board[goal_row][goal_column] = "G"
            rows = ["".join(row) for row in board]
            if lake_is_solvable(rows):
                return rows


class Step(NamedTuple):
    """Results of one step."""

    position: int
    reward: float
    done: bool  # in the goal or in a hole
    prob: float  # the probability of the slip


class OracleFrozenLake:
    """One lake and its player: Gymnasium's, with any ``success_rate`` and rewards."""

    def __init__(self, rows, **options):
        self.rows = list(rows)
        self._lake = Lake(desc=[list(row) for row in self.rows], **options)

    @property
    def position(self):
        """The player's cell, counted along the rows."""
        return int(self._lake.s)

    @position.setter
    def position(self, cell):
        self._lake.s = cell

    def reset(self, seed=None):
        """Put the player on a start cell; without a seed the stream goes on."""
        return int(self._lake.reset(seed=seed)[0])

    def step(self, action):
        """Play one action: 0 left, 1 down, 2 right, 3 up."""
        _, reward, done, _, info = self._lake.step(action)
        return Step(self.position, reward, done, info["prob"])

    def outcomes(self, action):
        """Return the slips of an action from here, each a probability and a cell."""
        return [
            (chance, cell) for chance, cell, *_ in self._lake.P[self.position][action]
        ]


def fewest_moves(rows):
    """Return the fewest moves to a goal from each cell of a lake without slips.

    -1 stands in holes and where there is no way.
    """
    lake = OracleFrozenLake(rows, is_slippery=False)
    cells = "".join(rows)
    lengths = []
    for cell in range(len(cells)):
        reached = {cell} if cells[cell] != "H" else set()
        length = 0
        while reached and not any(cells[each] == "G" for each in reached):
            before, reached = reached, set(reached)
            for lake.position in before:
                reached |= {lake.outcomes(action)[0][1] for action in range(4)}
            reached = {each for each in reached if cells[each] != "H"}
            length += 1
            if reached == before:
                reached = set()
        lengths.append(length if reached else -1)
    return lengths


def transition_matrices(rows, success_rate):
    """Return the chances of moves on slippery ice, (4, cells, cells)."""
    lake = OracleFrozenLake(rows, success_rate=success_rate)
    count = len("".join(rows))
    chances = np.zeros((4, count, count))
    for action in range(4):
        for cell in range(count):
            lake.position = cell
            for chance, after in lake.outcomes(action):
                chances[action, cell, after] += chance
    return chances


def highest_chances(rows, success_rate=1.0 / 3.0):
    """Return the highest chance to reach a goal from each cell, by value iteration."""
    chances = transition_matrices(rows, success_rate)
    goal = np.array([cell == "G" for cell in "".join(rows)])
    values = goal.astype(float)
    for _ in range(20_000):
        before = values
        values = np.where(goal, 1.0, (chances @ values).max(axis=0))
        # Rounding errors may go on for ever.
        if np.abs(values - before).max() < 1e-15:
            break
    return values


def play_policy(rows, policy, success_rate=1.0 / 3.0):
    """Return a policy's chance to reach a goal, and its expected steps, from each cell.

    Steps until the game is over or lost: until no goal can be reached.  Both solve
    linear equations; numpy raises if the policy might play for ever.
    """
    cells = np.array(list("".join(rows)))
    alive = (np.array(fewest_moves(rows)) > 0) & (cells != "G")
    moves = transition_matrices(rows, success_rate)[policy, np.arange(len(cells))]
    equations = np.eye(alive.sum()) - moves[np.ix_(alive, alive)]
    chances, steps = (cells == "G").astype(float), np.zeros(len(cells))
    chances[alive] = np.linalg.solve(equations, moves[alive][:, cells == "G"].sum(1))
    steps[alive] = np.linalg.solve(equations, np.ones(alive.sum()))
    return chances, steps
