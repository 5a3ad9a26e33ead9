"""Solutions are as short as those of a search in plain Python; dead ends have none."""

import numpy as np
import pytest

from roll_vec.envs.sokoban import solver
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


# The resources of a search, and of the first workspace that it gets.
SMALL = {"_ROOMS_PER_THREAD": 4, "_FIRST_STATES": 256, "_FIRST_DIRECTIONS": 16}
# With the JIT off, numpy's error state is that of one thread.
NUM_THREADS = 1 if JIT_OFF else 3


def solve(grids, objective, **more):
    """Return the status of each room, its directions, and its pushes, as lists."""
    solutions = solver.solve_rooms(grids, objective, **more)
    directions, num_pushes, statuses = zip(*solutions, strict=True)
    paths = [None if each is None else each.tolist() for each in directions]
    assert {each.dtype for each in directions if each is not None} <= {np.dtype("i1")}
    return list(statuses), paths, list(num_pushes)


def check(grids, objective):
    """Compare rooms with the search in plain Python; return how many are unsolvable."""
    statuses, paths, pushes = solve(grids, objective)
    lengths = solver.measure_rooms(grids)[OBJECTIVES.index(objective)]
    assert lengths.dtype == np.int32
    for grid, *solution, length in zip(
        grids.tolist(), statuses, paths, pushes, lengths, strict=True
    ):
        best = measure(grid, objective)
        if best is None:
            assert (*solution, length) == ("unsolvable", None, 0, solver.NO_SOLUTION)
        else:
            status, path, num_pushes = solution
            assert (status, length) == ("solved", best)
            assert replay(grid, path) == (True, num_pushes)
            assert best == (len(path) if objective == "moves" else num_pushes)
    return statuses.count("unsolvable")


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
def test_generated_rooms_with_any_threads_and_workspaces(objective, monkeypatch):
    rng, number = np.random.default_rng(0), 3 if JIT_OFF else 14
    grids = draw_generated(number, (6, 6), 3)
    grids = np.concatenate([grids, play_randomly(rng, grids, 20)])
    check(grids, objective)
    solutions = solve(grids, objective)
    for name, value in SMALL.items():
        monkeypatch.setattr(solver, name, value)
    assert solve(grids, objective, num_threads=NUM_THREADS) == solutions
    # All directions fill the first workspace, or are one too many.
    count = sum(len(path or ()) for path in solutions[1])
    monkeypatch.setattr(solver, "_ROOMS_PER_THREAD", 64)
    for length in (count, count - 1):
        monkeypatch.setattr(solver, "_FIRST_DIRECTIONS", length)
        assert solve(grids, objective) == solutions
    # A larger workspace is given back; without memory for it a search gives up.
    assert solver._scratch._key[2:] == (256, count - 1)
    monkeypatch.setattr(solver, "_MAX_BYTES", 0)
    if objective == "moves":  # which need more states
        assert "gave up" in solve(grids, objective)[0]
        assert solver.GAVE_UP in solver.measure_rooms(grids)[0]


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
    assert solve(far, objective) == solve(rooms, objective)


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
    assert solve(grids, objective)[1:] == ([[3] * count, [2] * count], [count] * 2)


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
        (status,), (path,), _ = solve(parse(text)[np.newaxis], objective)
        assert status == ("unsolvable" if length is None else "solved")
        assert path == length or len(path) == length


def test_searches_that_give_up_and_no_rooms():
    grids = draw_generated(3)
    assert solve(grids, "moves", max_states=5) == (["gave up"] * 3, [None] * 3, [0] * 3)
    steps, pushes = solver.measure_rooms(grids, max_states=2)
    assert set(steps.tolist()) == set(pushes.tolist()) == {solver.GAVE_UP}
    assert solver.solve_rooms(grids[:0]) == []
    assert [len(length) for length in solver.measure_rooms(grids[:0])] == [0, 0]


# By name: the room, and whether it is a dead end that is marked.
ROOMS = {
    "corner": ("####### #$----# #-----# #--@-.# #######", True),
    "edge": ("####### #-$---# #-----# #-.@--# #######", True),
    "edge with a target": ("####### #-$-.-# #-----# #--@--# #######", False),
    "pair at a wall": ("####### #-$$--# #-----# #.-@-.# #-.-.-# #######", True),
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
    assert solve(grids, "pushes")[0] == ["unsolvable" if is_dead else "solved"]
    for size in (grids, pad(grids)):
        assert solver.mark_deadlocks(size).tolist() == [is_dead]


def marked_share(grids):
    """Check that all marked rooms are dead ends; return their share of dead ends."""
    marks = solver.mark_deadlocks(grids)
    np.testing.assert_array_equal(solver.mark_deadlocks(pad(grids)), marks)
    statuses = np.array(solve(grids, "pushes")[0])
    assert set(statuses.tolist()) <= {"solved", "unsolvable"}
    is_dead = statuses == "unsolvable"
    assert not (marks & ~is_dead).any()
    return marks.sum() / is_dead.sum()


def test_no_false_alarm():
    """Positions of random play, and boxes and walls anywhere."""
    rng, number = np.random.default_rng(3), 8 if JIT_OFF else 300
    assert marked_share(play_randomly(rng, draw_generated(number), 30)) > 0.5
    assert marked_share(draw_random(rng, number, (6, 6), 3)) > 0.5
