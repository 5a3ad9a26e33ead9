"""gym-sokoban's room generator, without the old ``gym`` that its package imports."""

from __future__ import annotations

import importlib.util
import random
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.tasks import Rate


def load_generator() -> Any:
    """Return the module `gym_sokoban.envs.room_utils`, loaded by its path.

    Raises
    ------
    ImportError
        If gym-sokoban is not installed.
    """
    package = importlib.util.find_spec("gym_sokoban")
    if package is None or not package.submodule_search_locations:
        raise ModuleNotFoundError("No module named 'gym_sokoban'")
    path = Path(package.submodule_search_locations[0]) / "envs" / "room_utils.py"
    spec = importlib.util.spec_from_file_location("gym_sokoban_room_utils", path)
    module = importlib.util.module_from_spec(spec)  # type: ignore[arg-type]
    spec.loader.exec_module(module)  # type: ignore[union-attr]
    return module


def rooms(size: int, num_boxes: int, count: int = 100) -> Rate:
    """Draw once a seed; a failed attempt costs time and gives no room.

    The search depth is always 300.  Every round takes the same ``count`` seeds, because
    the costs of rooms differ a hundredfold.
    """
    generator = load_generator()

    def draw(seed: int) -> int:
        random.seed(seed)
        np.random.seed(seed)  # noqa: NPY002
        try:
            generator.generate_room(
                dim=(size, size),
                num_steps=int(1.7 * (size + size)),
                num_boxes=num_boxes,
            )
        except (RuntimeError, RuntimeWarning):
            return 0  # too few cells, or a score of 0: its own callers retry
        return 1

    return Rate(
        lambda: sum(map(draw, range(count))),
        "rooms/s",
        {
            "batch": 1,
            "observation": "none",
            "levels": f"{size}x{size}, boxes: {num_boxes}, depth 300",
        },
    )
