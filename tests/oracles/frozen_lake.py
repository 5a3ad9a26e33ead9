"""FrozenLake stated plainly: ROLL's random maps and Gymnasium's rules of play.

Maps come from ROLL (commit 35bea6a2), whose start and goal are random cells; the
rules from ``FrozenLakeEnv`` of Gymnasium 1.4.0, which ROLL plays on those maps.  A map
is a list of strings of S (start), F (frozen), H (hole) and G (goal).
"""

from typing import NamedTuple

import numpy as np
from gymnasium.utils.seeding import np_random

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
    """One lake and its player.

    On slippery ice ``success_rate`` is the probability of going in the direction of the
    action; the two at right angles share the remainder.  ``reward_schedule`` has the
    rewards of arriving in a goal, in a hole and on ice, to which the start belongs.
    """

    def __init__(
        self, rows, is_slippery=True, success_rate=1.0 / 3.0, reward_schedule=(1, 0, 0)
    ):
        self.rows = list(rows)
        self.is_slippery = is_slippery
        self.success_rate = success_rate
        self.reward_schedule = reward_schedule
        self.rng = None
        self.position = None

    def reset(self, seed=None):
        """Put the player on a start cell; without a seed the stream goes on.

        Returns the position: cells are counted along the rows.
        """
        if seed is not None or self.rng is None:
            self.rng, _ = np_random(seed)
        cells = "".join(self.rows)
        share = 1.0 / cells.count("S")
        self.position = self._draw([share if cell == "S" else 0.0 for cell in cells])
        return self.position

    def step(self, action):
        """Play one action: 0 left, 1 down, 2 right, 3 up.

        Every step takes one number from the stream, also where nothing is
        left to chance.
        """
        if self._cell(self.position) in "GH":
            # After the end the player stays and earns nothing.
            self._draw([1.0])
            return Step(self.position, 0, True, 1.0)

        probabilities, positions = zip(*self.outcomes(action), strict=True)
        index = self._draw(probabilities)

        self.position = positions[index]
        goal, hole, frozen = self.reward_schedule
        reward = {"G": goal, "H": hole}.get(self._cell(self.position), frozen)
        done = self._cell(self.position) in "GH"
        return Step(self.position, reward, done, probabilities[index])

    def outcomes(self, action):
        """Return the slips of an action from here, each a probability and a cell."""
        if self._cell(self.position) in "GH":
            return [(1.0, self.position)]
        if not self.is_slippery:
            return [(1.0, self._neighbour(action))]
        fail_rate = (1.0 - self.success_rate) / 2.0
        return [
            (fail_rate, self._neighbour((action - 1) % 4)),
            (self.success_rate, self._neighbour(action)),
            (fail_rate, self._neighbour((action + 1) % 4)),
        ]

    def _draw(self, probabilities):
        """Index of the first cumulative sum above a uniform number, else 0."""
        u = self.rng.random()
        total = 0.0
        for index, probability in enumerate(probabilities):
            total += probability
            if total > u:
                return index
        return 0

    def _neighbour(self, direction):
        """The cell next to the player, or his own at the edge of the map."""
        row, column = divmod(self.position, len(self.rows[0]))
        row = min(max(row + DIRECTIONS[direction][0], 0), len(self.rows) - 1)
        column = min(max(column + DIRECTIONS[direction][1], 0), len(self.rows[0]) - 1)
        return row * len(self.rows[0]) + column

    def _cell(self, position):
        row, column = divmod(position, len(self.rows[0]))
        return self.rows[row][column]


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
    lake = OracleFrozenLake(rows, True, success_rate)
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
