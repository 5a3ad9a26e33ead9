"""`roll-vec levels`: make, show, measure and write levels; they are those played."""

import argparse
import csv
import os
import re
import signal
import subprocess
import sys

import gymnasium
import numpy as np
import pytest

from roll_vec.cli._arguments import number_ranges
from roll_vec.cli._files import new_file
from roll_vec.cli._level_sources import open_source
from roll_vec.cli._level_stats import random_success
from roll_vec.envs.frozen_lake.level_files import load_levels as load_maps
from roll_vec.envs.sokoban import load_levels
from roll_vec.envs.sokoban.rooms import RoomGenerator
from tests.envs.sokoban.user_levels import COLLECTION, EXPECTED

SOKOBAN = "roll_vec/Sokoban-v0"
LAKE = "roll_vec/RandomFrozenLake-v0"
BAND = "solution_steps=(4, 20)"
GAMES = {
    SOKOBAN: ("-o", "dim_room=(5, 7)", "-o", "num_boxes=1", "-o", BAND),
    LAKE: ("-o", "size=5", "-o", "p=0.7", "-o", "success_probability=(0.4, 0.99)"),
}
KEYWORDS = {
    SOKOBAN: {"dim_room": (5, 7), "num_boxes": 1, "solution_steps": (4, 20)},
    LAKE: {"size": 5, "p": 0.7, "success_probability": (0.4, 0.99)},
}
LAKES = "SFF\nHFG\n\n; the second\nFFS\nGHF\n"


@pytest.fixture(params=GAMES, ids=lambda env_id: env_id.partition("/")[2])
def env_id(request):
    """The id of each game that has levels."""
    return request.param


def first_boards(env_id, seeds, **keywords):
    """Return what single environments show after resets with some seeds."""
    env = gymnasium.make(env_id, obs_mode="grid", **keywords)
    return [env.reset(seed=seed)[0] for seed in seeds]


# --------------------------------------------------------------------------- make


@pytest.mark.parametrize("suffix", [".txt", ".NPZ"])
def test_made_levels_are_those_that_the_environment_plays(run, env_id, suffix):
    out = f"set{suffix}"
    outcome = run(
        *("levels", "make", env_id, *GAMES[env_id], "--num-levels", 9),
        *("--start-level", 40, "--out", out),
    )
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out == f"9 levels of {env_id}, seeds 40 to 48: {out}\n"
    boards = first_boards(env_id, range(9), levels=out)
    for expected in (
        first_boards(env_id, range(40, 49), **KEYWORDS[env_id]),
        first_boards(
            env_id, range(9), num_levels=9, start_level=40, **KEYWORDS[env_id]
        ),
    ):
        np.testing.assert_array_equal(boards, expected)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--out", "a.png"), "--out: expected a file .npz, .txt, .xsb, .sok, got 'a.p"),
        (
            ("--out", "no/a.txt"),
            "--out: cannot write 'no/a.txt': there is no directory",
        ),
        (
            ("--out", "a.txt", "-o", "num_levels=3"),
            "num_levels cannot be used here: us",
        ),
        (("--out", "a.txt", "-o", "levels=a.txt"), "levels cannot be used here: make"),
        (("--out", "a.txt", "-o", "boxes=3"), "boxes"),
        (
            ("--out", "a.txt", "--num-levels", 1 << 40),
            "integer from 1 to 10,000,000, got",
        ),
        (("--out", "a.txt", "--num-boxes", 2), "keyword -o num_boxes=2?"),
        ((), "the following arguments are required: --out"),
    ],
)
def test_make_refuses_bad_arguments(fails, tmp_path, arguments, message):
    assert message in fails("levels", "make", SOKOBAN, *arguments)
    assert not list(tmp_path.iterdir())


def test_only_ids_with_levels_are_accepted(fails, tmp_path):
    line = fails("levels", "make", "roll_vec/FrozenLake-v1", "--out", "a.txt")
    assert f"argument ID: expected one of {SOKOBAN}, {LAKE}, got roll_vec/Fro" in line
    line = fails("levels", "show", "roll_vec/FrozenLake-v1")
    assert f"SOURCE: expected a file or one of {SOKOBAN}, {LAKE}, got roll_" in line
    (tmp_path / "empty").mkdir()
    line = fails("levels", "stats", "empty")
    assert "SOURCE: empty has no files .sok, .txt, .xsb" in line
    line = fails("levels", "show", "nowhere.txt")
    assert "SOURCE: there is no file nowhere.txt, and there is no environment" in line


@pytest.mark.slow
def test_an_error_while_levels_are_made_leaves_the_old_file(run, tmp_path, monkeypatch):
    make = ("levels", "make", SOKOBAN, "--num-levels", 3, "--out", "set.txt")
    assert run(*make).code == 0
    before = (tmp_path / "set.txt").read_bytes()

    def interrupt(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(RoomGenerator, "__call__", interrupt)
    outcome = run(*make)
    assert (outcome.code, outcome.err) == (130, "roll-vec: interrupted\n")
    monkeypatch.undo()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(
        "roll_vec.cli._level_games.SokobanLevels.format_text", interrupt
    )
    assert run(*make).code == 130
    assert [path.name for path in tmp_path.iterdir()] == ["set.txt"]
    assert (tmp_path / "set.txt").read_bytes() == before


@pytest.mark.skipif(sys.platform == "win32", reason="Windows sends signals otherwise")
def test_signal_while_a_file_is_written_leaves_the_old_one(tmp_path):
    path = tmp_path / "set.txt"
    path.write_text("old")

    def write():
        with new_file("--out", path) as file:
            file.write(b"new")
            signal.raise_signal(signal.SIGTERM)

    with pytest.raises(SystemExit):
        write()
    assert [each.name for each in tmp_path.iterdir()] == ["set.txt"]
    assert path.read_text() == "old"
    with new_file("--out", path) as file:
        file.write(b"new")
    assert path.read_text() == "new"


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="Windows sends signals otherwise")
def test_signal_while_levels_are_made_leaves_nothing(tmp_path):
    # On a pseudo-terminal the progress bar shows when the rooms are being drawn.
    import pty

    master, slave = pty.openpty()
    command = [sys.executable, "-m", "roll_vec.cli", "levels", "make", SOKOBAN]
    with subprocess.Popen(
        [*command, "--num-levels", "1000000", "--out", tmp_path / "set.npz"],
        stderr=slave,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "120"},
    ) as process:
        os.close(slave)
        output = b""
        while not re.search(rb"/1,000,000", output):
            output += os.read(master, 4096)
        process.send_signal(signal.SIGINT)
        while b"interrupted" not in output:
            output += os.read(master, 4096)
    os.close(master)
    assert process.returncode == 130
    assert not list(tmp_path.iterdir())


# ------------------------------------------------------------------- show and export


def test_text_is_that_of_a_file(run, tmp_path):
    (tmp_path / "set.xsb").write_text(COLLECTION)
    outcome = run("levels", "show", "set.xsb", "--text")
    assert (outcome.code, outcome.err) == (0, "")
    assert load_levels([outcome.out]) == load_levels(EXPECTED)
    one = run("levels", "show", "set.xsb", "--text", "--levels", 1)
    assert one.out.splitlines()[:4] == ["; 1", "######", "###  #", "#+ $ #"]
    # The first of a long file; of an id the levels of these seeds.
    many = run("levels", "show", SOKOBAN, "--text")
    assert re.findall(r"; (\d+)", many.out) == [str(number) for number in range(16)]
    for number, board in ((3, 0), (8, 1)):
        (expected,) = first_boards(SOKOBAN, [number])
        text = run("levels", "show", SOKOBAN, "--text", "--levels", "3,8").out
        np.testing.assert_array_equal(load_levels([text]).grids[board], expected)
    assert not list(tmp_path.glob("*.png"))


@pytest.mark.slow
def test_a_sheet_shows_the_boards(run, tmp_path, env_id):
    image = pytest.importorskip("PIL.Image")
    source = ("levels", "show", env_id, *GAMES[env_id], "--levels", "7,2,11,3")
    outcome = run(*source, "-o", "render_scale=1", "--out", "sheet.png")
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out == f"4 levels of {env_id}: sheet.png\n"
    with image.open(tmp_path / "sheet.png") as saved:
        picture = np.asarray(saved)
    env = gymnasium.make(env_id, render_mode="rgb_array", **KEYWORDS[env_id])
    boards = []
    for seed in (7, 2, 11, 3):
        env.reset(seed=seed)
        boards.append(env.render())
    height, width, _ = boards[0].shape
    columns = (picture.shape[1] - 8) // (width + 8)
    for index, board in enumerate(boards):
        row, column = divmod(index, columns)
        top, left = 8 + row * (height + 8), 8 + column * (width + 8)
        part = picture[top : top + height, left : left + width]
        np.testing.assert_array_equal(part, board)


@pytest.mark.parametrize("suffix", [".npz", ".txt", ".xsb"])
def test_exported_levels_are_read_back_equal(run, tmp_path, shared, suffix):
    real = shared / "data" / "boxoban" / "unfiltered_valid_000.txt"
    (tmp_path / "set.txt").write_text(COLLECTION)
    for source, count in ((real, 1000), (real.parent, 1000), ("set.txt", 3)):
        out = f"out{suffix}"
        outcome = run("levels", "export", source, "--out", out)
        assert (outcome.code, outcome.err) == (0, "")
        assert outcome.out == f"{count:,} levels of {source}: {out}\n"
        assert load_levels(out) == load_levels(source)
        # And again, from this format to each of the others.
        for other in ("again.npz", "again.txt"):
            assert run("levels", "export", out, "--out", other).code == 0
            assert load_levels(other) == load_levels(source)
    if suffix == ".txt":
        run("levels", "export", real, "--out", "out.txt")
        text, written = real.read_text(), (tmp_path / "out.txt").read_text()
        assert written.split() == text.split()
    run("levels", "export", "set.txt", "--levels", "2,0", "--out", out)
    np.testing.assert_array_equal(load_levels(out).grids, EXPECTED[[2, 0]])


def test_lakes_are_letters(run, tmp_path):
    (tmp_path / "set.txt").write_text(LAKES)
    expected = load_maps(LAKES.replace("; the second\n", "").split("\n\n"))
    outcome = run("levels", "show", "set.txt", "--text")
    assert outcome.out == "; 0\nSFF\nHFG\n\n; 1\nFFS\nGHF\n"
    for source, out in (("set.txt", "a.npz"), ("a.npz", "b.txt"), ("set.txt", "c.txt")):
        assert run("levels", "export", source, "--out", out).code == 0
        assert load_maps(out) == expected
    # Of a user: letters or codes, without an id.
    grids = expected.grids
    for levels in (np.frombuffer(b"SFHG", "S1")[grids], grids.astype(np.int64)):
        np.savez(tmp_path / "mine.npz", levels=levels)
        assert run("levels", "show", "mine.npz", "--text").out == outcome.out
    line = run("levels", "export", "set.txt", "--out", "a.xsb").err
    assert "--out: expected a file .npz, .txt, got 'a.xsb'" in line


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "set.txt has no levels: expected rows of the letters"),
        ("; 3\nhello\n", "set.txt has no levels: expected rows of the letters"),
        ("###\n# #\n###\n", "set.txt, level 0 (line 1): expected exactly one player"),
        (b"\xff\xfe", "set.txt cannot be read"),
        ("SFF\nFG\n", "set.txt, map 0 (line 1)"),
        ("S#G\n", "set.txt has no levels: expected rows of the letters"),
    ],
)
def test_files_without_levels_are_named(fails, tmp_path, content, message):
    data = content if isinstance(content, bytes) else content.encode()
    (tmp_path / "set.txt").write_bytes(data)
    for command in (("show", "--text"), ("stats",), ("export", "--out", "b.txt")):
        assert message in fails("levels", command[0], "set.txt", *command[1:])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("set.txt", "--levels", "1-3"),
            "--levels: set.txt has 3 levels, from 0 on; g",
        ),
        (("set.txt", "-o", "num_boxes=2"), "num_boxes: cannot be given beside levels"),
        (("set.txt", "--levels", "3-1"), "expected numbers and ranges such as 0-15"),
        (("set.txt", "-o", "num_boxes=3"), "num_boxes: cannot be given beside a file"),
        (
            ("set.txt", "-o", "solution_steps=(2, 2)", "-o", "start_level=1"),
            "-o: solution_steps, start_level: cannot be given beside a file, which has "
            "its levels already; those that can: max_episode_steps, max_steps, render_",
        ),
        ((SOKOBAN, "--levels", str(1 << 32)), "expected seeds below 2**32, got 42949"),
        ((SOKOBAN, "-o", "levels=set.txt"), "name the file in place of the id"),
        ((SOKOBAN, "--levels", "0-2000"), "expected at most 1,024 numbers, got 2,0"),
    ],
)
def test_levels_that_do_not_exist_are_refused(fails, tmp_path, arguments, message):
    (tmp_path / "set.txt").write_text(COLLECTION)
    assert message in fails("levels", "show", *arguments)


@pytest.mark.parametrize("text", ["", "a", "-3", "1-", "3-2", "1,,2", str(1 << 63)])
def test_numbers_of_levels_that_cannot_be_read(text):
    with pytest.raises(argparse.ArgumentTypeError, match="expected numbers and ranges"):
        number_ranges(1)(text)
    with pytest.raises(argparse.ArgumentTypeError, match="most 5 numbers, got 6: '3-5"):
        number_ranges(5)("3-5,4-6")


# -------------------------------------------------------------------------- stats


@pytest.mark.slow
def test_random_players_are_those_of_single_environments(env_id, monkeypatch):
    # Several groups, the last of which overlaps the one before it.
    monkeypatch.setattr("roll_vec.cli._level_stats._PLAYERS", 24)
    keywords = {**KEYWORDS[env_id], "max_episode_steps": 30}
    source = open_source(env_id, keywords, [range(20, 25)])
    shares = random_success(source, episodes=12, seed=3)
    env = gymnasium.make(env_id, max_episode_steps=30, levels=source.levels)
    first = env.action_space.start
    for index, share in enumerate(shares):
        generator = np.random.default_rng([3, 20 + index, 0x72616E64])
        actions = generator.integers(first, first + 4, (30, 12), np.int64)
        successes = 0
        for episode in range(12):
            env.reset(seed=index + 5 * episode)
            for action in actions[:, episode]:
                _, _, terminated, truncated, info = env.step(action)
                if terminated or truncated:
                    successes += info["success"]
                    break
        assert share == successes / 12
    assert 0 < shares.mean() < 1
    assert (shares != random_success(source, episodes=12, seed=4)).any()


def test_random_players_need_a_limit(fails):
    line = fails("levels", "stats", SOKOBAN, "-o", "max_episode_steps=-1")
    assert "random players need a step limit" in line


UNSOLVABLE = "######\n#$@ .#\n######"


def test_stats_are_those_of_the_solver_and_of_random_players(
    run, tmp_path, monkeypatch
):
    monkeypatch.setenv("COLUMNS", "120")
    (tmp_path / "set.txt").write_text(f"{COLLECTION}\n\n{UNSOLVABLE}\n")
    outcome = run(
        *("levels", "stats", "set.txt", "--random-episodes", 40, "--seed", 5),
        *("--csv", "stats.csv"),
    )
    assert (outcome.code, outcome.err) == (0, "")
    with (tmp_path / "stats.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [int(row["level"]) for row in rows] == [0, 1, 2, 3]
    assert [int(row["boxes"]) for row in rows] == [1, 2, 1, 1]
    assert [int(row["cells"]) for row in rows] == [3, 10, 10, 4]
    assert [row["result"] for row in rows] == ["solved", "unsolvable"] * 2
    # By hand: one push to the right, two pushes down.
    for objective in ("solution_steps", "solution_pushes"):
        assert [row[objective] for row in rows] == ["1", "", "2", ""]
    shares = [float(row["random_success"]) for row in rows]
    assert shares[0] > 0.9
    assert shares[1] == shares[3] == 0
    source = open_source("set.txt", {}, None)
    assert shares == random_success(source, episodes=40, seed=5).tolist()
    # The table has the same figures, and their quantiles.
    table = [
        [cell.strip() for cell in line.strip("│").split("│")]
        for line in outcome.out.splitlines()
        if line.startswith("│")
    ]
    assert table[3] == ["3", "4", "1", "–", "–", "unsolvable", "0"]
    summary = {row[0]: row[1:] for row in table[4:]}
    assert summary["solution pushes"][0] == "2"
    assert summary["boxes"] == ["4", "1", "1", "1", "1.7", "2", "1.25"]
    assert (summary["solved"][0], summary["unsolvable"][0]) == ("2", "2")
    assert "set.txt: 4 levels of 6 x 6 cells" in outcome.out


@pytest.mark.slow
@pytest.mark.parametrize("columns", [30, 80, 200])
def test_stats_of_a_narrow_screen_have_all_values(
    run, env_id, tmp_path, monkeypatch, columns
):
    monkeypatch.setenv("COLUMNS", str(columns))
    seeds = ",".join(str(2**32 - number) for number in (1, 2, 3))
    few = ("--levels", seeds, "--random-episodes", 13, "--csv", "stats.csv")
    outcome = run("levels", "stats", env_id, *few)
    assert (outcome.code, outcome.err) == (0, "")
    assert "\N{HORIZONTAL ELLIPSIS}" not in outcome.out
    with (tmp_path / "stats.csv").open() as file:
        names, *rows = csv.reader(file)
    table = [line for line in outcome.out.splitlines() if line[0] in "│┃"]
    cells = [[cell.strip() for cell in re.split("[│┃]", line)[1:-1]] for line in table]
    headings = [" ".join(words).strip() for words in zip(*cells[:2], strict=True)]
    assert headings == [name.replace("_", " ") for name in names]
    assert cells[2:5] == rows
    assert cells[5] == ["", "levels", "lowest", "10 %", *cells[5][4:]]
    if columns == 80:
        assert max(map(len, outcome.out.splitlines())) <= columns


@pytest.mark.slow
def test_stats_of_an_id_are_those_of_its_seeds(run, tmp_path):
    few = ("--levels", "30-31,4", "--random-episodes", 0, "--rows", 2)
    outcome = run("levels", "stats", SOKOBAN, *few, "--csv", "stats.csv")
    assert outcome.code == 0
    assert f"{SOKOBAN}: 3 levels of 6 x 6 cells" in outcome.out
    assert re.search(r"│ +\.\.\. │", outcome.out)
    assert "random" not in outcome.out
    with (tmp_path / "stats.csv").open() as file:
        rows = list(csv.DictReader(file))
    for row, seed in zip(rows, (30, 31, 4), strict=True):
        env = gymnasium.make(SOKOBAN)
        env.reset(seed=seed)
        assert row["level"] == str(seed)
        assert int(row["solution_steps"]) == len(env.unwrapped.solve())
    # A search that may visit one position solves nothing.
    outcome = run("levels", "stats", SOKOBAN, *few, "--max-states", 1)
    assert re.search(r"gave up │ +3 │", outcome.out)


def test_stats_of_lakes_are_the_chances_of_the_best_and_of_a_random_player(
    run, tmp_path
):
    # Between holes the best is to try to go up: one of three slips goes ahead, one
    # back, one is lost.  v(S) = v(F) / 2 and v(F) = (v(S) + 1) / 3.
    (tmp_path / "set.txt").write_text("HHH\nSFG\nHHH\n\nSFF\nFFF\nFFG\n")
    for keywords, chances in (
        ((), [0.2, 1.0]),
        (("-o", "is_slippery=False"), [1.0, 1.0]),
    ):
        outcome = run("levels", "stats", "set.txt", *keywords, "--csv", "stats.csv")
        assert (outcome.code, outcome.err) == (0, "")
        with (tmp_path / "stats.csv").open() as file:
            rows = list(csv.DictReader(file))
        assert [row["holes"] for row in rows] == ["6", "0"]
        best = [float(row["success_probability"]) for row in rows]
        assert best == pytest.approx(chances)
        shares = [float(row["random_success"]) for row in rows]
        assert 0 < shares[0] < best[0]
        assert "set.txt: 2 levels of 3 x 3 cells" in outcome.out


def test_rows_never_replace_the_levels(run, fails, tmp_path):
    make = (
        "levels",
        "make",
        "roll_vec/Sokoban-v0",
        "--num-levels",
        2,
        "--out",
        "a.txt",
    )
    assert run(*make).code == 0
    levels = (tmp_path / "a.txt").read_text()
    (tmp_path / "link").symlink_to("a.txt")
    for name in ("a.txt", "link"):
        line = fails("levels", "stats", "a.txt", "--csv", name)
        assert "argument --csv: 'a.txt' is the file of the levels" in line
    assert (tmp_path / "a.txt").read_text() == levels
