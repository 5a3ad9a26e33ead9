"""The program as a whole: help, misspelt words, versions, output that fails."""

import argparse
import importlib
import importlib.abc
import os
import re
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

import roll_vec
from roll_vec.cli import _warnings_for_users, make_parser
from roll_vec.registration import ENVIRONMENTS
from tests.cli.small_envs import LINE

FULL = Path("/dev/full")
SOKOBAN = "roll_vec/Sokoban-v0"


def test_help_names_the_commands_and_gives_examples(run):
    outcome = run("--help")
    assert outcome.code == 0
    for word in ("rollout", "play", "envs", "roll-vec rollout roll_vec/Sokoban-v0"):
        assert word in outcome.out


@pytest.mark.parametrize("command", ["rollout", "play", "envs", "info"])
def test_help_of_a_command_has_examples(run, command):
    outcome = run(command, "--help")
    assert outcome.code == 0
    assert "example" in outcome.out


def test_ctrl_c_while_the_commands_are_imported_is_one_line(run, monkeypatch):
    class Interrupt(importlib.abc.MetaPathFinder):
        def find_spec(self, name, path, target=None):
            if name == "roll_vec.cli.bench":
                raise KeyboardInterrupt

    monkeypatch.setattr(sys, "meta_path", [Interrupt(), *sys.meta_path])
    monkeypatch.delitem(sys.modules, "roll_vec.cli.bench", raising=False)
    monkeypatch.delattr("roll_vec.cli.bench", raising=False)
    outcome = run("envs")
    assert (outcome.code, outcome.err) == (130, "roll-vec: interrupted\n")


def test_help_says_what_every_option_is(run):
    text = " ".join(run("webshop", "index", "--help").out.split())
    for option in (
        "--attributes FILE file of attributes and instructions",
        "--human-instructions FILE file of instructions by people",
        "--title-nouns FILE file of nouns of titles",
    ):
        assert option in text


def commands(parser):
    """Yield the parsers of a program and of all its commands."""
    yield parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for command in action.choices.values():
                yield from commands(command)


@pytest.mark.parametrize("parser", [*commands(make_parser())], ids=lambda one: one.prog)
def test_help_fits_into_80_columns(parser, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    assert max(map(len, parser.format_help().splitlines())) <= 80


@pytest.mark.parametrize("name", ["make", "show", "stats", "export"])
def test_help_of_a_command_for_levels_has_its_own_examples(run, name):
    _, _, examples = run("levels", name, "--help").out.partition("\nexamples:\n")
    commands = re.findall(r"roll-vec levels (\w+)", examples)
    assert len(commands) > 1
    assert {*commands} == {name}


def test_help_says_how_to_play_levels_and_what_the_oracle_writes(run):
    assert "-o levels=FILE" in run("play", "--help").out
    text = run("rollout", "--help").out
    assert "oracle_action of your own class" in text
    assert "tags of action_pattern" in text


def test_help_of_rollout_shows_the_defaults(run):
    text = " ".join(run("rollout", "--help").out.split())
    for default in ("4096", "1000", "random", "next_step", "rollout.png", "16"):
        assert f"(default: {default})" in text


def test_version_is_that_of_the_package(run):
    outcome = run("--version")
    assert outcome.code == 0
    assert outcome.out.startswith(f"roll-vec {roll_vec.__version__} ")


@pytest.mark.parametrize("arguments", [(), ("webshop",), ("levels",)])
def test_no_command_shows_the_help(run, arguments):
    outcome = run(*arguments)
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out == run(*arguments, "--help").out


@pytest.mark.parametrize(
    ("arguments", "messages"),
    [
        (
            ("fly",),
            [
                "'fly'",
                "expected one of rollout, replay, eval, watch, export, play, envs",
            ],
        ),
        (("rolout", SOKOBAN), ["'rolout'", "did you mean rollout?"]),
        (("webshop", "indx"), ["did you mean index?", "roll-vec webshop --help"]),
        (("rollout", SOKOBAN, "--step-s=3"), ["--step-s=3; did you mean --steps, or"]),
        (
            ("rollout", SOKOBAN, "--boxes", 4),
            ["--boxes 4", "did you mean the environment's keyword -o boxes=4?"],
        ),
        (("envs", "--all"), ["unrecognized arguments: --all (see"]),
        (
            ("rollout", "roll_vec/Sokobn-v0"),
            ["Sokobn-v0; did you mean roll_vec/Sokoba"],
        ),
        (("play", "Sokoban"), ["no environment Sokoban; did you mean roll_vec/Sokob"]),
        (("envs", "FrozenLak-v1"), ["did you mean roll_vec/FrozenLake-v1?"]),
        (("rollout", "roll_vec/Nothing"), ["no environment roll_vec/Nothing (see"]),
        (("rollout", "CartPole-v9"), ["did you mean CartPole-v1?"]),
        (
            ("rollout", SOKOBAN, "--num-envs=2", "--policy=constant:Up"),
            ["got 'Up'; names of actions are taken with -o action_mode=text"],
        ),
    ],
)
def test_misspelt_words_are_answered_with_the_likely_ones(fails, arguments, messages):
    line = fails(*arguments)
    for message in messages:
        assert message in line


LAKE = "roll_vec/RandomFrozenLake-v0"


@pytest.mark.parametrize(
    ("command", "argument", "reason"),
    [
        ("eval --compare a b", "--out c.jsonl", "with --compare"),
        ("eval --compare a b", "--num 3", "with --compare"),
        ("eval --compare a b", "--policy random", "with --compare"),
        ("eval --compare a b", LAKE, "with --compare"),
        ("eval", "--common", "without --compare A B"),
        (f"eval {LAKE} --list", "--split test", "with --list"),
        (f"eval {LAKE}", "--policy oracle", "without --split NAME"),
        (f"eval {LAKE}", "--check", "without --split NAME"),
        (f"eval {LAKE} --split test --check", "--out c.jsonl", "with --check"),
        (f"eval {LAKE} --split test", "--retry-faults", "without --out FILE.jsonl"),
        (f"eval {LAKE} --split test", "--temperature 1", "without --policy http"),
        (f"eval {LAKE} --split test", "--history 3", "without --policy http"),
        (
            f"eval {LAKE} --split test --policy http://h --model m",
            "--seed 3",
            "with --policy http",
        ),
        (f"export {LAKE} --out x.jsonl", "--model m", "without --policy http"),
        ("export x.jsonl --verify", "--num 3", "without --out PATH"),
        ("export x.npz --out x.jsonl", "--policy oracle", "with a recorded run"),
        ("export x.npz --out x.jsonl", "--max-episodes 3", "with a recorded run"),
        ("export x.npz --out x.jsonl", "--num-envs 3", "with a recorded run"),
        (f"rollout {LAKE} --no-image", "--boards 3", "with --no-image"),
        (f"rollout {LAKE}", "--save-values 3", "without --save FILE.npz"),
        (f"rollout {LAKE}", "--address auto", "without --shards N"),
        (f"watch {LAKE} --out x.html", "--envs 0-3", "with an ID"),
        ("watch x.npz --out x.html", "--seed 3", "with a saved run"),
        (f"levels show {LAKE} --text", "--out x.png", "with --text"),
        (f"levels stats {LAKE}", "--max-states 3", "with lakes"),
        (
            f"levels stats {LAKE} --random-episodes 0",
            "--seed 3",
            "with --random-episodes 0",
        ),
        ("webshop index --check", "--force", "without --out DIR"),
        ("webshop index . --check", "--catalog-seed 3", "with a stored catalogue"),
    ],
)
def test_arguments_that_would_be_ignored_are_refused(fails, command, argument, reason):
    line = fails(*command.split(), *argument.split())
    name = argument.split()[0] if argument.startswith("-") else "ID"
    assert f"argument {name}: not allowed {reason}" in line


def test_id_without_a_version_is_the_newest(run, user_module, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    assert run("envs", "roll_vec/Sokoban").out == run("envs", SOKOBAN).out
    echo = importlib.import_module(user_module).Echo
    roll_vec.register("mine/Echo-v12", echo)
    roll_vec.register("mine/Echo-v3", echo)
    outcome = run("rollout", f"{user_module}:mine/Echo", "--num-envs", 2, "--steps", 2)
    assert "mine/Echo-v12 × 2" in outcome.out


def test_program_is_run_by_the_name_of_the_package():
    process = subprocess.run(
        [sys.executable, "-m", "roll_vec", "--version"], capture_output=True, check=True
    )
    assert process.stdout.startswith(b"roll-vec ")


def test_envs_lists_every_id_with_its_limit(run):
    outcome = run("envs")
    assert outcome.code == 0
    lines = {line.split()[0]: line for line in outcome.out.splitlines() if line}
    for environment in ENVIRONMENTS.values():
        assert f" {environment.max_episode_steps or '-'}  " in lines[environment.id]
        assert environment.summary in lines[environment.id]
    assert "roll-vec info ID" in outcome.out


@pytest.mark.parametrize("command", ["envs", "eval"])
def test_a_list_fits_into_a_terminal(run, command, monkeypatch):
    words = run(command).out.split()
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "80")
    outcome = run(command)
    assert max(map(len, outcome.out.splitlines())) <= 80
    assert sorted(outcome.out.split()) == sorted(words)


def test_envs_explains_one_id_or_lists_those_of_a_module(run, user_module, fails):
    assert run("envs", "roll_vec/Countdown-v0") == run("info", "roll_vec/Countdown-v0")
    assert run("envs", f"{user_module}:mine/Hall-v0").out.startswith("mine/Hall-v0\n")
    everything = run("envs", f"{user_module}:").out
    for text in ("roll_vec/Sokoban-v0 ", "mine/Echo-v0 "):
        assert text in everything
    assert "cannot import no_such_module" in fails("envs", "no_such_module:")


def test_command_line_is_imported_with_the_core_alone():
    code = (
        "import sys\n"
        "for name in ('rich', 'PIL', 'pygame', 'moviepy'): sys.modules[name] = None\n"
        "from roll_vec.cli import main\n"
        "code = main(['rollout', 'CartPole-v1', '--steps', '2'])\n"
        "assert 'numba' not in sys.modules\n"
        "sys.exit(code)"
    )
    process = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )
    assert process.returncode == 2
    assert process.stderr.endswith(
        'needs rich: in your checkout of roll_vec, pip install ".[cli]" '
        "(see docs/errors.md#missingextraerror)\n"
    )
    assert process.stderr.count("\n") == 1


@pytest.mark.parametrize(
    "arguments", [("rollout", "--num-envs=2", "--steps=2", "--no-image"), ("play",)]
)
def test_output_that_lacks_characters_is_no_error(arguments):
    command, *flags = arguments
    process = subprocess.run(
        [sys.executable, "-m", "roll_vec.cli", command, LINE, *flags],
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
        input="d\n",
        capture_output=True,
        encoding="ascii",
        check=True,
    )
    assert f"{LINE} ?" in process.stdout
    assert "Traceback" not in process.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGPIPE")
def test_reader_that_leaves_early_is_no_error():
    command = [sys.executable, "-m", "roll_vec.cli", "rollout", "--help"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 0


@pytest.mark.skipif(not FULL.exists(), reason="there is no full device")
@pytest.mark.parametrize(
    "arguments",
    [("envs",), ("--help",), ("rollout", LINE, "--num-envs=2", "--steps=2")],
)
def test_output_that_cannot_be_written_is_one_line(arguments, tmp_path):
    with FULL.open("w") as full:
        process = subprocess.run(
            [sys.executable, "-m", "roll_vec.cli", *arguments],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(Path.cwd())},
            check=False,
        )
    assert process.returncode == 1
    lines = [line for line in process.stderr.splitlines() if "compil" not in line]
    assert lines == [
        "roll-vec: error: cannot write the output: No space left on device"
    ]


def test_warnings_are_lines_of_the_program():
    command = [sys.executable, "-m", "roll_vec", "rollout", SOKOBAN, "--num-envs=2"]
    process = subprocess.run(
        [*command, "--steps=2", "--policy=constant:0", "--quiet", "--no-image"],
        stderr=subprocess.PIPE,
        text=True,
        check=True,
    )
    lines = [line for line in process.stderr.splitlines() if "compil" not in line]
    assert len(lines) == 1
    assert lines[0].startswith("roll-vec: warning: the action 0 is")


def test_warnings_of_kernels_are_of_the_program_and_others_are_not():
    form = warnings.formatwarning
    with _warnings_for_users():
        lines = [
            warnings.formatwarning(text, RuntimeWarning, "x.py", 3, "")
            for text in ("roll_vec: the disk is full", "mean of an empty slice")
        ]
    assert lines == [
        "roll-vec: warning: the disk is full\n",
        "x.py:3: RuntimeWarning: mean of an empty slice\n",
    ]
    assert warnings.formatwarning is form


def test_error_of_the_system_elsewhere_keeps_its_traceback(run, tmp_path, monkeypatch):
    def refuse(*arguments):
        raise OSError(28, "No space left for something else")

    monkeypatch.setattr("roll_vec.cli.envs.import_module", refuse)
    with pytest.raises(OSError, match="something else"):
        run("envs", "module:")
