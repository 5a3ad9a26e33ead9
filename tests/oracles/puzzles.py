"""Minesweeper and Sudoku as slow classes of objects, with Python's own `random`.

Each has ``step(action)``, with the reward and the end, ``board()``, the cell codes, and
``legal()``, the set of actions that can change something.
"""

import itertools
import random


class SlowMinesweeper:
    """Minesweeper of GEM's rules; actions count as in `roll_vec.envs.minesweeper`."""

    def __init__(self, seed, rows, cols, num_mines, needs_flags=True):
        self.random = random.Random(seed)
        self.rows, self.cols, self.num_mines = rows, cols, num_mines
        self.needs_flags, self.exploded = needs_flags, None
        self.places = [*itertools.product(range(rows), range(cols))]
        self.mines, self.flags, self.revealed = None, set(), set()
        for _ in range(2):
            self.draw()

    def draw(self):
        return self.random.randint(0, self.rows - 1), self.random.randint(
            0, self.cols - 1
        )

    def around(self, place):
        row, column = place
        return {
            (r, c) for r, c in self.places if max(abs(r - row), abs(c - column)) == 1
        }

    def number(self, place):
        return len(self.around(place) & self.mines)

    def step(self, action):
        if action < 0:
            return -0.1, True
        place = self.places[action % len(self.places)]
        if action >= len(self.places):
            if place not in self.revealed:
                self.flags ^= {place}
            return 0.0, False
        if self.mines is None:
            self.mines = set()
            while len(self.mines) < self.num_mines:
                mine = self.draw()
                if mine not in self.around(place) | {place}:
                    self.mines.add(mine)
        if place in self.mines:
            self.exploded = place
            return 0.0, True
        if place in self.revealed | self.flags:
            return 0.0, False
        before, waiting = len(self.revealed), [place]
        while waiting:
            one = waiting.pop()
            self.revealed.add(one)
            if self.number(one) == 0:
                waiting += self.around(one) - self.revealed - self.flags
        num_safe = len(self.places) - self.num_mines
        has_won = len(self.revealed) == num_safe
        has_won &= not self.needs_flags or self.mines <= self.flags
        return (len(self.revealed) - before) / num_safe, has_won

    def code(self, place):
        if place == self.exploded:
            return 11
        if place in self.revealed:
            return self.number(place)
        return 10 if place in self.flags else 9

    def board(self):
        codes = [self.code(place) for place in self.places]
        return [codes[k : k + self.cols] for k in range(0, len(codes), self.cols)]

    def legal(self):
        size = len(self.places)
        hidden = [k for k in range(size) if self.places[k] not in self.revealed]
        free = {k for k in hidden if self.places[k] not in self.flags}
        if self.exploded is not None:
            place = self.places.index(self.exploded)
            return {*free, *(k + size for k in hidden)} - {place, place + size}
        return {*free, *(k + size for k in hidden)}


class SlowSudoku:
    """Sudoku of GEM's rules; actions count as in `roll_vec.envs.sudoku`."""

    def __init__(self, seed, scale, clues, attempts=0):
        self.random, self.scale = random.Random(seed), scale
        self.places = [*itertools.product(range(scale), repeat=2)]
        self.digits = {}
        assert self.fill()
        self.solution = dict(self.digits)
        order = list(self.places)
        self.random.shuffle(order)
        for place in order[::-1][: attempts or None]:
            if len(self.digits) > clues:
                before = dict(self.digits)
                del self.digits[place]
                after = dict(self.digits)
                is_unique = len([*itertools.islice(self.solutions(), 2)]) == 1
                # The search stops in the midst of a board.
                self.digits = after if is_unique else before
        self.num_empty = len(self.places) - len(self.digits)

    def may_stand(self, place, digit):
        side = int(self.scale**0.5)
        row, column = place
        return not any(
            other == digit
            and (
                r == row
                or c == column
                or (r // side, c // side) == (row // side, column // side)
            )
            for (r, c), other in self.digits.items()
        )

    def fill(self):
        if len(self.digits) == len(self.places):
            return True
        place = self.places[len(self.digits)]
        digits = list(range(1, self.scale + 1))
        self.random.shuffle(digits)
        for digit in digits:
            if self.may_stand(place, digit):
                self.digits[place] = digit
                if self.fill():
                    return True
                del self.digits[place]
        return False

    def candidates(self, place):
        digits = range(1, self.scale + 1)
        return [digit for digit in digits if self.may_stand(place, digit)]

    def solutions(self):
        """Yield once for each solution of the board."""
        empty = [place for place in self.places if place not in self.digits]
        if not empty:
            yield True
            return
        place = min(empty, key=lambda place: len(self.candidates(place)))
        for digit in self.candidates(place):
            self.digits[place] = digit
            yield from self.solutions()
            del self.digits[place]

    def step(self, action):
        if action < 0:
            return -0.1, True
        place, digit = self.places[action // self.scale], action % self.scale + 1
        if place in self.digits or self.solution[place] != digit:
            return 0.0, False
        self.digits[place] = digit
        return 1 / self.num_empty, len(self.digits) == len(self.places)

    def board(self):
        codes = [self.digits.get(place, 0) for place in self.places]
        return [codes[k : k + self.scale] for k in range(0, len(codes), self.scale)]

    def legal(self):
        return {
            k * self.scale + digit - 1
            for k, place in enumerate(self.places)
            if place not in self.digits
            for digit in self.candidates(place)
        }
