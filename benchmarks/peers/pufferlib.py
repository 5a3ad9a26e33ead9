"""PufferLib's C environments, which are other tasks."""

from __future__ import annotations

from typing import NoReturn

from benchmarks.tasks import Unavailable


def frozen_lake() -> NoReturn:
    """Say why it is left out.

    Raises
    ------
    Unavailable
    """
    raise Unavailable(
        "left out: 3.0.0 has neither FrozenLake nor Sokoban, and its build downloads "
        "raylib and box2d; its grid and maze environments are other tasks"
    )
