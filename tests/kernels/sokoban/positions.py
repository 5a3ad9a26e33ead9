"""Rooms and positions for the tests of rules, of the solver and of dead ends."""

import numpy as np

import roll_vec
from roll_vec.arrays.engine import ArrayEngine
from roll_vec.envs.sokoban import Sokoban
from roll_vec.kernels.sokoban import moves


def parse(text):
    """Return the codes of a room in the common text format; a dash is floor."""
    rows = text.split()
    codes = {letter: code for code, letter in enumerate("#-.*$@+")}
    return np.array([[codes[letter] for letter in row] for row in rows], np.uint8)


def draw_generated(number, dim_room=(6, 6), num_boxes=3, first_seed=0):
    """Return generated rooms, (number, H, W)."""
    keywords = {"dim_room": dim_room, "num_boxes": num_boxes}
    envs = roll_vec.make_vec("roll_vec/Sokoban-v0", number, **keywords)
    grids, _ = envs.reset(seed=first_seed)
    return grids.copy()


def random_board(rng, height, width, num_boxes):
    """Return walls, boxes, targets and a player anywhere inside."""
    board = np.zeros((height, width), np.uint8)
    inner = (rng.random((height - 2, width - 2)) >= 0.15).astype(np.uint8)
    cells = rng.permutation(inner.size)[: 2 * num_boxes + 1]
    inner.ravel()[cells] = moves.FLOOR
    targets = np.zeros(inner.shape, bool)
    targets.ravel()[cells[:num_boxes]] = True
    # Some boxes are on targets already, but not all.
    first = rng.integers(0, num_boxes) if num_boxes > 1 else 0
    boxes = np.zeros(inner.shape, bool)
    boxes.ravel()[cells[num_boxes - first : 2 * num_boxes - first]] = True
    free = np.flatnonzero((inner == moves.FLOOR) & ~boxes)
    player = np.zeros(inner.shape, bool)
    player.ravel()[rng.choice(free)] = True
    inner[targets] = moves.TARGET
    inner[boxes] = np.where(targets[boxes], moves.BOX_ON_TARGET, moves.BOX)
    inner[player] = np.where(targets[player], moves.PLAYER_ON_TARGET, moves.PLAYER)
    board[1:-1, 1:-1] = inner
    return board


def draw_random(rng, number, dim_room, num_boxes):
    """Return rooms with walls, boxes and a player anywhere; many have no solution."""
    return np.stack([random_board(rng, *dim_room, num_boxes) for _ in range(number)])


def play_randomly(rng, grids, num_steps):
    """Return the rooms after some random moves each, solved or not."""
    options = Sokoban(levels=grids, action_start=1)
    engine = ArrayEngine(options, len(grids), None, 1)
    engine.reset(np.arange(len(grids)), range(len(grids)))
    skip_mask = np.zeros(len(grids), np.bool_)
    for actions in rng.integers(moves.UP, moves.RIGHT + 1, (num_steps, len(grids))):
        engine.step(actions, skip_mask)
    return engine.named_variables()["grid"]


def pad(grids, height=12, width=12):
    """Return the rooms with walls below and to the right, too large for one word."""
    _, rows, columns = grids.shape
    return np.pad(grids, ((0, 0), (0, height - rows), (0, width - columns)))
