"""One run of the suite: cases in, a result out (see `benchmarks.result`)."""

from __future__ import annotations

import itertools
import statistics
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks import machine
from benchmarks.cases import CASES, QUICK
from benchmarks.levels import find_levels
from benchmarks.processes import THIS_PYTHON
from benchmarks.rows import Case, Row
from benchmarks.turns import Field

# Of one contender in one round.
SECONDS, QUICK_SECONDS = 0.4, 0.15
ROUNDS, QUICK_ROUNDS = 5, 3
SWEEPS = 3
# Levels of 10x10 to draw where there is no file of them.
LEVELS, QUICK_LEVELS = 1000, 100
# Told what is running, how much of it is done and how much there is.
Tell = Callable[[str, int, int], Any]


class Interrupted(KeyboardInterrupt):
    """Raised when a run is interrupted.

    Attributes
    ----------
    result : dict
        What was measured until then.
    """

    def __init__(self, result: dict[str, Any]) -> None:
        super().__init__()
        self.result = result


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

    def sweeps(self, case: Case) -> int:
        """Return the rounds of all contenders before any two are compared."""
        return SWEEPS if case.has_choice and not self.quick else 1

    def python_of(self, peer: str) -> str:
        """Return a peer's interpreter, ours for the empty name."""
        return self.pythons.get(peer, THIS_PYTHON)


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


def run(plan: Plan, tell: Tell) -> dict[str, Any]:
    """Run the cases of a plan one after the other; see `measure`."""
    with tempfile.TemporaryDirectory() as folder:
        cases = {}
        for name in plan.cases:
            extra: tuple[str, ...] = ()
            if name == "boxoban":
                tell("Levels", 0, 1)
                count = QUICK_LEVELS if plan.quick else LEVELS
                extra = find_levels(plan.python_of("envpool"), Path(folder), count)
                tell("Levels", 1, 1)
            cases[name] = CASES[name](plan.quick, *extra)
        return measure(cases, plan, tell)


def measure(cases: Mapping[str, Case], plan: Plan, tell: Tell) -> dict[str, Any]:
    """Return the result of some cases.

    Parameters
    ----------
    cases : mapping of Case
    plan : Plan
        Its own list of cases is not looked at.
    tell : callable

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
            _measure(name, case, plan, tell, result)
    except KeyboardInterrupt:
        raise Interrupted(result) from None
    finally:
        result["load"] = [before, machine.load()]
    return result


def _measure(
    name: str, case: Case, plan: Plan, tell: Tell, result: dict[str, Any]
) -> None:
    """Add a case to a result, row by row."""
    rows, sweeps = case.played, plan.sweeps(case)
    sides = sum(len(row.prefixes) for row in rows)
    total = len(case.contenders) * (1 + sweeps) + sides * plan.rounds
    steps = itertools.count(1)
    tell(case.title, 0, total)

    def step() -> None:
        tell(case.title, min(next(steps), total), total)

    with Field(case.contenders, plan.seconds, plan.python_of, step) as field:
        try:
            # Everyone, for the plot and to see at which size each side is best; then
            # the two sides of each row, one right after the other.
            values = field.take_turns([*field.entries], sweeps)
            records = [
                {**field.entries[name].record(), "values": values[name]}
                for name in values
            ]
            result["cases"][name] = {"title": case.title, "contenders": records}
            for row in rows:
                compared = compare(row, records, field, plan.rounds)
                result["rows"].append({"case": name, **compared})
        finally:
            result["skipped"] += [
                {"case": name, "contender": who, "reason": reason}
                for who, reason in field.skipped.items()
            ]
    tell(case.title, total, total)


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

    Where a side is missing, or goes missing, ``values`` are empty and ``skipped`` says
    why.
    """
    # Who has ended since the sweeps leaves the others of its side.
    alive = [record for record in records if record["name"] in field.entries]
    ours, theirs = best(row.ours, alive), best(row.theirs, alive)
    names = [side["name"] for side in (ours, theirs) if side]
    found: dict[str, list[float]] = {}
    if len(names) == len(row.prefixes):
        found = field.take_turns(names, rounds)
        names_left = [*found]
    else:
        names_left = names
    missing = tuple(
        prefix
        for prefix in row.prefixes
        if not any(name.startswith(prefix) for name in names_left)
    )
    reasons = [why for who, why in field.skipped.items() if who.startswith(missing)]
    return {
        "title": row.title,
        "kind": row.kind,
        "target": row.target,
        "ours": ours and ours["name"],
        "theirs": theirs and theirs["name"],
        "our_values": found.get(names[0], []) if names else [],
        "their_values": found.get(names[1], []) if len(names) > 1 else [],
        "values": [
            row.value(*pair)
            for pair in zip(*found.values(), strict=True)
            if not missing
        ],
        "skipped": reasons[-1] if missing else None,
    }
