"""README and docs/: a program or command fails, or a page differs from the code."""

import json
import os
import re
import shlex
import subprocess
import sys

import pytest

from docs.build.__main__ import main as build_docs
from docs.build.pages import PAGES, fill
from roll_vec import errors
from roll_vec.cli import main, make_parser
from roll_vec.errors import RollVecError
from roll_vec.registration import ENVIRONMENTS
from tests.conftest import ROOT
from tests.frameworks.programs import blocks_of

DOCS = ROOT / "docs"
TEXTS = {page: page.read_text("utf-8") for page in [*ROOT.glob("*.md"), *PAGES]}

# `make test-adapters` runs the programs of docs/frameworks.
# Blocks that begin with "# with" need another package: `make test-exports` runs those
# of data.md, `make test-ray` one of joined.md, `make test-learning` one of batches.md.
WITH_PROGRAMS = [page for page in TEXTS if page.parent in (ROOT, DOCS, DOCS / "games")]
# A folder for each page; a program that writes files runs over them once more.
RUN_PAGES = """
import json, os, sys
start = os.getcwd()
for page, blocks in json.load(sys.stdin).items():
    os.makedirs(page)
    os.chdir(page)
    for number, block in enumerate(blocks):
        head = block.partition("\\n")[0]
        if head.endswith(".py"):  # "# NAME.py": a module that later blocks import
            with open(head[2:], "w") as file:
                file.write(block)
            continue
        program = compile(block, f"<python block {number} of {page}>", "exec")
        before = sorted(os.listdir())
        exec(program, {})
        if sorted(os.listdir()) != before:
            exec(program, {})
    os.chdir(start)
"""


def test_python_blocks_run(tmp_path):
    """In one process, which imports everything once."""
    programs = {
        str(page.relative_to(ROOT)): [
            block for block in blocks_of(page) if not block.startswith("# with ")
        ]
        for page in WITH_PROGRAMS
    }
    subprocess.run(
        [sys.executable, "-c", RUN_PAGES],
        input=json.dumps(programs),
        text=True,
        check=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.DEVNULL,
    )


# Their programs are what users begin with.
TYPED = ("getting_started", "own_environments", "pool", "stepping", "text_environments")
# Each line that is ignored must be an error: --strict has --warn-unused-ignores.
PROGRAM = """\
from typing import ClassVar

import roll_vec
from roll_vec.adapters import roll
from roll_vec.registration import factories
from typing_extensions import assert_type

roll_vec.Nonsense  # type: ignore[attr-defined]
factories.nonsense  # type: ignore[attr-defined]
roll.SokobanEnv(num_boxes=1).ACTION_SPACE
roll.SokobanEnv({"num_boxes": 1}).ACTION_LOOKUP
assert_type(roll_vec.seeding.episode_seed(1, 2), int)
assert_type(roll_vec.testing.check_vector_env("a/B-v0"), None)
assert_type(roll_vec.make_vec("roll_vec/Countdown-v0"), roll_vec.PoolVectorEnv)
envs = roll_vec.make_vec("roll_vec/Sokoban-v0", num_envs=2)
assert_type(envs, roll_vec.RollVectorEnv)
assert_type(envs.unroll([[1, 2]]), roll_vec.Rollout)


class Renamed(roll.SokobanEnv):
    ACTION_LOOKUP: ClassVar = {1: "N", 2: "S", 3: "W", 4: "E"}
"""


@pytest.mark.slow
def test_a_users_program_and_the_blocks_of_pages_pass_mypy(tmp_path):
    pytest.importorskip("mypy")
    programs = {"program.py": PROGRAM}
    for page in (ROOT / "README.md", *(DOCS / f"{name}.md" for name in TYPED)):
        for number, block in enumerate(blocks_of(page)):
            programs[f"{page.stem}_{number}.py"] = block
    for name, text in programs.items():
        (tmp_path / name).write_text(text, "utf-8")
    command = [sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent"]
    # Classes in pages have no annotations, and are checked nevertheless.
    command += ["--allow-untyped-defs", "--allow-untyped-calls", *programs]
    environment = {**os.environ, "MYPYPATH": str(ROOT)}
    result = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, check=False
    )
    assert result.returncode == 0, result.stdout + result.stderr


# Those that take well below a second.
QUICK = [
    "roll-vec envs",
    "roll-vec info roll_vec/RandomFrozenLake-v0 -o size=8 --json",
    "roll-vec doctor",
    "roll-vec eval list roll_vec/Countdown-v0",
    "roll-vec watch roll_vec/Countdown-v0 --num-envs 16 -o group_size=4 --out "
    "page.html",
]


def console_lines(text):
    """Yield the commands in a page's console blocks, continued lines joined.

    Without files that the shell writes.
    """
    for block in re.findall(r"^```console\n(.*?)^```$", text, re.M | re.S):
        for line in re.findall(r"^\$ (.*)$", re.sub(r"\\\n\s*", "", block), re.M):
            # Of a pipe or a list each command.
            for command in re.split(r" (?:\||&&) ", line):
                yield command.partition(" > ")[0].partition("  # ")[0]


def test_every_command_can_be_parsed_and_quick_ones_run(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    pages = {
        line: page.name
        for page, text in TEXTS.items()
        for line in console_lines(text)
        if line.startswith("roll-vec")
    }
    parser, refused = make_parser(), []
    for line, page in pages.items():
        try:
            parser.parse_args(shlex.split(line)[1:])
        except RollVecError as error:
            refused.append(f"{page}: {line}: {error}")
    assert not refused
    for line in QUICK:
        assert line in pages
        assert main(shlex.split(line)[1:]) == 0, line
        assert capsys.readouterr().out


def test_commands_stand_in_console_blocks():
    """Else nobody would notice that one has become wrong."""
    for page, text in TEXTS.items():
        fence = ""
        for line in text.splitlines():
            if line.startswith("```"):
                fence = "" if fence else line
            elif fence not in {"", "```console"}:
                assert not re.match(r" *(\$ )?roll-vec ", line), (page, line)


def test_generated_parts_are_up_to_date(capsys):
    assert build_docs(["--check"]) == 0, capsys.readouterr().out


def test_a_part_is_replaced_within_its_line_or_between_empty_lines():
    text = fill(
        "x <!-- figures.ratio rooms of 6x6, boxes: 3 / gym-sokoban -->old<!-- end --> y"
    )
    assert re.fullmatch(r"x <!-- .* -->[\d,]+<!-- end --> y", text)
    text = fill("<!-- games.splits -->old<!-- end -->\n")
    assert text.startswith("<!-- games.splits -->\n\n| id | split |")
    assert text.endswith(" |\n\n<!-- end -->\n")
    assert fill(text) == text


# Not those that other tests register.
@pytest.mark.parametrize(
    "id", [id for id in ENVIRONMENTS if id.startswith("roll_vec/")]
)
def test_an_id_stands_in_the_readme_and_in_the_table_of_games(id):
    family, name = ENVIRONMENTS[id].family, id.partition("/")[2]
    listed = f"{family}-…" if family else name
    assert f"`{listed}`" in TEXTS[ROOT / "README.md"]
    assert f"[`roll_vec/{listed}`](" in TEXTS[DOCS / "games" / "README.md"]
    if family:
        page = TEXTS[DOCS / "games" / "minigrid.md"]
        assert f"`{name.removeprefix(f'{family}-')}` " in page


def test_links_lead_somewhere():
    for page, text in TEXTS.items():
        text = re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S)
        for link in re.findall(r"\]\(([^)\s]+)\)", text):
            path, _, anchor = link.partition("#")
            if "://" in link:
                continue
            target = page.parent / path if path else page
            assert target.exists(), (page, link)
            if anchor:
                # As GitHub makes them.
                headings = re.findall(r"^#+ (.*)$", target.read_text("utf-8"), re.M)
                words = [re.sub(r"[^\w -]", "", each.lower()) for each in headings]
                anchors = {each.replace(" ", "-") for each in words}
                assert anchor in anchors, (page, link)


def test_files_that_pages_name_exist():
    for page in PAGES:
        for name in re.findall(r"`((?:tests|benchmarks)/[\w/]+\.\w+)`", TEXTS[page]):
            assert (ROOT / name).exists(), (page, name)


def test_readme_is_short():
    assert TEXTS[ROOT / "README.md"].count("\n") <= 200


def test_the_table_has_each_extra_and_its_packages():
    tomllib = pytest.importorskip("tomllib")  # from Python 3.11 on
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    packages = {
        extra: [
            re.match(r"[\w-]+", line)[0] for line in lines if "roll-vec[" not in line
        ]
        for extra, lines in project["optional-dependencies"].items()
    }
    text = TEXTS[DOCS / "installation.md"]
    section = text.partition("\n## Extras\n")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| `([\w-]+)` \| (.*?) \| .* \|$", section, re.MULTILINE)
    assert {x: re.findall(r"`([\w-]+)`", names) for x, names in rows} == packages


def test_every_error_has_its_section():
    sections = re.findall(r"^## (.*)$", TEXTS[DOCS / "errors.md"], re.MULTILINE)
    classes = {name for name in errors.__all__ if isinstance(vars(errors)[name], type)}
    assert sorted(sections) == sorted(classes - {"RollVecError"})
