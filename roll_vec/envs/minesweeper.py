"""Minesweeper: reveal all cells without a mine, with GEM's rules and rewards."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from roll_vec.arrays.grid_env import GridEnv
from roll_vec.arrays.grid_family import Cell
from roll_vec.arrays.rules import rule
from roll_vec.arrays.state_checks import check_each
from roll_vec.envs.python_random import (
    RANDOM_LIMITS,
    RANDOM_WORDS,
    random_below,
    seed_random,
)
from roll_vec.errors import InvalidOptionError
from roll_vec.kernels.rows import Row
from roll_vec.options import check_int
from roll_vec.render.numbers import paint_numbers, parse_colours

# Cell codes; lower ones are the numbers of mines around a revealed cell.
HIDDEN, FLAG, MINE = 9, 10, 11
MAX_SIDE = 64
FORMAT_PENALTY = -0.1
_GLYPHS = (*"012345678", ".", "F", "*")
_GROUNDS = parse_colours("""
E6E6E1 C9DCF5 CBE8C6 F6CFC4 BFC2EA E8BFB0 B9E0E0 D8C6E6 C8C8C8 7D8CA3 F2A03D C6302B
""")
_MEANINGS = (*"012345678", "hidden", "hidden with a flag", "a revealed mine")


@rule
def count_mines(env: Any, row: int, column: int) -> Any:
    """Return the number of mines around a cell."""
    count = 0
    for r in range(max(row - 1, 0), min(row + 2, env.rows)):
        for c in range(max(column - 1, 0), min(column + 2, env.cols)):
            count += env.mines[r, c]
    return count


@rule
def lay_mines(env: Any, row: int, column: int) -> None:
    """Lay the mines on the first cells of the order that are not next to a cell."""
    count, k = 0, 0
    while count < env.num_mines:
        r, c = env.order[k] // env.cols, env.order[k] % env.cols
        if abs(r - row) > 1 or abs(c - column) > 1:
            env.mines[r, c] = True
            count += 1
        k += 1
    env.has_mines = True


@rule
def reveal(env: Any, row: int, column: int) -> Any:
    """Reveal a cell, and all around a 0; return the number of cells revealed."""
    env.queue[0] = row * env.cols + column
    env.board[row, column] = count_mines(env, row, column)
    first, last = 0, 1
    while first < last:
        y, x = env.queue[first] // env.cols, env.queue[first] % env.cols
        first += 1
        if env.board[y, x] == 0:
            for r in range(max(y - 1, 0), min(y + 2, env.rows)):
                for c in range(max(x - 1, 0), min(x + 2, env.cols)):
                    if env.board[r, c] == HIDDEN:
                        env.board[r, c] = count_mines(env, r, c)
                        env.queue[last] = r * env.cols + c
                        last += 1
    return last


@rule
def has_won(env: Any) -> Any:
    """Return whether no safe cell is hidden, and flags are on all mines if need be."""
    if env.num_hidden > 0:
        return False
    for r in range(env.rows):
        for c in range(env.cols):
            if env.needs_flags and env.mines[r, c] and env.board[r, c] != FLAG:
                return False
    return True


class Minesweeper(GridEnv):
    """Reveal all cells without a mine; a revealed mine ends the game.

    A revealed cell shows the number of mines in the up to 8 cells around it.  Around a
    0 all cells are revealed as well.  A flag marks a hidden cell; to flag it again
    takes the flag away.  To reveal a cell with a flag changes nothing, but ends the
    game if there is a mine.  The first cell to be revealed has no mine, and there is
    none next to it.  The game is won when a cell is revealed and no cell without a mine
    is hidden.  Rows and columns are counted from 0.

    By then all mines must have flags: set them before you reveal the last cell.

    Parameters
    ----------
    rows, cols : int
        The size of the board, from 2 to 64 each, one of them above 3.
    num_mines : int
        Number of mines, at least 1.  9 cells stay free of them, the first revealed one
        and those around it; 6 or 4 on a board with two rows or columns.
    needs_flags : bool
        False: the game is won without flags.

    Attributes
    ----------
    board : (rows, cols) uint8
        Numbers of mines; 9 hidden, 10 with a flag, 11 the mine that has been revealed.
    mines : (rows, cols) bool
        They lie from the first revealed cell on: ``has_mines``.
    order : (num_mines + 9,) uint16
        Cells, row * cols + column, in the order in which mines are laid on them.
    num_hidden : int32
        Cells without a mine that are not revealed.
    queue, random_words
        Scratch memory.
    success : bool
        Whether the game is won.

    Actions
    -------
    A text without the name of an action: the reward is -0.1, the game is over.

    Rewards
    -------
    0 to 1
        A cell is revealed: the number of cells that it reveals, as a share of those
        without a mine.
    -0.1
        A text without an action.

    Episode end
    -----------
    terminated
        A cell is revealed, no cell without a mine is hidden, and with ``needs_flags``
        all mines have flags: success.
    terminated
        A mine is revealed.
    terminated
        A text has no action.

    Sources
    -------
    GEM, MinesweeperEnv : commit 4069f2f8; https://github.com/axon-rl/gem
        mines from the same seed and first cell, rewards, ends, boards as text

    Differences
    -----------
    - GEM's limit of turns is ``max_episode_steps``, 64 as in its hard game; it only
      truncates, and GEM's episode is terminated, too.
    - A cell outside of the board is no action; in GEM the game goes on.
    - The mine that ends the game is shown; GEM's last board hides it.
    - Texts are the board; GEM adds sentences about the last move.
    - Jumanji's Minesweeper has no flags, so that ``needs_flags=False`` has its end. It
      lays the mines before the first cell is revealed, and reveals one cell a step, for
      a reward of 1; a revealed cell ends the game.

    Raises
    ------
    InvalidOptionError
    """

    rows: int = 8
    cols: int = 8
    num_mines: int = 10
    needs_flags: bool = True

    state: ClassVar[Mapping[str, Any]] = {
        "board": (np.uint8, ("rows", "cols")),
        "mines": (np.bool_, ("rows", "cols")),
        "has_mines": np.bool_,
        "order": (np.uint16, "num_ordered"),
        "num_hidden": np.int32,
        "queue": (np.uint16, "area"),
        "random_words": (np.uint32, RANDOM_WORDS),
        "success": np.bool_,
    }
    infos = ("success",)
    solution_variables = "board", "mines", "num_hidden", "success"
    takes_invalid_actions = True
    action_summary = "reveal ROW COLUMN or flag ROW COLUMN"
    cells = tuple(map(Cell, _GLYPHS, _MEANINGS, _GROUNDS))
    tiles = paint_numbers(["", *_GLYPHS[1:9], "", "F", "*"], _GROUNDS)

    def check_options(self) -> None:
        """Check that the mines leave room for the first revealed cell."""
        for name in ("rows", "cols"):
            check_int(name, getattr(self, name), 2, MAX_SIDE)
        most = self.area - self.num_around
        if most == 0:
            accepted = "more than 3 rows or columns, which leave a cell for a mine"
            value = f"{self.rows} by {self.cols}"
            raise InvalidOptionError.expected("rows, cols", accepted, value)
        check_int("num_mines", self.num_mines, 1, most)

    @property
    def state_limits(self) -> dict[str, Any]:
        """The lowest and the highest value of variables of a state."""
        cells = 0, self.area - 1
        limits = {"board": (0, MINE), "order": cells, "queue": cells}
        limits["num_hidden"] = 0, self.area - self.num_mines
        return {**limits, "random_words": RANDOM_LIMITS}

    def check_rows(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Check that the order has each cell once, and the number of hidden cells."""
        order, hidden = arrays["order"], arrays["num_hidden"]
        ordered = np.sort(order)
        is_new = (ordered[:, 1:] > ordered[:, :-1]).all(1)
        check_each("order", order, is_new, "each cell at most once")
        mines, has_mines = arrays["mines"], arrays["has_mines"]
        board = arrays["board"]
        is_new = ((board == HIDDEN) | (board == FLAG)).all((1, 2))
        accepted = "hidden cells before there are mines"
        check_each("board", board, is_new | has_mines, accepted)
        is_hidden = (board >= HIDDEN) & ~mines
        counts = np.where(has_mines, is_hidden.sum((1, 2)), self.area - self.num_mines)
        accepted = "the number of hidden cells without a mine"
        check_each("num_hidden", hidden, hidden == counts, accepted)

    @property
    def area(self) -> int:
        """The number of cells."""
        return self.rows * self.cols

    @property
    def num_around(self) -> int:
        """The most cells that are a cell or next to it."""
        return min(self.rows, 3) * min(self.cols, 3)

    @property
    def num_ordered(self) -> int:
        """The most cells that are looked at to lay the mines."""
        return self.num_mines + self.num_around

    @property
    def actions(self) -> tuple[str, ...]:
        """The names of the actions: to reveal each cell, and to flag each."""
        names = [f"{r} {c}" for r in range(self.rows) for c in range(self.cols)]
        return tuple(f"{verb} {name}" for verb in ("reveal", "flag") for name in names)

    @rule
    def begin(env: Any, rng: Any, seed: int) -> None:
        seed_random(env.random_words, seed)
        # GEM draws the cells of two examples for its instructions.
        for _ in range(2):
            random_below(env.random_words, env.rows)
            random_below(env.random_words, env.cols)
        count = 0
        while count < env.num_ordered:
            row = random_below(env.random_words, env.rows)
            column = random_below(env.random_words, env.cols)
            if env.board[row, column] == 0:
                env.board[row, column] = HIDDEN
                env.order[count] = row * env.cols + column
                count += 1
        for row in range(env.rows):
            for column in range(env.cols):
                env.board[row, column] = HIDDEN
        env.num_hidden = env.area - env.num_mines

    @rule
    def step(env: Any, action: int, rng: Any) -> tuple[float, bool]:
        if action < 0:
            return FORMAT_PENALTY, True
        row, column = action % env.area // env.cols, action % env.cols
        code = env.board[row, column]
        if action >= env.area:
            if code == HIDDEN:
                env.board[row, column] = FLAG
            elif code == FLAG:
                env.board[row, column] = HIDDEN
            return 0.0, False
        if not env.has_mines:
            lay_mines(env, row, column)
        if env.mines[row, column]:
            env.board[row, column] = MINE
            return 0.0, True
        if code != HIDDEN:
            return 0.0, False
        count = reveal(env, row, column)
        env.num_hidden -= count
        env.success = has_won(env)
        return count / (env.area - env.num_mines), env.success

    @rule
    def legal(env: Any, mask: Any) -> None:
        for place in range(env.area):
            code = env.board[place // env.cols, place % env.cols]
            mask[place] = code == HIDDEN
            mask[env.area + place] = code in (HIDDEN, FLAG)

    def describe(self) -> str:
        """Return the rules, without that of the flags if it does not hold."""
        rules = super().describe()
        return rules if self.needs_flags else rules.rpartition("\n\n")[0]

    def text(self, env: Row) -> str:
        """Return the board with the numbers of rows and columns, as in GEM."""
        lines = ["   " + " ".join(f"{column:>2}" for column in range(self.cols))]
        for row, codes in enumerate(env.board.array.tolist()):
            glyphs = "".join(f" {self.grid_lookup[code]} " for code in codes)
            lines.append(f"{row:2} {glyphs}")
        return "\n".join(lines)

    def action_advantages(
        self,
        before: Mapping[str, NDArray[Any]],
        actions: NDArray[np.int64],
        after: Mapping[str, NDArray[Any]],
    ) -> NDArray[np.float64]:
        """Return -1 for actions after which the game cannot be won any more, else 0.

        See `roll_vec.arrays.array_env.ArrayEnv`.
        """

        def can_win(variables: Mapping[str, NDArray[Any]]) -> NDArray[np.bool_]:
            is_lost = (variables["board"] == MINE).any((1, 2))
            is_won = variables["success"]
            return ~is_lost & (is_won | (variables["num_hidden"] > 0))

        loses = can_win(before) & ~(can_win(after) & (actions >= 0))
        return 0.0 - loses

    def solve(self, env: Row) -> list[int] | None:
        """Return a shortest way to win of a player who knows the mines.

        Before the first cell is revealed, the way begins with that in the middle.
        None: the game is lost, or there is no cell to reveal any more.
        """
        middle = self.rows // 2 * self.cols + self.cols // 2
        if not env.has_mines:
            lay_mines(env, middle // self.cols, middle % self.cols)
        board, mines = env.board.array.ravel(), env.mines.array.ravel()
        flags = mines if self.needs_flags else mines & (board == FLAG)
        ways = np.flatnonzero(flags != (board == FLAG)) + self.area
        actions: list[int] = ways.tolist()
        for action in actions:
            self.step(env, action, None)
        places = [divmod(place, self.cols) for place in range(self.area)]
        counts = [count_mines(env, *place) for place in places]
        for place in sorted(
            range(self.area), key=lambda k: (counts[k] > 0, k != middle)
        ):
            if board[place] == HIDDEN and not mines[place]:
                actions.append(place)
                self.step(env, place, None)
        return actions if env.success and MINE not in board else None
