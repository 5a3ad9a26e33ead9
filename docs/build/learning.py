"""Learning from the exact credit, and estimators of it, from benchmarks/results."""

from __future__ import annotations

import json
import statistics
from typing import Any

from docs.build.pages import ROOT
from docs.build.tables import table

RESULTS = ROOT / "benchmarks" / "results"


def _read(name: str) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((RESULTS / name).read_text("utf-8"))
    return content


def episodes(_: str) -> str:
    """Return a table of the episodes that each signal needs, over all seeds."""
    rows = []
    for task, result in _read("exact_credit.json").items():
        most = result["episodes"]

        def words(needed: float, most: int = most) -> str:
            return f"{needed:,.0f}" if needed <= most else f"over {most:,}"

        cells, medians = [], []
        for name in ("reward", "advantage"):
            # A training that never solves the share needs more than it had.
            needed = [most + 1 if x is None else x for x in result[name]]
            medians.append(statistics.median(needed))
            least, largest = words(min(needed)), words(max(needed))
            spread = f" ({least} to {largest})" if least != largest else ""
            cells.append(words(medians[-1]) + spread)
        ratio = f"{min(medians[0], most) / medians[1]:.1f}"
        ratio = ratio if medians[0] <= most else f"over {ratio}"
        rows.append((task, f"{result['target']:.0%}", *cells, ratio))
    heads = "task", "test levels solved", "reward", "advantage", "ratio"
    return table(heads, rows, 4)


def estimators(_: str) -> str:
    """Return a table of estimators, the best mean of Spearman's correlations first."""
    content = _read("estimators.json")
    tasks = content["rollouts"]
    rows = []
    for text, row in content["estimators"].items():
        name, definition = text.removesuffix(".").split(": ", 1)
        cells = [f"[{name}]({row['source']})", definition]
        cells += [", ".join(f"{x:.2f}" for x in row.get(task, ())) for task in tasks]
        mean = statistics.mean(row[task][1] for task in tasks if task in row)
        rows.append((mean, cells))
    rows.sort(key=lambda row: -row[0])
    heads = [f"{task}: {x['success']:.0%} succeed" for task, x in tasks.items()]
    heads = ["estimator", "credit of a turn", *heads]
    return table(heads, [cells for _, cells in rows], len(tasks))


def minigrid(_: str) -> str:
    """Return a table of the seconds of an update of PPO on MiniGrid."""
    rows = [
        (f"`{id}`", f"{theirs:.2f}", f"{ours:.2f}", f"{theirs / ours:.1f}")
        for id, (theirs, ours) in _read("minigrid_ppo.json").items()
    ]
    heads = "seconds of an update", "MiniGrid's batch", "roll_vec's", "ratio"
    return table(heads, rows, 3)
