"""`roll-vec bench`, `roll-vec doctor` and `roll-vec completion`."""

import argparse
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import roll_vec
from benchmarks import peers, suite
from roll_vec.cli import make_parser
from roll_vec.diagnosis import BROKEN, WARNING, Finding
from roll_vec.registration import ENVIRONMENTS
from tests.conftest import ROOT

# --------------------------------------------------------------------------- bench

FIGURES = {
    "name": "a",
    "engine": "roll_vec",
    "peer": "",
    "version": None,
    "cores": 1,
    "processes": 1,
    "unit": "steps/s",
    "values": [1e6, 3e6, 2e6],
    "facts": {"batch": 64, "observation": "grid, 6x6", "levels": "[fresh]"},
}
ROW = {
    "case": "c",
    "title": "a row",
    "kind": "alone",
    "target": None,
    "ours": "a",
    "theirs": None,
    "skipped": None,
    "their_values": [],
    "our_values": FIGURES["values"],
    "values": FIGURES["values"],
}


@pytest.fixture
def plans(run, monkeypatch):
    """Run in the root of the checkout, with a suite that measures nothing."""
    plans = []

    def fake(plan, report_progress):
        plans.append(plan)
        report_progress("A case", 1, 2)
        gone = {"case": "c", "contender": "b", "reason": "No module named 'b'"}
        result = {
            "machine": suite.machine.describe(plan.command),
            "rounds": plan.rounds,
            "seconds": 0.1,
            "load": [None, None],
            "cases": {"c": {"title": "A case", "contenders": [FIGURES]}},
            "skipped": [gone],
            "rows": [ROW],
        }
        if plan.quick:
            raise suite.Interrupted(result)
        return result

    monkeypatch.setattr(suite, "run", fake)
    monkeypatch.setattr(peers, "interpreter_error", lambda name, python: None)
    monkeypatch.chdir(ROOT)
    return plans


def test_bench_writes_a_table_and_a_file_with_nothing_of_the_machine(
    run, plans, tmp_path
):
    every = [f"--peer-python={name}=/secret/python" for name in peers.PEERS]
    cases = ("--cases", *suite.CASES, "--rounds", 3)
    out = tmp_path / "run.json"
    outcome = run("bench", "--out", out, *every, *cases)
    assert outcome.code == 0
    (plan,) = plans
    assert (plan.cases, plan.rounds, plan.quick) == ([*suite.CASES], 3, False)
    assert plan.python_of("gym_sokoban") == "/secret/python" != plan.python_of("")
    for text in ("2.00M steps/s", "batch 64", "[fresh]", "1.00M", "3.00M"):
        assert text in outcome.out
    assert "skipped: c: b: No module named 'b'" in outcome.out
    assert "A case" in outcome.err
    text = out.read_text("utf-8")
    assert json.loads(text)["rows"][0]["values"] == [1e6, 3e6, 2e6]
    assert json.loads(text)["machine"]["command"].endswith("--out run.json")
    assert "secret" not in text
    assert str(tmp_path) not in text


def test_bench_shows_its_figures_even_if_there_is_no_file(run, plans, tmp_path):
    outcome = run("bench", "--quick", "--out", tmp_path / "x.json")
    assert outcome.code == 130
    assert "2.00M steps/s" in outcome.out
    assert "interrupted" in outcome.err
    assert tuple(plans[0].cases) == suite.QUICK
    assert not list(tmp_path.iterdir())


def test_bench_elsewhere_is_an_error(fails):
    assert "in the root of a checkout of roll_vec" in fails("bench")


# -------------------------------------------------------------------------- doctor

SECTIONS = ["versions", "machine", "kernels", "extras", "terminal"]


def test_doctor_has_all_sections_as_text_and_json(run):
    outcome = run("doctor")
    assert (outcome.code, outcome.err) == (0, "")
    lines = outcome.out.splitlines()
    assert [line for line in lines if line in SECTIONS] == SECTIONS
    names = [line.split()[0] for line in lines if re.match(r"  \S", line)]
    for name in ("python", "numpy", "numba", "llvmlite", "gymnasium", "cores"):
        assert name in names
    # Python 3.10 cannot read the list of a checkout that is not installed.
    assert "cli" in names or sys.version_info < (3, 11)
    assert roll_vec.__version__ in outcome.out
    assert lines[-1].startswith("no problems, ")
    content = json.loads(run("doctor", "--json").out)
    assert [*content] == SECTIONS
    assert [name.split()[0] for one in content.values() for name in one] == names
    assert content["versions"]["numpy"]["status"] == "ok"
    assert content["terminal"]["stdout"]["value"] == "no screen"
    for one in content.values():
        for line in one.values():
            assert line.keys() == {"value", "status", "advice"}


@pytest.mark.parametrize(("status", "code"), [(WARNING, 0), (BROKEN, 1)])
def test_doctor_fails_if_something_is_broken(run, monkeypatch, status, code):
    finding = Finding("numba", "0.1", status, "pip install -U numba")
    monkeypatch.setattr("roll_vec.cli.doctor.diagnose", lambda: {"versions": [finding]})
    outcome = run("doctor")
    assert outcome.code == code
    assert f"{status}: pip install -U numba" in outcome.out
    counts = "1 problem, no warnings" if code else "no problems, 1 warning"
    assert outcome.out.endswith(f"\n{counts}\n")


# ---------------------------------------------------------------------- completion

# Bash passes the words before the cursor, and reads the array COMPREPLY.
BASH = """\
source ./program
complete -p roll-vec
try() {
    COMP_WORDS=(roll-vec "$@"); COMP_CWORD=$#; COMPREPLY=()
    _shtab_roll_vec
    echo "${COMPREPLY[@]}"
}
"""
WORDS = {
    "rollo": "rollout",
    "rollout roll_vec/S": "roll_vec/Sokoban-v0",
    "rollout roll_vec/Sokoban-v0 --num-e": "--num-envs",
    "rollout roll_vec/Sokoban-v0 --policy o": "oracle",
    "levels make roll_vec/R": "roll_vec/RandomFrozenLake-v0",
    "replay r": "run.npz",
    "watch roll_vec/S": "roll_vec/Sokoban-v0",
    "watch ru": "run.npz",
    "levels show roo": "rooms.txt",
    "levels stats b": "boxes.sok",
    "export t": "train.jsonl",
    "rollout --image p": "picture.bmp",
    "levels make --out b": "boxes.sok",
    "export roll_vec/S": "roll_vec/Sokoban-v0",
    "completion b": "bash",
}
FILES = ("run.npz", "rooms.txt", "boxes.sok", "train.jsonl", "picture.bmp", "p.webp")


@pytest.fixture
def try_words(run):
    """Return a function that asks a shell for the completions of WORDS."""
    pytest.importorskip("shtab")

    def try_words(name, flag, begin, form):
        if (path := shutil.which(name)) is None:
            pytest.skip(f"the shell {name} is not here")
        for file in FILES:
            Path(file).touch()
        outcome = run("completion", name)
        assert (outcome.code, outcome.err) == (0, "")
        Path("program").write_text(outcome.out)
        code = begin + "".join(form.format(line) for line in WORDS)
        command = [path, flag, "-c", code]
        result = subprocess.run(command, capture_output=True, text=True, check=True)
        assert result.stderr == ""
        return result.stdout.splitlines()

    return try_words


def test_bash_completes_commands_ids_options_and_files(try_words):
    first, *answers = try_words("bash", "--norc", BASH, "try {}\n")
    assert first.endswith("_shtab_roll_vec roll-vec")
    assert dict(zip(WORDS, answers, strict=True)) == WORDS


def test_fish_completes_commands_ids_and_files(try_words):
    begin, form = "source ./program\n", "complete -C 'roll-vec {}'\n"
    lines = try_words("fish", "--no-config", begin, form)
    assert [line.partition("\t")[0] for line in lines] == [*WORDS.values()]


def test_zsh_gets_every_id_and_patterns_that_it_can_read(run):
    pytest.importorskip("shtab")
    text = run("completion", "zsh").out
    assert text.startswith("#compdef roll-vec")
    assert all(env_id in text for env_id in ENVIRONMENTS)
    # In parentheses zsh takes a single pattern for a glob qualifier.
    assert "_files -g '*.npz'" in text
    assert "'(*.npz)'" not in text


def test_every_argument_with_a_file_or_an_id_is_completed(capsys):
    pytest.importorskip("shtab")
    parser = make_parser()
    arguments = parser.parse_args(["completion", "bash"])
    arguments.run(arguments)

    def incomplete(parser):
        for action in parser._actions:
            if isinstance(action, argparse._SubParsersAction):
                for command in action.choices.values():
                    yield from incomplete(command)
            elif not hasattr(action, "complete") and (
                action.type is Path
                or re.search(r"\b(ID|FILES?|DIR|SOURCE)\b", str(action.metavar))
            ):
                yield parser.prog, action.dest

    assert [*incomplete(parser)] == []
