"""Puzzles of users: every form of texts, files and arrays; play; what is refused."""

import pathlib
from typing import Any, ClassVar

import gymnasium
import numpy as np
import pytest

import roll_vec
from roll_vec.envs.sliding_tiles import TileSet
from roll_vec.envs.sudoku import SudokuSet
from roll_vec.errors import InvalidOptionError, RollVecWarning
from roll_vec.seeding import episode_seed
from tests.conftest import JIT_OFF

SUDOKU, TILES = "roll_vec/Sudoku-v0", "roll_vec/SlidingTiles-v0"
# The second one is another with one solution, by turning the digits round.
EASY = (
    "53..7....6..195....98....6.8...6...34..8.3..17...2...6.6....28....419..5....8..79"
)
OTHER = EASY.translate(str.maketrans("123456789", "987654321"))
SMALL = "....423....3.3.2"
DIGITS = np.array([[int(c) if c != "." else 0 for c in p] for p in (EASY, OTHER)])
SOLUTION = "1" * 81  # that of a file is not read


def rows(puzzle, ends="", between="\n"):
    """Return a puzzle as nine lines."""
    lines = [puzzle[k : k + 9] for k in range(0, 81, 9)]
    return between.join(ends + line + ends for line in lines)


def framed(puzzle):
    """Return a puzzle as people print it."""
    lines = rows(puzzle).split("\n")
    lines = [" | ".join(" ".join(x[k : k + 3]) for k in (0, 3, 6)) for x in lines]
    lines[3:3], lines[7:7] = ["------+-------+------"], ["------+-------+------"]
    return "\n".join(lines)


SUDOKUS = {
    "lines": f"# Two\n{EASY}\n{OTHER.replace('.', '0')}  # hard\r\n",
    "the CSV of Kaggle": f"quizzes,solutions\n{EASY},{SOLUTION}\n{OTHER},{SOLUTION}",
    "a CSV with numbers": f'id,puzzle,n\n1,"{EASY}",30\n2,"{OTHER}",30\n',
    "rows": f"Grid 01\n{rows(EASY)}\nGrid 02\n{rows(OTHER)}",
    "rows alone": f"{rows(EASY)}\n{rows(OTHER)}",
    "frames": f"{framed(EASY)}\n\n{framed(OTHER)}",
    "numbers": "\n".join(" ".join(p.replace(".", "0")) for p in (EASY, OTHER)),
}
BOARDS = np.array([[8, 6, 7, 2, 5, 4, 3, 0, 1], [1, 2, 3, 4, 0, 5, 7, 8, 6]])
BOARDS = BOARDS.reshape(2, 3, 3)
TILE_TEXTS = {
    "rows": "8 6 7\n2 5 4\n3 0 1\n\n1 2 3\n4 0 5\n7 8 6",
    "rows alone": "8 6 7\n2 5 4\n3 0 1\n1 2 3\n4 0 5\n7 8 6",
    "lines": "# hardest\n8 6 7 2 5 4 3 0 1\n1,2,3,4,0,5,7,8,6\n",
    "digits": "867254301\n123405786",
    "a size before each": "3\n 8 6 7\n 2 5 4\n 3 0 1\n3\n 1 2 3\n 4 0 5\n 7 8 6\n",
    "frames": "|8 | 6|7 |\n+---+---+\n| 2|5|4 |\n|3|__|1|\n\n[1, 2, 3,\n4,0,5,\n7,8,6]",
}


@pytest.mark.parametrize("name", [*SUDOKUS, "arrays", "a folder"])
def test_every_form_of_a_sudoku_is_read(name, tmp_path):
    forms = [DIGITS, DIGITS.reshape(2, 9, 9).tolist()]
    if name in SUDOKUS:
        (tmp_path / "a.csv").write_text(SUDOKUS[name], newline="")
        forms = [SUDOKUS[name], [SUDOKUS[name]], tmp_path / "a.csv"]
    if name == "a folder":
        (tmp_path / "a.txt").write_text(EASY)
        (tmp_path / "b.csv").write_text(f"\ufeff{OTHER}")
        forms = [tmp_path, [EASY, OTHER]]
    for form in forms:
        puzzles = SudokuSet.load(form)
        np.testing.assert_array_equal(puzzles.grids[:, :9].reshape(2, 81), DIGITS)
        assert puzzles.shape == (9, 9)


@pytest.mark.parametrize("name", TILE_TEXTS)
def test_every_form_of_tiles_is_read(name, tmp_path):
    (tmp_path / "a.txt").write_text(TILE_TEXTS[name])
    forms = [TILE_TEXTS[name], tmp_path / "a.txt", BOARDS, BOARDS.reshape(2, 9)]
    for form in forms:
        np.testing.assert_array_equal(TileSet.load(form).grids, BOARDS)


def test_lines_of_4_numbers_are_rows_or_boards():
    board = "1 2 3 4\n5 6 7 8\n9 10 11 12\n13 14 0 15"
    assert TileSet.load(board).shape == (4, 4)
    assert TileSet.load("1 2 0 3\n0 1 3 2").shape == (2, 2)
    assert SudokuSet.load(SMALL).shape == (4, 4)


@pytest.mark.parametrize(
    ("id", "boards"), [(SUDOKU, DIGITS.reshape(2, 9, 9)), (TILES, BOARDS)]
)
def test_an_episode_plays_the_puzzle_of_its_seed(id, boards):
    keywords = {"levels": boards, "level_info": True}
    envs = roll_vec.make_vec(id, 4, **keywords)
    single = gymnasium.make(id, **keywords)
    for episode in range(3):
        observations, infos = envs.reset(seed=None if episode else 7)
        seeds = [episode_seed(seed, episode) for seed in range(7, 11)]
        assert infos["level"].tolist() == [seed % 2 for seed in seeds]
        np.testing.assert_array_equal(observations, boards[infos["level"]])
    observation, info = single.reset(seed=8)
    assert (info["level"], observation.tolist()) == (0, boards[0].tolist())
    envs.set_level_options(num_levels=1, start_level=1)
    assert envs.reset()[1]["level"].tolist() == [1] * 4
    assert envs.get_attr("num_levels") == (1,) * 4


# Norvig's board without a solution.
ENDLESS = (
    ".....5.8....6.1.43..........1.5........1.6...3.......553.....61........4........."
)
REFUSED = [
    ([EASY.replace("5", "6", 1)], r"\[0\], line 1: .*got none"),
    (f"# 1\n1{EASY[1:]}", r"\[0\], line 2: .*got none"),
    (EASY.replace("53", "..").replace("7", "."), "one solution, got several"),
    (f"{EASY[1:]}\n", "line 1: .* 81 cells, .* got 1 lines of 80"),
    (f"{EASY[1:]}x\n", "line 1: expected digits up to 9"),
    (f"{EASY}\n{SMALL}\n", "line 2: expected 81 cells.* got 16"),
    (rows(EASY)[:-10], r"lines 1 to 8: .* 4 or 9 rows .* got 8 lines of 9"),
    (["easy.csv"], "'easy.csv': a path stands alone"),
    ([pathlib.Path("easy")], "'easy': a path stands alone"),
    (f"5{SMALL[1:]}\n", "expected digits up to 4"),
    (f"{'.' * 80}1\n", "at least 17 clues"),
    ("1234341221434321", "expected an empty cell"),
    ("nothing\n", "there are no puzzles"),
    (np.full((2, 5, 5), 1), r"levels\[0\]: expected 4 x 4 or 9 x 9 cells"),
    pytest.param(
        ENDLESS,
        "the search for a second one took too long",
        marks=pytest.mark.skipif(JIT_OFF, reason="a search of minutes in Python"),
    ),
]


@pytest.mark.parametrize(("levels", "message"), REFUSED)
def test_a_sudoku_that_cannot_be_played_is_named(levels, message):
    with pytest.raises(InvalidOptionError, match=message):
        gymnasium.make(SUDOKU, levels=levels)


@pytest.mark.parametrize(
    ("levels", "message"),
    [
        ("1 2 3 4 5 6 8 7 0", "it has no solution"),
        ("# 2\n1 2 3 0", "line 2: .* not in order at the start"),
        ("1 2 3\n4 5 6\n7 0 9\n", "expected the numbers 0 to 8, once each"),
        ("1 2 3\n4 5 6\n", "lines 1 to 2: .* got 2 lines of 3"),
        (["1 2 0 3", "8 6 7 2 5 4 3 0 1"], r"\[1\]: .* size of the first puzzle"),
    ],
)
def test_tiles_that_cannot_be_played_are_named(levels, message):
    with pytest.raises(InvalidOptionError, match=message):
        gymnasium.make(TILES, levels=levels)


# Of lines: too short, without a solution, with several, in order.
PARTLY_BAD = [
    (
        SudokuSet,
        [EASY[1:], f"1{EASY[1:]}", EASY, EASY.replace("7", "."), OTHER],
        [2, 4],
    ),
    (TileSet, ["1 2 3", "", "8 6 7 2 5 4 3 0 1", "1 2 3 4 5 6 7 8 0"], [2]),
]


@pytest.mark.parametrize(("kind", "lines", "sound"), PARTLY_BAD)
def test_bad_puzzles_of_many_are_left_out_by_their_lines(kind, lines, sound):
    with pytest.warns(RollVecWarning) as warnings:
        puzzles = kind.load("\n".join(lines))
    assert puzzles == kind.load("\n".join(lines[j] for j in sound))
    message = str(warnings.pop().message)
    for j, line in enumerate(lines):
        assert (f"[0], line {j + 1}: " in message) == (j not in sound and line != "")
    # Those of an array have their index.
    boards = puzzles.grids[:, : puzzles.shape[0]]
    with pytest.warns(RollVecWarning, match=r"1 left out: \[0\]: expected"):
        assert kind.load(np.concatenate((boards[:1] * 0, boards))) == puzzles


@pytest.mark.parametrize(
    ("id", "keywords"),
    [
        (SUDOKU, {"levels": EASY, "clues": 20}),
        (SUDOKU, {"levels": EASY, "scale": 4}),
        (SUDOKU, {"levels": SMALL, "attempts": 3}),
        (TILES, {"levels": BOARDS, "num_shuffles": 3}),
        (TILES, {"levels": BOARDS, "size": 4}),
    ],
)
def test_keywords_of_generated_boards_are_refused_beside_levels(id, keywords):
    with pytest.raises(InvalidOptionError, match="cannot be given beside levels"):
        roll_vec.make_vec(id, 1, **keywords)


class Row(roll_vec.GridEnv):
    """The board is a level of the user's."""

    levels: Any = ((0, 1), (1, 0))
    state: ClassVar = {"board": (np.uint8, (1, "length"))}
    actions = ("wait",)
    cells = (roll_vec.Cell(".", "a", (1, 1, 1)), roll_vec.Cell("#", "b", (2, 2, 2)))

    @property
    def length(self):
        """The cells of a level."""
        return self.levels.shape[1]

    @roll_vec.rule
    def begin(env, rng, seed):
        for k in range(env.length):
            env.board[0, k] = env.levels[seed, k]

    @roll_vec.rule
    def step(env, action, rng):
        return 0.0, True


@pytest.mark.usefixtures("forgets_ids")
def test_a_class_of_a_user_has_levels_by_an_option():
    roll_vec.register("mine/Row-v0", Row)
    for keywords, boards in (
        ({}, Row.levels),
        ({"levels": np.eye(3, dtype=int), "start_level": 1}, np.eye(3)[1:]),
    ):
        envs = roll_vec.make_vec("mine/Row-v0", 4, level_info=True, **keywords)
        observations, infos = envs.reset(seed=1)
        numbers = (np.arange(4) + 1) % len(boards)
        np.testing.assert_array_equal(observations[:, 0], np.array(boards)[numbers])
        first = keywords.get("start_level", 0)
        np.testing.assert_array_equal(infos["level"], numbers + first)
        np.testing.assert_array_equal(envs.step([0] * 4)[0], observations)
    # An option of this name may be a number.
    floors = type("Tower", (Row,), {"__annotations__": {"levels": int}, "levels": 3})
    assert floors().level_count == 0
    for levels in ([], 5, "x", [[0], [0, 1]]):
        with pytest.raises(InvalidOptionError, match="an array or a list of levels"):
            roll_vec.make_vec("mine/Row-v0", 1, levels=levels)
