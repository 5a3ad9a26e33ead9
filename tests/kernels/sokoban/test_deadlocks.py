"""Marked dead ends have no solution, and most dead ends are marked."""

import numpy as np
import pytest

from roll_vec.kernels.sokoban import deadlocks, solver
from tests.conftest import JIT_OFF
from tests.kernels.sokoban.positions import (
    draw_generated,
    draw_random,
    pad,
    parse,
    play_randomly,
)
from tests.kernels.sokoban.test_solver import solve


def mark(grids):
    """Return whether each room is a dead end, by the tests that are made."""
    number, height, width = grids.shape
    out = np.zeros(number, np.bool_)
    deadlocks.mark_deadlocks(
        0,
        number,
        np.ascontiguousarray(grids).reshape(number, -1),
        height,
        width,
        tuple(deadlocks.make_deadlock_workspace(height, width)),
        out,
    )
    return out


CORNER = parse("####### #$----# #-----# #--@-.# #######")
EDGE = parse("####### #-$---# #-----# #-.@--# #######")
EDGE_WITH_TARGET = parse("####### #-$-.-# #-----# #--@--# #######")
PAIR_AT_WALL = parse("####### #-$$--# #-----# #.-@-.# #-.-.-# #######")
SQUARE = parse(
    "######## #------# #-$$---# #-$$-@-# #------# #-....-# #------# ########"
)
SQUARE_ON_TARGETS = parse(
    "######## #------# #-**---# #-**-@-# #------# #-.$---# #------# ########"
)
# Each of the two boxes is held by the other one and by a wall.
DIAGONAL = parse("####### #-----# #-#$--# #-$#-@# #..---# #######")
FREE_DIAGONAL = parse("####### #-----# #-#$--# #-$--@# #..---# #######")
# The box in the middle is held by boxes in the corners, which hold their targets.
BEHIND_FROZEN = parse("####### #*$*--# ##-#--# #.---@# #######")
# The player does not come to the side from where it would have to push.
NO_WAY_ROUND = parse("######## #-$@-.-# #-##---# ########")
WAY_ROUND = parse("######## #-$@-.-# #------# ########")


@pytest.mark.parametrize("padded", [False, True])
@pytest.mark.parametrize(
    ("grid", "is_dead"),
    [
        (CORNER, True),
        (EDGE, True),
        (EDGE_WITH_TARGET, False),
        (PAIR_AT_WALL, True),
        (SQUARE, True),
        (SQUARE_ON_TARGETS, False),
        (DIAGONAL, True),
        (FREE_DIAGONAL, False),
        (BEHIND_FROZEN, True),
        (NO_WAY_ROUND, True),
        (WAY_ROUND, False),
    ],
)
def test_drawn_rooms(grid, is_dead, padded):
    """Dead cells, frozen boxes, and rooms that only look like them."""
    grids = grid[np.newaxis]
    assert solve(grids, "pushes")[0] == [
        solver.UNSOLVABLE if is_dead else solver.SOLVED
    ]
    assert mark(pad(grids) if padded else grids).tolist() == [is_dead]


def test_frozen_boxes_are_walls():
    """A target with a frozen box on it is taken, so that other boxes need another."""
    # The lower box could only go up to the corner that is taken already.
    taken = parse("##### #*--# #$--# #@-.# #-#-# #####")
    free = parse("##### #.--# #$--# #@--# #-#-# #####")
    for grid, is_dead in [(taken, True), (free, False)]:
        for grids in (grid[np.newaxis], pad(grid[np.newaxis])):
            assert mark(grids).tolist() == [is_dead]


def compare(grids):
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
    rng = np.random.default_rng(3)
    number = 8 if JIT_OFF else 400
    positions = play_randomly(rng, draw_generated(number), 30)
    assert compare(positions) > 0.5
    assert compare(draw_random(rng, number, (6, 6), 3)) > 0.5


@pytest.mark.slow
@pytest.mark.parametrize("dim_room", [(6, 6), (8, 8)])
def test_no_false_alarm_many(dim_room):
    """10,000 positions of random play."""
    rng = np.random.default_rng(4)
    positions = play_randomly(rng, draw_generated(10_000, dim_room), 40)
    assert compare(positions) > 0.8
