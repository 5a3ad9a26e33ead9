"""``roll-vec completion``: shells run its programs, and complete words by them."""

import argparse
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from roll_vec.cli import make_parser
from roll_vec.cli.completion import SHELLS, _add_completers
from roll_vec.registration import ENVIRONMENTS

pytest.importorskip("shtab")

# Bash passes the words before the cursor, and reads the array COMPREPLY.
_BASH = """\
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


def shell(name):
    path = shutil.which(name)
    if path is None:
        pytest.skip(f"the shell {name} is not here")
    return path


@pytest.fixture
def folder(run):
    """The working directory, with files to complete."""
    for name in (
        *("run.npz", "rooms.txt", "boxes.sok", "train.jsonl"),
        *("picture.bmp", "picture.webp"),
    ):
        Path(name).touch()

    def write(name):
        outcome = run("completion", name)
        assert (outcome.code, outcome.err) == (0, "")
        Path("program").write_text(outcome.out)

    return write


def test_bash_completes_commands_ids_options_and_files(folder):
    folder("bash")
    tries = "".join(f"try {line}\n" for line in WORDS)
    program = [shell("bash"), "--norc", "-c", _BASH + tries]
    result = subprocess.run(program, capture_output=True, text=True, check=True)
    first, *answers = result.stdout.splitlines()
    assert first.endswith("_shtab_roll_vec roll-vec")
    assert dict(zip(WORDS, answers, strict=True)) == WORDS
    assert result.stderr == ""


def test_fish_completes_commands_ids_and_files(folder):
    folder("fish")
    tries = "".join(f"complete -C 'roll-vec {line}'\n" for line in WORDS)
    program = [shell("fish"), "--no-config", "-c", f"source ./program\n{tries}"]
    result = subprocess.run(program, capture_output=True, text=True, check=True)
    answers = [line.partition("\t")[0] for line in result.stdout.splitlines()]
    assert answers == [*WORDS.values()]


def test_zsh_reads_the_program(folder):
    folder("zsh")
    subprocess.run([shell("zsh"), "-f", "-n", "program"], check=True)
    text = Path("program").read_text()
    assert text.startswith("#compdef roll-vec")
    assert all(env_id in text for env_id in ENVIRONMENTS)
    # In parentheses zsh takes a single pattern for a glob qualifier.
    assert "_files -g '*.npz'" in text
    assert "'(*.npz)'" not in text


def test_every_argument_with_a_file_or_an_id_is_completed():
    parser = make_parser()
    _add_completers(parser)

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


def test_an_unknown_shell_is_refused(fails):
    error = fails("completion", "tcsh")
    assert "'tcsh'" in error
    assert all(name in error for name in SHELLS)
