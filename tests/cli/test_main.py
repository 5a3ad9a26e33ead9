"""The program as a whole: help, lists, `roll-vec info`, output that fails."""

import argparse
import importlib
import importlib.abc
import io
import json
import runpy
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

import roll_vec
from roll_vec.cli import main, make_parser
from roll_vec.registration import ENVIRONMENTS
from tests.cli.small_envs import LINE

SOKOBAN = "roll_vec/Sokoban-v0"


def test_help_fits_into_80_columns_and_60_lines(monkeypatch):
    # Its words stand in docs/commands.md, of which there is a test.
    monkeypatch.setenv("COLUMNS", "80")
    parsers = [make_parser()]
    for parser in parsers:
        for action in parser._actions:
            if isinstance(action, argparse._SubParsersAction):
                parsers += action.choices.values()
        lines = parser.format_help().splitlines()
        assert max(map(len, lines)) <= 80, parser.prog
        assert len(lines) <= 60, parser.prog


def test_no_command_shows_the_help(run, works):
    for arguments in ((), ("levels",)):
        outcome = works(*arguments)
        assert outcome.out == run(*arguments, "--help").out
        assert "\ncommands:\n" in outcome.out


def test_version_is_that_of_the_package(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["x", "--version"])
    with pytest.raises(SystemExit) as end:
        runpy.run_module("roll_vec", run_name="__main__")
    assert end.value.code == 0
    out = capsys.readouterr().out
    assert out.startswith(f"roll-vec {roll_vec.__version__} (gymnasium ")


def test_envs_lists_every_id_with_its_limit(run):
    outcome = run("envs")
    assert outcome.code == 0
    lines = {line.split()[0]: line for line in outcome.out.splitlines() if line}
    words = set(outcome.out.replace(",", " ").split())
    for environment in ENVIRONMENTS.values():
        if environment.family:
            assert environment.id.partition("-")[2] in words
            continue
        assert f" {environment.max_episode_steps or '-'}  " in lines[environment.id]
        assert environment.summary in lines[environment.id]
    assert "roll-vec info ID" in outcome.out
    # So many that a page of a terminal has not all of them in lines.
    assert outcome.out.count("\n") < 80


def test_envs_lists_the_ids_with_a_text(run):
    lines = run("envs", "--match", "doorkey").out.splitlines()
    assert lines[0].split()[:2] == ["roll_vec/MiniGrid-DoorKey-5x5-v0", "250"]
    assert "open the door" in lines[0]
    assert len(lines) == 6


def test_id_without_a_version_is_the_newest(run, user_module, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    assert run("info", "roll_vec/Sokoban").out == run("info", SOKOBAN).out
    echo = importlib.import_module(user_module).Echo
    roll_vec.register("mine/Echo-v12", echo)
    roll_vec.register("mine/Echo-v3", echo)
    outcome = run("rollout", f"{user_module}:mine/Echo", "--num-envs", 2, "--steps", 2)
    assert "mine/Echo-v12 × 2" in outcome.out


@pytest.mark.parametrize("id", ["Sokoban-v0", "FrozenLake-v1", "Countdown-v0"])
def test_info_is_explained(works, id):
    outcome = works("info", f"roll_vec/{id}")
    if id == "Sokoban-v0":
        lines = outcome.out.splitlines()
        assert lines[:2] == [
            SOKOBAN,
            "  ROLL's SokobanEnv: a generated room each episode.",
        ]
        for line in (
            "  grid      Box(0, 6, (6, 6), uint8)         the code of each cell",
            "  Discrete(4, start=1)",
            "  1 Up, 2 Down, 3 Left, 4 Right",
            "  3  √  box on target",
            "  -0.1  Each step.",
            "  terminated  All boxes are on targets: success.",
            "  truncated   After 100 steps (max_episode_steps).",
        ):
            assert line in lines
    assert all(len(line) <= 88 for line in outcome.out.splitlines())
    assert "`" not in outcome.out
    for heading in ("infos", "equal to", "keywords (-o KEY=VALUE)", "documentation"):
        assert f"\n\n{heading}\n  " in outcome.out


def test_info_is_json_for_programs(run):
    lake = ("info", "roll_vec/RandomFrozenLake-v0", "-o", "size=5")
    assert "grid      Box(0, 5, (5, 5), uint8)" in run(*lake).out
    content = json.loads(run(*lake[:2], "--json").out)
    assert content["actions"] == {"1": "Left", "2": "Down", "3": "Right", "4": "Up"}
    keyword = next(one for one in content["keywords"] if one["name"] == "size")
    assert (keyword["type"], keyword["default"]) == ("int", "4")
    assert content["sources"][0]["version"] == "commit 35bea6a2"


def test_environments_of_users_and_of_gymnasium_are_explained(run, user_module):
    out = run("info", f"{user_module}:mine/Corridor-v0").out
    for text in ("\n  1 Walk back, 2 Right\n", "\n  length=5 ", "workers=0"):
        assert text in out
    everything = run("envs", user_module).out
    assert "roll_vec/Sokoban-v0 " in everything
    assert "mine/Echo-v0 " in everything
    out = run("info", "CartPole-v1").out
    assert "cart-pole" in out
    assert "\n  truncated  After 500 steps (max_episode_steps).\n" in out


PROGRESS = [
    (f"rollout {LINE} --num-envs 4 --steps 12 --out run.npz", "12/12 steps"),
    ("replay run.npz", "12/12 steps"),
    # The second time, the episodes are those of the file.
    (
        "eval run roll_vec/FrozenLake --split test --num-episodes 30 --out a",
        "30/30 episodes",
    ),
]


def test_progress_is_shown_to_a_terminal_only(run, monkeypatch):
    for command, _ in PROGRESS:
        assert run(*command.split()).err == ""
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    for command, text in PROGRESS:
        err = run(*command.split()).err
        assert f"\r\x1b[K{text}, 100%" in err
        # At the end the line is erased.
        assert err.endswith("\r\x1b[K")


@pytest.mark.parametrize("command", ["rollout", "play"])
def test_output_that_lacks_characters_is_no_error(monkeypatch, tmp_path, command):
    monkeypatch.chdir(tmp_path)
    data = io.BytesIO()
    monkeypatch.setattr(sys, "stdin", io.StringIO("\n"))
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(data, "ascii"))
    flags = ("--num-envs=2", "--steps=2") * (command == "rollout")
    assert main([command, LINE, *flags]) == 0
    assert "small/Line-v0 ? " in data.getvalue().decode("ascii")


# Of a child with the core alone; then with an output that leads to a pipe without a
# reader, or to a full device.
CHILD = """
import os, sys
sys.modules.update(dict.fromkeys(extras := ["rich", "PIL", "pygame"]))
from roll_vec.cli import main
cart = ["rollout", "CartPole-v1", "--num-envs=2", "--steps=2"]
sys.stderr.write(f"{main([*cart, '--out', 'a.png'])}\\n")
assert "numba" not in sys.modules
assert main([*cart, "--quiet"]) == 0
for name in extras: del sys.modules[name]
outputs = {"pipe": os.pipe()[1], "full": os.open("/dev/full", os.O_WRONLY)}
os.close(outputs["pipe"] - 1)
for output, *arguments in [
    ["pipe", "rollout", "--help"], ["full", "envs"], ["full", "--help"], ["full", *cart]
]:
    os.dup2(outputs[output], 1)
    sys.stdout = open(1, "w", closefd=False)
    sys.stderr.write(f"{main(arguments)}\\n")
"""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no full device")
def test_the_core_alone_and_output_that_nobody_reads_or_a_full_disk():
    command = [sys.executable, "-c", CHILD]
    process = subprocess.run(command, capture_output=True, text=True, check=True)
    error = "roll-vec: error: cannot write the output: No space left on device"
    lines = [line for line in process.stderr.splitlines() if "compil" not in line]
    assert "a picture needs pillow: " in lines[0]
    assert lines[1:] == ["2", "0", *[error, "1"] * 3]


def test_warnings_of_the_package_are_lines_of_the_program(run, policy_of, monkeypatch):
    def show(message, category, filename, lineno, file=None, line=None):
        text = warnings.formatwarning(message, category, filename, lineno, "")
        sys.stderr.write(text)

    monkeypatch.setattr(warnings, "showwarning", show)
    monkeypatch.setattr(warnings, "filters", [])
    policy = policy_of(
        "import warnings\n"
        "def act(observations):\n"
        "    for text in ('roll_vec: the disk is full', 'mean of an empty slice'):\n"
        "        warnings.warn_explicit(text, RuntimeWarning, 'x.py', 3)\n"
        "    return [0, 0]\n"
    )
    arguments = ("--num-envs=2", "--steps=1", "--quiet")
    outcome = run("rollout", SOKOBAN, *arguments, "--policy", policy)
    assert outcome.code == 0
    full, mean, zero = outcome.err.splitlines()
    assert full == "roll-vec: warning: the disk is full"
    assert mean == "x.py:3: RuntimeWarning: mean of an empty slice"
    assert zero.startswith("roll-vec: warning: the action 0 is")
