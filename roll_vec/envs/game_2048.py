"""2048: merge equal tiles until one of them is 2048, with GEM's rules and rewards."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from roll_vec.arrays.grid_env import GridEnv
from roll_vec.arrays.grid_family import Cell
from roll_vec.arrays.rules import rule
from roll_vec.envs.python_random import (
    RANDOM_LIMITS,
    RANDOM_WORDS,
    random_below,
    random_float,
    seed_random,
)
from roll_vec.errors import InvalidOptionError
from roll_vec.kernels.rows import Row
from roll_vec.options import check_int
from roll_vec.render.numbers import paint_numbers, parse_colours

# The highest tile is 2**17 = 131072: no board of 4x4 has a higher one.
MAX_EXPONENT = 17
MAX_SCORE = 1 << 40
CHANCE_OF_2 = 0.9
FORMAT_PENALTY = -0.1
# From the empty cell on.
_GROUNDS = parse_colours("""
CDC1B4 EEE4DA EDE0C8 F2B179 F59563 F67C5F F65E3B EDCF72 EDCC61 EDC850 EDC53F EDC22E
5FB36A 3A8F57 2F7F9E 2F5F9E 5A4FA0 3C3A32
""")
_TILES = [2**k for k in range(1, MAX_EXPONENT + 1)]
_LABELS = ["", *(f"{n}" if n < 10000 else f"{n // 1024}K" for n in _TILES)]


@rule
def slide(env: Any, action: int) -> tuple[bool, int, int]:
    """Slide all tiles.

    Return whether one has moved, the sum of merged tiles, and the highest exponent.
    """
    last = env.size - 1
    has_moved, points, highest = False, 0, 0
    # Down and right begin at the far end of each line.
    down, right = int(action == 1), int(action == 3)
    over_rows = int(action < 2)
    row_step = over_rows * (1 - 2 * down)
    column_step = (1 - over_rows) * (1 - 2 * right)
    for line in range(env.size):
        row = down * last if over_rows else line
        column = line if over_rows else right * last
        # The tile at ``place - 1`` if it can merge, else 0.
        place, previous = 0, 0
        for k in range(env.size):
            tile = env.board[row + k * row_step, column + k * column_step]
            if tile > 0:
                if tile == previous:
                    # Two of the highest tile are one of them.
                    tile, previous = min(tile + 1, MAX_EXPONENT), 0
                    place -= 1
                    points += 1 << tile
                else:
                    previous = tile
                has_moved |= place != k
                highest = max(highest, tile)
                env.board[row + place * row_step, column + place * column_step] = tile
                place += 1
        for k in range(place, env.size):
            env.board[row + k * row_step, column + k * column_step] = 0
    return has_moved, points, highest


@rule
def add_tile(env: Any) -> tuple[int, int]:
    """Put a tile on one of the empty cells.

    Return how many there were, and the tile's exponent.
    """
    num_empty, tile = 0, 0
    for row in range(env.size):
        for column in range(env.size):
            num_empty += env.board[row, column] == 0
    if num_empty > 0:
        number = random_below(env.random_words, num_empty)
        for row in range(env.size):
            for column in range(env.size):
                if env.board[row, column] == 0:
                    if number == 0:
                        is_2 = random_float(env.random_words) < CHANCE_OF_2
                        tile = 1 if is_2 else 2
                        env.board[row, column] = tile
                    number -= 1
    return num_empty, tile


@rule
def has_equal_neighbours(env: Any) -> bool:
    """Return whether two tiles of a full board can merge."""
    for row in range(env.size):
        for column in range(env.size - 1):
            if env.board[row, column] == env.board[row, column + 1]:
                return True
            if env.board[column, row] == env.board[column + 1, row]:
                return True
    return False


class Game2048(GridEnv):
    """Slide the tiles of a board; two equal tiles that meet merge into their sum.

    An action slides all tiles as far as they go: up, down, left or right.  Each tile
    merges once in a step.  Then a 2, or now and then a 4, comes up on a random empty
    cell.  An action that slides no tile changes nothing.  The game is won with the tile
    ``target``, and lost when no action slides a tile.

    Parameters
    ----------
    size : int
        Rows and columns, 2 to 10.
    target : int
        A power of two from 8 to 131072.

    Attributes
    ----------
    board : (size, size) uint8
        Exponents: 0 is an empty cell, k the tile 2**k.
    score : int64
        The sum of all tiles that merges have made.
    best, first_best : int8
        The exponents of the highest tile after a slide, and of that at the start.
    random_words : (625,) uint32
        The generator.
    success : bool
        Whether the target is reached.

    Actions
    -------
    A text without the name of an action: the reward is -0.1, the game is over.

    Rewards
    -------
    0 to 1
        The highest tile has grown: the doublings that it took, as a share of those from
        the first highest tile to the target.
    -0.1
        A text without an action.

    Episode end
    -----------
    terminated
        The tile ``target`` is made: success.
    terminated
        No action slides a tile.
    terminated
        A text has no action.

    Sources
    -------
    GEM, Game2048Env : commit 4069f2f8; https://github.com/axon-rl/gem
        tiles from the same seeds, steps, rewards, boards as text

    Differences
    -----------
    - GEM's limit of turns is ``max_episode_steps``, 1000 as there; it only truncates,
      and GEM's episode is terminated, too.
    - Texts are the board; GEM adds sentences about the last move.
    - Jumanji's Game2048 has no target; its reward is the increase of ``score``; it
      begins with one tile; its actions are up, right, down and left.

    Raises
    ------
    InvalidOptionError
    """

    size: int = 4
    target: int = 2048

    # A step takes 0.1 to 0.3 us: two threads play 2,048 1.35 times as fast as one.
    ROWS_PER_THREAD = 1 << 10
    state: ClassVar = {
        "board": (np.uint8, ("size", "size")),
        "score": np.int64,
        "best": np.int8,
        "first_best": np.int8,
        "random_words": (np.uint32, RANDOM_WORDS),
        "success": np.bool_,
    }
    actions = ("up", "down", "left", "right")
    infos = ("score", "success")
    takes_invalid_actions = True
    cells = (
        Cell(".", "empty", _GROUNDS[0]),
        *map(Cell, map(str, _TILES), map(str, _TILES), _GROUNDS[1:]),
    )
    tiles = paint_numbers(_LABELS, _GROUNDS)

    def check_options(self) -> None:
        """Check the size and the target."""
        check_int("size", self.size, 2, 10)
        if self.target not in _TILES[2:]:
            accepted = f"a power of two from 8 to {_TILES[-1]}"
            raise InvalidOptionError.expected("target", accepted, self.target)

    @property
    def target_exponent(self) -> int:
        """The exponent of the target."""
        return self.target.bit_length() - 1

    @property
    def state_limits(self) -> dict[str, Any]:
        """The lowest and the highest value of variables of a state."""
        return {
            "board": (0, MAX_EXPONENT),
            "score": (0, MAX_SCORE),
            "best": (0, MAX_EXPONENT),
            # Rewards are shares of the way from here to the target.
            "first_best": (0, self.target_exponent - 1),
            "random_words": RANDOM_LIMITS,
        }

    @rule
    def begin(env: Any, rng: Any, seed: int) -> None:
        seed_random(env.random_words, seed)
        for _ in range(2):
            _, tile = add_tile(env)
            env.best = max(env.best, tile)
        # GEM draws the example of its instructions.
        random_below(env.random_words, 4)
        env.first_best = env.best

    @rule
    def step(env: Any, action: int, rng: Any) -> tuple[float, bool]:
        if action < 0:
            return FORMAT_PENALTY, True
        has_moved, points, highest = slide(env, action)
        if not has_moved:
            return 0.0, False
        env.score = min(env.score + points, MAX_SCORE)
        # Before the new tile: a 4 that comes up earns its reward in the next step.
        before = env.best
        env.best = max(highest, before)
        num_empty, _ = add_tile(env)
        env.success = env.best >= env.target_exponent
        is_lost = num_empty == 1 and not has_equal_neighbours(env)
        reward = (env.best - before) / (env.target_exponent - env.first_best)
        return reward, env.success or is_lost

    @rule
    def legal(env: Any, mask: Any) -> None:
        for line in range(env.size):
            for k in range(env.size - 1):
                upper, lower = env.board[k, line], env.board[k + 1, line]
                left, right = env.board[line, k], env.board[line, k + 1]
                if lower > 0 and (upper == 0 or upper == lower):
                    mask[0] = 1
                if upper > 0 and (lower == 0 or lower == upper):
                    mask[1] = 1
                if right > 0 and (left == 0 or left == right):
                    mask[2] = 1
                if left > 0 and (right == 0 or right == left):
                    mask[3] = 1

    def text(self, env: Row) -> str:
        """Return the board, four characters a cell, as in GEM."""
        return "\n".join(
            " ".join(f"{self.grid_lookup[code]:>4}" for code in row)
            for row in env.board.array.tolist()
        )
