"""2048 and sliding tiles stated plainly, with the rules of GEM (commit 4069f2f8).

Numbers are drawn from Python's `random`, in GEM's order.

Boards are lists of lists of numbers; 0 is an empty cell.
"""

import random
from fractions import Fraction
from itertools import chain, combinations

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Discrete

from roll_vec.seeding import episode_seed

UP, DOWN, LEFT, RIGHT = range(4)


class Board(gymnasium.Env):
    """An environment with numbers on a board, whose episodes have seeds of their own.

    Observations are the codes of the board.
    """

    action_space = Discrete(4)

    def __init__(self, size, num_codes):
        self.size = size
        self.observation_space = Box(0, num_codes - 1, (size, size), np.uint8)

    def reset(self, *, seed=None, options=None):
        if seed is not None:
            self.seed, self.episode = seed, -1
        self.episode += 1
        self.rng = random.Random(episode_seed(self.seed, self.episode))
        self.begin()
        return self.observe(), {}

    def cells_where(self, number):
        cells = np.ndindex(self.size, self.size)
        return [(r, c) for r, c in cells if self.board[r][c] == number]


class Merging(Board):
    """2048; a code is an exponent."""

    def __init__(self, size=4, target=2048):
        super().__init__(size, 18)
        self.target = target

    def observe(self):
        codes = [[n.bit_length() - 1 if n else 0 for n in row] for row in self.board]
        return np.array(codes, np.uint8)

    def begin(self):
        self.board = [[0] * self.size for _ in range(self.size)]
        self.score = 0
        self.add_tile()
        self.add_tile()
        self.best = self.first = max(map(max, self.board))
        self.rng.choice(range(4))

    def add_tile(self):
        empty = self.cells_where(0)
        if empty:
            row, column = self.rng.choice(empty)
            self.board[row][column] = 2 if self.rng.random() < 0.9 else 4

    def slide(self, action):
        """Return the board after an action, and the sum of the merged tiles."""
        lines, points = self.board, 0
        if action in (UP, DOWN):
            lines = [list(line) for line in zip(*lines, strict=True)]
        slid = []
        for line in lines:
            tiles = [tile for tile in line if tile]
            if action in (DOWN, RIGHT):
                tiles.reverse()
            merged = []
            while tiles:
                tile = tiles.pop(0)
                if tiles and tiles[0] == tile:
                    tile += tiles.pop(0)
                    points += tile
                merged.append(tile)
            merged += [0] * (self.size - len(merged))
            if action in (DOWN, RIGHT):
                merged.reverse()
            slid.append(merged)
        if action in (UP, DOWN):
            slid = [list(line) for line in zip(*slid, strict=True)]
        return slid, points

    def legal(self):
        return [int(self.slide(action)[0] != self.board) for action in range(4)]

    def step(self, action):
        reward, success, is_over = 0.0, False, False
        board, points = self.slide(action)
        if board != self.board:
            self.board, self.score = board, self.score + points
            best = max(self.best, *map(max, board))
            doublings = np.log2(best) - np.log2(self.best)
            reward = doublings / (np.log2(self.target) - np.log2(self.first))
            self.best = best
            self.add_tile()
            success = best >= self.target
            is_over = success or not any(self.legal())
        info = {"score": self.score, "success": success}
        return self.observe(), reward, is_over, False, info


class Sliding(Board):
    """Sliding tiles."""

    def __init__(self, size=3, num_shuffles=100, max_steps=50):
        super().__init__(size, 25)
        self.num_shuffles, self.max_steps = num_shuffles, max_steps
        numbers = [*range(1, size * size), 0]
        self.goal = [numbers[k : k + size] for k in range(0, size * size, size)]

    def observe(self):
        return np.array(self.board, np.uint8)

    def begin(self):
        self.num_steps = 0
        self.board = [list(row) for row in self.goal]
        last = None
        count = 0
        while self.board == self.goal or 0 < count < self.num_shuffles:
            if self.num_shuffles == 0:
                self.scramble()
                continue
            opposite = {None: None, UP: DOWN, DOWN: UP, LEFT: RIGHT, RIGHT: LEFT}[last]
            choices = [a for a, can in enumerate(self.legal()) if can and a != opposite]
            last = self.rng.choice(choices)
            self.move(last)
            count += 1

    def scramble(self):
        numbers = [*chain(*self.board)]
        self.rng.shuffle(numbers)
        self.board = [
            numbers[k : k + self.size] for k in range(0, len(numbers), self.size)
        ]
        if not self.can_be_solved():
            pair = self.rng.sample([number for number in numbers if number], 2)
            (first,), (second,) = map(self.cells_where, pair)
            self.board[first[0]][first[1]], self.board[second[0]][second[1]] = pair[
                ::-1
            ]

    def can_be_solved(self):
        """Count inversions: the textbook's rule, other than the package's."""
        tiles = [tile for tile in chain(*self.board) if tile]
        inversions = sum(first > second for first, second in combinations(tiles, 2))
        rows_below = self.size - 1 - self.cells_where(0)[0][0]
        return (inversions + (rows_below if self.size % 2 == 0 else 0)) % 2 == 0

    def source(self, action):
        """Return the cell of the tile that an action moves."""
        ((row, column),) = self.cells_where(0)
        down, right = {UP: (1, 0), DOWN: (-1, 0), LEFT: (0, 1), RIGHT: (0, -1)}[action]
        return row + down, column + right

    def legal(self):
        inside = range(self.size)
        sources = [self.source(action) for action in range(4)]
        return [int(row in inside and column in inside) for row, column in sources]

    def move(self, action):
        (row, column), (empty,) = self.source(action), self.cells_where(0)
        self.board[empty[0]][empty[1]] = self.board[row][column]
        self.board[row][column] = 0

    def step(self, action):
        self.num_steps += 1
        if self.legal()[action]:
            self.move(action)
        success = self.board == self.goal
        is_last = self.num_steps == self.max_steps
        reward = float(success)
        if is_last and not success:
            cells = zip(chain(*self.board), chain(*self.goal), strict=True)
            share = Fraction(sum(a == b for a, b in cells), self.size**2)
            reward = float(share)
        truncated = is_last
        return (
            self.observe(),
            reward,
            success or is_last,
            truncated,
            {"success": success},
        )
