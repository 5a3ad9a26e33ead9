"""One run of the suite: from cases to a result (see `benchmarks.result`)."""

from __future__ import annotations

import itertools
import statistics
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks import machine
from benchmarks.cases import CASES
from benchmarks.comparisons import Case, Row
from benchmarks.interleave import ContenderPool
from benchmarks.levels import find_levels
from benchmarks.processes import THIS_PYTHON

# Length of a round of one contender.
SECONDS, QUICK_SECONDS = 0.4, 0.15
ROUNDS, QUICK_ROUNDS = 5, 3
# Rounds of all contenders to find the best of each side.
SWEEPS = 3
# Levels of 10x10 to draw if there is no file of them.
LEVELS, QUICK_LEVELS = 1000, 100
# Called with the title, the number of steps done, and of all steps.
ReportProgress = Callable[[str, int, int], Any]


@dataclass(frozen=True)
class Plan:
    """The cases of a run and their settings.

    Parameters
    ----------
    cases : sequence of str
        Keys of `CASES`.
    rounds : int
    quick : bool
        Fewer sizes, shorter rounds.
    interpreters : mapping
        Interpreters by peer, of those that need their own.
    command : str
        The command that was typed, for the result.
    pufferlib : str
        A checkout of PufferLib, or empty.
    """

    cases: Sequence[str]
    rounds: int
    quick: bool = False
    interpreters: Mapping[str, str] = field(default_factory=dict)
    command: str = ""
    pufferlib: str = ""

    @property
    def seconds(self) -> float:
        """Seconds of one contender in one round."""
        return QUICK_SECONDS if self.quick else SECONDS

    def sweeps(self, case: Case) -> int:
        """Return the rounds of all contenders before any two are compared."""
        return SWEEPS if case.has_choice and not self.quick else 1

    def rounds_of(self, row: Row) -> int:
        """Return the rounds in which the sides of a row are compared."""
        return min(self.rounds, row.max_rounds or self.rounds)

    def python_of(self, peer: str) -> str:
        """Return a peer's interpreter; this one for the empty name."""
        return self.interpreters.get(peer, THIS_PYTHON)


def run(plan: Plan, result: dict[str, Any], report_progress: ReportProgress) -> None:
    """Add the cases of a plan to a result one after the other; see `measure`."""
    with tempfile.TemporaryDirectory() as folder:
        for name in plan.cases:
            extra: tuple[str, ...] = ()
            if name in ("boxoban", "pufferlib"):
                report_progress("Levels", 0, 1)
                count = QUICK_LEVELS if plan.quick else LEVELS
                extra = find_levels(plan.python_of("envpool"), Path(folder), count)
                report_progress("Levels", 1, 1)
            if name == "pufferlib":
                extra = *extra, plan.pufferlib
            cases = CASES[name](plan.quick, *extra)
            for case in [cases] if isinstance(cases, Case) else cases:
                measure(name, case, plan, result, report_progress)


def new_result(plan: Plan) -> dict[str, Any]:
    """Return the result of a plan before its first case."""
    return {
        "machine": machine.describe(plan.command),
        "rounds": plan.rounds,
        "seconds": plan.seconds,
        "load": [machine.load()] * 2,
        "rows": [],
        "curves": {},
        "skipped": [],
    }


def measure(
    name: str,
    case: Case,
    plan: Plan,
    result: dict[str, Any],
    report_progress: ReportProgress,
) -> None:
    """Add a case to a result, row by row.

    Whatever ends it, KeyboardInterrupt too, the result has what was measured until
    then.
    """
    rows, sweeps = case.complete_rows, plan.sweeps(case)
    sides = sum(len(row.prefixes) * plan.rounds_of(row) for row in rows)
    total = len(case.contenders) * (1 + sweeps) + sides
    steps = itertools.count(1)
    report_progress(case.title, 0, total)

    def step() -> None:
        report_progress(case.title, min(next(steps), total), total)

    with ContenderPool(case.contenders, plan.seconds, plan.python_of, step) as pool:
        try:
            # First all contenders, for the plot and to find the best size of each
            # side; then the two sides of each row, one right after the other.
            values = pool.measure_interleaved([*pool.entries], sweeps)
            records = {
                each: {**pool.entries[each].record(), "values": values[each]}
                for each in values
            }
            if case.plots:
                result["curves"][case.title] = curves(case, [*records.values()])
            for row in rows:
                compared = compare(row, records, pool, plan.rounds_of(row))
                result["rows"].append({"case": name, **compared})
        finally:
            result["load"] = [result["load"][0], machine.load()]
            result["skipped"] += [
                {"case": name, "contender": contender, "reason": reason}
                for contender, reason in pool.skipped.items()
            ]
    report_progress(case.title, total, total)


def curves(case: Case, records: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return, by engine, lists of batch size and median, least, greatest rate."""
    engines: dict[str, list[list[float]]] = {}
    for one in records:
        if one["name"].startswith(case.plots):
            values = one["values"]
            point = [statistics.median(values), min(values), max(values)]
            point.insert(0, one["facts"]["batch"])
            engines.setdefault(one["engine"], []).append(point)
    return {engine: sorted(points) for engine, points in engines.items()}


def best(prefix: str, records: Mapping[str, Mapping[str, Any]]) -> Any:
    """Return the fastest contender whose name begins with a prefix, or None."""
    return max(
        (one for name, one in records.items() if prefix and name.startswith(prefix)),
        key=lambda one: statistics.median(one["values"]),
        default=None,
    )


def compare(
    row: Row,
    records: Mapping[str, Mapping[str, Any]],
    pool: ContenderPool,
    rounds: int,
) -> dict[str, Any]:
    """Measure the two sides of a row in turns; return a row of the result.

    If a side cannot be measured, ``values`` is empty and ``skipped`` has the reason.
    """
    # A contender that has failed since the sweeps is replaced by the next best.
    alive = {name: one for name, one in records.items() if name in pool.entries}
    sides = [best(prefix, alive) for prefix in (row.subject, row.baseline)]
    names = [side["name"] for side in sides if side]
    values: dict[str, list[float]] = {}
    if len(names) == len(row.prefixes):
        values = pool.measure_interleaved(names, rounds)
        names = [*values]
    lost = tuple(
        prefix
        for prefix in row.prefixes
        if not any(name.startswith(prefix) for name in names)
    )
    reasons = [reason for name, reason in pool.skipped.items() if name.startswith(lost)]
    compared = [row.value(*pair) for pair in zip(*values.values(), strict=True)]
    return {
        "title": row.title,
        "kind": row.kind,
        "target": row.target,
        **{
            key: side and {**side, "values": values.get(side["name"], [])}
            for key, side in zip(("ours", "theirs"), sides, strict=True)
        },
        "values": [] if lost else compared,
        "skipped": reasons[-1] if lost else None,
    }
