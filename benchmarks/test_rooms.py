"""Rooms of Sokoban beside gym-sokoban, one seed a room, on one thread; solutions.

gym-sokoban gives no room for a seed whose attempt fails; its callers try the next one.
"""

from __future__ import annotations

import importlib.util
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import roll_vec
from benchmarks import peers
from benchmarks.conftest import OURS, Versus


def load_generator() -> Any:
    """Return gym-sokoban's room generator: its package imports the old ``gym``."""
    package = importlib.util.find_spec("gym_sokoban")
    if package is None or not package.submodule_search_locations:
        pytest.skip(f"gym_sokoban is not installed: {peers.INSTALL['gym_sokoban']}")
    path = Path(package.submodule_search_locations[0]) / "envs" / "room_utils.py"
    spec = importlib.util.spec_from_file_location("gym_sokoban_room_utils", path)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.benchmark(group="rooms of 6x6, boxes: {boxes}")
@pytest.mark.parametrize("side", [OURS, "gym-sokoban"])
@pytest.mark.parametrize("boxes", [1, 2, 3])
def test_rooms(versus: Versus, boxes: int, side: str) -> None:
    if side == OURS:
        draw, count = our_rooms(boxes), 1000
        versus(lambda: draw(count), draw(count), "room")
    else:
        # The costs of rooms differ a hundredfold: each round draws the same seeds.
        draw, count = their_rooms(boxes), 40 // boxes
        versus(lambda: draw(count), draw(count), "room")


def our_rooms(num_boxes: int) -> Any:
    """Return a function that draws a room for each of so many seeds."""
    from roll_vec.envs.sokoban import Sokoban
    from roll_vec.envs.sokoban.rooms import draw_rooms

    options = Sokoban(dim_room=(6, 6), num_boxes=num_boxes, search_depth=300)

    def draw(count: int) -> int:
        _, statuses = draw_rooms(options, np.arange(count, dtype=np.uint64))
        return int((statuses == 0).sum())

    return draw


def their_rooms(num_boxes: int) -> Any:
    """Return the same of gym-sokoban; its search depth is always 300."""
    generator = load_generator()

    def draw(count: int) -> int:
        rooms = 0
        for seed in range(count):
            random.seed(seed)
            # gym-sokoban draws from both global generators.
            np.random.seed(seed)  # noqa: NPY002
            try:
                generator.generate_room((6, 6), num_steps=20, num_boxes=num_boxes)
                rooms += 1
            except (RuntimeError, RuntimeWarning):
                pass  # too few cells, or a score of 0
        return rooms

    return draw


@pytest.mark.benchmark(group="solutions, rooms of {size}x{size}, boxes: {boxes}")
@pytest.mark.parametrize(("size", "boxes"), [(6, 3), (10, 4)])
def test_solutions(versus: Versus, size: int, boxes: int) -> None:
    rooms = {"dim_room": (size, size), "num_boxes": boxes}
    envs = roll_vec.make_vec("roll_vec/Sokoban-v0", 200, **rooms)
    envs.reset(seed=0)
    versus(envs.solve, 200, "room", close=envs.close)
