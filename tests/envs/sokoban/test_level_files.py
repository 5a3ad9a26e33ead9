"""Levels from files, texts and arrays: every accepted form, and refused levels."""

import zipfile
from functools import partial

import gymnasium
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from roll_vec.envs.sokoban.level_files import format_levels, load_levels
from roll_vec.errors import InvalidOptionError
from roll_vec.stacked.level_archives import write_archive
from tests.envs.sokoban.user_levels import (
    COLLECTION,
    EXPECTED,
    ID,
    ONE,
    THREE,
    TWO,
    batch,
)

# -------------------------------------------------------------------------- forms


def test_every_form_gives_the_same_levels(path, tmp_path):
    folder = tmp_path / "folder"
    folder.mkdir()
    for name, text in (("b.xsb", THREE), ("a.txt", f"{ONE}\r\n \n{TWO}"), ("L", "?")):
        (folder / name).write_text(text, newline="")
    (folder / "deeper.txt").mkdir()
    (folder / "a.txt").write_bytes(b"\xef\xbb\xbf" + (folder / "a.txt").read_bytes())
    # A file of a user's own needs no id.
    np.savez(tmp_path / "plain.npz", levels=EXPECTED.astype(np.int64))
    with (tmp_path / "set.npz").open("wb") as file:
        write_archive(file, ID, EXPECTED)
    for levels in (
        path,
        str(path),
        folder,
        [COLLECTION],
        (ONE, f"{TWO}\n\n{THREE}"),
        EXPECTED,
        EXPECTED.astype(np.int64),
        EXPECTED.tolist(),
        list(EXPECTED),
        np.asfortranarray(EXPECTED),
        tmp_path / "plain.npz",
        str(tmp_path / "set.npz"),
        [format_levels(EXPECTED)],
    ):
        found = load_levels(levels)
        np.testing.assert_array_equal(found.grids, EXPECTED)
        assert (found.grids.dtype, found.shape, len(found)) == (np.uint8, (6, 6), 3)
        assert found.grids.flags.c_contiguous
        assert load_levels(found) is found
        env = batch(levels)
        assert env.single_observation_space.shape == (6, 6)
        np.testing.assert_array_equal(env.reset(seed=0)[0], EXPECTED)
    np.testing.assert_array_equal(load_levels(EXPECTED[1]).grids, EXPECTED[1:2])


def test_a_real_file_is_read_as_it_is_written(shared):
    file = shared / "data" / "boxoban" / "unfiltered_valid_000.txt"
    expected = [
        [[" .$@".find(c) for c in line] for line in level.splitlines()[1:] if line]
        for level in file.read_text().split(";")[1:]
    ]
    symbols = np.array([1, 2, 4, 5, 0], np.uint8)
    found = load_levels(file)
    assert (len(found), found.shape) == (1000, (10, 10))
    np.testing.assert_array_equal(found.grids, symbols[np.array(expected)])
    assert load_levels(file.parent) == found


def fault_of(grid):
    """Say what is wrong with a level, or return it with wall outside: one cell each."""
    height, width = len(grid), len(grid[0])
    cells = [code for row in grid for code in row]
    edge = [
        (r, c)
        for r in range(height)
        for c in range(width)
        if r in (0, height - 1) or c in (0, width - 1)
    ]
    frontier = [(r, c) for r, c in edge if grid[r][c] != 0]
    outside = set(frontier)
    while frontier:
        r, c = frontier.pop()
        for near in ((r + 1, c), (r - 1, c), (r, c + 1), (r, c - 1)):
            inside = 0 <= near[0] < height and 0 <= near[1] < width
            if inside and near not in outside and grid[near[0]][near[1]] != 0:
                outside.add(near)
                frontier.append(near)
    lost = {grid[r][c] for r, c in outside}
    boxes = cells.count(3) + cells.count(4)
    if cells.count(5) + cells.count(6) != 1:
        return "exactly one player"
    if not boxes:
        return "at least one box"
    if cells.count(2) + cells.count(3) + cells.count(6) != boxes:
        return "as many targets as boxes"
    if not cells.count(4):
        return "on targets at the start"
    if lost & {5, 6}:
        return "the player can leave it"
    if lost & {2, 3, 4}:
        return "outside the walls"
    return [
        [0 if (r, c) in outside else grid[r][c] for c in range(width)]
        for r in range(height)
    ]


@given(seed=st.integers(0, 2**32 - 1), walls=st.floats(0.2, 0.7))
def test_checks_equal_those_of_one_cell_after_the_other(seed, walls):
    rng = np.random.default_rng(seed)
    grid = np.where(rng.random((rng.integers(3, 9), 7)) < walls, 0, 1)
    # Anywhere, the edge included; mostly as many of each as there should be.
    pieces = [4, 2, 5] if rng.random() < 0.7 else rng.choice([2, 3, 4, 5, 6], 4)
    grid.ravel()[rng.permutation(grid.size)[: len(pieces)]] = pieces
    if rng.random() < 0.5:
        grid = np.pad(grid, 1)
    expected = fault_of(grid.tolist())
    text = "\n".join("".join("#-.*$@+"[c] for c in row) for row in grid)
    for levels in (grid, [text]):
        if isinstance(expected, str):
            with pytest.raises(InvalidOptionError, match=expected):
                load_levels(levels)
        else:
            (found,) = load_levels(levels).grids
            np.testing.assert_array_equal(found, expected)
            assert not found[[0, -1]].any()
            assert not found[:, [0, -1]].any()


# ------------------------------------------------------------------------ refusals

FAULTS = [
    ("#####\n# $.#\n#####", "exactly one player, got 0"),
    ("######\n#@@$.#\n######", "exactly one player, got 2"),
    ("#####\n#@  #\n#####", "at least one box"),
    ("######\n#@$$.#\n######", "as many targets as boxes, got 1 and 2"),
    ("#####\n#@* #\n#####", "all boxes are on targets"),
    ("#####\n#@$.\n#####", "the player can leave"),
    ("#####\n#@$.#\n## ##", "the player can leave"),
    ("#####\n#@$.#\n####", None),
    ("#####\n#@$.#\n##", "the player can leave"),
    ("#####\n#@$.# $.\n#####", "box or a target outside"),
]


@pytest.mark.parametrize(("text", "problem"), FAULTS)
def test_a_fault_is_told_with_file_level_and_line(text, problem, path):
    path.write_text(f"{COLLECTION}\n;\n{text}\n\n{ONE}")
    if problem is None:
        assert len(load_levels(path)) == 5
        return
    line = 3 + COLLECTION.count("\n")
    for levels, where in (
        (path, f"levels: {path}, level 3 (line {line}): "),
        ([ONE, path.read_text()], f"levels[1], level 3 (line {line}): "),
    ):
        for make in (
            partial(batch, levels),
            partial(gymnasium.make, ID, levels=levels),
        ):
            with pytest.raises(InvalidOptionError, match=problem) as caught:
                make()
            assert where in str(caught.value)


def test_an_unknown_letter_is_told_with_its_line(path):
    path.write_text(f"{ONE}\n\n#####\n#@$.#\n##\t#x\n")
    with pytest.raises(InvalidOptionError) as caught:
        load_levels(path)
    where = f"levels: {path}, level 1 (line 7): expected only "
    assert str(caught.value).startswith(where)
    assert "'\\tx'" in str(caught.value)


@pytest.mark.parametrize(
    ("levels", "told"),
    [
        ([], "expected an array"),
        (5, "expected an array"),
        ({"a": 1}, "expected an array"),
        (EXPECTED.astype(float), "float64 of shape"),
        (EXPECTED > 0, "bool of shape"),
        (EXPECTED[0, 0], "of shape"),
        (EXPECTED[np.newaxis], "of shape"),
        (np.zeros((0, 5, 5), int), "of shape"),
        ([[[0, 0], [0]]], "expected an array"),
        (EXPECTED + 2, r"levels\[0\]: expected codes from 0 to 6, got 7 at row 1, c"),
        (EXPECTED.astype(int) - 1, r"levels\[0\]: .* got -1 at row 0, column 0"),
        ([*EXPECTED[:2], EXPECTED[2] * 0], r"levels\[2\]: expected exactly one pl"),
        ([ONE, 3], r"levels\[1\]: expected a text beside texts, got 3"),
        ([ONE, "; nothing\n"], r"levels\[1\]: there are no levels"),
        ("nowhere.txt", "levels: .*nowhere.txt cannot be read"),
        ("a\0b", "cannot be read"),
        ("", "expected an array .* got ''"),
        (ONE, r"expected an array .* or a list of texts, got '#####\\n"),
    ],
)
def test_what_are_no_levels_is_refused(levels, told):
    with pytest.raises(InvalidOptionError, match=told):
        gymnasium.make(ID, levels=levels)


def test_a_large_level_beside_many_small_ones_is_refused(tmp_path):
    wide = f"{'#' * 5000}\n#@$.{' ' * 4995}#\n{'#' * 5000}\n"
    small = "\n".join(["#####\n#@$.#\n#####\n"] * 5000)
    (tmp_path / "both.txt").write_text(f"{small}\n{wide}")
    with pytest.raises(
        InvalidOptionError, match=r"both\.txt: 5001 levels, each padded"
    ):
        load_levels(tmp_path / "both.txt")
    with pytest.raises(InvalidOptionError, match="levels: 5001 levels, each padded"):
        load_levels([small, wide])


def test_files_that_hold_no_text_are_refused(tmp_path):
    with pytest.raises(InvalidOptionError, match=r"has no files \.txt, \.xsb, \.sok"):
        load_levels(tmp_path)
    (tmp_path / "b.txt").write_bytes(b"\xff\xfe#")
    for levels in (tmp_path, tmp_path / "b.txt"):
        with pytest.raises(InvalidOptionError, match=r"b\.txt: cannot be read"):
            load_levels(levels)


@pytest.mark.parametrize(
    ("arrays", "problem"),
    [
        ({"grids": EXPECTED}, "no array 'levels', only \\['grids'\\]"),
        ({"levels": EXPECTED, "id": "roll_vec/Other-v0"}, "has levels of roll_vec/Oth"),
        ({"levels": EXPECTED.astype(float)}, "an array .* got float64 of shape"),
        ({"levels": EXPECTED[0, 0]}, "of shape"),
        ({"levels": EXPECTED[:0]}, "of shape"),
        ({"levels": np.array([None, 3])}, "cannot be read: levels has Python objects"),
        ({"levels": EXPECTED + 2}, r"\[0\]: expected codes from 0 to 6, got 7"),
        ({"levels": EXPECTED * 0}, r"\[0\]: expected exactly one player"),
    ],
)
def test_archives_without_levels_are_refused_by_name(tmp_path, arrays, problem):
    np.savez(tmp_path / "set.npz", **arrays)
    with pytest.raises(InvalidOptionError, match=rf"levels: .*set\.npz.*{problem}"):
        load_levels(tmp_path / "set.npz")


def test_an_archive_of_another_method_is_refused_before_it_is_inflated(tmp_path):
    path = tmp_path / "set.npz"
    np.savez(path, levels=EXPECTED)
    with zipfile.ZipFile(path) as archive:
        data = archive.read("levels.npy")
    with zipfile.ZipFile(path, "w", zipfile.ZIP_BZIP2) as archive:
        archive.writestr("levels.npy", data)
    with pytest.raises(InvalidOptionError, match=r"set\.npz .*another method"):
        load_levels(path)


def test_a_damaged_archive_is_refused_by_name_or_harmless(tmp_path):
    path = tmp_path / "set.npz"
    with path.open("wb") as file:
        write_archive(file, ID, EXPECTED)
    data, refused, harmless = path.read_bytes(), 0, 0
    # Every byte, and the file cut off before it.
    for place in range(len(data)):
        changed = data[:place] + bytes([data[place] ^ 0x15]) + data[place + 1 :]
        for damaged in (changed, data[:place]):
            path.write_bytes(damaged)
            try:
                levels = load_levels(path)
            except InvalidOptionError as error:
                refused += str(path) in str(error)
            else:
                np.testing.assert_array_equal(levels.grids, EXPECTED)
                harmless += 1
    assert refused + harmless == 2 * len(data)
    assert refused > 1.5 * len(data)
