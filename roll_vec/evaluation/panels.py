"""Panels: frozen groups of splits, by difficulty, for comparison between papers.

A panel is a list of splits under one name, which ends with a version, as ids do.  Its
digest is that of the digests of its splits.  A panel never changes: other splits make a
new version beside it.

`baseline_rows` has the scores of simple policies, which ``python -m
benchmarks.baselines`` measures, on all built-in splits.
"""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from typing import Any

from roll_vec.evaluation.splits import SPLITS, WEBSHOP, Split

BASELINES_FILE = resources.files(__package__) / "baselines.json"


@dataclass(frozen=True)
class Panel:
    """A frozen group of splits.

    Parameters
    ----------
    name : str
        With its version, such as ``sokoban-v1``.
    title : str
        One line about the order of the splits.
    splits : mapping from str to Split
        By the names that the panel gives them; the easy ones first.
    """

    name: str
    title: str
    splits: Mapping[str, Split]

    @property
    def digest(self) -> str:
        """The SHA-256 of the name, and of the names and digests of the splits."""
        parts = [[name, split.digest] for name, split in self.splits.items()]
        return hashlib.sha256(json.dumps([self.name, parts]).encode()).hexdigest()


@functools.cache
def baseline_rows() -> dict[str, dict[str, Any]]:
    """Return the facts of each policy on each split, by ``ID SPLIT: POLICY``."""
    rows: dict[str, dict[str, Any]] = json.loads(BASELINES_FILE.read_text("utf-8"))
    return rows


PANELS: dict[str, Panel] = {}
"""By name."""


def _add(name: str, id: str, title: str, **splits: str) -> None:
    by_name = {part: SPLITS[id][split] for part, split in splits.items()}
    PANELS[name] = Panel(name, title, by_name)


_add(
    "sokoban-v1",
    "roll_vec/Sokoban-v0",
    "by the fewest moves: XS has one box, S at most 8 moves, M 9 to 14, L 15 or more",
    XS="test-1-box",
    S="test-easy",
    M="test-medium",
    L="test-hard",
)
_add(
    "lakes-v1",
    "roll_vec/RandomFrozenLake-v0",
    "by the best player's chance: XS has no slips, S chance 1, M 0.75 to 1, L less",
    XS="test-no-slip",
    S="test-easy",
    M="test-medium",
    L="test-hard",
)
_add(
    "countdown-v1",
    "roll_vec/Countdown-v0",
    "by the number of operations: 2, 3 and 4",
    S="test-2-operations",
    M="test-3-operations",
    L="test-4-operations",
)
_add("webshop-v1", WEBSHOP, "WebShop's first 500 goals in the demo shop", goals="test")
_add(
    "sudoku-v1",
    "roll_vec/Sudoku-v0",
    "by the number of clues: 45, 30, and 24 or the fewest",
    S="test-easy",
    M="test",
    L="test-hard",
)
_add(
    "tiles-v1",
    "roll_vec/SlidingTiles-v0",
    "by random moves from the goal: 3x3 after 10, 3x3 after 100, 4x4 after 40",
    S="test-easy",
    M="test",
    L="test-4x4",
)
