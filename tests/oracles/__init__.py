"""Slow and obvious statements of the rules that the kernels must reproduce.

Each oracle is the specification in its plainest form: tuples, sets and loops, one
environment, one room.  It shares no code with the package.

``load_golden`` reads tables of what the original systems produced, and no number of
which comes from this project: rooms and games of ROLL's Sokoban (ROLL: Apache-2.0;
gym-sokoban, whose rules it plays by: MIT), and maps of ROLL with games of Gymnasium's
FrozenLake (MIT).  The full ones lie in ``shared/golden`` beside the checkout and may be
absent.  A sample is in ``tests/data``: of every tag 24 rows, spread evenly, and the
first four of every kind of failure.
"""

from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
FULL_GOLDEN = ROOT.parent / "shared" / "golden"
SAMPLE_GOLDEN = ROOT / "tests" / "data"


def golden_path(name, *, full=False):
    """Where the table ``name`` ("sokoban" or "frozen_lake") should be."""
    if full:
        return FULL_GOLDEN / f"{name}.npz"
    return SAMPLE_GOLDEN / f"golden_{name}.npz"


def load_golden(name, *, full=False):
    """Read a table as ``{tag: {field: array}}``; the fields of a tag share rows."""
    tables = {}
    with np.load(golden_path(name, full=full)) as archive:
        for key in archive.files:
            tag, field = key.split("/")
            tables.setdefault(tag, {})[field] = archive[key]
    return tables
