"""PufferLib, which is skipped: its C environments are other tasks."""

from __future__ import annotations

from typing import NoReturn

from benchmarks.tasks import Unavailable


def frozen_lake() -> NoReturn:
    """Raise Unavailable with the reason.

    Raises
    ------
    Unavailable
    """
    raise Unavailable(
        "left out: 3.0.0 has neither FrozenLake nor Sokoban, and its build downloads "
        "raylib and box2d; its grid and maze environments are other tasks"
    )
