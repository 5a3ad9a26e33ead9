"""``roll-vec eval verify``: play the episodes of files again, and compare them."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from time import perf_counter
from typing import Any

import gymnasium

from roll_vec.cli._errors import FAILURE, argument_error, file_errors
from roll_vec.cli._options import Parser, add_command
from roll_vec.cli._tables import count, print_table, progress
from roll_vec.errors import RollVecError, one_line
from roll_vec.evaluation.episodes import EpisodeResults
from roll_vec.evaluation.panels import PANELS
from roll_vec.evaluation.result_files import results_id
from roll_vec.evaluation.verification import (
    Verification,
    verify_episodes,
    verify_results,
)
from roll_vec.evaluation.verification.differences import FileDifference
from roll_vec.recordings.readers import FORMATS, read_episodes
from roll_vec.registration.any_id import find_spec, full_id

_SUMMARY = "play the episodes of files again, and say whether they are the same"

_DESCRIPTION = """\
Play each episode of a file again, from its seed and its answers, without the
model. It prints "same", or the first episode, turn and field that differ. A
file of roll-vec eval run --out is compared to the bit, with the episodes of its
split. Of a file of a trainer all is compared that it says: rewards, returns,
success, ends (docs/evaluation.md, docs/trainers_files.md).

Exit codes: 0 all files are the same; 1 a file differs or is "not verified";
2 an argument cannot be used or a file is missing.
"""

_EPILOG = """\
Turns are counted from 1; turn 0 is the beginning.

examples:
  roll-vec eval run roll_vec/Countdown-v0 --split test --out a.jsonl
  roll-vec eval verify a.jsonl
"""
# Of differences that say nothing about an episode.
_WORDS = {
    "version": "not verifiable",
    "packed": "not verifiable",
    "episodes": "not complete",
}
# Episodes that are named of those that differ.
_MOST_NAMES = 8


def add_parser(commands: Any) -> None:
    """Add the command to those of ``roll-vec eval``."""
    texts = _SUMMARY, _DESCRIPTION, _EPILOG
    parser = add_command(commands, "verify", _run, *texts)
    parser.option(
        "FILE", "results, or a dump of a trainer", dest="files", type=Path, nargs="+"
    )
    add_reading(parser)
    parser.option("--quiet", "no progress bar, no output: the exit code says all")


def add_reading(parser: Parser) -> None:
    """Add the options that say how files of episodes are read."""
    parser.option(
        "--format",
        f"of a dump: {', '.join(FORMATS)} (default: recognized by the first lines)",
        "FORMAT",
        choices=(*FORMATS,),
    )
    parser.option(
        "--id",
        "the environment, for dumps that do not name it; of results: module:ID imports "
        "the module that registers it",
    )
    parser.option(
        "-o",
        "keyword of the environment, for dumps; of WebShop's results: products and the "
        "other files of a shop; may be repeated",
    )


def find_id(arguments: argparse.Namespace) -> str | None:
    """Return the full id of ``--id``, whose module is imported; None: there is none."""
    return None if arguments.id is None else find_spec(full_id(arguments.id)).id


def _run(arguments: argparse.Namespace) -> int:
    """Verify each file, and return the exit code."""
    is_same, id = True, find_id(arguments)
    for path in arguments.files:
        with file_errors("FILE", path, "read"):
            file_id = results_id(path)
        if None not in (id, file_id) and id != file_id:
            text = f"{str(path)!r} has results of {file_id}, got {arguments.id!r}"
            raise argument_error("--id", text)
        start = perf_counter()
        try:
            verification = _verify(path, file_id is not None, arguments)
        except (RollVecError, gymnasium.error.Error) as error:
            is_same = False
            if not arguments.quiet:
                print_table(
                    [("reason", one_line(error))], title=f"not verified: {path}"
                )
            continue
        is_same &= verification.is_same
        if not arguments.quiet:
            _report(path, verification, perf_counter() - start)
    return 0 if is_same else FAILURE


def _verify(
    path: Path, has_results: bool, arguments: argparse.Namespace
) -> Verification:
    with progress(arguments.quiet):
        if has_results and arguments.format is None:
            return verify_results(path, shop=arguments.options)
        episodes = read_episodes(
            path, arguments.format, find_id(arguments), arguments.options
        )
        return verify_episodes(episodes)


def _report(path: Path, verification: Verification, seconds: float) -> None:
    """Write what came out."""
    differences, results = verification.differences, verification.results
    word, rows = "same", []
    if differences:
        word = _WORDS.get(differences[0].field, "different")
        rows = _difference_rows(differences[0])
        rows.append(("in all", _describe_all(verification)))
    if verification.num_episodes:
        played = count(verification.num_episodes, "episode")
        if results is not None:
            played = f"{verification.num_episodes:,} of {verification.total:,} episodes"
        turns = count(verification.num_turns, "turn")
        rows.append(("played again", f"{played}, {turns} ({seconds:.2f} s)"))
        rows += _panel_rows(verification)
        rows.append(("compared", _describe_fields(verification)))
    if results is not None and len(results[1].returns):
        rows.append(("score", _describe_score(results[1])))
        if differences:
            missing = [each.place for each in differences if each.recorded == "missing"]
            here = (
                f"not comparable, {missing[0]} is missing" if missing else rows[-1][1]
            )
            rows[-1:] = [
                ("score in the file", _describe_score(results[0])),
                ("score here", here),
            ]
    rows += [("note", note) for note in verification.notes]
    print_table(rows, title=f"{word}: {path}: {verification.title}")


def _panel_rows(verification: Verification) -> list[tuple[str, str]]:
    """Return the panel whose part a split is, if it is one."""
    return [
        ("panel", f"{panel.name}, its part {part} of {', '.join(panel.splits)}")
        for panel in PANELS.values()
        for part, split in panel.splits.items()
        if f"{split.id} {split.name}" == verification.title
    ]


def _describe_score(results: EpisodeResults) -> str:
    rate, mean = results.successes.mean(), results.returns.mean()
    size = count(len(results.returns), "episode")
    # They end episodes early, which may raise the return.
    num_faults = int(results.faults.sum())
    faults = f", {count(num_faults, 'fault')}" if num_faults else ""
    return f"success rate {100 * rate:.2f} %, mean return {mean:.4f}, {size}{faults}"


def _difference_rows(difference: FileDifference) -> list[tuple[str, str]]:
    rows = [("place", difference.place or "the whole file")]
    if difference.turns is not None:
        first, last = difference.turns
        words = str(first) if first == last else f"{first} to {last}"
        rows.append(("turn", "0, its beginning" if last == 0 else words))
    rows.append(("field", difference.field))
    rows.append(("in the file", difference.recorded))
    rows.append(("here", difference.replayed))
    rows.append(("that is", difference.meaning))
    return rows


def _describe_all(verification: Verification) -> str:
    places = [each.place for each in verification.differences if each.place]
    if not places:
        return "no episode was compared"
    names = ", ".join(places[:_MOST_NAMES])
    more = ", ..." if len(places) > _MOST_NAMES else ""
    fields = Counter(each.field for each in verification.differences if each.place)
    by_field = ", ".join(f"{name} {number:,}" for name, number in fields.items())
    size = count(len(places), "episode")
    return f"{size} with a difference ({by_field}): {names}{more}"


def _describe_fields(verification: Verification) -> str:
    """Return the fields that were compared, with their episodes where not of all."""
    total = verification.num_episodes
    compared: Mapping[str, int] = verification.compared
    names = [
        name if number == total else f"{name} (of {count(number, 'episode')})"
        for name, number in compared.items()
        if number
    ]
    missing = [name for name, number in compared.items() if not number]
    return ", ".join(names) + (
        f"; not in the file: {', '.join(missing)}" * bool(missing)
    )
