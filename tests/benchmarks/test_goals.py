"""The goals: their rows, the page and the picture of two runs, the command."""

import json
from pathlib import Path

import numpy as np
import pytest

from benchmarks import machine, suite
from benchmarks.goals import __main__ as command
from benchmarks.goals import chart, first_call, page, policy
from benchmarks.goals.case import GOALS, goals
from benchmarks.tasks import Unavailable
from tests.benchmarks.records import record

DATA = command.FOLDER / page.DATA
UNITS = {
    "loop": "× as long",
    "turns": "× the median",
    "steps": "× the median",
    "step": "µs",
    "kernels": "%",
    "unroll": "× as fast",
    "any": "× as fast",
    "first": "s",
}


def make_run(factor=1.0):
    """Return the result of a run in which every figure is ``factor`` times its goal."""
    case = goals(quick=False)
    records = []
    for contender in case.contenders:
        kind = contender.name.split(",")[0].split(" ")[0]
        details = []
        if kind in ("turns", "steps"):
            times = " ".join(map(str, [100] * 98 + [2000, 4000]))
            details = [{"policy_us": 700, "step_us": times}] * 2
        elif kind == "loop":
            details = [{"policy_us": 800}]
        elif kind == "any":
            details = [
                {"ratios": {"64": 1.0, "4096": 1.5}},
                {"ratios": {"64": 2.0, "4096": 1.5}},
            ]
        records.append(
            record(
                contender.name,
                1.0,
                unit=UNITS.get(kind, "steps/s"),
                details=details,
            )
        )
    rows = []
    for row in case.rows:
        value = factor * (row.target or 1.0)
        names = [case.names(prefix)[0] for prefix in row.prefixes]
        rows.append(
            {
                "case": "goals",
                "title": row.title,
                "kind": row.kind,
                "target": row.target,
                "ours": names[0],
                "theirs": names[1] if len(names) > 1 else None,
                "our_values": [value],
                "their_values": [1.0] * (len(names) - 1),
                "values": [value / 2, value, value * 4],
                "skipped": None,
            }
        )
    return {
        "machine": machine.describe("the command"),
        "rounds": 3,
        "seconds": 0.4,
        "load": [[0.1], [1.0]],
        "cases": {"goals": {"title": case.title, "contenders": records}},
        "skipped": [],
        "rows": rows,
    }


def cells_of(section, title):
    """Return the cells of the row with a title."""
    (line,) = [line for line in section.splitlines() if line.startswith(f"| {title} |")]
    return [cell.strip() for cell in line.strip("|").split("|")]


def test_table_has_both_runs_and_says_which_goals_are_reached():
    text = "\n\n".join(page.section([make_run(), make_run(1.01)]))
    cells = cells_of(text, "loop with a policy, fresh rooms over kept rooms")
    assert cells[1:] == [
        "1.8 to 1.9×",
        "≤ 1.15×",
        "1.15× (0.575 – 4.60)",
        "1.16× (0.581 – 4.65)",
        "in one run",
    ]
    # More is better here.
    cells = cells_of(text, "fresh rooms, 4,096, all cores over one thread")
    assert cells[2:] == [
        "≥ 1.7×",
        "1.70× (0.850 – 6.80)",
        "1.72× (0.858 – 6.87)",
        "yes",
    ]
    assert cells_of(text, "a step of one lake")[2:4] == [
        "≤ 6 µs",
        "6.00 µs (3.00 – 24.0)",
    ]
    for row, before in GOALS:
        cells = cells_of(text, row.title)
        assert cells[1] == before
        assert (cells[-1] == "") == (row.target is None)
    slow = "\n\n".join(page.section([make_run(0.9), make_run(0.99)]))
    assert cells_of(slow, "65,536 lakes, two threads over one")[-1] == "no"
    assert "The policy took 700 to 800 µs a step." in text
    assert "| lakes | 2 | 1.50 | 1.50 |" in text


@pytest.mark.skipif(not DATA.exists(), reason="the runs are not published yet")
def test_page_has_what_its_runs_give():
    results = json.loads(DATA.read_text("utf-8"))["runs"]
    text = (command.FOLDER / command.PAGE).read_text("utf-8")
    assert page.render(text, results) == text
    assert len(results) == command.RUNS
    assert (command.FOLDER / page.IMAGE).is_file()


def test_row_that_was_not_measured_is_not_reached():
    first, second = make_run(), make_run()
    row = second["rows"][0]
    row.update(values=[], skipped="no such keyword")
    second["skipped"] = [
        {"case": "goals", "contender": "c", "reason": "no such keyword"}
    ]
    text = "\n\n".join(page.section([first, second]))
    cells = cells_of(text, row["title"])
    assert cells[4:] == ["not measured", "in one run"]
    assert "- c: no such keyword" in text


def test_quantiles_are_times_of_steps():
    run = make_run()
    times = chart.step_times(run, "turns, ahead")
    assert len(times) == 200
    assert chart.quantiles(times) == {"p50": 0.1, "p99": 2.0, "p99.9": 4.0, "max": 4.0}
    assert len(chart.step_times(run, "sync")) == 0


def test_command_writes_page_data_and_picture(tmp_path, monkeypatch, capsys):
    pytest.importorskip("matplotlib")
    runs = [tmp_path / f"{name}.json" for name in "ab"]
    for path, factor in zip(runs, (1.0, 2.0), strict=True):
        path.write_text(json.dumps(make_run(factor)), "utf-8")
    monkeypatch.setattr(command, "FOLDER", tmp_path)
    old_text = f"before\n{page.BEGIN}\nold\n{page.END}\nafter\n"
    (tmp_path / command.PAGE).write_text(old_text, "utf-8")
    command.main([str(path) for path in runs])
    text = (tmp_path / command.PAGE).read_text("utf-8")
    assert text.startswith("before\n")
    assert text.endswith("after\n")
    assert "old" not in text
    content = json.loads((tmp_path / page.DATA).read_text("utf-8"))
    assert len(content["runs"]) == 2
    assert page.render(text, content["runs"]) == text
    assert (tmp_path / page.IMAGE).read_bytes().startswith(b"\x89PNG")


def test_nothing_is_written_without_markers_or_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(command, "FOLDER", tmp_path)
    (tmp_path / command.PAGE).write_text("no markers", "utf-8")
    with pytest.raises(ValueError, match="expected the markers"):
        command.write([make_run()], tmp_path)
    other = make_run()
    other["cases"] = {"steps": other["cases"].pop("goals")}
    other["rows"] = []
    (tmp_path / "other.json").write_text(json.dumps(other), "utf-8")
    with pytest.raises(SystemExit):
        command.main([str(tmp_path / "other.json")])
    assert "expected a run of the case goals" in capsys.readouterr().err
    assert {path.name for path in tmp_path.iterdir()} == {command.PAGE, "other.json"}


def test_two_runs_on_a_quiet_machine_alone(tmp_path, monkeypatch, capsys):
    pytest.importorskip("rich")
    pytest.importorskip("matplotlib")
    plans = []

    def run(plan, report_progress):
        plans.append(plan)
        return make_run()

    monkeypatch.setattr(suite, "run", run)
    monkeypatch.setattr(command, "FOLDER", tmp_path)
    (tmp_path / command.PAGE).write_text(f"{page.BEGIN}{page.END}", "utf-8")
    monkeypatch.setattr(machine, "busy_share", lambda: 0.5)
    with pytest.raises(SystemExit):
        command.main([])
    assert "expected a quiet machine" in capsys.readouterr().err
    assert not plans
    command.main(["--busy", "--rounds", "2"])
    assert [(plan.cases, plan.rounds) for plan in plans] == [(["goals"], 2)] * 2


def test_share_of_the_cores_at_work(monkeypatch):
    lines = iter(["cpu  10 0 10 70 10 0 0 0 0 0\n", "cpu  30 0 20 130 20 0 0 0 0 0\n"])
    monkeypatch.setattr(Path, "read_text", lambda *_: next(lines))
    assert machine.busy_share(0.0) == pytest.approx(0.3)

    def no_file(*_):
        raise FileNotFoundError

    monkeypatch.setattr(Path, "read_text", no_file)
    assert machine.busy_share(0.0) is None


def test_first_call_is_timed_by_its_own_process(monkeypatch):
    monkeypatch.setattr(first_call, "PROGRAM", "import sys; print(len(sys.argv) / 2)")
    task = first_call.first_call("an id")
    assert task.measure(0.0) == 0.0
    assert task.measure(1.0) == 1.5
    monkeypatch.setattr(first_call, "PROGRAM", "raise SystemExit('broken')")
    with pytest.raises(Unavailable, match="ended with code 1: broken"):
        task.measure(1.0)


def test_random_numbers_of_the_policy():
    # Marsaglia's xorshift by Python's integers.
    state, mask = 1, 2**64 - 1
    for _ in range(3):
        state ^= state << 13 & mask
        state ^= state >> 7
        state ^= state << 17 & mask
    assert policy.spin(3, np.uint64(1)) == state
