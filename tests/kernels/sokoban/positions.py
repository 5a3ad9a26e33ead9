"""Rooms and positions for the tests of the solver and of dead ends."""

import numpy as np

from roll_vec.envs.sokoban.options import SokobanOptions
from roll_vec.envs.sokoban.rooms import draw_rooms
from roll_vec.kernels.sokoban import rules
from tests.kernels.sokoban.test_rules import random_board


def parse(text):
    """Return the codes of a room in the common text format; a dash is floor."""
    rows = text.split()
    codes = {letter: code for code, letter in enumerate("#-.*$@+")}
    return np.array([[codes[letter] for letter in row] for row in rows], np.uint8)


def draw_generated(number, dim_room=(6, 6), num_boxes=3, first_seed=0):
    """Return generated rooms, (number, H, W)."""
    options = SokobanOptions(dim_room=dim_room, num_boxes=num_boxes)
    grids, statuses = draw_rooms(
        options, np.arange(first_seed, first_seed + number, dtype=np.uint64)
    )
    assert not statuses.any()
    return grids


def draw_random(rng, number, dim_room, num_boxes):
    """Return rooms with walls, boxes and a player anywhere; many have no solution."""
    return np.stack([random_board(rng, *dim_room, num_boxes) for _ in range(number)])


def play_randomly(rng, grids, num_steps):
    """Return the rooms after some random moves each, solved or not."""
    num_rooms, height, width = grids.shape
    cells = grids.reshape(num_rooms, -1).copy()
    players = np.array([np.flatnonzero(row >= rules.PLAYER)[0] for row in cells])
    for i in range(num_rooms):
        for action in rng.integers(rules.UP, rules.RIGHT + 1, num_steps).tolist():
            players[i] = rules.step_row(cells, i, width, players[i], 0, action)[0]
    return cells.reshape(num_rooms, height, width)


def pad(grids, height=12, width=12):
    """Return the rooms with walls below and to the right, too large for a bitboard."""
    _, rows, columns = grids.shape
    return np.pad(grids, ((0, 0), (0, height - rows), (0, width - columns)))
