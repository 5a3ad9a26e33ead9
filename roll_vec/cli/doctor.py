"""``roll-vec doctor``: the state of this installation, and what to do about it."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterator
from typing import Any

from roll_vec.cli._errors import FAILURE
from roll_vec.cli._options import add_command
from roll_vec.cli._tables import format_rows, is_screen, wants_colour
from roll_vec.diagnosis import BROKEN, OK, Finding, diagnose

_SUMMARY = "show versions, cores, the cache folder and extras"

_DESCRIPTION = """\
Show the state of this installation: versions, machine, kernels, extras.
Warnings say what to do.
"""

_EPILOG = """\
The exit code is 0 unless something is broken, so that no environment can run.

examples:
  roll-vec doctor
  roll-vec doctor --json > doctor.json     to add to a report of a bug
"""


def add_parser(commands: Any) -> None:
    """Add the command to the subparsers of the program."""
    parser = add_command(commands, "doctor", _run, _SUMMARY, _DESCRIPTION, _EPILOG)
    parser.take("--json")


def _run(arguments: argparse.Namespace) -> int:
    sections = {**diagnose(), "terminal": [*_describe_terminal()]}
    findings = [one for lines in sections.values() for one in lines]
    broken = [one for one in findings if one.status == BROKEN]
    if arguments.json:
        sys.stdout.write(_as_json(sections))
    else:
        rows = []
        for section, lines in sections.items():
            rows += [(section, ""), *(row for one in lines for row in _as_rows(one))]
        sys.stdout.write(format_rows(rows, "<", sys.stdout))
        warnings = len(findings) - len(broken) - sum(x.status == OK for x in findings)
        sys.stdout.write(f"\n{_count(len(broken), 'problem')}, ")
        sys.stdout.write(f"{_count(warnings, 'warning')}\n")
    return FAILURE if broken else 0


def _describe_terminal() -> Iterator[Finding]:
    yield Finding("stdout", "a screen" if is_screen(sys.stdout) else "no screen")
    reason = "NO_COLOR is set" if os.environ.get("NO_COLOR") else ""
    colours = "yes" if wants_colour(sys.stdout) else "no"
    yield Finding("colours", f"{colours}, {reason}" if reason else colours)
    yield Finding("encoding", getattr(sys.stdout, "encoding", None))


def _as_rows(finding: Finding) -> Iterator[tuple[str, str]]:
    value = "none" if finding.value is None else str(finding.value)
    yield f"  {finding.name}", value
    if finding.advice:
        yield "", f"{finding.status}: {finding.advice}"


def _as_json(sections: dict[str, list[Finding]]) -> str:
    content = {
        section: {
            one.name: {"value": one.value, "status": one.status, "advice": one.advice}
            for one in lines
        }
        for section, lines in sections.items()
    }
    return f"{json.dumps(content, indent=2)}\n"


def _count(number: int, noun: str) -> str:
    return f"{number or 'no'} {noun}{'s' * (number != 1)}"
