"""Contenders take turns, are skipped with a reason, fill the rows; tasks work."""

import importlib
import inspect
import json
import re
import sys
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete, MultiDiscrete

from benchmarks import (
    batches,
    cases,
    interleave,
    levels,
    own_cases,
    plot,
    processes,
    spaces,
    suite,
    table,
)
from benchmarks.__main__ import main
from benchmarks.comparisons import ALONE, COST, EXTRA_NS, RATIO, Case, Row
from benchmarks.interleave import Contender, ContenderPool
from benchmarks.peers import PEERS
from benchmarks.processes import ROOT
from benchmarks.result import read_result
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
        return Contender(name, "fake_tasks", task, options, engine="fake", **more)

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
    values, records, _ = compete(fake("a", "count", 10.0, each_core=True))
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
        known = ("levels.npy", "levels", "")
        extra = known[: {"boxoban": 2, "pufferlib": 3}.get(name, 0)]
        for quick in (False, True):
            made = make(quick, *extra)
            for case in [made] if isinstance(made, Case) else made:
                yield pytest.param(case, quick, id=f"{name}-{case.title}-{quick}")
    case = own_cases.custom(batches.FROZEN_LAKE, [1, 16], {})
    yield pytest.param(case, False, id="custom")


@pytest.mark.parametrize(("case", "quick"), [*every_case()])
def test_rows_find_their_contenders_and_these_their_tasks(case, quick):
    names = [contender.name for contender in case.contenders]
    assert len({*names}) == len(names)
    assert case.complete_rows
    assert quick or case.complete_rows == case.rows
    for row in case.rows:
        ours, theirs = {*case.names(row.subject)}, {*case.names(row.baseline)}
        assert not row.baseline or not ours & theirs
        # Only sizes compete for a side.
        assert len({re.sub(r"\d+", "", name) for name in ours}) <= 1
    # No contender is measured for nothing.
    prefixes = [prefix for row in case.complete_rows for prefix in row.prefixes]
    assert all(name.startswith((*case.plots, *prefixes)) for name in names)
    for contender in case.contenders:
        path = ROOT.joinpath(*contender.module.split(".")).with_suffix(".py")
        assert path.is_file()
        assert contender.peer in ("", *PEERS)
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
    records = {name: {"name": name, "values": each} for name, each in measured.items()}
    pool = SimpleNamespace(skipped={}, entries=measured)
    pool.measure_interleaved = lambda names, rounds: {
        name: measured[name][:rounds] for name in names
    }
    for kind, theirs, values in (
        (RATIO, "theirs", [2.0, 4.0]),
        (COST, "theirs", [0.5, 0.25]),
        (EXTRA_NS, "theirs", [1e9 / 40 - 1e9 / 20, 1e9 / 40 - 1e9 / 10]),
        (ALONE, "", [40.0, 40.0]),
    ):
        row = Row("r", "ours", theirs, 3, kind)
        result = suite.compare(row, records, pool, 2)
        assert result["ours"]["name"] == "ours2"
        assert result["ours"]["values"] == [40.0, 40.0]
        assert not theirs or result["theirs"]["name"] == "theirs1"
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
    case, plan = Case("X", contenders, rows, ("a",)), suite.Plan((), 2, True)
    reports, result = [], suite.new_result(plan)
    suite.measure("x", case, plan, result, lambda *report: reports.append(report))
    first, second, third = result["rows"]
    assert first["values"] == []
    assert first["skipped"] == "ended with code 3: without a word"
    # The next best takes its place.
    assert (second["theirs"]["name"], second["values"]) == ("b2", [4.0, 4.0])
    assert third["skipped"] == result["skipped"][0]["reason"] == "not on Sundays"
    title, count, total = reports[-1]
    assert (title, count) == ("X", total)
    assert result["curves"] == {"X": {"fake": [[3, 1.2, 1.2, 1.2]]}}
    assert "| second | 4.00× | 4.00× – 4.00× | 1.20 things/s" in table.markdown(
        result["rows"][1:2]
    )
    assert "| first | skipped | ended with" in table.markdown(result["rows"])

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
    case, result = Case("X", contenders[::2], rows), suite.new_result(plan)
    with pytest.raises(KeyboardInterrupt):
        suite.measure("x", case, plan, result, interrupt)
    assert [row["title"] for row in result["rows"]] == ["first"]
    assert len(workers) == 2
    assert all(worker._process.returncode is not None for worker in workers)


def test_the_command_shows_and_writes_a_run(tmp_path, capsys, monkeypatch):
    pytest.importorskip("matplotlib")
    monkeypatch.setattr(suite, "SECONDS", 0.01)
    monkeypatch.setattr(suite, "SWEEPS", 1)
    out = tmp_path / "run.json"
    words = ["--env", batches.FROZEN_LAKE, "-o", "map_name=8x8", "--num-envs", "3"]
    assert main([*words, "--rounds", "1", "--out", str(out)]) == 0
    assert "SyncVectorEnv" in capsys.readouterr().out
    (row,) = read_result(out)["rows"]
    assert row["title"] == f"{batches.FROZEN_LAKE}, 3"
    content = {**read_result(out), "curves": {"X": {"roll_vec": [[1, 2, 1, 3]]}}}
    plot.draw(content, tmp_path / "run.png")
    assert (tmp_path / "run.png").stat().st_size > 1000
    for words, message in (
        (["--out", "run.txt"], "expected a file .json"),
        (["--peer-python", "cats=x"], "expected PEER=PYTHON"),
        (["--peer-python", "envpool=/no/such"], "cannot be run"),
        (["--rounds", "0"], "expected an integer from 1 up"),
        (["--env", "x", "-o", "y"], "expected KEY=VALUE"),
    ):
        with pytest.raises(SystemExit):
            main(words)
        assert message in capsys.readouterr().err


# -------------------------------------------------------------------------------- tasks

compiled = pytest.mark.skipif(JIT_OFF, reason="plain Python has no speed")
SMALL = {"num_envs": 2, "num_levels": 2, "num_steps": 3, "length": 3, "count": 50}
SMALL |= {"num": 2, "num_products": 30, "num_texts": 3, "wait": 0.001, "workers": 2}


def every_task():
    """Yield a contender for each task, in each of its ways."""
    seen = set()
    for parameters in every_case():
        for one in parameters.values[0].contenders:
            ways = {k for k, v in one.options.items() if v is True}
            ways |= {one.options.get(name) for name in ("cache", "call")} - {None}
            name = " ".join([one.module[11:], one.task, *sorted(ways)])
            # A first call compiles for long, and levels are read from a file; baselines
            # are compared with their file, and shards need Ray.
            is_short = one.task not in ("first_call", "results", "ratio")
            is_short &= "levels" not in one.options
            if one.peer in ("", "gymnasium") and is_short and name not in seen:
                seen.add(name)
                yield pytest.param(one, id=name)


@compiled
@pytest.mark.parametrize("contender", [*every_task()])
def test_task_works_at_a_tiny_size(contender):
    if "webshop" in contender.module:
        pytest.importorskip("rapidfuzz")
    make = getattr(importlib.import_module(contender.module), contender.task)
    names = {*inspect.signature(make).parameters} | {*contender.options}
    small = {name: SMALL[name] for name in names & SMALL.keys()}
    task = make(**{**contender.options, **small})
    figure = task.measure(0.0)
    if contender.task == "costs":
        # A difference of times, which can be none; the settings are the figures.
        assert figure >= 0
    else:
        assert figure > 0
        assert {*task.settings} <= {"batch", "observation", "levels", "threads"}


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


@pytest.mark.parametrize(
    ("space", "least", "most"),
    [
        (Discrete(3, start=1), 1, 3),
        (MultiDiscrete([2, 3]), [0, 0], [1, 2]),
        (Box(0, np.array([9, 4]), dtype=np.int32), [0, 0], [9, 4]),
        # Jumanji's, which has bounds as well.
        (SimpleNamespace(num_values=4, shape=(), dtype=np.int32, low=7), 0, 3),
    ],
    ids=["discrete", "multidiscrete", "box", "jumanji"],
)
def test_random_actions_take_all_values_of_a_space(space, least, most):
    actions = spaces.draw_actions(space, 30, 20)
    assert actions.shape == (30, 20, *space.shape)
    assert actions.dtype == space.dtype
    assert actions.min((0, 1)).tolist() == least
    assert actions.max((0, 1)).tolist() == most


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
    for num_envs in (64, 320):
        with closing(batches.make(id, num_envs, **keywords)) as env:
            actions = batches.draw_actions(env, 9)
            for batch in actions:
                env.step(batch)
            # Where an episode begins, its level may not be there yet.
            counts.append(min(count_bytecodes(env, batch) for batch in actions))
    assert counts[0] > 0
    # A call of a function takes more than that.
    assert counts[1] - counts[0] <= most * (320 - 64)
