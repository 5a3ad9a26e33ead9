"""Files of results, and dumps of trainers, compared with the world."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from roll_vec.errors import InvalidFileError, InvalidOptionError, RollVecError, one_line
from roll_vec.evaluation.episodes import EpisodeRecord, EpisodeResults
from roll_vec.evaluation.result_files import ResultFile, read_results
from roll_vec.evaluation.splits import Split, splits_of
from roll_vec.evaluation.turns import NO_TURNS, make_marks, read_marks
from roll_vec.evaluation.verification.differences import (
    FileDifference,
    find_difference,
    has_other_bits,
)
from roll_vec.evaluation.verification.replays import OTHER_BOARDS, Replay, play_again
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
    total : int
        Episodes of the split, or of the dump.
    differences : list of FileDifference
        At most one of each episode, in the order of the file; none: it is the same.
    notes : list of str
        What is no difference, but may explain one.
    compared : dict of str to int
        By field: the episodes of which the file has it.
    num_episodes, num_turns : int
        Those that were played again.
    results : pair of EpisodeResults, or None
        What a file of results says of its episodes, and what was played again.
    """

    title: str
    total: int
    differences: list[FileDifference]
    notes: list[str]
    compared: dict[str, int] = field(default_factory=dict)
    num_episodes: int = 0
    num_turns: int = 0
    results: tuple[EpisodeResults, EpisodeResults] | None = None

    @property
    def is_same(self) -> bool:
        """Whether there is no difference."""
        return not self.differences


def verify_results(
    path: str | os.PathLike[str], *, shop: Mapping[str, Any] | None = None
) -> Verification:
    """Play each episode of a file of results again, and compare it to the bit.

    The policy is not asked: the file has its answers.  Answers, observations (by their
    marks), rewards, returns, success, lengths and ends are compared, and the episodes
    with those of the split.  `roll_vec.progress.listen` shows the progress.

    Parameters
    ----------
    path : path
        A file of ``roll-vec eval run --out``, or of `evaluate`.
    shop : mapping, optional
        For a file of WebShop on a shop of the user: as of `find_split`.

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
    split = header.find_split(shop)
    title, notes = f"{header.id} {header.split}", _version_notes(header.versions)
    difference = _check_file(content, split)
    if difference is not None:
        return Verification(title, len(split), [difference], notes)
    problems = _check_numbers(content, split)
    records = {
        number: record
        for number, record in content.records.items()
        if number not in problems and record.turns is not None
    }
    try:
        episodes = replace(content, records=records).to_episodes(split)
        replays = play_again(episodes)
    except InvalidOptionError as error:
        keywords, reason = header.keywords, one_line(error)
        difference = FileDifference("", "keywords", keywords, "refused", reason)
        return Verification(title, len(split), [difference], notes)
    num_last_bits = 0
    for record, episode, replay in zip(
        records.values(), episodes, replays, strict=True
    ):
        difference = _compare(record, episode, replay)
        if difference is not None:
            problems[record.episode] = difference
        num_last_bits += has_other_bits(episode, replay)
    if num_last_bits:
        notes.append(
            f"rewards of {num_last_bits:,} episodes differ in their last bits: floats "
            "are rounded by the processor and the version of numba"
        )
    first = min(problems, default=None)
    if first is not None and problems[first].field == "observations":
        problems[first] = _name_split(problems[first], content.records[first], split)
    ordered = [problems[number] for number in sorted(problems)]
    if content.num_episodes is None:
        meaning = (
            "the run goes on, or was interrupted: the same command goes on with it"
        )
        ordered.append(
            FileDifference("", "episodes", "no last line", "a last line", meaning)
        )
    names = "answers", "observations", "rewards", "return", "success", "length", "ends"
    here = [
        replace(
            record,
            total_reward=replay.total_reward,
            success=bool(replay.success) and record.fault is None,
        )
        for record, replay in zip(records.values(), replays, strict=True)
    ]
    return Verification(
        title,
        len(split),
        ordered,
        notes,
        compared=dict.fromkeys(names, len(records)),
        num_episodes=len(records),
        num_turns=sum(len(each.rewards) for each in replays),
        results=(EpisodeResults.of(records.values()), EpisodeResults.of(here)),
    )


def _compare(
    record: EpisodeRecord, episode: RecordedEpisode, replay: Replay
) -> FileDifference | None:
    """Return the first difference of an episode of a file of results."""
    turns = record.turns or NO_TURNS
    num_answers, num_rewards = len(turns.answers), len(turns.rewards)
    if not record.length == num_answers == num_rewards:
        have = f"{num_answers} answers, {num_rewards} rewards"
        meaning = (
            f"the line says {record.length} turns, but the file has {num_answers} "
            f"answers and {num_rewards} rewards"
        )
        return FileDifference(episode.place, "length", record.length, have, meaning)
    return find_difference(episode, replay, turns.marks)


def _check_file(content: ResultFile, split: Split) -> FileDifference | None:
    """Return why no episode of a file can be compared."""
    header = content.header
    if content.version == 1:
        meaning = (
            "files of version 1 have no answers: nobody can verify them; roll-vec eval "
            "compare reads them"
        )
        return FileDifference("", "version", 1, 2, meaning)
    if content.is_torn:
        meaning = "the end of the file, which has the answers, was cut off"
        return FileDifference("", "packed", "no last line", "a last line", meaning)
    for name in sorted(header.files.keys() | split.files.keys()):
        old, new = (
            str(files.get(name, {}).get("sha256", "none"))
            for files in (header.files, split.files)
        )
        if old != new:
            meaning = "the episodes were played on other data than these"
            if new == "none":
                meaning = f"the episodes were played on files of the user: pass {name}"
            return FileDifference("", name, f"SHA-256 {old}", f"SHA-256 {new}", meaning)
    if header.digest != split.digest:
        meaning = (
            f"{split.name!r} was another set of episodes when they were played: other "
            "levels, other data, or another split under this name"
        )
        return FileDifference("", "digest", header.digest, split.digest, meaning)
    return None


def _check_numbers(content: ResultFile, split: Split) -> dict[int, FileDifference]:
    """Return which episodes are missing, repeated, of another seed or without turns."""
    problems: dict[int, FileDifference] = {}

    def add(number: int, *facts: Any) -> None:
        problems[number] = FileDifference(f"episode {number}", *facts)

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
            episode = RecordedEpisode(
                id=split.id,
                keywords=other.keywords,
                seed=other.seeds[record.episode],
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


def verify_episodes(episodes: Sequence[RecordedEpisode]) -> Verification:
    """Play the episodes of a trainer's dump again, and compare what it says of them.

    Rewards, return, success, ends and length are compared, where the dump has them;
    floats to five digits, as trainers often write them in float32.

    Parameters
    ----------
    episodes : sequence of RecordedEpisode
        Such as of `roll_vec.recordings.readers.read_episodes`.

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
    replays = play_again(episodes)
    pairs = [*zip(episodes, replays, strict=True)]
    differences = [find_difference(*pair) for pair in pairs]
    names = "rewards", "success", "terminated", "truncated"
    fields = {"return": "total_reward", **{name: name for name in names}}
    compared = {
        name: sum(getattr(each, field) is not None for each in episodes)
        for name, field in fields.items()
    }
    if not any(differences) and not sum(compared[name] for name in _SCORES):
        message = "nothing to compare: no rewards, return or success"
        raise InvalidFileError(message)
    num_open = sum(
        replay.problem is not None and len(replay.rewards) == len(episode.answers)
        for episode, replay in pairs
    )
    notes = [f"{num_open:,} episodes were stopped before their end"] * bool(num_open)
    num_others = sum(replay.has_other_prompt for replay in replays)
    notes += [OTHER_BOARDS.format(num_others)] * bool(num_others)
    return Verification(
        ", ".join(sorted({episode.id for episode in episodes})),
        len(episodes),
        [each for each in differences if each is not None],
        notes,
        compared={**compared, "length": len(episodes)},
        num_episodes=len(episodes),
        num_turns=sum(len(each.rewards) for each in replays),
    )
