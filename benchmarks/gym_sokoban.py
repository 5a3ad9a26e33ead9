"""gym-sokoban's room generator, without the old ``gym`` that its package imports."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import random
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.workloads import RoomConfig

HOW_TO_INSTALL = (
    "gym-sokoban is not installed: pip install --no-deps gym-sokoban (of its "
    "dependencies the room generator needs numpy alone)"
)


def version() -> str | None:
    """Return the installed version, or None."""
    try:
        return importlib.metadata.version("gym-sokoban")
    except importlib.metadata.PackageNotFoundError:
        return None


def load_generator() -> Any:
    """Return the module `gym_sokoban.envs.room_utils`, loaded by its path.

    Raises
    ------
    ImportError
        If gym-sokoban is not installed; says how to install it.
    """
    package = importlib.util.find_spec("gym_sokoban")
    if package is None or not package.submodule_search_locations:
        raise ImportError(HOW_TO_INSTALL)
    path = Path(package.submodule_search_locations[0]) / "envs" / "room_utils.py"
    spec = importlib.util.spec_from_file_location("gym_sokoban_room_utils", path)
    if spec is None or spec.loader is None:
        raise ImportError(HOW_TO_INSTALL)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@contextmanager
def _global_generators_kept() -> Iterator[None]:
    """Leave the global generators, which gym-sokoban draws from, as they were."""
    pythons, numpys = random.getstate(), np.random.get_state()  # noqa: NPY002
    try:
        yield
    finally:
        random.setstate(pythons)
        np.random.set_state(numpys)  # noqa: NPY002


def draw(generator: Any, config: RoomConfig, seeds: Iterable[int]) -> int:
    """Draw with gym-sokoban once a seed; return how many attempts gave a room."""
    rooms = 0
    side = config.size
    with _global_generators_kept():
        for seed in seeds:
            random.seed(int(seed))
            np.random.seed(int(seed))  # noqa: NPY002
            try:
                generator.generate_room(
                    dim=(side, side),
                    num_steps=int(1.7 * (side + side)),
                    num_boxes=config.num_boxes,
                )
            except (RuntimeError, RuntimeWarning):
                continue  # too few cells, or a score of 0: its own retries do this
            rooms += 1
    return rooms
