"""`roll-vec bench`: where it runs, what it writes, what it refuses."""

import json
import re
from pathlib import Path

import pytest

from benchmarks import peers, suite
from benchmarks.cases import CASES
from benchmarks.peers import PEERS
from roll_vec.cli import bench

ROOT = Path(__file__).resolve().parents[2]

pytest.importorskip("rich")


@pytest.fixture
def checkout(run, fails, monkeypatch):
    """Run in the root of the checkout, with a suite that measures nothing."""
    plans = []

    def fake(plan, report_progress):
        plans.append(plan)
        report_progress("A case", 1, 2)
        side = {
            "name": "a",
            "engine": "roll_vec",
            "peer": "",
            "version": None,
            "cores": 1,
            "processes": 1,
            "unit": "steps/s",
            "facts": {"batch": 64, "observation": "grid, 6x6", "levels": "[fresh]"},
            "values": [1e6, 3e6, 2e6],
        }
        row = {
            "case": "c",
            "title": "a row",
            "kind": "alone",
            "target": None,
            "ours": "a",
            "theirs": None,
            "our_values": side["values"],
            "their_values": [],
            "values": side["values"],
            "skipped": None,
        }
        gone = {"case": "c", "contender": "b", "reason": "No module named 'b'"}
        return {
            "machine": suite.machine.describe(plan.command),
            "rounds": plan.rounds,
            "seconds": 0.1,
            "load": [None, None],
            "cases": {"c": {"title": "A case", "contenders": [side]}},
            "skipped": [gone],
            "rows": [row],
        }

    monkeypatch.setattr(suite, "run", fake)
    monkeypatch.setattr(peers, "interpreter_error", lambda name, python: None)
    monkeypatch.chdir(ROOT)
    return plans


def test_lists_here_are_those_of_the_suite():
    assert tuple(CASES) == bench._CASES
    assert tuple(PEERS) == bench._PEERS


def test_elsewhere_is_a_clear_error(fails):
    assert "in the root of a checkout of roll_vec" in fails("bench")


def test_help_says_all(run):
    text = " ".join(run("bench", "--help").out.split())
    for word in (*CASES, "--quick", "--peer-python", "(default: roll-vec-bench.json)"):
        assert word in text
    # The versions of the peers stand in two places.
    for peer in PEERS.values():
        for requirement in re.findall(r"[\w-]+==[\d.]+", peer.install):
            assert requirement in text or peer.title == "PufferLib"


def test_table_json_and_plot(run, checkout, tmp_path):
    out = tmp_path / "run.json"
    outcome = run(
        "bench",
        "--out",
        out,
        "--rounds",
        3,
        "--cases",
        "rooms",
        "--peer-python=gym-sokoban=/secret/python",
    )
    assert outcome.code == 0
    (plan,) = checkout
    assert (plan.cases, plan.rounds, plan.quick) == (["rooms"], 3, False)
    assert plan.python_of("gym_sokoban") == "/secret/python"
    assert plan.python_of("envpool") == plan.python_of("")
    for text in ("2.00M steps/s", "batch 64", "[fresh]", "1.00M", "3.00M"):
        assert text in outcome.out
    assert "skipped: c: b: No module named 'b'" in outcome.out
    assert "A case" in outcome.err
    result = json.loads(out.read_text("utf-8"))
    assert result["rows"][0]["values"] == [1e6, 3e6, 2e6]
    assert "secret" not in out.read_text("utf-8")
    assert str(tmp_path) not in out.read_text("utf-8")
    assert result["machine"]["command"].endswith("--out run.json")


def test_quick_leaves_the_slow_ones_out(run, checkout, tmp_path):
    assert run("bench", "--quick", "--out", tmp_path / "q.json").code == 0
    (plan,) = checkout
    assert plan.quick
    assert tuple(plan.cases) == suite.QUICK
    assert "rooms" not in plan.cases


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--cases", "nothing"], "nothing"),
        (["--rounds", "0"], "expected an integer from 1 up"),
        (["--out", "result.txt"], "--out: expected a file .json"),
        (
            ["--out", "no/such/folder/x.json"],
            "--out: cannot write 'no/such/folder/x.js",
        ),
        (["--out", "folder.json"], "--out: cannot write 'folder.json': it is a d"),
        (["--peer-python", "envpool"], "expected PEER=PYTHON"),
        (["--peer-python", "someone=/bin/python"], "one of gymnasium, envpool"),
    ],
)
def test_arguments_that_cannot_be_used(
    checkout, fails, arguments, message, tmp_path, monkeypatch
):
    (tmp_path / "benchmarks").mkdir()
    (tmp_path / "benchmarks/suite.py").touch()
    (tmp_path / "folder.json").mkdir()
    monkeypatch.chdir(tmp_path)
    assert message in fails("bench", *arguments)
    assert not checkout
    assert len([*tmp_path.iterdir()]) == 2


def test_interpreter_that_cannot_run_a_peer(checkout, fails, monkeypatch, tmp_path):
    monkeypatch.setattr(peers, "interpreter_error", lambda name, python: "is no Python")
    out = tmp_path / "x.json"
    line = fails("bench", "--peer-python", "envpool=/x", "--out", out)
    assert "--peer-python envpool: /x is no Python" in line
    assert not checkout
    assert not out.exists()


def test_interruption_shows_what_was_measured(checkout, run, monkeypatch, tmp_path):
    fake = suite.run

    def interrupted(plan, report_progress):
        raise suite.Interrupted(fake(plan, report_progress))

    monkeypatch.setattr(suite, "run", interrupted)
    out = tmp_path / "x.json"
    outcome = run("bench", "--out", out)
    assert outcome.code == 130
    assert "2.00M steps/s" in outcome.out
    assert "interrupted" in outcome.err
    assert not out.exists()


def test_figures_are_shown_even_if_the_file_cannot_be_written(
    checkout, run, monkeypatch, tmp_path
):
    folder = tmp_path / "folder"
    folder.mkdir()
    fake = suite.run

    def gone(plan, report_progress):
        folder.rmdir()
        return fake(plan, report_progress)

    monkeypatch.setattr(suite, "run", gone)
    outcome = run("bench", "--out", folder / "x.json")
    assert outcome.code == 2
    assert "2.00M steps/s" in outcome.out
    assert "x.json': No such file" in outcome.err
