"""The searches in docs/examples: they run, count their steps, and beat greedy play."""

import importlib
import re
import sys

import numpy as np
import pytest

from tests.conftest import JIT_OFF
from tests.test_readme import ROOT

SEARCHES = ("best_of_n", "beam_search", "mcts")
SMALL = {
    "best_of_n": ["--n", "2", "--groups", "2", "--length", "4", "--segments", "3"],
    "beam_search": ["--width", "4"],
    "mcts": ["--leaves", "2", "--length", "2"],
}
# Solved by one push, by two pushes and a detour, and by none.
LEVELS = """
######
#@ $.#
#    #
#    #
######

######
#@.  #
#  $ #
#    #
######

######
#$@ .#
#    #
#    #
######
"""


@pytest.fixture
def example(monkeypatch):
    """Import a module of the folder as its programs do."""
    monkeypatch.syspath_prepend(str(ROOT / "docs" / "examples"))
    yield importlib.import_module
    for name in (*SEARCHES, "greedy", "rooms"):
        sys.modules.pop(name, None)


def run_program(name, monkeypatch, capsys, *arguments):
    """Return the table that a program prints: by player, solved, levels and steps."""
    path = ROOT / "docs" / "examples" / f"{name}.py"
    monkeypatch.setattr(sys, "argv", [str(path), *arguments])
    exec(compile(path.read_text("utf-8"), str(path), "exec"), {"__name__": "__main__"})
    lines = capsys.readouterr().out.splitlines()
    rows = [re.fullmatch(r"(.+?) +(\d+) of (\d+) +([\d,]+)", line) for line in lines]
    assert rows[0] is None
    return {
        row[1]: (int(row[2]), int(row[3]), int(row[4].replace(",", "")))
        for row in rows[1:]
    }


@pytest.mark.parametrize("name", SEARCHES)
def test_a_search_runs_and_repeats_itself(example, name, monkeypatch, capsys, tmp_path):
    (tmp_path / "levels.txt").write_text(LEVELS)
    arguments = [f"--levels={tmp_path / 'levels.txt'}", "--num-levels=3"]
    arguments += [f"--steps-per-level={200 if JIT_OFF else 3200}", *SMALL[name]]
    table = run_program(name, monkeypatch, capsys, *arguments)
    assert [*table] == ["greedy", "greedy, 20 % random", name.replace("_", " ")]
    budget = 200 if JIT_OFF else 3200
    for solved, num_levels, used in table.values():
        assert num_levels == 3
        assert 0 < used <= budget * 3
        # The box in the corner is there for good.
        assert solved <= 2
    assert JIT_OFF or table[name.replace("_", " ")][0] == 2
    assert run_program(name, monkeypatch, capsys, *arguments) == table


def test_steps_are_counted_and_levels_are_apart(example, tmp_path):
    greedy = example("greedy")
    (tmp_path / "levels.txt").write_text(LEVELS)
    arguments = [f"--levels={tmp_path / 'levels.txt'}", "--num-levels=3"]
    arguments += ["--steps-per-level=320", "--seed=1"]
    args = greedy.make_parser("").parse_args(arguments)
    rooms = example("rooms").Rooms(args, lanes=2)
    grids, infos = rooms.restart()
    # Three levels, two lanes each, which stand together.
    np.testing.assert_array_equal(grids[::2], grids[1::2])
    assert [int((grid == 4).argmax()) for grid in grids[::2]] == [9, 15, 7]
    assert rooms.distances(grids, infos).tolist()[:4] == [1, 1, 2, 2]
    assert rooms.distances(grids, infos)[4] >= 1000
    grids, infos = rooms.step(np.full(6, 4))
    grids, infos = rooms.step(np.array([4, 4, 1, 1, 1, 1]))
    assert rooms.solved.tolist() == [True, False, False]
    assert rooms.used.tolist() == [4, 4, 4]
    in_use = np.array([True, True, True, False, False, False])
    rooms.step(np.full(6, 1), in_use)
    # A level that is solved does not go on.
    assert rooms.used.tolist() == [4, 5, 4]
    assert rooms.open_levels(158).tolist() == [False, False, True]
    lanes = np.arange(6)
    # One position of each level: its two lanes are in the same one, then none is new.
    new = rooms.unseen(rooms.restart()[0], lanes)
    np.testing.assert_array_equal(new, [0, 2, 4])
    assert len(rooms.unseen(rooms.restart()[0], lanes)) == 0
    # Greedy play uses the whole budget where it does not solve the level.
    rooms = greedy.greedy(args)
    assert rooms.used[2] == 320
    assert (rooms.used[rooms.solved] <= 320).all()


def test_push_distances_equal_a_plain_search(example):
    rng = np.random.default_rng(3)
    grids = rng.choice([0, 1, 1, 1, 2], (20, 7, 6)).astype(np.uint8)
    grids[:, [0, -1]], grids[:, :, [0, -1]] = 0, 0
    distances = example("rooms").push_distances(grids).reshape(grids.shape)
    for grid, result in zip(grids, distances, strict=True):
        expected = np.full(grid.shape, 1000.0)
        queue = [tuple(cell) for cell in np.argwhere(grid == 2)]
        for cell in queue:
            expected[cell] = 0
        for row, col in queue:
            for down, right in ((1, 0), (-1, 0), (0, 1), (0, -1)):
                before = row - down, col - right
                player = row - 2 * down, col - 2 * right
                if grid[before] and grid[player] and expected[before] == 1000:
                    expected[before] = expected[row, col] + 1
                    queue.append(before)
        np.testing.assert_array_equal(result[grid > 0], expected[grid > 0])


@pytest.mark.slow
@pytest.mark.parametrize("name", SEARCHES)
def test_a_search_solves_more_than_greedy_play(
    name, example, monkeypatch, capsys, shared
):
    levels = shared / "data" / "boxoban" / "unfiltered_valid_000.txt"
    table = run_program(name, monkeypatch, capsys, f"--levels={levels}")
    greedy, search = table["greedy"], table[name.replace("_", " ")]
    assert search[0] > greedy[0]
    assert search[1] == greedy[1] == 200
    assert search[2] <= greedy[2]
