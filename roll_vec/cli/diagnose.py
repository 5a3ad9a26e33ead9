"""``roll-vec diagnose``: why the reward of recorded episodes is flat or low."""

from __future__ import annotations

import argparse
import sys
import textwrap
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from roll_vec.cli._errors import (
    argument_error,
    check_target,
    file_errors,
    new_file,
)
from roll_vec.cli._options import add_command
from roll_vec.cli._tables import print_table, progress, text_width
from roll_vec.cli._verify import add_reading, find_id
from roll_vec.evaluation.diagnosis import Diagnosis, diagnose
from roll_vec.evaluation.diagnosis.examples import Example
from roll_vec.evaluation.diagnosis.findings import Finding, percent
from roll_vec.evaluation.diagnosis.page import make_page
from roll_vec.evaluation.result_files import read_result_episodes, results_id
from roll_vec.recordings.readers import read_episodes
from roll_vec.recordings.recorded_episodes import RecordedEpisode

_SUMMARY = "say why the reward of recorded episodes is flat or low"

_DESCRIPTION = """\
Play the episodes of files again, without the model, beside the best play of the
solver, and say what has cost return, the weightiest first: answers that are no
action, cut answers, dead ends, loops, tasks too hard or too easy, groups that
teach nothing, a reward that is not the world's, and others. Each finding has
its count, its share of the lost return, two examples and what to change.

The exit code is 0 whatever stands out, and 2 for files and arguments that
cannot be used.
"""

_EPILOG = """\
A file is one of roll-vec eval run --out, or a dump of a trainer; its format is
recognized by its first lines (docs/diagnosis.md has the list of findings).

examples:
  roll-vec diagnose results.jsonl
  roll-vec diagnose step_100.jsonl step_200.jsonl --html diagnosis.html
  roll-vec diagnose dump.jsonl --format verl_agent --id roll_vec/Sokoban-v0 \\
      -o num_boxes=1
"""
# Of an observation and an answer in the terminal.
_MAX_LINES, _MAX_BOARD, _MAX_CHARS = 12, 800, 300


def add_parser(commands: Any) -> None:
    """Add the command to the subparsers of the program."""
    parser = add_command(commands, "diagnose", _run, _SUMMARY, _DESCRIPTION, _EPILOG)
    parser.option("FILE", "recorded episodes", dest="files", type=Path, nargs="+")
    parser.option("--html", "write the findings as a page, with boards", "FILE", Path)
    add_reading(parser)
    parser.add_shared("--quiet")


def _run(arguments: argparse.Namespace) -> int:
    check_target("--html", arguments.html)
    with progress(arguments.quiet):
        diagnosis = diagnose(*_read(arguments))
        if arguments.html is not None:
            page = make_page(diagnosis).encode("utf-8", "replace")
            with new_file("--html", arguments.html) as file:
                file.write(page)
    if not arguments.quiet:
        _print(diagnosis)
        if arguments.html is not None:
            sys.stdout.write(f"page: {arguments.html}\n")
    return 0


def _read(arguments: argparse.Namespace) -> tuple[list[RecordedEpisode], list[int]]:
    """Return the episodes of all files, whose places have the file, and its number.

    Raises
    ------
    UsageError
        If a file cannot be read, or no episode has answers.
    """
    id = find_id(arguments)
    episodes, files = [], []
    for number, path in enumerate(arguments.files):
        with file_errors("FILE", path, "read"):
            has_results = results_id(path) is not None
        if has_results and arguments.format is None:
            some = read_result_episodes(path, arguments.options)
        else:
            some = read_episodes(path, arguments.format, id, arguments.options)
        for episode in some:
            place = f"{path.name}, {episode.place}"
            episodes.append(replace(episode, place=place))
            files.append(number)
    if not any(len(episode.answers) for episode in episodes):
        text = "expected episodes with answers, got none; result files of version 1 "
        raise argument_error("FILE", f"{text}have no answers")
    return episodes, files


def _print(diagnosis: Diagnosis) -> None:
    """Write the table of what stands out, and the details of each finding."""
    lines = [*diagnosis.summary(), "", diagnosis.verdict()]
    sys.stdout.write("".join(f"{line}\n" for line in lines))
    if not diagnosis.outstanding:
        return
    rows = [("", "finding", "of the lost return", "count")]
    for number, finding in enumerate(diagnosis.outstanding, 1):
        title = finding.kind.title
        if finding.follows is not None:
            title = f"  {title}"
        share = percent(finding.share)
        rows.append((str(number), title, share, finding.count()))
    sys.stdout.write("\n")
    print_table(rows, "><>")
    for number, finding in enumerate(diagnosis.outstanding, 1):
        sys.stdout.write(f"\n{number} {finding.kind.title}\n")
        _print_finding(finding, diagnosis.examples)


def _print_finding(finding: Finding, examples: Mapping[int, Example]) -> None:
    """Write what was counted, what to change, and the examples."""
    lines = [*finding.hits.details]
    if finding.follows is not None:
        lines.append(f"it follows from: {finding.follows.title}")
    lines.append(f"to change: {finding.kind.advice}".replace("`", ""))
    for line in lines:
        _write(line, "  ")
    for turn in finding.examples:
        example = examples[turn]
        facts = ", ".join(example.facts)
        _write(f"{example.place}, turn {example.turn}: {facts}", "  - ", "    ")
        board = example.board[:_MAX_BOARD].split("\n")
        for line in [*board[:_MAX_LINES], *["..."] * (len(board) > _MAX_LINES)]:
            _write(line, "      ")
        answer = " ".join(example.answer.split())
        _write(f"answer: {answer[:_MAX_CHARS]!r}", "    ")
        if example.fault is not None:
            reason, start, _ = example.fault
            _write(f"{reason}, at character {start}", "    ")


def _write(text: str, indent: str, later: str | None = None) -> None:
    """Write a text, folded to the width of the screen."""
    later = " " * len(indent) if later is None else later
    lines = textwrap.wrap(
        text, text_width(), initial_indent=indent, subsequent_indent=later
    )
    sys.stdout.write("".join(f"{line}\n" for line in lines or [""]))
