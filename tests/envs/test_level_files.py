"""Levels of users: every form of lists, texts, arrays, files of rooms; refusals."""

from collections import Counter

import gymnasium
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from roll_vec.envs.frozen_lake.map_sets import LakeSet
from roll_vec.envs.sokoban import level_files as room_files
from roll_vec.errors import InvalidOptionError, RollVecWarning
from tests.envs.frozen_lake import user_maps as lake
from tests.envs.sokoban import user_levels as sokoban
from tests.envs.sokoban.user_levels import ONE, THREE, TWO
from tests.oracles.frozen_lake import lake_is_solvable

LOAD = {sokoban.ID: room_files.load_levels, lake.ID: LakeSet.load}
EXPECTED = {sokoban.ID: sokoban.EXPECTED, lake.ID: lake.EXPECTED}
MAPS, LETTERS = lake.MAPS, lake.LETTERS
ROOMS = sokoban.EXPECTED

FORMS = {
    sokoban.ID: {
        "one text of all": [sokoban.COLLECTION],
        "some texts": (ONE, f"{TWO}\n\n{THREE}"),
        "codes": ROOMS,
        "lists of codes": ROOMS.tolist(),
        "a list of arrays": list(ROOMS),
        "other integers": np.asfortranarray(ROOMS.astype(np.int64)),
        "as it is written": [room_files.format_levels(ROOMS)],
    },
    lake.ID: {
        "rows": MAPS,
        "tuples of rows": tuple(map(tuple, MAPS)),
        "letters": LETTERS,
        "bytes": LETTERS.astype("S1"),
        "lists of letters": LETTERS.tolist(),
        "a list of arrays": [LETTERS[0].astype("c"), LETTERS[1], MAPS[2]],
        "an array of rows": np.array(MAPS),
        "codes": lake.EXPECTED,
        "lists of codes": lake.EXPECTED.tolist(),
        "other integers": np.asfortranarray(lake.EXPECTED.astype(np.int64)),
    },
}


@pytest.mark.parametrize(
    ("id", "form"), [(id, form) for id in FORMS for form in FORMS[id]]
)
def test_every_form_gives_the_same_levels(id, form):
    expected = EXPECTED[id]
    levels = LOAD[id](FORMS[id][form])
    np.testing.assert_array_equal(levels.grids, expected)
    assert (levels.grids.dtype, len(levels)) == (np.uint8, 3)
    assert levels.shape == expected.shape[1:]
    assert levels.grids.flags.c_contiguous
    assert LOAD[id](levels) is levels
    assert levels == LOAD[id](expected)
    env = gymnasium.make_vec(id, 3, levels=FORMS[id][form])
    assert env.single_observation_space.shape == expected.shape[1:]
    np.testing.assert_array_equal(env.reset(seed=0)[0], expected)


def test_one_level_is_an_array_of_two_dimensions():
    for levels in (LETTERS[1], LETTERS[1].astype("S1"), lake.EXPECTED[1]):
        grids = LOAD[lake.ID](levels).grids
        np.testing.assert_array_equal(grids, lake.EXPECTED[1:2])
    np.testing.assert_array_equal(LOAD[sokoban.ID](ROOMS[1]).grids, ROOMS[1:2])


def test_files_and_folders_have_the_same_levels(tmp_path):
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "b.xsb").write_text(THREE)
    text = f"; first\n{ONE}\n \n{TWO}".replace("\n", "\r\n")
    (folder / "a.txt").write_bytes(b"\xef\xbb\xbf" + text.encode())
    (folder / "c.map").write_text("?")
    (folder / "deeper.txt").mkdir()
    written = tmp_path / "all.txt"
    written.write_text(room_files.format_levels(ROOMS, [7, 8, 9]))
    assert written.read_text().startswith("; 7\n")
    for path in (folder, str(folder), written):
        levels = room_files.load_levels(path)
        np.testing.assert_array_equal(levels.grids, ROOMS)
        assert room_files.load_levels(path) is levels


def test_a_real_file_is_read_as_it_is_written(shared):
    file = shared / "data" / "boxoban" / "unfiltered_valid_000.txt"
    expected = [
        [[" .$@".find(c) for c in line] for line in level.splitlines()[1:] if line]
        for level in file.read_text().split(";")[1:]
    ]
    symbols = np.array([1, 2, 4, 5, 0], np.uint8)
    found = room_files.load_levels(file)
    assert (len(found), found.shape) == (1000, (10, 10))
    np.testing.assert_array_equal(found.grids, symbols[np.array(expected)])
    assert room_files.load_levels(file.parent) == found


SMALL, WIDE = "#####\n#@$.#\n#####", "#######\n#+ $ *#\n#######"
# These two rooms, as people write them down.
TEXTS = {
    "titles": f"By One\ndate: 1\n\n; 1\n'#1!'\n\n{SMALL}\n\n; 2\n\n{WIDE}\nTitle: 2",
    "no blank lines": f"Level 1\n{SMALL}\nLevel 2\n{WIDE}\n-----\n",
    "lines of floor": f"{SMALL}\n-----\n{WIDE}\n___\n",
    "Windows": f"\ufeff:: A set\n{SMALL}\n \n{WIDE}\n".replace("\n", "\r\n"),
    "old Macs": f"{SMALL}\n\n{WIDE}\n".replace("\n", "\r"),
    "decoration": f"  *\n{SMALL}  $.\n . *\n\n **\n{WIDE}\n  *",
    "comments": f"{SMALL}\nComment:\n{SMALL}\nComment-End:\n{WIDE}\nComment: #2\n",
    "run lengths": "5#\n#@$.#\n5#\n\n7#\n#+-$-*#\n7#",
    "a room in a line": "5#|#@$.#|5#\n7#|#+ $ *#|7#|\n",
    "rows in a line": "#####|#@$.#|\n5#\nX\n7#|\n#+-$-*#|7#",
    "other letters": "#####\n#pbo#\n#####\n\n#######\n#P_b_B#\n#######",
    "tabs": "\t#####\n\t#@$.#\n\t#####\t\n\n#######\n#+ $ *#\t\n#######",
}


@pytest.mark.parametrize("name", TEXTS)
def test_collections_are_read_as_the_world_writes_them(name, tmp_path):
    text, file = TEXTS[name], tmp_path / "set.xsb"
    forms = [text, [text]]
    for encoding in ("utf-8", "utf-16"):
        file.write_bytes(text.encode(encoding))
        for levels in (*forms, file):
            grids = room_files.load_levels(levels).grids
            rows = ["".join("# .*$@+"[code] for code in row) for row in grids[:, 1]]
            assert [row.strip("#") for row in rows] == ["@$.", "+ $ *"]


def test_rooms_that_cannot_be_played_are_named_and_left_out(tmp_path):
    file = tmp_path / "set.txt"
    typing_error = "#####\n#@x$.#\n#####"
    solved = "#####\n#@* #\n#####"
    text = f"by Jos\xe9\n{SMALL}\n\n{solved}\n\n{WIDE}\n\n{typing_error}\n"
    file.write_bytes(text.encode("latin-1"))
    with pytest.warns(RollVecWarning) as warnings:
        levels = room_files.load_levels(file)
    assert len(levels) == 2
    (warning,) = warnings
    message = str(warning.message)
    assert warning.filename == __file__
    assert message.startswith(f"levels: 2 are played, 3 left out: {file}, lines ")
    assert "lines 6 to 8: all boxes are on targets at the start" in message
    assert "line 14 (line 15 has other letters): exp" in message
    # Alone it is an error; in a folder a file without levels is left out, too.
    file.write_text(solved)
    with pytest.raises(InvalidOptionError, match="all boxes are on targets"):
        room_files.load_levels(file)
    (tmp_path / "b.sok").write_text(SMALL)
    with pytest.warns(RollVecWarning, match=r"1 are played, 1 left out: .*set\.txt"):
        assert len(room_files.load_levels(tmp_path)) == 1


def test_the_screens_of_a_folder_have_the_order_of_their_numbers(tmp_path):
    rows = {1: "#@$. #", 2: "# @$.#", 10: "#.$@ #"}
    for number, row in rows.items():
        (tmp_path / f"screen.{number}").write_text(f"######\n{row}\n######\n")
    (tmp_path / "README").write_text(SMALL)
    players = (room_files.load_levels(tmp_path).grids == 5).argmax(axis=2)[:, 1]
    assert players.tolist() == [1, 2, 3]


def fault_of(grid):
    """Say what is wrong with a room, or return it with wall outside: one cell each."""
    height, width = len(grid), len(grid[0])
    code = {(r, c): grid[r][c] for r in range(height) for c in range(width)}
    frontier = [
        (r, c)
        for r, c in code
        if code[r, c] and (r in (0, height - 1) or c in (0, width - 1))
    ]
    outside = set(frontier)
    while frontier:
        r, c = frontier.pop()
        for near in ((r + 1, c), (r - 1, c), (r, c + 1), (r, c - 1)):
            if code.get(near, 0) and near not in outside:
                outside.add(near)
                frontier.append(near)
    count = Counter(code.values())
    if count[5] + count[6] != 1:
        return "exactly one player"
    if {code[place] for place in outside} & {5, 6}:
        return "the player can leave it"
    count = Counter(code[place] for place in code if place not in outside)
    boxes = count[3] + count[4]
    if not boxes:
        return "at least one box"
    if count[2] + count[3] + count[6] != boxes:
        return "as many targets as boxes"
    if not count[4]:
        return "on targets at the start"
    walled = [0 if place in outside else code[place] for place in code]
    return np.reshape(walled, (height, width))


@given(seed=st.integers(0, 2**32 - 1), walls=st.floats(0.2, 0.7))
def test_checks_of_rooms_equal_those_of_one_cell_after_the_other(seed, walls):
    rng = np.random.default_rng(seed)
    grid = np.where(rng.random((rng.integers(3, 9), 7)) < walls, 0, 1)
    # Anywhere, the edge included; mostly as many of each as there should be.
    pieces = [4, 2, 5] if rng.random() < 0.7 else rng.choice([2, 3, 4, 5, 6], 4)
    grid.ravel()[rng.permutation(grid.size)[: len(pieces)]] = pieces
    if rng.random() < 0.5:
        grid = np.pad(grid, 1)
    # Each row of a text has a wall.
    grid = np.pad(grid, ((0, 0), (1, 0)))
    expected = fault_of(grid.tolist())
    text = "\n".join("".join("#-.*$@+"[c] for c in row) for row in grid)
    for levels in (grid, [text]):
        if isinstance(expected, str):
            with pytest.raises(InvalidOptionError, match=expected):
                room_files.load_levels(levels)
        else:
            (found,) = room_files.load_levels(levels).grids
            np.testing.assert_array_equal(found, expected)


@given(seed=st.integers(0, 2**32 - 1), holes=st.floats(0, 0.9))
def test_a_way_to_a_goal_is_needed(seed, holes):
    rng = np.random.default_rng(seed)
    height, width = rng.integers(1, 6, 2)
    cells = np.where(rng.random(height * width + 2) < holes, "H", "F")[: height * width]
    order = rng.permutation(height * width)
    cells[order[1 : 1 + rng.integers(1, 4)]] = "G"
    cells[order[0]] = "S"
    rows = ["".join(row) for row in cells.reshape(height, width)]
    if "G" in "".join(rows) and lake_is_solvable(rows):
        assert len(LakeSet.load([rows])) == 1
    else:
        with pytest.raises(InvalidOptionError, match="expected a way from S to G"):
            LakeSet.load([rows])


def test_a_way_through_a_maze_is_found():
    # Longer than the flood's sweeps over the whole board.
    size = 101
    maze = np.full((size, size), "H")
    maze[1::2, 1:-1] = "F"
    maze[2:-1:4, -2] = "F"
    maze[4:-1:4, 1] = "F"
    maze[1, 1], maze[-2, 1:-1] = "S", "G"
    assert len(LakeSet.load(maze)) == 1
    maze[50, [1, -2]] = "H"
    with pytest.raises(InvalidOptionError, match="expected a way from S to G"):
        LakeSet.load(maze)
