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
from benchmarks.cases import CASES, DEFAULT, QUICK
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


class Interrupted(KeyboardInterrupt):
    """Raised when a run is interrupted.

    Attributes
    ----------
    result : dict
        The measurements until then.
    """

    def __init__(self, result: dict[str, Any]) -> None:
        super().__init__()
        self.result = result


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
    """

    cases: Sequence[str]
    rounds: int
    quick: bool = False
    interpreters: Mapping[str, str] = field(default_factory=dict)
    command: str = ""

    @property
    def seconds(self) -> float:
        """Seconds of one contender in one round."""
        return QUICK_SECONDS if self.quick else SECONDS

    def sweeps(self, case: Case) -> int:
        """Return the rounds of all contenders before any two are compared."""
        return SWEEPS if case.has_choice and not self.quick else 1

    def rounds_of(self, row: Row) -> int:
        """Return the rounds in which the sides of a row are compared."""
        return min(self.rounds, row.most_rounds or self.rounds)

    def python_of(self, peer: str) -> str:
        """Return a peer's interpreter; this one for the empty name."""
        return self.interpreters.get(peer, THIS_PYTHON)


def plan_of(
    cases: Sequence[str] | None,
    rounds: int | None,
    quick: bool,
    interpreters: Mapping[str, str],
    command: str,
) -> Plan:
    """Return the plan of some arguments; None means the default."""
    return Plan(
        cases or (QUICK if quick else DEFAULT),
        rounds or (QUICK_ROUNDS if quick else ROUNDS),
        quick,
        interpreters,
        command,
    )


def run(plan: Plan, report_progress: ReportProgress) -> dict[str, Any]:
    """Run the cases of a plan one after the other; see `measure`."""
    with tempfile.TemporaryDirectory() as folder:
        cases = {}
        for name in plan.cases:
            extra: tuple[str, ...] = ()
            if name == "boxoban":
                report_progress("Levels", 0, 1)
                count = QUICK_LEVELS if plan.quick else LEVELS
                extra = find_levels(plan.python_of("envpool"), Path(folder), count)
                report_progress("Levels", 1, 1)
            cases[name] = CASES[name](plan.quick, *extra)
        return measure(cases, plan, report_progress)


def measure(
    cases: Mapping[str, Case], plan: Plan, report_progress: ReportProgress
) -> dict[str, Any]:
    """Return the result of some cases.

    Parameters
    ----------
    cases : mapping of Case
    plan : Plan
        Its own list of cases is not used.
    report_progress : callable

    Raises
    ------
    Interrupted
        In place of KeyboardInterrupt.
    """
    before = machine.load()
    result: dict[str, Any] = {
        "machine": machine.describe(plan.command),
        "rounds": plan.rounds,
        "seconds": plan.seconds,
        "load": [before, before],
        "cases": {},
        "skipped": [],
        "rows": [],
    }
    try:
        for name, case in cases.items():
            _measure(name, case, plan, report_progress, result)
    except KeyboardInterrupt:
        raise Interrupted(result) from None
    finally:
        result["load"] = [before, machine.load()]
    return result


def _measure(
    name: str,
    case: Case,
    plan: Plan,
    report_progress: ReportProgress,
    result: dict[str, Any],
) -> None:
    """Add a case to a result, row by row."""
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
            records = [
                {**pool.entries[name].record(), "values": values[name]}
                for name in values
            ]
            result["cases"][name] = {"title": case.title, "contenders": records}
            for row in rows:
                compared = compare(row, records, pool, plan.rounds_of(row))
                result["rows"].append({"case": name, **compared})
        finally:
            result["skipped"] += [
                {"case": name, "contender": contender, "reason": reason}
                for contender, reason in pool.skipped.items()
            ]
    report_progress(case.title, total, total)


def best(prefix: str, records: Sequence[Mapping[str, Any]]) -> Any:
    """Return the fastest contender whose name begins with a prefix, or None."""
    candidates = [r for r in records if prefix and r["name"].startswith(prefix)]
    return max(
        candidates, key=lambda record: statistics.median(record["values"]), default=None
    )


def compare(
    row: Row, records: Sequence[Mapping[str, Any]], pool: ContenderPool, rounds: int
) -> dict[str, Any]:
    """Measure the two sides of a row in turns; return a row of the result.

    If a side cannot be measured, ``values`` is empty and ``skipped`` has the reason.
    """
    # A contender that has failed since the sweeps is replaced by the next best.
    alive = [record for record in records if record["name"] in pool.entries]
    subject, baseline = best(row.subject, alive), best(row.baseline, alive)
    names = [side["name"] for side in (subject, baseline) if side]
    values: dict[str, list[float]] = {}
    if len(names) == len(row.prefixes):
        values = pool.measure_interleaved(names, rounds)
        measured_names = [*values]
    else:
        measured_names = names
    lost_sides = tuple(
        prefix
        for prefix in row.prefixes
        if not any(name.startswith(prefix) for name in measured_names)
    )
    reasons = [
        reason for name, reason in pool.skipped.items() if name.startswith(lost_sides)
    ]
    return {
        "title": row.title,
        "kind": row.kind,
        "target": row.target,
        "ours": subject and subject["name"],
        "theirs": baseline and baseline["name"],
        "our_values": values.get(names[0], []) if names else [],
        "their_values": values.get(names[1], []) if len(names) > 1 else [],
        "values": [
            row.value(*pair)
            for pair in zip(*values.values(), strict=True)
            if not lost_sides
        ],
        "skipped": reasons[-1] if lost_sides else None,
    }
