"""`roll-vec levels`: make, show, measure and write levels; they are those played."""

import csv
import re

import gymnasium
import numpy as np
import pytest

from roll_vec.envs.frozen_lake.level_files import load_levels as load_maps
from roll_vec.envs.sokoban import load_levels
from tests.envs.sokoban.user_levels import COLLECTION, EXPECTED

SOKOBAN, LAKE = "roll_vec/Sokoban-v0", "roll_vec/RandomFrozenLake-v0"
KEYWORDS = {
    SOKOBAN: {"dim_room": (5, 7), "num_boxes": 1, "solution_steps": (4, 20)},
    LAKE: {"size": 5, "p": 0.7, "success_probability": (0.4, 0.99)},
}


def flags(keywords):
    return [
        word for name, value in keywords.items() for word in ("-o", f"{name}={value}")
    ]


@pytest.fixture(params=KEYWORDS, ids=lambda env_id: env_id.partition("/")[2])
def env_id(request):
    """The id of each game that has levels."""
    return request.param


def first_boards(env_id, seeds, **keywords):
    """Return what single environments show after resets with some seeds."""
    env = gymnasium.make(env_id, obs_mode="grid", **keywords)
    return [env.reset(seed=seed)[0] for seed in seeds]


def read_csv(path="stats.csv"):
    with open(path) as file:  # noqa: PTH123
        return list(csv.DictReader(file))


# ---------------------------------------------------------------- make, show, export


def test_made_levels_are_those_that_the_environment_plays(works, env_id):
    own = KEYWORDS[env_id]
    for out in ("set.txt", "set.NPZ"):
        make = ("--num-levels", 9, "--start-level", 40, "--out", out)
        outcome = works("levels", "make", env_id, *flags(own), *make)
        assert outcome.out == f"9 levels of {env_id}, seeds 40 to 48: {out}\n"
        boards = first_boards(env_id, range(9), levels=out)
        np.testing.assert_array_equal(
            boards, first_boards(env_id, range(40, 49), **own)
        )


def test_a_sheet_shows_the_boards(works, tmp_path, env_id):
    image = pytest.importorskip("PIL.Image")
    own = (*flags(KEYWORDS[env_id]), "-o", "render_scale=1", "--levels", "7,2,11,3")
    outcome = works("levels", "show", env_id, *own, "--out", "sheet.png")
    assert outcome.out == f"4 levels of {env_id}: sheet.png\n"
    with image.open(tmp_path / "sheet.png") as saved:
        picture = np.asarray(saved)
    env = gymnasium.make(env_id, render_mode="rgb_array", **KEYWORDS[env_id])
    for index, seed in enumerate((7, 2, 11, 3)):
        env.reset(seed=seed)
        board = env.render()
        height, width, _ = board.shape
        row, column = divmod(index, (picture.shape[1] - 8) // (width + 8))
        top, left = 8 + row * (height + 8), 8 + column * (width + 8)
        part = picture[top : top + height, left : left + width]
        np.testing.assert_array_equal(part, board)


def test_exported_levels_are_read_back_equal(run, works, tmp_path):
    (tmp_path / "folder").mkdir()
    for name in ("set.txt", "folder/1.txt", "folder/2.xsb"):
        (tmp_path / name).write_text(COLLECTION)
    for source, count in (("set.txt", 3), ("folder", 6)):
        for out in ("out.npz", "out.xsb"):
            outcome = works("levels", "export", source, "--out", out)
            assert outcome.out == f"{count} levels of {source}: {out}\n"
            assert load_levels(out) == load_levels(source)
    run("levels", "export", "set.txt", "--levels", "2,0", "--out", "two.txt")
    np.testing.assert_array_equal(load_levels("two.txt").grids, EXPECTED[[2, 0]])


def test_lakes_of_a_user_are_letters_or_codes_without_an_id(works):
    grids = load_maps(["SFF\nHFG", "FFS\nGHF"]).grids
    for levels in (np.frombuffer(b"SFHG", "S1")[grids], grids.astype(np.int64)):
        np.savez("mine.npz", levels=levels)
        out = works("levels", "show", "mine.npz", "--text").out
        assert out == "; 0\nSFF\nHFG\n\n; 1\nFFS\nGHF\n"
    works("levels", "export", "mine.npz", "--out", "b.txt")
    assert load_maps("b.txt") == load_maps("mine.npz")


# ----------------------------------------------------------------------------- stats


def test_random_players_are_those_of_single_environments(run, env_id):
    keywords = {**KEYWORDS[env_id], "max_episode_steps": 30}
    few = ("--levels", "20-24", "--random-episodes", 12, "--out", "stats.csv")
    stats = ("levels", "stats", env_id, *flags(keywords), *few, "--seed")
    assert run(*stats, 3).code == 0
    shares = [float(row["random_success"]) for row in read_csv()]
    five = ("--num-levels", 5, "--start-level", 20, "--out", "set.npz")
    assert run("levels", "make", env_id, *flags(KEYWORDS[env_id]), *five).code == 0
    env = gymnasium.make(env_id, levels="set.npz", max_episode_steps=30)
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
        assert share == pytest.approx(successes / 12, abs=1e-5)
    assert 0 < sum(shares) < 5
    assert run(*stats, 4).code == 0
    assert [float(row["random_success"]) for row in read_csv()] != shares


def test_random_players_of_a_level_do_not_depend_on_the_other_levels(run):
    # 15,000 players of two levels are a group; the last group overlaps the one before.
    few = (*flags(KEYWORDS[SOKOBAN]), "-o", "max_episode_steps=5")
    few += ("--random-episodes", 15_000, "--out", "stats.csv", "--levels")
    assert run("levels", "stats", SOKOBAN, *few, "20-22").code == 0
    together = [row["random_success"] for row in read_csv()]
    for level, share in zip((20, 21, 22), together, strict=True):
        assert run("levels", "stats", SOKOBAN, *few, level).code == 0
        assert [row["random_success"] for row in read_csv()] == [share]


@pytest.mark.parametrize("columns", [30, 80])
def test_stats_of_a_narrow_screen_have_all_values(works, env_id, monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", str(columns))
    seeds = ",".join(str(2**32 - number) for number in (1, 2, 3))
    few = ("--levels", seeds, "--random-episodes", 13, "--out", "stats.csv")
    outcome = works("levels", "stats", env_id, *few)
    assert "\N{HORIZONTAL ELLIPSIS}" not in outcome.out
    rows = read_csv()
    table = [line for line in outcome.out.splitlines() if line[0] in "│┃"]
    cells = [[cell.strip() for cell in re.split("[│┃]", line)[1:-1]] for line in table]
    headings = [" ".join(words).strip() for words in zip(*cells[:2], strict=True)]
    assert headings == [name.replace("_", " ") for name in rows[0]]
    assert cells[2:5] == [[*row.values()] for row in rows]
    assert cells[5] == ["", "levels", "lowest", "10 %", *cells[5][4:]]
    if columns == 80:
        assert max(map(len, outcome.out.splitlines())) <= columns


def test_figures_never_replace_the_levels(fails, tmp_path):
    (tmp_path / "a.txt").write_text(COLLECTION)
    (tmp_path / "link").symlink_to("a.txt")
    for name in ("a.txt", "link"):
        line = fails("levels", "stats", "a.txt", "--out", name)
        assert "argument --out: 'a.txt' is the file of the levels" in line
    assert (tmp_path / "a.txt").read_text() == COLLECTION
