"""`roll-vec doctor`, `completion` and `webshop index`."""

import argparse
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import roll_vec
from roll_vec.cli import doctor, make_parser
from roll_vec.registration import ENVIRONMENTS
from tests.cli.conftest import write_shop
from tests.envs.webshop.shops import ITEMS

SECTIONS = ["versions", "machine", "kernels", "extras", "terminal"]


def test_doctor_has_all_sections_as_text_and_json(run, works):
    outcome = works("doctor")
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


def test_doctor_fails_if_something_is_broken(run, monkeypatch):
    (finding, *_), *_ = doctor.diagnose().values()
    for status, code, counts in (
        ("warning", 0, "no problems, 1 warning"),
        ("broken", 1, "1 problem, no warnings"),
    ):
        finding = type(finding)("numba", "0.1", status, "pip install -U numba")
        sections = {"versions": [finding]}
        monkeypatch.setattr(doctor, "diagnose", lambda it=sections: it)
        outcome = run("doctor")
        assert outcome.code == code
        assert f"{status}: pip install -U numba" in outcome.out
        assert outcome.out.endswith(f"\n{counts}\n")


# `test_transcripts` has what `webshop index` stores and refuses.

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
    "rollout roll_vec/So": "roll_vec/Sokoban-v0",
    "rollout roll_vec/Sokoban-v0 --num-e": "--num-envs",
    "rollout roll_vec/Sokoban-v0 --policy o": "oracle",
    "eval run roll_vec/Ra": "roll_vec/RandomFrozenLake-v0",
    "replay ru": "run.npz",
    "watch roll_vec/So": "roll_vec/Sokoban-v0",
    "watch ru": "run.npz",
    "export tr": "train.jsonl",
    "rollout --out pi": "picture.bmp",
    "levels make --out b": "boxes.sok",
    "export roll_vec/So": "roll_vec/Sokoban-v0",
    "completion b": "bash",
}
FILES = ("run.npz", "rooms.txt", "boxes.sok", "train.jsonl", "picture.bmp")


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
def test_bash_completes_commands_ids_options_and_files(works):
    pytest.importorskip("shtab")
    for file in FILES:
        Path(file).touch()
    Path("program").write_text(works("completion", "bash").out)
    code = BASH + "".join(f"try {line}\n" for line in WORDS)
    command = ["bash", "--norc", "-c", code]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    assert result.stderr == ""
    first, *answers = result.stdout.splitlines()
    assert first.endswith("_shtab_roll_vec roll-vec")
    assert dict(zip(WORDS, answers, strict=True)) == WORDS


def test_zsh_gets_every_id_and_every_argument_with_a_file_is_completed(capsys):
    pytest.importorskip("shtab")
    parser = make_parser()
    arguments = parser.parse_args(["completion", "zsh"])
    arguments.run(arguments)
    text = capsys.readouterr().out
    assert text.startswith("#compdef roll-vec")
    assert all(env_id in text for env_id in ENVIRONMENTS)

    parsers = [parser]
    for parser in parsers:
        for action in parser._actions:
            if isinstance(action, argparse._SubParsersAction):
                parsers += action.choices.values()
            elif not hasattr(action, "complete"):
                assert action.type is not Path, (parser.prog, action.dest)
                assert not re.search(r"\b(ID|FILES?|DIR|SOURCE)\b", str(action.metavar))


@pytest.fixture
def files(tmp_path):
    """Write WebShop's files under WebShop's names; return their paths."""
    return write_shop(tmp_path)


def test_damage_is_one_line(run, fails, files, tmp_path):
    run("webshop", "index", *files, "--out", "shop")
    path = tmp_path / "shop"
    path.write_bytes(path.read_bytes().replace(b"Oak", b"Elm"))
    message = fails("rollout", "roll_vec/WebShop-v0", "-o", "products=shop")
    assert "shop cannot be read: it is not whole, or was changed" in message
    items = [ITEMS[0], {**ITEMS[1], "pricing": "free"}]
    (tmp_path / "items.json").write_text(json.dumps(items))
    message = fails("webshop", "index", "items.json", "--out", "new")
    assert "items.json, item 1 (B000000002), pricing: expected a price" in message
