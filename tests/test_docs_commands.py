"""The commands in README and docs: one has an unknown argument, or fails."""

import re
import shlex

import pytest

from roll_vec.cli import main, make_parser
from roll_vec.errors import RollVecError
from tests.frameworks.programs import blocks_of
from tests.test_readme import ROOT
from website import commands

PAGES = [*ROOT.glob("*.md"), *sorted((ROOT / "docs").rglob("*.md"))]
# Those that take well below a second.
QUICK = [
    "roll-vec envs roll_vec/Countdown-v0",
    "roll-vec info roll_vec/RandomFrozenLake-v0 -o size=8 --json",
    "roll-vec doctor --json",
    "roll-vec eval roll_vec/Countdown-v0",
    "roll-vec export roll_vec/Countdown-v0 --policy random --num 100 --format atif "
    "--out countdown",
    "roll-vec watch roll_vec/Countdown-v0 --num 16 -o group_size=4 --out page.html",
]


def console_lines(page):
    """Yield the commands in a page's console blocks, continued lines joined.

    Without files that the shell writes.
    """
    for block in blocks_of(page, "console"):
        for line in re.findall(r"^\$ (.*)$", re.sub(r"\\\n\s*", "", block), re.M):
            # Of a pipe or a list each command.
            for command in re.split(r" (?:\||&&) ", line):
                yield command.partition(" > ")[0].partition("  # ")[0]


LINES = {
    line: page.relative_to(ROOT)
    for page in PAGES
    for line in console_lines(page)
    if line.startswith("roll-vec")
}


def test_every_command_can_be_parsed():
    parser, errors = make_parser(), []
    for line, page in LINES.items():
        try:
            parser.parse_args(shlex.split(line)[1:])
        except RollVecError as error:
            errors.append(f"{page}: {line}: {error}")
    assert LINES
    assert not errors


def test_commands_stand_in_console_blocks():
    """Else nobody would notice that one has become wrong."""
    for page in PAGES:
        fence = ""
        for line in page.read_text("utf-8").splitlines():
            if line.startswith("```"):
                fence = "" if fence else line
            elif fence not in {"", "```console"}:
                assert not re.match(r" *(\$ )?roll-vec ", line), (page, line)


@pytest.mark.parametrize("line", QUICK)
def test_quick_commands_run(line, tmp_path, monkeypatch, capsys):
    assert line in LINES
    monkeypatch.chdir(tmp_path)
    assert main(shlex.split(line)[1:]) == 0
    assert capsys.readouterr().out


def test_page_of_commands_is_what_the_parsers_give():
    """`python -m website.commands` writes it."""
    assert commands.PAGE.read_text("utf-8") == commands.page()
