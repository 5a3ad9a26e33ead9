"""Sudoku: fill in the missing digits, with GEM's rules, boards and rewards."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from roll_vec.arrays.engine import ArrayEngine
from roll_vec.arrays.grid_env import GridEnv
from roll_vec.arrays.grid_family import Cell
from roll_vec.arrays.rules import rule
from roll_vec.arrays.state_checks import check_each
from roll_vec.envs.level_sets import Faults, Grids, LevelSet, refuse_beside_levels
from roll_vec.envs.puzzle_files import TEXTS, PuzzleSet
from roll_vec.envs.python_random import (
    RANDOM_LIMITS,
    RANDOM_WORDS,
    random_shuffle,
    seed_random,
)
from roll_vec.errors import InvalidOptionError
from roll_vec.kernels.rows import Row
from roll_vec.options import check_int, count_cores
from roll_vec.render.numbers import paint_numbers

# The fewest clues of a board that has one solution, by scale: proven for both.
FEWEST_CLUES = {4: 4, 9: 17}
FORMAT_PENALTY = -0.1
# Of the search for two solutions of a puzzle: some seconds.
MAX_STEPS = 1 << 23
# Puzzles are solved in parts of this size: each takes 4 kB.
_MANY = 1 << 12
_DIGITS = re.compile(r"[0-9._*]+")
_MANY_DIGITS = re.compile(r"[0-9._*]{9}")
# By letter of a text; 255: no cell.
_CODES = bytes(
    0 if chr(code) in "._*" else "0123456789".find(chr(code)) % 256
    for code in range(256)
)
_GROUNDS = [(126, 138, 158), *[(236, 236, 230)] * 9]


@rule
def candidates(env: Any, cell: int) -> Any:
    """Return the digits that may stand in a cell, as bits from bit 1 on."""
    row, column = cell // env.scale, cell % env.scale
    box = row // env.side * env.side + column // env.side
    digits = env.row_digits[row] | env.column_digits[column] | env.box_digits[box]
    return env.all_digits & ~digits


@rule
def write(env: Any, cell: int, digit: int) -> None:
    """Write a digit into an empty cell; 0 empties the cell again."""
    row, column = cell // env.scale, cell % env.scale
    box = row // env.side * env.side + column // env.side
    bit = 1 << (digit | env.board[row, column])
    env.row_digits[row] ^= bit
    env.column_digits[column] ^= bit
    env.box_digits[box] ^= bit
    env.board[row, column] = digit


@rule
def fill_board(env: Any) -> None:
    """Fill the empty board at random.

    Along the rows each cell tries the digits in a random order, and goes back to the
    cell before it when none may stand there: GEM's search, with its draws.
    """
    cell, last, is_new = 0, env.area - 1, True
    while cell <= last:
        start = cell * env.scale
        if is_new:
            env.num_tried[cell] = 0
            for k in range(env.scale):
                env.digits[start + k] = k + 1
            random_shuffle(env.random_words, env.digits, start, start + env.scale)
        else:
            write(env, cell, 0)
        bits, is_new = candidates(env, cell), False
        while not is_new and env.num_tried[cell] < env.scale:
            digit = env.digits[start + env.num_tried[cell]]
            env.num_tried[cell] += 1
            if (bits >> digit) & 1:
                write(env, cell, digit)
                is_new = True
        cell += 1 if is_new else -1


@rule
def search(env: Any, is_new: bool, max_steps: int) -> int:
    """Fill the empty cells of the list, in at most so many steps; 0: no limit.

    Each time it is the turn of a cell with the fewest candidates.  With ``is_new``
    False the search goes on from the solution that it has filled in, to the next one;
    else the cells would be empty.

    Returns 1, or 0 if it is impossible: the cells are empty then.  -1 is the limit.
    """
    depth = 0 if is_new else env.num_empty - 1
    num_steps = 0
    while depth < env.num_empty:
        num_steps += 1
        if num_steps == max_steps:
            return -1
        if is_new:
            best, fewest = depth, env.scale + 1
            for k in range(depth, env.num_empty):
                count = env.bit_counts[candidates(env, env.empty[k])]
                if count < fewest:
                    best, fewest = k, count
                    if count <= 1:
                        break
            cell = env.empty[best]
            env.empty[best] = env.empty[depth]
            env.empty[depth] = cell
        cell = env.empty[depth]
        digit = env.board[cell // env.scale, cell % env.scale]
        if digit > 0:
            write(env, cell, 0)
        bits = candidates(env, cell) >> (digit + 1)
        if bits == 0:
            if depth == 0:
                return 0
            depth -= 1
            is_new = False
        else:
            digit += 1
            while not bits & 1:
                bits >>= 1
                digit += 1
            write(env, cell, digit)
            depth += 1
            is_new = True
    return 1


@rule
def is_unique(env: Any, cell: int, digit: int) -> Any:
    """Return whether no other digit than one, in an empty cell, leads to a solution."""
    bits = candidates(env, cell)
    for other in range(1, env.scale + 1):
        if other != digit and (bits >> other) & 1:
            write(env, cell, other)
            is_solved = search(env, True, 0) == 1
            if is_solved:
                for k in range(env.num_empty):
                    write(env, env.empty[k], 0)
            write(env, cell, 0)
            if is_solved:
                return False
    return True


@rule
def place_clues(env: Any, level: int) -> bool:
    """Begin with a puzzle of ``levels``; return whether its clues fit together."""
    for cell in range(env.area):
        row, column = cell // env.scale, cell % env.scale
        digit = env.puzzles[level, row, column]
        env.solution[row, column] = env.puzzles[level, env.scale + row, column]
        if digit == 0:
            env.empty[env.num_empty] = cell
            env.num_empty += 1
        elif (candidates(env, cell) >> digit) & 1:
            write(env, cell, digit)
        else:
            return False
    return True


class Sudoku(GridEnv):
    """Fill the empty cells of a Sudoku, one digit a step.

    In the end each row, each column and each box has all digits once.  There is one
    solution, and only its digits are written: another one, or a digit for a cell that
    is not empty, changes nothing.  Rows and columns are counted from 1.

    Parameters
    ----------
    scale : int
        Rows, columns and digits: 9, or 4 for boxes of 2 by 2 and at most 15 ``clues``.
    clues : int
        Number of digits at the start: fewer are harder.  At least 17, or 4 with a scale
        of 4.  Where fewer clues would leave two solutions, a board has more.
    attempts : int
        Number of cells that are tried to be emptied, in random order; 0: all.
    levels : array, str, PathLike, list of str, or None
        Your own puzzles to play: an array, a file, a folder, a text or a list of texts.
        Digits are (L, 9, 9) or (L, 81), and 0 is an empty cell; each puzzle has one
        solution.  `SudokuSet` reads them.  ``scale`` becomes their size; ``clues`` and
        ``attempts`` must stay at their defaults.

    Attributes
    ----------
    board : (scale, scale) uint8
        Digits; 0 is an empty cell.
    solution : (scale, scale) uint8
    row_digits, column_digits, box_digits : (scale,) uint16
        The digits of each row, column and box, as bits from bit 1 on.
    num_missing, num_empty : uint8
        Empty cells, now and at the start.
    digits, num_tried, order, empty, random_words
        Scratch memory of the generator.
    success : bool
        Whether the board is full.

    Actions
    -------
    A text without the name of an action: the reward is -0.1, the game is over.

    Rewards
    -------
    0 to 1
        A digit is written: 1 divided by the empty cells at the start.
    -0.1
        A text without an action.

    Episode end
    -----------
    terminated
        The board is full: success.
    terminated
        A text has no action.

    Sources
    -------
    GEM, SudokuEnv : commit 4069f2f8; https://github.com/axon-rl/gem
        boards and solutions from the same seed, rewards, ends, boards as text

    Differences
    -----------
    - GEM's ``clues`` is the number of cells that it tries to empty: ``attempts`` here.
      Its ``clues=50`` gives 31 clues or more.
    - GEM's limit of turns is ``max_episode_steps``, 100 as there; it only truncates,
      and GEM's episode is terminated, too.
    - A number outside of the board is no action; in GEM the game goes on.
    - Texts are the board; GEM adds sentences about the last move.
    - Jumanji's Sudoku writes each digit that its row, column and box do not have, right
      or wrong. Another one ends the game, and so does a board without such a digit. Its
      reward is 1 for the full board alone.

    Raises
    ------
    InvalidOptionError
    """

    scale: int = 9
    clues: int = 30
    attempts: int = 0
    levels: Any = None

    state: ClassVar[Mapping[str, Any]] = {
        "board": (np.uint8, ("scale", "scale")),
        "solution": (np.uint8, ("scale", "scale")),
        "row_digits": (np.uint16, "scale"),
        "column_digits": (np.uint16, "scale"),
        "box_digits": (np.uint16, "scale"),
        "num_missing": np.uint8,
        "num_empty": np.uint8,
        "digits": (np.uint8, "num_moves"),
        "num_tried": (np.uint8, "area"),
        "order": (np.uint8, "area"),
        "empty": (np.uint8, "area"),
        "random_words": (np.uint32, RANDOM_WORDS),
        "success": np.bool_,
    }
    infos = ("success",)
    # As many as a solution has actions.
    solution_variables = ("num_missing",)
    takes_invalid_actions = True
    action_summary = "ROW COLUMN DIGIT"
    cells = tuple(map(Cell, ".123456789", ["empty", *"123456789"], _GROUNDS))
    tiles = paint_numbers(["", *"123456789"], _GROUNDS)
    bit_counts = tuple(bits.bit_count() for bits in range(1 << 10))

    def read_levels(self, levels: Any) -> LevelSet:
        """Return puzzles in any form as a set."""
        return SudokuSet.load(levels)

    def check_options(self) -> None:
        """Check the scale, and that a board can have so few clues."""
        if self.levels is not None:
            scale, _ = self.levels.shape
            refuse_beside_levels(self, ("clues", "attempts"), "scale", scale)
            self._set(scale=scale)
            return
        if self.scale not in FEWEST_CLUES:
            raise InvalidOptionError.expected("scale", "4 or 9", self.scale)
        check_int("clues", self.clues, FEWEST_CLUES[self.scale], self.scale**2 - 1)
        check_int("attempts", self.attempts, 0, self.scale**2)

    @property
    def puzzles(self) -> NDArray[np.uint8]:
        """The puzzles of ``levels``, each above its solution: (L, 2 scale, scale)."""
        if self.levels is None:
            return np.zeros((0, 2 * self.scale, self.scale), np.uint8)
        grids: NDArray[np.uint8] = self.levels.grids
        return grids

    @property
    def state_limits(self) -> dict[str, Any]:
        """The lowest and the highest value of variables of a state."""
        digits = "row_digits", "column_digits", "box_digits"
        return {
            "board": (0, self.scale),
            "solution": (1, self.scale),
            **dict.fromkeys(digits, (0, self.all_digits)),
            "num_missing": (0, self.area),
            "num_empty": (1, self.area),
            **dict.fromkeys(("digits", "num_tried"), (0, self.scale)),
            **dict.fromkeys(("order", "empty"), (0, self.area - 1)),
            "random_words": RANDOM_LIMITS,
        }

    def check_rows(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Check that boards have digits of their solutions."""
        board, missing = arrays["board"], arrays["num_missing"]
        is_right = ((board == 0) | (board == arrays["solution"])).all((1, 2))
        check_each("board", board, is_right, "digits of the solution")
        is_right = missing == (board == 0).sum((1, 2))
        check_each("num_missing", missing, is_right, "the number of empty cells")
        bits = (1 << board.astype(np.uint16)) & self.all_digits
        boxes = bits.reshape(-1, *[self.side] * 4).swapaxes(2, 3)
        for name, groups in (
            ("row_digits", bits),
            ("column_digits", bits.swapaxes(1, 2)),
            ("box_digits", boxes.reshape(bits.shape)),
        ):
            digits = arrays[name]
            is_right = (digits == np.bitwise_xor.reduce(groups, axis=2)).all(1)
            check_each(name, digits, is_right, "the digits of the board, as bits")

    @property
    def side(self) -> int:
        """The rows and columns of a box."""
        return 2 if self.scale == 4 else 3

    @property
    def all_digits(self) -> int:
        """All digits, as bits from bit 1 on."""
        return (2 << self.scale) - 2

    @property
    def area(self) -> int:
        """The number of cells."""
        return self.scale**2

    @property
    def num_moves(self) -> int:
        """The number of actions: a digit for a cell each."""
        return self.scale**3

    @property
    def actions(self) -> tuple[str, ...]:
        """The names of the actions: row, column and digit."""
        numbers = range(1, self.scale + 1)
        return tuple(
            f"{row} {column} {digit}"
            for row in numbers
            for column in numbers
            for digit in numbers
        )

    @rule
    def begin(env: Any, rng: Any, seed: int) -> None:
        if len(env.puzzles) > 0:
            place_clues(env, seed)
            env.num_missing = env.num_empty
            return
        seed_random(env.random_words, seed)
        fill_board(env)
        for cell in range(env.area):
            row, column = cell // env.scale, cell % env.scale
            env.solution[row, column] = env.board[row, column]
            env.order[cell] = cell
        random_shuffle(env.random_words, env.order, 0, env.area)
        attempts = env.area if env.attempts == 0 else env.attempts
        for k in range(attempts):
            if env.area - env.num_empty > env.clues:
                cell = env.order[env.area - 1 - k]
                digit = env.board[cell // env.scale, cell % env.scale]
                write(env, cell, 0)
                if is_unique(env, cell, digit):
                    env.empty[env.num_empty] = cell
                    env.num_empty += 1
                else:
                    write(env, cell, digit)
        env.num_missing = env.num_empty

    @rule
    def step(env: Any, action: int, rng: Any) -> tuple[float, bool]:
        if action < 0:
            return FORMAT_PENALTY, True
        cell, digit = action // env.scale, action % env.scale + 1
        row, column = cell // env.scale, cell % env.scale
        if env.board[row, column] > 0 or env.solution[row, column] != digit:
            return 0.0, False
        write(env, cell, digit)
        env.num_missing -= 1
        env.success = env.num_missing == 0
        return 1 / env.num_empty, env.success

    @rule
    def legal(env: Any, mask: Any) -> None:
        for cell in range(env.area):
            if env.board[cell // env.scale, cell % env.scale] == 0:
                bits = candidates(env, cell)
                for digit in range(env.scale):
                    mask[cell * env.scale + digit] = (bits >> (digit + 1)) & 1

    def text(self, env: Row) -> str:
        """Return the board with rows, columns and boxes, as in GEM."""
        side, scale = self.side, self.scale
        ends = [(k + 1) % side == 0 for k in range(scale)]
        header = " ".join(f"C{k + 1}" + "  " * ends[k] for k in range(scale))
        lines = ["   " + header]
        for row, codes in enumerate(env.board.array.tolist()):
            glyphs = [f" {self.grid_lookup[code]} " for code in codes]
            boxes = ["".join(glyphs[k : k + side]) for k in range(0, scale, side)]
            lines.append(f"R{row + 1} {'| '.join(boxes)}".strip())
            if ends[row] and row < scale - 1:
                lines.append("   " + "- " * 2 * (scale - 1))
        return "\n".join(lines)

    def count_moves(
        self, variables: Mapping[str, NDArray[Any]], num_threads: int
    ) -> NDArray[np.float64]:
        """Return the number of missing digits; see `ArrayEnv.count_moves`."""
        return variables["num_missing"].astype(np.float64)

    def solve(self, env: Row) -> list[int]:
        """Return the missing digits of the solution, which begin has proved unique."""
        missing = np.flatnonzero(env.board.array == 0)
        digits = env.solution.array.ravel()[missing].astype(np.int64)
        actions: list[int] = (missing * self.scale + digits - 1).tolist()
        return actions


class _Solver(Sudoku):
    """Solves its ``levels``, an array of puzzles, when episodes begin.

    ``num_missing`` is then what `solve_puzzles` returns, ``solution`` the first one.
    """

    def read_levels(self, levels: Any) -> Any:
        return levels

    def check_options(self) -> None:
        self._set(scale=self.levels.shape[-1])

    @property
    def puzzles(self) -> NDArray[np.uint8]:
        return np.concatenate((self.levels, self.levels), axis=1)

    @rule
    def begin(env: Any, rng: Any, seed: int) -> None:
        result = 0
        if place_clues(env, seed):
            result = search(env, True, MAX_STEPS)
        if result == 1:
            for cell in range(env.area):
                row, column = cell // env.scale, cell % env.scale
                env.solution[row, column] = env.board[row, column]
            more = search(env, False, MAX_STEPS)
            result = 1 + more if more >= 0 else -1
        env.num_missing = 3 if result < 0 else result


def solve_puzzles(
    puzzles: NDArray[np.uint8],
) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """Return the solutions of puzzles, and how many each has.

    Parameters
    ----------
    puzzles : (m, scale, scale) uint8
        With an empty cell each.

    Returns
    -------
    solutions : (m, scale, scale) uint8
        Of several one; zeros without any.
    counts : (m,) uint8
        0, 1, 2 for two or more, or 3 if the search gave up after `MAX_STEPS`.
    """
    parts = []
    for start in range(0, len(puzzles), _MANY):
        keywords: dict[str, Any] = {"levels": puzzles[start : start + _MANY]}
        options, count = _Solver(**keywords), len(keywords["levels"])
        engine = ArrayEngine(options, count, None, count_cores())
        # The level of seed i is puzzle i.
        engine.reset(np.arange(count), range(count))
        named = options.named(engine.variables)
        parts.append((named["solution"], named["num_missing"]))
    solutions, counts = map(np.concatenate, zip(*parts, strict=True))
    return solutions, counts


class SudokuSet(PuzzleSet):
    """Puzzles of Sudoku with one solution each.

    A grid has a puzzle, 0 for empty cells, and below it the solution:
    (2 size, size) uint8.
    """

    ACCEPTED: ClassVar[str] = (
        "an array (L, 9, 9) or (L, 81) of digits, 0 for empty cells, or (L, 4, 4) or "
        f"(L, 16); {TEXTS}"
    )
    HIGHEST_CODE: ClassVar[int] = 9
    SIZES: ClassVar[tuple[int, ...]] = tuple(FEWEST_CLUES)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of a puzzle."""
        _, _, width = self.grids.shape
        return width, width

    @classmethod
    def read_cells(cls, words: list[str]) -> bytes:
        """Return the digits of a row or a puzzle; see `PuzzleSet.read_cells`.

        Of a row of several columns, as in CSV files, the puzzle is the first one that
        has its form.
        """
        sizes = [size * size for size in sorted(cls.SIZES, reverse=True)]
        puzzles = [
            word
            for size in sizes
            for word in words
            if len(word) == size and _DIGITS.fullmatch(word)
        ]
        cells = [*puzzles, "".join(words)][0]
        # A line with so many cells is no title: it is refused for its length.
        if _DIGITS.fullmatch(cells) or any(map(_MANY_DIGITS.search, words)):
            return cells.encode("latin-1", "replace").translate(_CODES)
        return b""

    @classmethod
    def find_faults(cls, grids: Grids) -> dict[str, NDArray[np.bool_]]:
        """Return the faults that show without a search."""
        scale = grids.shape[1]
        clues = (grids > 0).sum(axis=(1, 2))
        fewest = FEWEST_CLUES[scale]
        return {
            f"expected digits up to {scale}": (grids > scale).any(axis=(1, 2)),
            "expected an empty cell, got none": clues == scale * scale,
            f"expected at least {fewest} clues, as each puzzle with one solution has": (
                clues < fewest
            ),
        }

    @classmethod
    def check(cls, grids: Grids, name: Callable[[int], str], faults: Faults) -> Grids:
        """Leave out puzzles without exactly one solution; see `LevelSet.check`."""
        sound = cls.find_sound(grids, name, faults)
        if not len(sound):
            return np.zeros((0, 0, 0), np.uint8)
        solutions, counts = solve_puzzles(grids[sound])
        problems = {
            "expected one solution, got none": counts == 0,
            "expected one solution, got several": counts == 2,
            "expected one solution; the search for a second one took too long": (
                counts > 2
            ),
        }
        one = cls.leave_out(problems, lambda j: name(sound[j]), faults)
        playable: Grids = np.concatenate((grids[sound], solutions), axis=1)[one]
        return playable
