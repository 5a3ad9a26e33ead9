"""Sliding tiles: put the numbers of a board in order, with GEM's rules and rewards."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from roll_vec.arrays.grid_env import GridEnv
from roll_vec.arrays.grid_family import Cell
from roll_vec.arrays.rules import rule
from roll_vec.arrays.state_checks import check_each
from roll_vec.envs.level_sets import Grids, LevelSet, refuse_beside_levels
from roll_vec.envs.puzzle_files import TEXTS, PuzzleSet
from roll_vec.envs.python_random import (
    RANDOM_LIMITS,
    RANDOM_WORDS,
    random_below,
    seed_random,
)
from roll_vec.kernels.rows import Row
from roll_vec.options import MAX_INT, check_int
from roll_vec.render.numbers import paint_numbers, parse_colours

MAX_SIZE = 5
FORMAT_PENALTY = -0.1
_TILE = re.compile(r"[0-9]{1,3}|[._]+")
_NUMBERS = [*map(str, range(1, MAX_SIZE**2))]
# Two colours in turn, from the empty cell on.
_GROUNDS = parse_colours("2E3440" + " 5E81AC DEB887" * (len(_NUMBERS) // 2))


@rule
def can_move(env: Any, action: int) -> bool:
    """Return whether there is a tile to move in a direction."""
    row = env.row + (action == 0) - (action == 1)
    column = env.column + (action == 2) - (action == 3)
    return bool(0 <= row < env.size and 0 <= column < env.size)


@rule
def move(env: Any, action: int) -> None:
    """Move a tile into the empty cell: one can."""
    row = env.row + (action == 0) - (action == 1)
    column = env.column + (action == 2) - (action == 3)
    env.board[env.row, env.column] = env.board[row, column]
    env.board[row, column] = 0
    env.row = row
    env.column = column


@rule
def count_placed(env: Any) -> int:
    """Return the number of cells that are as in the solved board."""
    num_placed, num_cells = 0, env.size * env.size
    for k in range(num_cells):
        tile = env.board[k // env.size, k % env.size]
        num_placed += tile == (k + 1) % num_cells
    return num_placed


@rule
def is_solved(env: Any) -> bool:
    """Return whether all tiles are in order."""
    last = env.size - 1
    if env.row != last or env.column != last:
        return False
    return bool(count_placed(env) == env.size * env.size)


@rule
def move_randomly(env: Any, last_action: int) -> int:
    """Move a random tile but the one that was moved last; return the action."""
    num_choices = 0
    for action in range(4):
        num_choices += can_move(env, action) and action != last_action ^ 1
    number = random_below(env.random_words, num_choices)
    action = -1
    while number >= 0:
        action += 1
        number -= can_move(env, action) and action != last_action ^ 1
    move(env, action)
    return action


@rule
def swap(env: Any, k: int, other: int) -> None:
    """Swap two cells, counted row by row."""
    row, column = other // env.size, other % env.size
    tile = env.board[row, column]
    env.board[row, column] = env.board[k // env.size, k % env.size]
    env.board[k // env.size, k % env.size] = tile


@rule
def scramble(env: Any) -> None:
    """Draw one of all boards that can be solved, each with the same chance."""
    last, is_odd = env.size * env.size - 1, False
    for k in range(last, 0, -1):
        other = random_below(env.random_words, k + 1)
        swap(env, k, other)
        is_odd ^= other != k
    empty = 0
    while env.board[empty // env.size, empty % env.size] > 0:
        empty += 1
    env.row = empty // env.size
    env.column = empty % env.size
    # A move swaps two cells and takes the empty one to a cell of the other colour of a
    # chequered board: in boards that can be solved both parities are the same.
    if is_odd != ((env.row + env.column) % 2 == 1):
        # Two tiles in the order of their cells, as by ``random.sample``, which takes
        # another way to them with 22 and more.
        first = random_below(env.random_words, last)
        second = random_below(env.random_words, last - (last < 22))
        while second == first:
            second = random_below(env.random_words, last) if last > 21 else last - 1
        swap(env, first + (first >= empty), second + (second >= empty))


class SlidingTiles(GridEnv):
    """Slide the tiles of a board until their numbers are in order.

    In the solved board the numbers go up from the top left, row by row, and the empty
    cell is the last.  An action moves a tile into the empty cell: up moves the tile
    below it, down the one above it, left the one on its right, right the one on its
    left.  An action without such a tile changes nothing.

    Parameters
    ----------
    size : int
        Rows and columns, 2 to 5: 3 is the 8-puzzle, 4 the 15-puzzle.
    num_shuffles : int
        The difficulty: the number of random moves from the solved board to the first.
        None of them takes back the one before, and no solution needs more.  0: each
        board that can be solved has the same chance.
    max_steps : int
        The episode ends after so many steps.  The last one earns the share of cells
        that are as in the solved board.
    levels : array, str, PathLike, list of str, or None
        Your own boards to play: an array, a file, a folder, a text or a list of texts.
        Numbers are (L, H, W) or (L, H * W), and 0 is the empty cell; each board has a
        solution.  `TileSet` reads them.  ``size`` becomes their size; ``num_shuffles``
        must stay at its default.

    Attributes
    ----------
    board : (size, size) uint8
        0 is the empty cell.
    row, column : int8
        Of the empty cell.
    num_moves : int32
        Actions so far.
    random_words : (625,) uint32
        The generator of the first board.
    success : bool
        Whether the board is solved.

    Actions
    -------
    A text without the name of an action: the reward is -0.1, the game is over.

    Rewards
    -------
    1
        The board is solved.
    0 to 1
        The step ``max_steps``, unless it solves the board: the share of cells that are
        as in the solved board.
    -0.1
        A text without an action.

    Episode end
    -----------
    terminated
        The board is solved: success.
    terminated
        The last of ``max_steps`` actions.
    terminated
        A text has no action.

    Sources
    -------
    GEM, FifteenPuzzleEnv : commit 4069f2f8; https://github.com/axon-rl/gem
        boards from the same seeds, steps, rewards, boards as text

    Differences
    -----------
    - No board is solved at the start: one more random move is made then.
    - A board that the last of ``max_steps`` actions solves is truncated, too.
    - Texts are the board; GEM adds sentences about the last move.
    - Jumanji's SlidingTilePuzzle moves the empty cell, by the actions up, right, down,
      left; its reward is the change of the number of cells that are right; its random
      moves may take each other back.

    Raises
    ------
    InvalidOptionError
    """

    size: int = 3
    num_shuffles: int = 100
    max_steps: int = 50
    levels: Any = None

    state: ClassVar = {
        "board": (np.uint8, ("size", "size")),
        "row": np.int8,
        "column": np.int8,
        "num_moves": np.int32,
        "random_words": (np.uint32, RANDOM_WORDS),
        "success": np.bool_,
    }
    actions = ("up", "down", "left", "right")
    infos = ("success",)
    solution_variables = ("board",)
    takes_invalid_actions = True
    cells = (
        Cell("__", "empty", _GROUNDS[0]),
        *map(Cell, _NUMBERS, _NUMBERS, _GROUNDS[1:]),
    )
    tiles = paint_numbers(["", *_NUMBERS], _GROUNDS)

    def read_levels(self, levels: Any) -> LevelSet:
        """Return boards in any form as a set."""
        return TileSet.load(levels)

    @property
    def puzzles(self) -> NDArray[np.uint8]:
        """The boards of ``levels``, (L, size, size)."""
        if self.levels is None:
            return np.zeros((0, self.size, self.size), np.uint8)
        grids: NDArray[np.uint8] = self.levels.grids
        return grids

    @property
    def state_limits(self) -> dict[str, Any]:
        """The lowest and the highest value of variables of a state."""
        return {
            "board": (0, self.size**2 - 1),
            **dict.fromkeys(("row", "column"), (0, self.size - 1)),
            "num_moves": (0, MAX_INT),
            "random_words": RANDOM_LIMITS,
        }

    def check_rows(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Check that boards have each number once, and where the empty cell is."""
        board, row, column = arrays["board"], arrays["row"], arrays["column"]
        numbers = np.sort(board.reshape(len(board), -1))
        is_right = (numbers == np.arange(self.size**2)).all(1)
        check_each("board", board, is_right, "each number once")
        is_right = board[np.arange(len(board)), row, column] == 0
        check_each("row, column", board, is_right, "the empty cell of the board")

    def check_options(self) -> None:
        """Check the numbers."""
        if self.levels is not None:
            size, _ = self.levels.shape
            refuse_beside_levels(self, ("num_shuffles",), "size", size)
            self._set(size=size)
        check_int("size", self.size, 2, MAX_SIZE)
        check_int("num_shuffles", self.num_shuffles, 0)
        check_int("max_steps", self.max_steps, 1)

    @rule
    def begin(env: Any, rng: Any, seed: int) -> None:
        if len(env.puzzles) > 0:
            for k in range(env.size * env.size):
                tile = env.puzzles[seed, k // env.size, k % env.size]
                env.board[k // env.size, k % env.size] = tile
                if tile == 0:
                    env.row = k // env.size
                    env.column = k % env.size
            return
        seed_random(env.random_words, seed)
        last = env.size - 1
        for k in range(env.size * env.size - 1):
            env.board[k // env.size, k % env.size] = k + 1
        env.row = last
        env.column = last
        if env.num_shuffles == 0:
            while is_solved(env):
                scramble(env)
        else:
            count, action = 0, -1
            # One move more if these have solved it.
            while count < env.num_shuffles or is_solved(env):
                action = move_randomly(env, action)
                count += 1

    @rule
    def step(env: Any, action: int, rng: Any) -> tuple[float, bool]:
        if action < 0:
            return FORMAT_PENALTY, True
        env.num_moves = min(env.num_moves + 1, MAX_INT)
        if can_move(env, action):
            move(env, action)
            env.success = is_solved(env)
            if env.success:
                return 1.0, True
        if env.num_moves != env.max_steps:
            return 0.0, False
        num_cells, reward = env.size * env.size, 0.0
        # Added up as in GEM: a product rounds differently.
        for _ in range(count_placed(env)):
            reward += 1 / num_cells
        return reward, True

    @rule
    def legal(env: Any, mask: Any) -> None:
        for action in range(4):
            mask[action] = can_move(env, action)

    def text(self, env: Row) -> str:
        """Return the board, two characters a cell, as in GEM."""
        return "\n".join(
            " ".join(f"{self.grid_lookup[code]:>2}" for code in row)
            for row in env.board.array.tolist()
        )

    def solve(self, env: Row) -> list[int]:
        """Return the fewest actions that solve the board.

        Raises
        ------
        SolverLimitError
        """
        from roll_vec.envs.sliding_tiles_solver import solve_board

        return solve_board(env.board.array)


class TileSet(PuzzleSet):
    """Boards of sliding tiles with a solution, 0 for the empty cell."""

    ACCEPTED: ClassVar[str] = (
        "an array (L, H, W) or (L, H * W) of numbers, 0 for the empty cell, "
        f"from 2 x 2 to {MAX_SIZE} x {MAX_SIZE} cells; {TEXTS}"
    )
    HIGHEST_CODE: ClassVar[int] = MAX_SIZE**2 - 1
    SIZES: ClassVar[tuple[int, ...]] = tuple(range(2, MAX_SIZE + 1))

    @classmethod
    def read_cells(cls, words: list[str]) -> bytes:
        """Return the numbers of a row or a board; see `PuzzleSet.read_cells`.

        ``867254301`` is a board of nine digits; a number alone, such as the size, is
        another text.
        """
        if len(words) == 1:
            words = list(words[0]) if len(words[0]) in (4, 9) else []
        if not all(map(_TILE.fullmatch, words)):
            return b""
        return bytes(min(int(word), 255) if word.isdigit() else 0 for word in words)

    @classmethod
    def find_faults(cls, grids: Grids) -> dict[str, NDArray[np.bool_]]:
        """Return the faults of boards."""
        cells = grids.reshape(len(grids), -1)
        num_cells, size = cells.shape[1], grids.shape[1]
        numbers = np.arange(num_cells)
        # The solved board is 1, 2, ..., 0: the empty cell is the highest number.
        order = (cells.astype(np.int64) - 1) % num_cells
        is_odd = np.zeros(len(cells), np.int64)
        for k in range(num_cells):
            is_odd += (order[:, k : k + 1] > order[:, k + 1 :]).sum(axis=1)
        # A move swaps two cells, and takes the empty one to a cell of the other colour
        # of a chequered board.
        empty = (cells == 0).argmax(axis=1)
        is_odd += empty // size + empty % size
        return {
            f"expected the numbers 0 to {num_cells - 1}, once each": (
                (np.sort(cells, axis=1) != numbers).any(axis=1)
            ),
            "expected tiles that are not in order at the start": (
                (order == numbers).all(axis=1)
            ),
            "it has no solution": is_odd % 2 == 1,
        }
