"""Solved rooms of Sokoban a second: exported in a format, or played and not written."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import roll_vec
from benchmarks.batches import SOKOBAN
from benchmarks.tasks import Rate, Unavailable
from roll_vec.errors import MissingExtraError
from roll_vec.evaluation import OraclePolicy
from roll_vec.export import export
from roll_vec.export.writer import FORMATS
from roll_vec.trajectories import play_seeds


def rows(format: str = "", num: int = 1024, id: str = SOKOBAN, **keywords: Any) -> Rate:
    """Export episodes of the oracle; without a format play them alone."""
    form = FORMATS[format or "messages"]
    keywords = {**form.keywords, **keywords, "autoreset_mode": "Disabled"}

    def work() -> int:
        envs = roll_vec.make_vec(id, 256, **keywords)
        episodes = play_seeds(envs, range(num), OraclePolicy(envs))
        if not format:
            return sum(1 for _ in episodes)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / f"rows{form.suffix}"
            try:
                export(path, envs, episodes, format=format)
            except MissingExtraError as error:
                raise Unavailable(str(error)) from None
        return num

    return Rate(work, "rows/s", {"batch": num, "levels": "6x6, 3 boxes, solved"})
