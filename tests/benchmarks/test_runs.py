"""Contenders take turns, are skipped with a reason, fill the rows; tasks work."""

import importlib
import inspect
import json
import sys
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from benchmarks import (
    batches,
    cases,
    exports,
    floors,
    interleave,
    levels,
    processes,
    report,
    step_costs,
    suite,
)
from benchmarks.comparisons import ALONE, COST, NS_MORE, RATIO, Case, Row
from benchmarks.interleave import Contender, ContenderPool
from benchmarks.plot import PANELS
from benchmarks.processes import ROOT
from tests.conftest import JIT_OFF

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
    assert not Path(fake.log.read_text()).parent.exists()


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


# -------------------------------------------------------------------------------- tasks

compiled = pytest.mark.skipif(JIT_OFF, reason="plain Python has no speed")
LAKE = {"id": batches.FROZEN_LAKE, "num_envs": 2}
ROOMS = {"id": batches.SOKOBAN, "num_envs": 2, "levels_are": "few", "num_levels": 2}
SHOP = {"num_envs": 2, "num_steps": 12, "num_products": 30}
SHORT = {"num_envs": 2, "num_steps": 3}
TINY = [
    ("batches.steps", ROOMS),
    ("batches.unroll", {**ROOMS, "length": 3}),
    ("batches.rooms", {"size": 6, "num_boxes": 1, "count": 2}),
    ("batches.room_times", {"size": 6, "num_boxes": 1, "statistic": "mean"}),
    ("peers.gymnasium.frozen_lake", {"num_envs": 2}),
    ("peers.gymnasium.single", {"id": batches.FROZEN_LAKE}),
    ("countdown.tasks", {}),
    ("countdown.scores", {}),
    ("countdown.episodes", SHORT),
    ("countdown.episodes", {**SHORT, "sync": True}),
    ("texts.pool", {"num_envs": 2, "wait": 0.001, "workers": 2}),
    ("texts.parse", {"num_texts": 3}),
    ("texts.parse", {"num_texts": 3, "plainly": True}),
    ("custom_env.steps", {**LAKE, "keywords": {}}),
    ("solver.solutions", {"num_boxes": 1, "count": 2, "objective": "pushes"}),
    ("solver.plain_solutions", {"num_boxes": 1, "count": 2}),
    ("snapshots.cost", {**LAKE, "call": "step"}),
    ("snapshots.cost", {**LAKE, "id": "roll_vec/Countdown-v0", "call": "clone"}),
    ("bands.levels", {**LAKE, "id": batches.SOKOBAN, "solution_steps": (3, None)}),
    ("goals.policy.loop_ratio", SHORT),
    ("goals.policy.slowest_turn", SHORT),
    ("goals.steps.step_time", LAKE),
    ("goals.kernels.kernel_share", LAKE),
    ("goals.unrolls.unroll_ratio", {"game": "FrozenLake-v1", **SHORT}),
    ("goals.steps.worst_ratio", {"id": batches.FROZEN_LAKE, "sizes": (2, 3)}),
    ("webshop.steps", {"cache": "cold", **SHOP}),
    ("webshop.steps", {"cache": "pool", **SHOP}),
    ("webshop.search", {"num_products": 30}),
    ("webshop.make_shop", {"num_products": 30}),
    ("webshop.open_shop", {"num_products": 30}),
]


@compiled
@pytest.mark.parametrize(("name", "options"), TINY, ids=lambda value: str(value))
def test_task_works_at_a_tiny_size(name, options):
    if name.startswith("webshop"):
        pytest.importorskip("rapidfuzz")
    module, _, function = name.rpartition(".")
    make = getattr(importlib.import_module(f"benchmarks.{module}"), function)
    task = make(**options)
    assert task.measure(0.0) > 0
    assert {*task.settings} <= {"batch", "observation", "levels"}


@compiled
@pytest.mark.parametrize(
    "workload", floors.WORKLOADS, ids=lambda workload: workload.title
)
def test_kernels_are_timed_where_they_are_called(workload):
    small = {**workload.keywords, "num_levels": 2} if workload.keywords else {}
    costs = floors.measure(workload._replace(keywords=small), 3, rounds=1, env_steps=30)
    assert [name for name, _, _ in costs] == ["all", *workload.kernels]
    # No room ends in so short a time; every other kernel must have been called.
    assert all(cost > 0 for name, cost, _ in costs if not name.endswith("advance_rows"))
    assert costs[0][1] > sum(cost for _, cost, _ in costs[1:])


@compiled
def test_kernels_are_a_part_of_a_step(monkeypatch):
    monkeypatch.setattr(step_costs, "ENV_STEPS", 1)
    id, keywords = next(iter(step_costs.CASES.values()))
    cost, share = step_costs.measure(id, keywords, 2)
    assert cost > 0.0
    assert share > 0.0


@compiled
def test_levels_are_drawn_without_envpool_and_read_in_our_codes(tmp_path):
    path, description = levels.find_levels("/no/such/python", tmp_path, count=5)
    assert description == "5 rooms of our generator"
    env = batches.make(batches.SOKOBAN, 4, levels=path)
    assert env.reset(seed=0)[0].shape == (4, 10, 10)
    env.close()
    fixed = [[1, 0, 2, 2, 0, 0, 2]]
    variable = [[0, 0, 0, 4, 4, 3, 3]]
    np.save(tmp_path / "x.npy", np.stack([fixed, variable], axis=-1).astype(np.uint8))
    assert levels.read_grids(tmp_path / "x.npy").tolist() == [[0, 1, 2, 3, 4, 5, 6]]


def test_an_export_writes_and_deletes_a_file(tmp_path, monkeypatch):
    monkeypatch.setattr(exports, "ID", "roll_vec/FrozenLake-v1")
    keywords = {**exports.TEXTS, "is_slippery": False}
    monkeypatch.setattr(exports, "KEYWORDS", {"messages": keywords})
    write = exports.make_export("messages", 3, tmp_path / "rows.jsonl")
    write()
    write()
    assert not list(tmp_path.iterdir())


def count_bytecodes(env, actions):
    """Return how many bytecodes of Python a step runs."""
    count = 0

    def trace(frame, event, _):
        nonlocal count
        frame.f_trace_opcodes = True
        count += event == "opcode"
        return trace

    # Python 3.12 asks for this where tracing begins.
    inspect.currentframe().f_trace_opcodes = True
    previous = sys.gettrace()
    sys.settrace(trace)
    try:
        env.step(actions)
    finally:
        sys.settrace(previous)
    return count


@compiled
@pytest.mark.parametrize(
    ("id", "keywords", "most"),
    [
        (batches.FROZEN_LAKE, {}, 5),
        (batches.SOKOBAN, {"num_levels": 256}, 5),
        (batches.SOKOBAN, {}, 5),
        # A text is an object of Python.
        (batches.SOKOBAN, {"num_levels": 256, "obs_mode": "text"}, 30),
    ],
)
def test_a_step_has_no_loop_over_environments_in_python(id, keywords, most):
    counts = []
    for num_envs in (64, 1024):
        with closing(batches.make(id, num_envs, **keywords)) as env:
            actions = batches.draw_actions(env, 3)
            for batch in actions:
                env.step(batch)
            counts.append(count_bytecodes(env, actions[0]))
    assert counts[0] > 0
    # A call of a function takes more than that.
    assert counts[1] - counts[0] <= most * (1024 - 64)
