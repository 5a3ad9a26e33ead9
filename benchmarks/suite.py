"""One run of the suite: cases in, a result out, ready for JSON.

A result has ``machine`` (see `machine.describe`), ``rounds``, ``seconds``, ``load``
(before and after), ``cases`` (name to title and contenders, each with the values of
its sweeps), ``skipped`` (case, contender, reason) and ``rows``, each with the names of
the two contenders it compares and what was measured of them in turns.
"""

from __future__ import annotations

import itertools
import statistics
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks import machine
from benchmarks.cases import CASES, QUICK, Case, Row
from benchmarks.levels import find_levels
from benchmarks.peers import PEERS
from benchmarks.turns import THIS_PYTHON, Field

# Of one contender in one round.
SECONDS, QUICK_SECONDS = 0.4, 0.15
ROUNDS, QUICK_ROUNDS = 5, 3
SWEEPS, QUICK_SWEEPS = 3, 1


@dataclass(frozen=True)
class Plan:
    """What to run.

    Parameters
    ----------
    cases : sequence of str
        Keys of `CASES`.
    rounds : int
    quick : bool
        Fewer sizes, shorter rounds.
    pythons : mapping
        Interpreters by peer, where another than ours.
    command : str
        What was typed, for the result.
    """

    cases: Sequence[str]
    rounds: int
    quick: bool = False
    pythons: Mapping[str, str] = field(default_factory=dict)
    command: str = ""

    @property
    def seconds(self) -> float:
        """Seconds of one contender in one round."""
        return QUICK_SECONDS if self.quick else SECONDS

    @property
    def sweeps(self) -> int:
        """Rounds of all contenders before any two are compared."""
        return QUICK_SWEEPS if self.quick else SWEEPS

    def python_of(self, peer: str) -> str:
        """Return a peer's interpreter, ours for the empty name."""
        return self.pythons.get(peer, THIS_PYTHON)


def run(plan: Plan, tell: Callable[[str, int, int], Any]) -> dict[str, Any]:
    """Run the cases of a plan one after the other; see `measure`."""
    with tempfile.TemporaryDirectory() as folder:
        cases = {}
        for name in plan.cases:
            extra: tuple[str, ...] = ()
            if name == "boxoban":
                extra = find_levels(plan.python_of("envpool"), Path(folder))
            cases[name] = CASES[name](plan.quick, *extra)
        return measure(cases, plan, tell)


def measure(
    cases: Mapping[str, Case], plan: Plan, tell: Callable[[str, int, int], Any]
) -> dict[str, Any]:
    """Return the result of some cases.

    Parameters
    ----------
    cases : mapping of Case
    plan : Plan
        Its own list of cases is not looked at.
    tell : callable
        Told what is running, how much of it is done and how much there is.
    """
    before = machine.load()
    found: dict[str, Any] = {}
    rows: list[dict[str, Any]] = []
    skipped: list[dict[str, str]] = []
    for name, case in cases.items():
        records, compared, reasons = _measure(case, plan, tell)
        found[name] = {"title": case.title, "contenders": records}
        rows += [{"case": name, **row} for row in compared]
        skipped += [
            {"case": name, "contender": who, "reason": reason}
            for who, reason in reasons.items()
        ]
    return {
        "machine": machine.describe(plan.command),
        "rounds": plan.rounds,
        "seconds": plan.seconds,
        "load": [before, machine.load()],
        "cases": found,
        "skipped": skipped,
        "rows": rows,
    }


def _measure(
    case: Case, plan: Plan, tell: Callable[[str, int, int], Any]
) -> tuple[list[dict[str, Any]], list[dict[str, Any]], dict[str, str]]:
    """Return the records and the rows of a case, and who was skipped and why."""
    sides = sum(2 if row.theirs else 1 for row in case.rows)
    total = len(case.contenders) * (1 + plan.sweeps) + sides * plan.rounds
    steps = itertools.count(1)
    tell(case.title, 0, total)

    def step() -> None:
        tell(case.title, min(next(steps), total), total)

    with Field(case.contenders, plan.seconds, plan.python_of, step) as field:
        # Everyone, for the plot and to see at which size each side is best; then the
        # two sides of each row, one right after the other.
        values = field.take_turns([*field.entries], plan.sweeps)
        records = [
            {**field.entries[name].record(), "values": values[name]} for name in values
        ]
        rows = [compare(row, records, field, plan.rounds) for row in case.rows]
        reasons = {who: _hint(case, who, why) for who, why in field.skipped.items()}
    for row in rows:
        row["skipped"] = reasons.get(row["skipped"], row["skipped"])
    tell(case.title, total, total)
    return records, rows, reasons


def _hint(case: Case, name: str, reason: str) -> str:
    """Return a reason, with how to have the peer if that is the trouble."""
    [contender] = [entry for entry in case.contenders if entry.name == name]
    if contender.peer and reason.startswith("No module named"):
        return f"{reason}: {PEERS[contender.peer].install}"
    return reason


def best(prefix: str, records: Sequence[Mapping[str, Any]]) -> Any:
    """Return the fastest of those whose names begin so; None: there is none."""
    found = [r for r in records if prefix and r["name"].startswith(prefix)]
    return max(
        found, key=lambda record: statistics.median(record["values"]), default=None
    )


def compare(
    row: Row, records: Sequence[Mapping[str, Any]], field: Field, rounds: int
) -> dict[str, Any]:
    """Measure the two sides of a row in turns; return a row of the result.

    Where a side is missing its ``values`` are empty, and ``skipped`` is the name of a
    contender that should have been there, or says that there was none.
    """
    ours, theirs = best(row.ours, records), best(row.theirs, records)
    names = [side["name"] for side in (ours, theirs) if side]
    found: dict[str, list[float]] = {}
    if ours and (theirs or not row.theirs):
        found = field.take_turns(names, rounds)
    values = [
        row.value(*amounts)
        for amounts in zip(*found.values(), strict=True)
        if len(found) == len(names)
    ]
    missing = [
        name
        for name in field.skipped
        if name.startswith(row.ours) or (row.theirs and name.startswith(row.theirs))
    ]
    return {
        "title": row.title,
        "kind": row.kind,
        "target": row.target,
        "ours": ours and ours["name"],
        "theirs": theirs and theirs["name"],
        "our_values": found.get(names[0], []) if names else [],
        "their_values": found.get(names[1], []) if len(names) > 1 else [],
        "values": values,
        "skipped": None if values else (missing or ["not in a quick run"])[0],
    }


def plan_of(
    cases: Sequence[str] | None,
    rounds: int | None,
    quick: bool,
    pythons: Mapping[str, str],
    command: str,
) -> Plan:
    """Return the plan of some arguments, what is not given filled in."""
    return Plan(
        cases or (QUICK if quick else tuple(CASES)),
        rounds or (QUICK_ROUNDS if quick else ROUNDS),
        quick,
        pythons,
        command,
    )
