"""The suite of benchmarks: turns, rows, report; and that nothing has become slow."""

import importlib
import inspect
import json
import os
import sys
import time
from contextlib import closing
from pathlib import Path

import gymnasium
import numpy as np
import pytest

from benchmarks import cases, floors, levels, ours, plot, report, suite, table, turns
from benchmarks.peers import PEERS
from benchmarks.tasks import Latency, Rate
from benchmarks.turns import Contender, Field

JIT_OFF = os.environ.get("NUMBA_DISABLE_JIT") == "1"
RESULTS = sorted((report.ROOT / "benchmarks/results").glob("*.json"))

FAKE = """
import os, pathlib, sys, time
from benchmarks.tasks import Rate, Unavailable

def count(log, name, rate):
    class Counted(Rate):
        def measure(self, seconds):
            if seconds:
                with open(log, "a") as file:
                    file.write(name)
            return rate * seconds
    return Counted(lambda: 1, "things/s", {"batch": 3})

def missing():
    import no_such_peer

def unwilling():
    raise Unavailable("not on\\nSundays")

def noisy(log, name, rate):
    print("a remark of the peer's")
    return count(log, name, rate)

def dies_at_once():
    sys.exit("broken")

def dies_later():
    os.environ["calls"] = ""
    class Dying(Rate):
        def measure(self, seconds):
            if seconds:
                os._exit(3)
    return Dying(lambda: 1, "things/s")

def hangs():
    time.sleep(60)
"""


@pytest.fixture
def fake(tmp_path, monkeypatch):
    """Write a module of tasks that workers find; return what makes contenders."""
    (tmp_path / "fake_tasks.py").write_text(FAKE)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    log = tmp_path / "log"

    def fake(name, task, rate=None, **more):
        options = {} if rate is None else {"log": str(log), "name": name, "rate": rate}
        return Contender(name, "fake", "fake_tasks", task, options, **more)

    fake.log = log
    return fake


def compete(*contenders, rounds=2, python=sys.executable, tell=lambda: None):
    with Field(contenders, 2.0, lambda peer: python, tell) as field:
        values = field.take_turns([*field.entries], rounds)
        records = {name: entry.record() for name, entry in field.entries.items()}
        return values, records, field.skipped


# ------------------------------------------------------------------ taking turns


def test_contenders_take_turns_round_by_round(fake):
    values, records, skipped = compete(
        fake("a", "count", 10.0), fake("b", "noisy", 1.0, patience=3.0), rounds=3
    )
    assert fake.log.read_text() == "ababab"
    assert values == {"a": [20.0] * 3, "b": [6.0] * 3}
    assert records["a"]["unit"] == "things/s"
    assert records["a"]["facts"] == {"batch": 3}
    assert skipped == {}


def test_processes_of_all_cores_are_summed(fake):
    values, records, _ = compete(fake("a", "count", 10.0, process_per_core=True))
    assert values["a"] == [20.0 * turns.usable_cores()] * 2
    assert records["a"]["processes"] == records["a"]["cores"] == turns.usable_cores()


def test_who_cannot_run_is_skipped_with_the_reason(fake):
    told = []
    values, _, skipped = compete(
        fake("missing", "missing"),
        fake("unwilling", "unwilling"),
        fake("dead", "dies_at_once"),
        fake("fine", "count", 1.0),
        fake("later", "dies_later"),
        tell=lambda: told.append(1),
    )
    assert values == {"fine": [2.0, 2.0]}
    assert skipped == {
        "missing": "No module named 'no_such_peer'",
        "unwilling": "not on Sundays",
        "dead": "ended with code 1: broken",
        "later": "ended with code 3: without a word",
    }
    assert len(told) == 5 + 2 * 2


def test_who_does_not_answer_is_skipped(fake, monkeypatch):
    monkeypatch.setattr(turns, "START_SECONDS", 0.3)
    _, _, skipped = compete(fake("slow", "hangs"))
    assert skipped == {"slow": "no answer within 0 s"}


def test_interpreter_that_is_not_there_is_a_reason(fake):
    _, _, skipped = compete(fake("a", "count", 1.0), python="/no/such/python")
    assert skipped["a"].startswith("/no/such/python: ")


def test_missing_peer_comes_with_how_to_install_it():
    contender = Contender("x", "EnvPool", "m", "t", peer="envpool")
    case = cases.Case("c", "C", [contender], [])
    hint = suite._hint(case, "x", "No module named 'envpool'")
    assert hint.endswith(PEERS["envpool"].install)
    assert suite._hint(case, "x", "broken") == "broken"


def test_rates_and_times():
    assert Rate(lambda: time.sleep(0.001) or 5, "x/s").measure(0.0) < 5000
    assert Latency(lambda: time.sleep(0.002), "ms").measure(0.01) >= 2.0


# ------------------------------------------------------------------ cases and rows


def every_case():
    for name, make in cases.CASES.items():
        extra = ("levels.npy", "levels") if name == "boxoban" else ()
        for quick in (False, True):
            yield pytest.param(make(quick, *extra), quick, id=f"{name}-{quick}")


@pytest.mark.parametrize(("case", "quick"), [*every_case()])
def test_rows_find_their_contenders(case, quick):
    names = [contender.name for contender in case.contenders]
    assert len({*names}) == len(names)
    for row in case.rows:
        mine = {name for name in names if name.startswith(row.ours)}
        others = {name for name in names if row.theirs and name.startswith(row.theirs)}
        assert mine
        assert not mine & others
        assert others or quick or not row.theirs


@pytest.mark.parametrize(("case", "quick"), [*every_case()])
def test_contenders_name_tasks_that_take_their_options(case, quick):
    for contender in case.contenders:
        path = report.ROOT.joinpath(*contender.module.split(".")).with_suffix(".py")
        assert path.is_file()
        if not contender.peer:
            task = getattr(importlib.import_module(contender.module), contender.task)
            inspect.signature(task).bind(**contender.options)
            json.dumps(contender.options)


def record(name, *values, **more):
    return {
        "name": name,
        "engine": "roll_vec",
        "peer": "",
        "version": None,
        "cores": 2,
        "processes": 1,
        "unit": "steps/s",
        "facts": {"batch": 64, "levels": "some", "observation": "grid"},
        "values": list(values),
        **more,
    }


class FakeField:
    """What `suite.compare` needs of a field: values that are measured in turns."""

    def __init__(self, skipped=(), **values):
        self.skipped, self.values = dict(skipped), values

    def take_turns(self, names, rounds):
        return {name: self.values[name][:rounds] for name in names}


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (cases.RATIO, [2.0, 4.0]),
        (cases.COST, [0.5, 0.25]),
        (cases.NS_MORE, [1e9 / 40 - 1e9 / 20, 1e9 / 40 - 1e9 / 10]),
    ],
)
def test_best_of_each_side_are_compared_round_by_round(kind, expected):
    records = [
        record("ours1", 1.0, 1.0, 99.0),
        record("ours2", 40.0, 40.0, 5.0),
        record("theirs1", 20.0, 10.0, 5.0),
        record("theirs2", 2.0, 2.0, 2.0),
    ]
    field = FakeField(ours2=[40.0, 40.0, 1.0], theirs1=[20.0, 10.0, 1.0])
    found = suite.compare(cases.Row("r", "ours", "theirs", 3, kind), records, field, 2)
    assert (found["ours"], found["theirs"]) == ("ours2", "theirs1")
    assert found["values"] == pytest.approx(expected)
    assert (found["our_values"], found["their_values"]) == ([40.0] * 2, [20.0, 10.0])
    alone = cases.Row("r", "ours", "", 3, cases.ALONE)
    assert suite.compare(alone, records, field, 2)["values"] == [40.0, 40.0]


def test_row_whose_side_is_missing_says_who():
    records, row = [record("ours1", 1.0)], cases.Row("r", "ours", "theirs")
    found = suite.compare(row, records, FakeField({"theirs1": "not here"}), 2)
    assert (found["values"], found["skipped"]) == ([], "theirs1")
    result = {"cases": {"c": {"contenders": records}}}
    assert table.cells(result, {**found, "case": "c"})[3] == "skipped"
    missing = suite.compare(row, records, FakeField(), 2)
    assert missing["skipped"] == "not in a quick run"
    assert suite.compare(row, [], FakeField({"ours1": ""}), 2)["skipped"] == "ours1"


def test_a_run_of_a_case(fake):
    contenders = [fake("a", "count", 8.0), fake("b", "count", 2.0)]
    rows = [cases.Row("a beside b", "a", "b"), cases.Row("c alone", "c")]
    case = cases.Case("x", "X", [*contenders, fake("c", "unwilling")], rows)
    told = []
    result = suite.measure(
        {"x": case}, suite.Plan((), 2, True), lambda *done: told.append(done)
    )
    # All once, then the two of the row by turns.
    assert fake.log.read_text() == "ab" + "abab"
    assert result["rows"][0]["values"] == [4.0, 4.0]
    assert result["rows"][1]["skipped"] == "not on Sundays"
    assert result["skipped"][0]["reason"] == "not on Sundays"
    assert told[-1] == ("X", 3 * 2 + 3 * 2, 3 * 2 + 3 * 2)
    assert "a beside b" in report.section(result, "x.json")


@pytest.mark.parametrize(
    ("number", "expected"),
    [
        (0.0123, "0.0123"),
        (1, "1.00"),
        (123.4, "123"),
        (999.6, "1.00k"),
        (12_345, "12.3k"),
        (73.1e6, "73.1M"),
    ],
)
def test_numbers_have_three_digits(number, expected):
    assert table.short(number) == expected


# ------------------------------------------------------------------ our own tasks

LAKE = {"id": ours.FROZEN_LAKE, "num_envs": 2}
ROOMS = {"id": ours.SOKOBAN, "num_envs": 2, "levels_are": "few", "num_levels": 2}
TINY = [
    ("ours.steps", {**LAKE, "levels_are": "one"}),
    ("ours.steps", ROOMS),
    ("ours.unroll", {**ROOMS, "length": 3}),
    ("ours.rooms", {"size": 6, "num_boxes": 1, "count": 2}),
    ("ours.room_times", {"size": 6, "num_boxes": 1}),
    ("peers.gymnasium.frozen_lake", {"num_envs": 2}),
    ("peers.gymnasium.single", {"id": ours.FROZEN_LAKE}),
    ("countdown.tasks", {}),
    ("countdown.scores", {}),
    ("countdown.episodes", {"num_envs": 2, "num_steps": 2}),
    ("countdown.episodes", {"num_envs": 2, "num_steps": 2, "sync": True}),
    ("texts.pool", {"num_envs": 2, "workers": 0}),
    ("texts.pool", {"num_envs": 2, "wait": 0.001, "workers": 2}),
    ("texts.parse", {"num_texts": 3}),
    ("texts.parse", {"num_texts": 3, "plainly": True}),
    ("own.steps", {**LAKE, "keywords": {}}),
    ("webshop.steps", {"kept": "cold", "num_envs": 2, "num_steps": 12}),
    ("webshop.steps", {"kept": "pool", "num_envs": 2, "num_steps": 12}),
    ("webshop.search", {"num_products": 30}),
    ("webshop.ready", {"num_products": 30}),
    ("webshop.opened", {"num_products": 30}),
]


@pytest.mark.skipif(JIT_OFF, reason="as plain Python there is nothing to measure")
@pytest.mark.parametrize(("name", "options"), TINY, ids=lambda value: str(value))
def test_task_works_at_a_tiny_size(name, options):
    if name.startswith("webshop"):
        pytest.importorskip("rapidfuzz")
    module, _, function = name.rpartition(".")
    make = getattr(importlib.import_module(f"benchmarks.{module}"), function)
    task = make(**options)
    assert task.measure(0.0) > 0
    assert {*task.facts} <= {"batch", "observation", "levels"}


def test_levels_of_a_file_in_our_codes(tmp_path):
    fixed = [[1, 0, 2, 2, 0, 0, 2]]
    variable = [[0, 0, 0, 4, 4, 3, 3]]
    np.save(tmp_path / "x.npy", np.stack([fixed, variable], axis=-1).astype(np.uint8))
    assert levels.read_grids(tmp_path / "x.npy").tolist() == [[0, 1, 2, 3, 4, 5, 6]]


@pytest.mark.skipif(JIT_OFF, reason="as plain Python there is nothing to measure")
@pytest.mark.parametrize("floor", floors.FLOORS, ids=lambda floor: floor.title)
def test_kernels_are_timed_where_they_are_called(floor):
    small = {**floor.keywords, "num_levels": 2} if floor.keywords else {}
    found = floors.measure(floor._replace(keywords=small), 3, rounds=1, env_steps=30)
    assert [name for name, _, _ in found] == ["step", *floor.kernels]
    # Nobody's room ends in so short a time; every other kernel must have been called.
    assert all(cost > 0 for name, cost, _ in found if not name.endswith("place_rows"))
    assert found[0][1] > sum(cost for _, cost, _ in found[1:])


def test_levels_survive_a_file(tmp_path):
    grids = np.array([[[0, 1, 2], [3, 4, 5], [6, 0, 1]]], np.uint8)
    levels.write_grids(tmp_path / "levels.npy", grids)
    np.testing.assert_array_equal(levels.read_grids(tmp_path / "levels.npy"), grids)


@pytest.mark.skipif(JIT_OFF, reason="draws rooms")
def test_levels_are_drawn_where_nobody_has_any(tmp_path):
    path, what = levels.find_levels("/no/such/python", tmp_path, count=5)
    assert what == "5 rooms of our generator"
    env = ours.make(ours.SOKOBAN, 4, levels=path)
    assert env.reset(seed=0)[0].shape == (4, 10, 10)
    env.close()


# ------------------------------------------------------------------ what is published


@pytest.mark.parametrize("path", RESULTS, ids=lambda path: path.stem)
def test_readme_is_what_the_report_gives(path):
    text = report.README.read_text("utf-8")
    name = path.relative_to(report.ROOT).as_posix()
    if f"{report.BEGIN}{name} " not in text:
        pytest.skip("an earlier result")
    result = json.loads(path.read_text("utf-8"))
    assert report.replace(text, report.section(result, name)) == text
    assert path.with_suffix(".png").is_file()
    assert "/tmp" not in path.read_text("utf-8")


def test_readme_names_a_result_that_is_there():
    _, _, rest = report.README.read_text("utf-8").partition(report.BEGIN)
    assert (report.ROOT / rest.partition(" ")[0]).is_file()


def test_report_replaces_what_is_between_its_markers():
    old = f"a\n{report.BEGIN}x.json -->\nfigures\n{report.END}\nb\n"
    new = f"{report.BEGIN}y.json -->\nothers\n{report.END}\n"
    assert report.replace(old, new) == f"a\n{new}b\n"
    with pytest.raises(ValueError, match=r"README.md: expected the markers"):
        report.replace("nothing", new)


def test_plot_shows_every_engine(tmp_path):
    pytest.importorskip("matplotlib")
    record_of = {n: record(f"lake {n}", n, 2.0 * n) for n in (1, 16)}
    for n, entry in record_of.items():
        entry["facts"] = {"batch": n}
    result = {"cases": {"steps": {"title": "T", "contenders": [*record_of.values()]}}}
    assert plot.lines(result["cases"]["steps"], ["lake "]) == {
        "roll_vec": [(1, 1.5, 1, 2.0), (16, 24.0, 16, 32.0)]
    }
    assert plot.draw(result, tmp_path / "plot.png")
    assert (tmp_path / "plot.png").read_bytes().startswith(b"\x89PNG")
    assert not plot.draw({"cases": {}}, tmp_path / "none.png")
    assert not Path(tmp_path / "none.png").exists()


# ------------------------------------------------------------------ nothing is slow


def best_rate(work, amount, times=7):
    """Return the best of several rates: what else runs can only make it worse."""
    work()
    found = []
    for _ in range(times):
        begun = time.perf_counter()
        work()
        found.append(amount / (time.perf_counter() - begun))
    return max(found)


@pytest.fixture(scope="module")
def sync_rate():
    """Return the env-steps/s of Gymnasium's SyncVectorEnv on FrozenLake-v1."""
    env = gymnasium.make_vec("FrozenLake-v1", num_envs=64, vectorization_mode="sync")
    with closing(env):
        env.reset(seed=0)
        actions = np.random.default_rng(0).integers(0, 4, (20, 64))
        return best_rate(lambda: [env.step(batch) for batch in actions], actions.size)


# A tenth of what is usual, or less: a machine that is busy must not fail, a loop over
# environments in Python must.
@pytest.mark.skipif(JIT_OFF, reason="as plain Python the kernels have no speed")
@pytest.mark.parametrize(
    ("id", "keywords", "least"),
    [
        (ours.FROZEN_LAKE, {}, 60),
        (ours.SOKOBAN, {"num_levels": 256}, 40),
        (ours.SOKOBAN, {}, 4),
        (ours.SOKOBAN, {"num_levels": 256, "obs_mode": "text"}, 6),
    ],
)
def test_batches_are_a_multiple_of_sync_vector_env(sync_rate, id, keywords, least):
    with closing(ours.make(id, 4096, **keywords)) as env:
        actions = ours.draw_actions(env, 8)
        rate = best_rate(lambda: [env.step(batch) for batch in actions], actions.size)
    assert rate > least * sync_rate


@pytest.mark.skipif(JIT_OFF, reason="as plain Python the kernels have no speed")
def test_unrolling_is_no_slower_than_stepping():
    with closing(ours.make(ours.FROZEN_LAKE, 64)) as env:
        actions = ours.draw_actions(env, 128)
        steps = best_rate(lambda: [env.step(batch) for batch in actions], actions.size)
        unrolled = best_rate(lambda: env.unwrapped.unroll(actions), actions.size)
    assert unrolled > steps
