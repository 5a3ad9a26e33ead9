"""Solved rooms of Sokoban a second: exported in a format, or played and not written."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.baselines import oracle
from benchmarks.batches import SOKOBAN
from benchmarks.tasks import Rate, Unavailable
from roll_vec.errors import MissingExtraError
from roll_vec.export import export, policy_source

TEXTS = {
    "obs_mode": "text",
    "action_mode": "text",
    "action_pattern": "<answer>(.*?)</answer>",
}
KEYWORDS: Mapping[str, Mapping[str, Any]] = {
    "messages": TEXTS,
    "parquet": {},
    "minari": {},
}
NAMES = {"messages": "rows.jsonl", "parquet": "rows.parquet", "minari": "rows-v0"}


def rows(format: str = "", num: int = 1024, id: str = SOKOBAN, **keywords: Any) -> Rate:
    """Export episodes of the oracle; without a format play them alone."""
    keywords = {**KEYWORDS.get(format, TEXTS), **keywords}
    source = policy_source(id, oracle, "oracle", keywords=keywords)

    def work() -> int:
        if not format:
            return sum(1 for _ in source.episodes(0, num))
        with tempfile.TemporaryDirectory() as folder:
            try:
                export(Path(folder) / NAMES[format], source, format=format, num=num)
            except MissingExtraError as error:
                raise Unavailable(str(error)) from None
            shutil.rmtree(folder)
            Path(folder).mkdir()
        return num

    return Rate(work, "rows/s", {"batch": num, "levels": "6x6, 3 boxes, solved"})
