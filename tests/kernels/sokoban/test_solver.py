"""Solutions are as short as those of a search in plain Python, in rooms of any size."""

import numpy as np
import pytest

from roll_vec.kernels.sokoban import bitboard_solver, solver
from roll_vec.kernels.sokoban.bitboards import fits
from tests.conftest import JIT_OFF
from tests.kernels.sokoban.positions import (
    draw_generated,
    draw_random,
    parse,
    play_randomly,
)
from tests.oracles.sokoban_solver import measure, replay

OBJECTIVES = ["moves", "pushes"]
STATUSES = [solver.SOLVED, solver.UNSOLVABLE, solver.GAVE_UP]


def solve(
    grids, objective, module=None, max_states=10**6, capacity=1 << 18, paths=1 << 20
):
    """Return the status of each room, its directions, and the rooms that were done."""
    number, height, width = grids.shape
    if module is None:
        module = bitboard_solver if fits(height, width) else solver
    results = (
        np.full(number, -1, np.int8),
        np.zeros(number, np.int32),
        np.zeros(number, np.int32),
        np.zeros(number, np.int64),
    )
    workspace = module.make_workspace(height, width, capacity, paths)
    row, reason = module.solve_rows(
        0,
        number,
        np.ascontiguousarray(grids).reshape(number, -1),
        height,
        width,
        OBJECTIVES.index(objective),
        max_states,
        workspace,
        results,
    )
    statuses, num_moves, num_pushes, ends = results
    starts = np.concatenate([[0], ends[:-1]])
    directions = [
        workspace.paths[start:end].tolist()
        for start, end in zip(starts[:row], ends[:row], strict=True)
    ]
    assert [len(path) for path in directions] == num_moves[:row].tolist()
    return statuses.tolist(), directions, num_pushes.tolist(), (row, reason)


def check(grids, objective, module=None):
    """Compare rooms with the search in plain Python; return how many are unsolvable."""
    statuses, directions, num_pushes, end = solve(grids, objective, module)
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


@pytest.mark.slow
@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize(
    ("dim_room", "num_boxes"),
    [((5, 5), 1), ((5, 5), 2), ((6, 5), 3), ((4, 8), 2), ((3, 9), 1), ((6, 7), 2)],
)
def test_random_positions(objective, dim_room, num_boxes):
    """Many of them have no solution, some begin solved or with boxes on targets."""
    rng = np.random.default_rng(num_boxes)
    grids = draw_random(rng, 4 if JIT_OFF else 40, dim_room, num_boxes)
    # Boxes on targets, also all of them, come from play.
    grids = np.concatenate([grids, play_randomly(rng, grids, 8)])
    unsolvable = check(grids, objective)
    assert JIT_OFF or 0 < unsolvable < len(grids)
    assert check(grids, objective, solver) == unsolvable


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("num_boxes", [1, 2, 3])
def test_generated_rooms(objective, num_boxes):
    """Each has a solution, and none is shorter than the one that is returned."""
    grids = draw_generated(3 if JIT_OFF else 60, num_boxes=num_boxes)
    assert check(grids, objective) == 0
    assert check(grids[:30], objective, solver) == 0


@pytest.mark.slow
@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("num_boxes", [1, 2, 3])
def test_generated_rooms_many(objective, num_boxes):
    """2000 rooms of each kind of the default size."""
    assert check(draw_generated(2000, num_boxes=num_boxes), objective) == 0


@pytest.mark.slow
@pytest.mark.parametrize("objective", OBJECTIVES)
def test_positions_many(objective):
    """Positions in the middle of episodes of generated rooms, dead ends among them."""
    rng = np.random.default_rng(5)
    grids = play_randomly(rng, draw_generated(2000), 25)
    assert 0 < check(grids, objective) < 2000


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("dim_room", [(10, 10), (3, 65), (12, 7), (18, 6)])
def test_largest_bitboards(objective, dim_room):
    """Both solvers find solutions of one length where all or nearly all 64 bits count.

    65 columns are 63 inner ones, the most that a shift allows.
    """
    assert fits(*dim_room)
    rng = np.random.default_rng(1)
    number = 2 if JIT_OFF else 12
    grids = draw_random(rng, number, dim_room, 1)
    if dim_room == (3, 65):
        # Nothing turns around in a corridor, so that some rooms are drawn by hand.
        row = np.ones((2, 1, 63), np.uint8)
        row[0, 0, [0, 1, 62]] = 5, 4, 2
        row[1, 0, [62, 61, 0]] = 5, 4, 2
        grids = np.concatenate([grids, np.pad(row, ((0, 0), (1, 1), (1, 1)))])
    ours, general = solve(grids, objective), solve(grids, objective, solver)
    assert ours[0] == general[0]
    assert solver.SOLVED in ours[0]
    for grid, path, other in zip(grids, ours[1], general[1], strict=True):
        counts = replay(grid.tolist(), path), replay(grid.tolist(), other)
        assert objective != "pushes" or counts[0] == counts[1]
        assert objective != "moves" or len(path) == len(other)


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_larger_rooms(objective):
    """Rooms of several words, whose cells are beyond the first one."""
    rng = np.random.default_rng(2)
    rooms = draw_random(rng, 2 if JIT_OFF else 15, (6, 6), 2)
    far = np.pad(rooms, ((0, 0), (9, 0), (9, 0)))
    assert not fits(15, 15)
    statuses, directions, num_pushes, _ = solve(rooms, objective, solver)
    assert solve(far, objective)[:3] == (statuses, directions, num_pushes)


def test_corridor_of_65_cells():
    """A room that is no bitboard for its width alone."""
    grid = np.zeros((1, 3, 66), np.uint8)
    grid[0, 1, 1:-1] = 1
    grid[0, 1, [1, 2, 64]] = 5, 4, 2
    assert not fits(3, 66)
    _, (path,), (pushes,), _ = solve(grid, "moves")
    assert path == [3] * 62
    assert pushes == 62


SOLVED = parse("##### #+*-# #####")
LOCKED_ON_TARGET = parse("######## #@$.#*## ########")
LOCKED_BESIDE = parse("######### #@$.#$.## #########")
MORE_TARGETS = parse("####### #@$..-# #######")
MORE_BOXES = parse("####### #.$@$-# #######")
NO_BOX = parse("##### #@..# #####")


@pytest.mark.parametrize("module", [bitboard_solver, solver])
@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize(
    ("grid", "length"),
    [
        (SOLVED, 0),
        (NO_BOX, 0),
        (LOCKED_ON_TARGET, 1),
        (LOCKED_BESIDE, None),
        (MORE_TARGETS, 1),
        (MORE_BOXES, None),
    ],
)
def test_special_rooms(module, objective, grid, length):
    """Solved rooms, boxes that nobody comes to, and targets that stay free."""
    (status,), (path,), _, _ = solve(grid[np.newaxis], objective, module)
    assert status == (solver.UNSOLVABLE if length is None else solver.SOLVED)
    assert len(path) == (length or 0)


@pytest.mark.parametrize("module", [bitboard_solver, solver])
def test_limits(module):
    """A search gives up at its limit; a workspace that is too small says so."""
    grids = draw_generated(3, num_boxes=3)
    statuses, directions, *_ = solve(grids, "moves", module)
    assert statuses == [solver.SOLVED] * 3
    assert solve(grids, "moves", module, max_states=5)[0] == [solver.GAVE_UP] * 3
    hard = draw_generated(1, (10, 10), 4)
    assert solve(hard, "moves", module, capacity=256)[3] == (0, solver.NEEDS_SPACE)
    # The first two solutions fill the place for directions, the third one is too much.
    room = len(directions[0]) + len(directions[1])
    for length in (room, room + len(directions[2]) - 1):
        short = solve(grids, "moves", module, paths=length)
        assert short[1] == directions[:2]
        assert short[3] == (2, solver.NEEDS_PATHS)
    exact = solve(grids, "moves", module, paths=sum(map(len, directions)))
    assert exact[1] == directions
