"""Scores that anyone can check: episodes of files, played again without their policy.

`verify_results` compares a file of results with the world to the bit, `verify_episodes`
what a dump of a trainer says.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from roll_vec.errors import InvalidFileError, InvalidOptionError, RollVecError, one_line
from roll_vec.evaluation.differences import (
    FileDifference,
    compare_episode,
    compare_record,
    has_other_bits,
)
from roll_vec.evaluation.episodes import EpisodeRecord, EpisodeResults
from roll_vec.evaluation.recorded_results import find_split_of, to_recorded_episodes
from roll_vec.evaluation.replays import OTHER_BOARDS, Progress, Replay, play_again
from roll_vec.evaluation.result_files import ResultFile, read_results
from roll_vec.evaluation.splits import Split, splits_of
from roll_vec.evaluation.turns import make_marks, read_marks
from roll_vec.recordings.recorded_episodes import RecordedEpisode
from roll_vec.recordings.setup import current_versions

# Of a dump, which says something of its score by one of them.
_SCORES = "rewards", "return", "success"


@dataclass(frozen=True)
class Verification:
    """What came out when the episodes of a file were played again.

    Attributes
    ----------
    title : str
        The environment and the split.
    num_episodes, num_turns : int
        Those that were played again.
    differences : list of FileDifference
        At most one of each episode, in the order of the file; none: it is the same.
    compared : dict of str to int
        By field: the episodes of which the file has it.
    notes : list of str
        What is no difference, but may explain one.
    total : int
        Episodes of the split, or of the dump.
    results : pair of EpisodeResults, or None
        What a file of results says of its episodes, and what was played again.
    """

    title: str
    num_episodes: int
    num_turns: int
    differences: list[FileDifference]
    compared: dict[str, int] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    total: int = 0
    results: tuple[EpisodeResults, EpisodeResults] | None = None

    @property
    def is_same(self) -> bool:
        """Whether there is no difference."""
        return not self.differences


# --------------------------------------------------------------------- files of results


def verify_results(
    path: str | os.PathLike[str],
    *,
    shop: Mapping[str, Any] | None = None,
    on_progress: Progress | None = None,
) -> Verification:
    """Play each episode of a file of results again, and compare it to the bit.

    The policy is not asked: the file has its answers.  Answers, observations (by their
    marks), rewards, returns, success, lengths and ends are compared, and the episodes
    with those of the split.

    Parameters
    ----------
    path : path
        A file of ``roll-vec eval run --out``, or of `evaluate`.
    shop : mapping, optional
        For a file of WebShop on a shop of the user: as of `find_split`.
    on_progress : callable, optional

    Returns
    -------
    Verification

    Raises
    ------
    InvalidFileError
        If it is no file of results.
    InvalidOptionError
        If the id, the split or the shop does not exist here.
    """
    content = read_results(path, repeats=True)
    header = content.header
    split = find_split_of(header, shop)
    title, notes = f"{header.id} {header.split}", _version_notes(header.versions)
    differences = [*_check_file(content, split)]
    if differences:
        return Verification(title, 0, 0, differences, {}, notes, len(split))
    problems = _check_numbers(content, split)
    records = {
        number: record
        for number, record in content.records.items()
        if number not in problems and record.turns is not None
    }
    try:
        played = replace(content, records=records)
        episodes = to_recorded_episodes(played, split)
        replays = play_again(episodes, on_progress)
    except InvalidOptionError as error:
        keywords = str(header.keywords)
        problem = _of_file("keywords", keywords, "refused", one_line(error))
        return Verification(title, 0, 0, [problem], {}, notes, len(split))
    num_last_bits = 0
    for record, replay in zip(records.values(), replays, strict=True):
        difference = compare_record(record, replay)
        if difference is not None:
            problems[record.episode] = difference
        num_last_bits += has_other_bits(record, replay)
    if num_last_bits:
        notes.append(
            f"rewards of {num_last_bits:,} episodes differ in their last bits: floats "
            "are rounded by the processor and the version of numba"
        )
    first = min(problems, default=None)
    if first is not None and problems[first].field == "observations":
        problems[first] = _name_split(problems[first], content.records[first], split)
    num_turns = sum(len(each.rewards) for each in replays)
    ordered = [problems[number] for number in sorted(problems)]
    if content.num_episodes is None:
        meaning = (
            "the run goes on, or was interrupted: the same command goes on with it"
        )
        ordered.append(_of_file("episodes", "no last line", "a last line", meaning))
    names = "answers", "observations", "rewards", "return", "success", "length", "ends"
    compared = dict.fromkeys(names, len(records))
    counts = len(records), num_turns
    results = EpisodeResults.of(content.records.values()), _results(records, replays)
    return Verification(title, *counts, ordered, compared, notes, len(split), results)


def _results(
    records: Mapping[int, EpisodeRecord], replays: Sequence[Replay]
) -> EpisodeResults:
    """Return the results of episodes as they were played again."""
    return EpisodeResults.of(
        replace(
            record,
            total_reward=replay.total_reward,
            success=bool(replay.success) and record.fault is None,
        )
        for record, replay in zip(records.values(), replays, strict=True)
    )


def _of_file(name: str, recorded: str, replayed: str, meaning: str) -> FileDifference:
    return FileDifference(
        field=name, recorded=recorded, replayed=replayed, meaning=meaning
    )


def _check_file(content: ResultFile, split: Split) -> Iterator[FileDifference]:
    """Yield why no episode of a file can be compared."""
    header = content.header
    if content.version == 1:
        yield _of_file(
            "version",
            "1",
            "2",
            "files of version 1 have no answers: nobody can verify them; roll-vec eval "
            "compare reads them",
        )
        return
    if content.torn_episodes:
        meaning = "the end of the file, which has the answers, was cut off"
        yield _of_file("packed", "no last line", "a last line", meaning)
        return
    for name in sorted(header.files.keys() | split.files.keys()):
        old, new = (
            str(files.get(name, {}).get("sha256", "none"))
            for files in (header.files, split.files)
        )
        if old != new:
            yield _of_file(
                name,
                f"SHA-256 {old}",
                f"SHA-256 {new}",
                "the episodes were played on other data than these"
                if new != "none"
                else f"the episodes were played on files of the user: pass {name}",
            )
            return
    if header.digest != split.digest:
        yield _of_file(
            "digest",
            header.digest,
            split.digest,
            f"{split.name!r} was another set of episodes when they were played: other "
            "levels, other data, or another split under this name",
        )


def _check_numbers(content: ResultFile, split: Split) -> dict[int, FileDifference]:
    """Return which episodes are missing, repeated, of another seed or without turns."""
    problems: dict[int, FileDifference] = {}

    def add(number: int, name: str, recorded: Any, replayed: Any, meaning: str) -> None:
        problems[number] = FileDifference(
            field=name,
            recorded=str(recorded),
            replayed=str(replayed),
            meaning=meaning,
            place=f"episode {number}",
        )

    for number, record in content.records.items():
        if not 0 <= number < len(split):
            last = f"0 to {len(split) - 1}"
            add(number, "episode", number, last, "the split has no such episode")
        elif record.seed != split.seeds[number]:
            seed = split.seeds[number]
            meaning = "this is not the episode of the split with this number"
            add(number, "seed", record.seed, seed, meaning)
        elif content.num_episodes is not None and number >= content.num_episodes:
            last = f"0 to {content.num_episodes - 1}"
            meaning = "the last line of the file counts fewer episodes"
            add(number, "episode", number, last, meaning)
        elif record.turns is None:
            meaning = "nobody can verify an episode without its answers"
            add(number, "answers", "none", "answers", meaning)
    for number in content.repeated_episodes:
        meaning = "the episode stands there more than once, and would count twice"
        add(number, "episode", "twice", "once", meaning)
    stop = max([content.num_episodes or 0, *(each + 1 for each in content.records)])
    for number in range(min(stop, len(split))):
        if number not in content.records:
            meaning = (
                "the episode was left out, or the run was interrupted: a score is that "
                "of the first episodes of a split, without a gap"
            )
            add(number, "episode", "missing", "expected", meaning)
    return problems


def _version_notes(versions: Mapping[str, str]) -> list[str]:
    """Return a note on the versions that differ from those of a file."""
    present = current_versions()
    changes = [
        f"{name} {version} (here {present[name]})"
        for name, version in versions.items()
        if present.get(name, version) != version
    ]
    return [f"versions that differ: {', '.join(changes)}"] if changes else []


def _name_split(
    difference: FileDifference, record: EpisodeRecord, split: Split
) -> FileDifference:
    """Return the difference, with the split whose episode this may be."""
    if difference.turns is None or difference.turns[1] > 0 or record.turns is None:
        return difference
    for name, other in splits_of(split.id).items():
        if name == split.name or record.episode >= len(other):
            continue
        try:
            seed = other.seeds[record.episode]
            episode = RecordedEpisode(
                id=split.id,
                keywords=other.keywords,
                seed=seed,
                answers=[],
                place=difference.place,
            )
            (replay,) = play_again([episode])
        except RollVecError:
            continue
        _, marks = make_marks(record.turns.answers, replay.states)
        if marks[:1] == read_marks(record.turns.marks)[1][:1]:
            meaning = f"it begins as {difference.place} of the split {name!r}"
            return replace(difference, meaning=f"{difference.meaning}; {meaning}")
    return difference


# ------------------------------------------------------------------ dumps of trainers


def verify_episodes(
    episodes: Sequence[RecordedEpisode], on_progress: Progress | None = None
) -> Verification:
    """Play the episodes of a trainer's dump again, and compare what it says of them.

    Rewards, return, success, ends and length are compared, where the dump has them;
    floats to five digits, as trainers often write them in float32.

    Parameters
    ----------
    episodes : sequence of RecordedEpisode
        Such as of `roll_vec.recordings.readers.read_episodes`.
    on_progress : callable, optional

    Returns
    -------
    Verification

    Raises
    ------
    InvalidFileError
        If there are no episodes, or nothing says their rewards, return or success.
    InvalidOptionError, gymnasium.error.Error
        If an id or a keyword does not exist here.
    """
    if not episodes:
        message = "no episodes"
        raise InvalidFileError(message)
    replays = play_again(episodes, on_progress)
    pairs = [*zip(episodes, replays, strict=True)]
    differences = [compare_episode(*pair) for pair in pairs]
    names = "rewards", "success", "terminated", "truncated"
    fields = {"return": "total_reward", **{name: name for name in names}}
    compared = {
        name: sum(getattr(each, field) is not None for each in episodes)
        for name, field in fields.items()
    }
    if not any(differences) and not sum(compared[name] for name in _SCORES):
        message = "nothing to compare: no rewards, return or success"
        raise InvalidFileError(message)
    compared["length"] = len(episodes)
    num_open = sum(
        replay.problem is not None and len(replay.rewards) == len(episode.answers)
        for episode, replay in pairs
    )
    notes = []
    if num_open:
        notes.append(f"{num_open:,} episodes were stopped before their end")
    num_others = sum(replay.has_other_prompt for replay in replays)
    if num_others:
        notes.append(OTHER_BOARDS.format(num_others))
    title = ", ".join(sorted({episode.id for episode in episodes}))
    num_turns = sum(len(each.rewards) for each in replays)
    named = [each for each in differences if each is not None]
    total = len(episodes)
    return Verification(title, total, num_turns, named, compared, notes, total)
