"""Observations of rooms that stay in one array: a step writes the changed cells.

A step changes at most three cells: those of the player before and after it, and the one
beyond, where a box may stand now.  They are written in every step, also without a move:
a branch would be mispredicted half of the time.  A room that begins is written whole.

The argument ``out`` of these kernels is ``before, table, values``:

- ``before``: (n,) int32, written: the players before the step;
- ``table``: what a cell looks like, by code;
- ``values``: the array that users see, one-dimensional, updated.

4096 rooms of 10x10 take 5 to 8 ns each; written whole, seven planes take 27 ns.
"""

import functools

import numpy as np

from .._jit import kernel
from ..bound import keep_infos, make_step
from ..views import flat
from .rules import (
    BOX,
    BOX_ON_TARGET,
    FLOOR,
    IS_BOX,
    IS_TARGET,
    NUM_CODES,
    PLAYER,
    PLAYER_ON_TARGET,
    TARGET,
    WALL,
    begin_next,
    step_rows,
)

_U = np.uint64
FEATURES = np.zeros((NUM_CODES, 4), np.uint8)
"""(7, 4) uint8: player, wall, box and target of each code."""
FEATURES[[PLAYER, PLAYER_ON_TARGET], 0] = FEATURES[WALL, 1] = 1
FEATURES[:, 2], FEATURES[:, 3] = IS_BOX, IS_TARGET
NO_TABLE = np.zeros(0, np.uint8)
# On a target: floor, box and player have the codes 2, 3, 6 in the place of 1, 4, 5.
_FLOOR_TO_TARGET, _BOX_TO_TARGET = TARGET - FLOOR, BOX_ON_TARGET - BOX
_PLAYER_TO_TARGET = PLAYER_ON_TARGET - PLAYER


@kernel
def write_features(start, stop, grids, out):
    """Write four planes: 1 where the player, a wall, a box, a target is, else 0.

    These are PufferLib's, in its order.

    Parameters
    ----------
    start, stop : int
        The rows to work on.
    grids : (n, H, W) uint8, C order, read
    out : (n, 4, H, W) uint8, C order, written
    """
    # Comparisons, of many cells at once: a table would be read cell by cell.
    size = _U(grids.shape[1] * grids.shape[2])
    codes, planes = flat(grids), flat(out)
    for i in range(_U(start), _U(stop)):
        begin, at = i * size, _U(4) * i * size
        for cell in range(size):
            planes[at + cell] = codes[begin + cell] >= PLAYER
        for cell in range(size):
            planes[at + size + cell] = codes[begin + cell] == WALL
        for cell in range(size):
            code = codes[begin + cell]
            planes[at + _U(2) * size + cell] = (code == BOX) | (code == BOX_ON_TARGET)
        for cell in range(size):
            code = codes[begin + cell]
            planes[at + _U(3) * size + cell] = (
                (code == TARGET) | (code == BOX_ON_TARGET) | (code == PLAYER_ON_TARGET)
            )


@kernel
def _put_plane(i, cell, code, size, width, table, values):
    """Write a cell of the planes of all codes, which are 0 there."""
    values[(i * _U(NUM_CODES) + _U(code)) * size + cell] = 1


@kernel
def _clear_planes(i, size, values):
    for at in range(i * _U(NUM_CODES) * size, (i + _U(1)) * _U(NUM_CODES) * size):
        values[at] = 0


@kernel
def _move_planes(i, cells, codes, size, width, table, values):
    """Write the planes that a step can change: of a cell two, of the middle one three.

    Nothing else was on the first cell than the player, and on the last one a box.
    """
    (before, here, beyond), (left, stands, ahead) = cells, codes
    at, on_target = i * _U(NUM_CODES) * size, IS_TARGET[left]
    values[at + _U(FLOOR + _FLOOR_TO_TARGET * on_target) * size + before] = (
        left <= TARGET
    )
    values[at + _U(PLAYER + _PLAYER_TO_TARGET * on_target) * size + before] = (
        left >= PLAYER
    )
    on_target = IS_TARGET[stands]
    values[at + _U(FLOOR + _FLOOR_TO_TARGET * on_target) * size + here] = 0
    values[at + _U(BOX + _BOX_TO_TARGET * on_target) * size + here] = 0
    values[at + _U(stands) * size + here] = 1
    on_target = IS_TARGET[ahead]
    floor, box = FLOOR + _FLOOR_TO_TARGET * on_target, BOX + _BOX_TO_TARGET * on_target
    values[at + _U(floor) * size + beyond] = ahead == floor
    values[at + _U(box) * size + beyond] = ahead == box


@kernel
def _put_features(i, cell, code, size, width, table, values):
    """Write a cell of the four planes; ``table`` is `FEATURES`."""
    for number in range(4):
        values[(i * _U(4) + _U(number)) * size + cell] = table[code, number]


@kernel
def _move_features(i, cells, codes, size, width, table, values):
    """Write the planes that a step can change: walls and targets stay."""
    players = i * _U(4) * size
    boxes = players + _U(2) * size
    values[players + cells[0]] = table[codes[0], 0]
    values[players + cells[1]] = 1
    values[boxes + cells[1]] = 0
    values[boxes + cells[2]] = table[codes[2], 2]


@kernel
def _put_pixel(i, cell, code, size, width, table, values):
    """Write a cell of ``tiny_rgb``; ``table`` has the pixels, (7, 3) uint8."""
    for channel in range(3):
        values[(i * size + cell) * _U(3) + _U(channel)] = table[code, channel]


@kernel
def _put_tile(i, cell, code, size, width, table, values):
    """Write a cell of ``rgb``; ``table`` has the tiles, (7, S, S, 3) uint8."""
    side = _U(table.shape[1])
    line, row, column = side * _U(3), cell // width, cell % width
    tiles = flat(table)
    for y in range(side):
        target = (i * size * side + (row * side + y) * width + column) * line
        source = (_U(code) * side + y) * line
        for k in range(line):
            values[target + k] = tiles[source + k]


@kernel
def _clear_nothing(i, size, values):
    pass


def _make(mode, put_cell, clear_row=_clear_nothing, move=None):
    """Return what makes the kernels of an observation mode.

    Parameters
    ----------
    mode : str
    put_cell : kernel
        ``put_cell(i, cell, code, size, width, table, values)`` writes a cell of row i.
    clear_row : kernel
        ``clear_row(i, size, values)`` prepares a row in which all cells will be put.
    move : kernel or None
        ``move(i, cells, codes, size, width, table, values)`` writes the three cells of
        a step, of which the last two or all may be the same; None: ``put_cell`` does.
    """
    compiled = functools.partial(kernel, key=f"sokoban-{mode}")

    if move is None:

        @compiled
        def move(i, cells, codes, size, width, table, values):
            for number in range(3):
                cell, code = cells[number], codes[number]
                put_cell(i, cell, code, size, width, table, values)

    @compiled
    def write_row(i, state, out):
        (grids, _, _), (width,), _, _ = state
        _, table, values = out
        size = _U(grids.shape[1])
        clear_row(i, size, values)
        for cell in range(size):
            put_cell(i, cell, grids[i, cell], size, _U(width), table, values)

    @compiled
    def observe_rows(start, stop, at, state, out):
        for i in range(_U(start), _U(stop)):
            write_row(i, state, out)

    @compiled
    def step_in_place(
        start, stop, at, actions, skip_mask, rules, state, results, infos, out
    ):
        (grids, players, _), (width,), _, elapsed_steps = state
        before, table, values = out
        size = _U(grids.shape[1])
        for i in range(_U(start), _U(stop)):
            before[i] = players[i]
        step_rows(start, stop, at, actions, skip_mask, rules, state, results, infos)
        for i in range(_U(start), _U(stop)):
            player = np.int64(players[i])
            # One cell more in the direction of the move.
            cells = _U(before[i]), _U(player), _U(2 * player - before[i])
            codes = grids[i, cells[0]], grids[i, cells[1]], grids[i, cells[2]]
            move(i, cells, codes, size, _U(width), table, values)
        for i in range(_U(start), _U(stop)):
            if elapsed_steps[i] == 0:
                write_row(i, state, out)

    begins = begin_next, keep_infos
    return functools.partial(
        make_step, step_in_place, *begins, observe_rows, 3, f"sokoban-{mode}"
    )


STEPS_IN_PLACE = {
    "planes": _make("planes", _put_plane, _clear_planes, _move_planes),
    "planes4": _make("planes4", _put_features, move=_move_features),
    "tiny_rgb": _make("tiny_rgb", _put_pixel),
    "rgb": _make("rgb", _put_tile),
}
"""By observation mode: as ``make_step`` of `..unroll.GameKernels`."""
