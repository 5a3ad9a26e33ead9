"""The table of findings of ``roll-vec diagnose``, from their docstrings."""

from __future__ import annotations

from docs.build.tables import table
from roll_vec.evaluation.diagnosis.ranking import KINDS


def findings(_: str) -> str:
    """Return a table of the kinds of findings, in the order of causes."""
    rows = [
        (kind.title, kind.meaning, "" if kind.least is None else f"{kind.least:.0%}")
        for kind in KINDS
    ]
    return table(("finding", "what is counted", "from"), rows, 1)
