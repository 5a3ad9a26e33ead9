"""Runs: contenders take turns, are skipped with a reason, and fill the rows."""

import importlib
import inspect
import json
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from benchmarks import cases, interleave, processes, report, suite
from benchmarks.comparisons import ALONE, COST, NS_MORE, RATIO, Case, Row
from benchmarks.interleave import Contender, ContenderPool
from benchmarks.plot import PANELS
from benchmarks.processes import ROOT

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="contenders use fork")

TASKS = """
import os, sys, tempfile, time
from benchmarks.tasks import Rate, Unavailable

def count(log, name, rate, dies_after=None):
    calls = []
    class Counted(Rate):
        def measure(self, seconds):
            calls.append(seconds)
            if seconds:
                with open(log, "a") as file:
                    file.write(name)
            if len(calls) == dies_after:
                os._exit(3)
            return rate * seconds
    return Counted(lambda: 1, "things/s", {"batch": 3})

def missing():
    import no_such_peer

def unwilling():
    raise Unavailable("not on\\nSundays")

def dies_at_once():
    sys.exit("broken")

def litters(log, name, rate):
    with open(log, "a") as file:
        file.write(tempfile.mkdtemp())
    time.sleep(60)
"""


@pytest.fixture
def fake(tmp_path, monkeypatch):
    """Write a module of tasks that workers find; return what makes contenders."""
    (tmp_path / "fake_tasks.py").write_text(TASKS)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    log = tmp_path / "log"

    def fake(name, task, rate=None, options=(), **more):
        options = dict(options)
        if rate is not None:
            options |= {"log": str(log), "name": name, "rate": rate}
        return Contender(name, "fake", "fake_tasks", task, options, **more)

    fake.log = log
    return fake


def compete(*contenders, rounds=2, python=sys.executable, report_progress=lambda: None):
    """Measure contenders; return values, records and reasons of those skipped."""
    with ContenderPool(contenders, 2.0, lambda peer: python, report_progress) as pool:
        values = pool.measure_interleaved([*pool.entries], rounds)
        records = {name: entry.record() for name, entry in pool.entries.items()}
        return values, records, pool.skipped


def test_contenders_take_turns_and_those_that_cannot_run_have_a_reason(fake):
    reports = []
    values, records, skipped = compete(
        fake("a", "count", 10.0),
        fake("missing", "missing"),
        fake("unwilling", "unwilling"),
        fake("dead", "dies_at_once"),
        fake("b", "count", 1.0, patience=3.0),
        rounds=3,
        report_progress=lambda: reports.append(1),
    )
    assert fake.log.read_text() == "ababab"
    assert values == {"a": [20.0] * 3, "b": [6.0] * 3}
    assert (records["a"]["unit"], records["a"]["facts"]) == ("things/s", {"batch": 3})
    assert skipped == {
        "missing": "No module named 'no_such_peer'",
        "unwilling": "not on Sundays",
        "dead": "ended with code 1: broken",
    }
    assert len(reports) == 5 + 2 * 3
    _, _, skipped = compete(fake("a", "count", 1.0), python="/no/such/python")
    assert skipped["a"].startswith("/no/such/python: ")


def test_processes_of_all_cores_are_summed_and_leave_no_files(fake, monkeypatch):
    cores = interleave.usable_cores()
    values, records, _ = compete(fake("a", "count", 10.0, process_per_core=True))
    assert values["a"] == [20.0 * cores] * 2
    assert records["a"]["processes"] == records["a"]["cores"] == cores
    fake.log.unlink()
    monkeypatch.setattr(interleave, "START_SECONDS", 1.0)
    _, _, skipped = compete(fake("slow", "litters", 1.0))
    assert skipped == {"slow": "no answer within 1 s"}
    folder = Path(fake.log.read_text())
    assert "roll-vec-bench-" in str(folder)
    assert not folder.parent.exists()


def every_case():
    """Yield every case, whole and quick, as parameters of a test."""
    for name, make in cases.CASES.items():
        extra = ("levels.npy", "levels") if name == "boxoban" else ()
        for quick in (False, True):
            yield pytest.param(make(quick, *extra), quick, id=f"{name}-{quick}")


@pytest.mark.parametrize(("case", "quick"), [*every_case()])
def test_rows_find_their_contenders_and_these_their_tasks(case, quick):
    names = [contender.name for contender in case.contenders]
    assert len({*names}) == len(names)
    assert case.complete_rows
    assert quick or case.complete_rows == case.rows
    for row in case.rows:
        ours, theirs = {*case.names(row.subject)}, {*case.names(row.baseline)}
        assert not row.baseline or not ours & theirs
    # No contender is measured for nothing.
    prefixes = [*PANELS.get(case.name, ())]
    prefixes += [prefix for row in case.complete_rows for prefix in row.prefixes]
    unused = [name for name in names if not name.startswith(tuple(prefixes))]
    assert unused in ([], ["pufferlib"])
    for contender in case.contenders:
        path = ROOT.joinpath(*contender.module.split(".")).with_suffix(".py")
        assert path.is_file()
        if not contender.peer:
            task = getattr(importlib.import_module(contender.module), contender.task)
            inspect.signature(task).bind(**contender.options)
            json.dumps(contender.options)


def test_best_of_each_side_are_compared_round_by_round():
    measured = {
        "ours1": [1.0, 1.0, 99.0],
        "ours2": [40.0, 40.0, 5.0],
        "theirs1": [20.0, 10.0, 5.0],
        "theirs2": [2.0, 2.0, 2.0],
    }
    records = [{"name": name, "values": each} for name, each in measured.items()]
    pool = SimpleNamespace(skipped={}, entries=measured)
    pool.measure_interleaved = lambda names, rounds: {
        name: measured[name][:rounds] for name in names
    }
    for kind, theirs, values in (
        (RATIO, "theirs", [2.0, 4.0]),
        (COST, "theirs", [0.5, 0.25]),
        (NS_MORE, "theirs", [1e9 / 40 - 1e9 / 20, 1e9 / 40 - 1e9 / 10]),
        (ALONE, "", [40.0, 40.0]),
    ):
        row = Row("r", "ours", theirs, 3, kind)
        result = suite.compare(row, records, pool, 2)
        assert result["ours"] == "ours2"
        assert not theirs or result["theirs"] == "theirs1"
        assert result["values"] == pytest.approx(values)


def test_a_run_of_a_case_skips_what_dies_and_keeps_rows_if_interrupted(
    fake, monkeypatch
):
    contenders = [
        fake("a", "count", 8.0),
        fake("b1", "count", 9.0, options={"dies_after": 3}),
        fake("b2", "count", 2.0),
        fake("c", "unwilling"),
    ]
    rows = [Row("first", "a", "b"), Row("second", "a", "b"), Row("c alone", "c")]
    cases, plan = {"x": Case("x", "X", contenders, rows)}, suite.Plan((), 2, True)
    reports = []
    result = suite.measure(cases, plan, lambda *report: reports.append(report))
    first, second, third = result["rows"]
    assert first["values"] == []
    assert first["skipped"] == "ended with code 3: without a word"
    # The next best takes its place.
    assert (second["theirs"], second["values"]) == ("b2", [4.0, 4.0])
    assert third["skipped"] == result["skipped"][0]["reason"] == "not on Sundays"
    title, count, total = reports[-1]
    assert (title, count) == ("X", total)
    assert "second" in report.report(result, "x.json")

    workers = []

    class RecordedWorker(processes.Worker):
        def __init__(self, *arguments):
            super().__init__(*arguments)
            workers.append(self)

    def interrupt(title, count, total):
        if count == total - 1:
            raise KeyboardInterrupt

    monkeypatch.setattr(interleave, "Worker", RecordedWorker)
    rows = [Row("first", "a"), Row("second", "b2")]
    cases = {"x": Case("x", "X", [contenders[0], contenders[2]], rows)}
    with pytest.raises(KeyboardInterrupt) as interruption:
        suite.measure(cases, plan, interrupt)
    assert [row["title"] for row in interruption.value.result["rows"]] == ["first"]
    assert len(workers) == 2
    assert all(worker._process.returncode is not None for worker in workers)
