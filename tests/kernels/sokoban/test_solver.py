"""Solutions are as short as those of a search in plain Python; dead ends have none."""

import numpy as np
import pytest

from roll_vec.kernels.sokoban import deadlocks, solver
from roll_vec.kernels.sokoban.cell_sets import words_of
from tests.conftest import JIT_OFF
from tests.kernels.sokoban.positions import (
    draw_generated,
    draw_random,
    pad,
    parse,
    play_randomly,
)
from tests.oracles.sokoban import measure, replay

OBJECTIVES = ["moves", "pushes"]
both_objectives = pytest.mark.parametrize("objective", OBJECTIVES)


def solve(grids, objective, max_states=10**6, capacity=1 << 18, paths=1 << 20):
    """Return the status of each room, its directions, its pushes, and how it ended."""
    number, height, width = grids.shape
    counts = np.zeros((2, number), np.int32)
    results = np.full(number, -1, np.int8), *counts, np.zeros(number, np.int64)
    workspace = solver.make_workspace(height, width, capacity, paths)
    flat = np.ascontiguousarray(grids).reshape(number, -1)
    sizes = height, width, words_of(height, width)
    limits = OBJECTIVES.index(objective), max_states
    row, reason = solver.solve_rows(
        0, number, flat, *sizes, *limits, workspace, results
    )
    statuses, num_moves, num_pushes, ends = results
    starts = np.concatenate([[0], ends[:-1]])
    directions = [
        workspace.paths[start:end].tolist()
        for start, end in zip(starts[:row], ends[:row], strict=True)
    ]
    assert [len(path) for path in directions] == num_moves[:row].tolist()
    return statuses.tolist(), directions, num_pushes.tolist(), (row, reason)


def check(grids, objective):
    """Compare rooms with the search in plain Python; return how many are unsolvable."""
    statuses, directions, num_pushes, end = solve(grids, objective)
    assert end == (len(grids), solver.DONE)
    for grid, status, path, pushes in zip(
        grids, statuses, directions, num_pushes, strict=True
    ):
        best = measure(grid.tolist(), objective)
        assert status == (solver.UNSOLVABLE if best is None else solver.SOLVED)
        if best is None:
            assert path == []
        else:
            assert replay(grid.tolist(), path) == (True, pushes)
            assert best == (len(path) if objective == "moves" else pushes)
    return statuses.count(solver.UNSOLVABLE)


@both_objectives
@pytest.mark.parametrize(
    ("dim_room", "num_boxes"),
    [((5, 5), 1), ((5, 5), 2), ((3, 9), 1), ((4, 6), 2), ((12, 7), 1), ((18, 6), 1)],
)
def test_random_positions(objective, dim_room, num_boxes):
    """Many of them have no solution, some begin solved or with boxes on targets."""
    rng = np.random.default_rng(num_boxes)
    number = 3 if JIT_OFF else (12 if dim_room[0] > 9 else 40)
    grids = draw_random(rng, number, dim_room, num_boxes)
    # Boxes on targets, also all of them, come from play.
    grids = np.concatenate([grids, play_randomly(rng, grids, 8)])
    unsolvable = check(grids, objective)
    assert JIT_OFF or 0 < unsolvable < len(grids)


@both_objectives
@pytest.mark.parametrize(
    "size",
    [
        12,
        pytest.param(20, marks=pytest.mark.slow),
        pytest.param(34, marks=pytest.mark.slow),
    ],
)
def test_larger_rooms(objective, size):
    """Sets of several words have the same solutions."""
    rng = np.random.default_rng(2)
    rooms = draw_random(rng, 2 if JIT_OFF else 15, (6, 6), 2)
    far = np.pad(rooms, ((0, 0), (size - 6, 0), (size - 6, 0)))
    assert solve(far, objective)[:3] == solve(rooms, objective)[:3]


@both_objectives
@pytest.mark.parametrize("width", [65, 66])
def test_corridors(objective, width):
    """63 inner columns are the most that a shift of one word allows."""
    assert len(words_of(3, width)) == width - 64
    row = np.ones((2, 1, width - 2), np.uint8)
    row[0, 0, [0, 1, -1]] = 5, 4, 2
    row[1, 0, [-1, -2, 0]] = 5, 4, 2
    grids = np.pad(row, ((0, 0), (1, 1), (1, 1)))
    count = width - 4
    assert solve(grids, objective)[1:3] == ([[3] * count, [2] * count], [count] * 2)


# By name: the room, and the moves of its shortest solution.
SPECIAL = {
    "solved": ("##### #+*-# #####", 0),
    "no box": ("##### #@..# #####", 0),
    "a box that nobody comes to, on its target": ("######## #@$.#*## ########", 1),
    "a box that nobody comes to": ("######### #@$.#$.## #########", None),
    "targets that stay free": ("####### #@$..-# #######", 1),
    "more boxes than targets": ("####### #.$@$-# #######", None),
}


@pytest.mark.parametrize("name", SPECIAL)
def test_special_rooms(name):
    text, length = SPECIAL[name]
    for objective in OBJECTIVES:
        (status,), (path,), *_ = solve(parse(text)[np.newaxis], objective)
        assert status == (solver.UNSOLVABLE if length is None else solver.SOLVED)
        assert len(path) == (length or 0)


def test_limits():
    """A search gives up at its limit; a workspace that is too small says so."""
    grids = draw_generated(3, num_boxes=3)
    statuses, directions, *_ = solve(grids, "moves")
    assert statuses == [solver.SOLVED] * 3
    assert solve(grids, "moves", max_states=5)[0] == [solver.GAVE_UP] * 3
    hard = draw_generated(1, (10, 10), 4)
    assert solve(hard, "moves", capacity=256)[3] == (0, solver.NEEDS_SPACE)
    # The first two solutions fill the place for directions, the third one is too much.
    length = len(directions[0]) + len(directions[1])
    for paths in (length, length + len(directions[2]) - 1):
        short = solve(grids, "moves", paths=paths)
        assert short[1] == directions[:2]
        assert short[3] == (2, solver.NEEDS_PATHS)
    exact = solve(grids, "moves", paths=sum(map(len, directions)))
    assert exact[1] == directions


# ---------------------------------------------------------------------- dead ends


def mark(grids):
    """Return whether each room is a dead end, by the tests that are made."""
    number, height, width = grids.shape
    out = np.zeros(number, np.bool_)
    flat = np.ascontiguousarray(grids).reshape(number, -1)
    words = words_of(height, width)
    deadlocks.mark_deadlocks(0, number, flat, height, width, words, out)
    return out


# By name: the room, and whether it is a dead end that is marked.
ROOMS = {
    "corner": ("####### #$----# #-----# #--@-.# #######", True),
    "edge": ("####### #-$---# #-----# #-.@--# #######", True),
    "edge with a target": ("####### #-$-.-# #-----# #--@--# #######", False),
    "pair at a wall": (
        "####### #-$$--# #-----# #.-@-.# #-.-.-# #######",
        True,
    ),
    "square": (
        "######## #------# #-$$---# #-$$-@-# #------# #-....-# #------# ########",
        True,
    ),
    "square on targets": (
        "######## #------# #-**---# #-**-@-# #------# #-.$---# #------# ########",
        False,
    ),
    # Each of the two boxes is held by the other one and by a wall.
    "diagonal": ("####### #-----# #-#$--# #-$#-@# #..---# #######", True),
    "free diagonal": ("####### #-----# #-#$--# #-$--@# #..---# #######", False),
    # The box in the middle is held by boxes in the corners, which hold their targets.
    "behind frozen boxes": ("####### #*$*--# ##-#--# #.---@# #######", True),
    # The player does not come to the side from where it would have to push.
    "no way round": ("######## #-$@-.-# #-##---# ########", True),
    "way round": ("######## #-$@-.-# #------# ########", False),
    # The lower box could only go up to the corner that is taken already.
    "target below a frozen box": ("##### #*--# #$--# #@-.# #-#-# #####", True),
    "the same target, free": ("##### #.--# #$--# #@--# #-#-# #####", False),
}


@pytest.mark.parametrize("name", ROOMS)
def test_dead_cells_frozen_boxes_and_rooms_that_only_look_like_them(name):
    text, is_dead = ROOMS[name]
    grids = parse(text)[np.newaxis]
    status = solver.UNSOLVABLE if is_dead else solver.SOLVED
    assert solve(grids, "pushes")[0] == [status]
    for size in (grids, pad(grids)):
        assert mark(size).tolist() == [is_dead]


def marked_share(grids):
    """Check that all marked rooms are dead ends; return their share of dead ends."""
    marks = mark(grids)
    np.testing.assert_array_equal(mark(pad(grids)), marks)
    statuses = np.array(solve(grids, "pushes")[0])
    assert set(statuses.tolist()) <= {solver.SOLVED, solver.UNSOLVABLE}
    is_dead = statuses == solver.UNSOLVABLE
    assert not (marks & ~is_dead).any()
    return marks.sum() / is_dead.sum()


def test_no_false_alarm():
    """Positions of random play, and boxes and walls anywhere."""
    rng, number = np.random.default_rng(3), 8 if JIT_OFF else 300
    assert marked_share(play_randomly(rng, draw_generated(number), 30)) > 0.5
    assert marked_share(draw_random(rng, number, (6, 6), 3)) > 0.5
