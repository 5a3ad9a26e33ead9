"""Scores that anyone can check: episodes of files, played again without their policy.

`verify_results` compares a file of results with the world to the bit, `verify_episodes`
what a dump of a trainer says.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from gymnasium.spaces import Space
from numpy.typing import NDArray

from roll_vec.errors import InvalidOptionError, RollVecError, one_line, shorten
from roll_vec.evaluation.episodes import EpisodeRecord, EpisodeResults
from roll_vec.evaluation.replaying import AnswerPlan, EpisodeGroup, group_episodes
from roll_vec.evaluation.result_files import ResultFile, read_results
from roll_vec.evaluation.splits import Split, find_split, splits_of
from roll_vec.evaluation.turns import (
    EpisodeTurns,
    TurnRecorder,
    make_marks,
    mark_turns,
    read_marks,
)
from roll_vec.recordings.episodes import EpisodeAccount
from roll_vec.recordings.recorded_episodes import RecordedEpisode
from roll_vec.recordings.setup import current_versions
from roll_vec.storage.plain_data import decode
from roll_vec.trajectories.play import SKIPPED
from roll_vec.vector.known_infos import UNKNOWN, faults_of
from roll_vec.vector.space_batches import map_leaves

# Of floats of physics: the last bits of a sine are those of the machine.
_LAST_BITS = {"rtol": 1e-9, "atol": 1e-9}
# Of dumps of trainers, which are often in float32.
_FLOAT32 = {"rtol": 1e-5, "atol": 1e-6}
_OTHER_WORLD = (
    "the answers lead to other observations here: the level, the data or the code was "
    "another one when this episode was played"
)
_CHANGED_ANSWERS = (
    "the answers do not fit the digest that was written when they were given: one was "
    "changed, left out or added later"
)

Progress = Callable[[int, int], None]
"""Called with the number of episodes that were played again, and that of all."""


@dataclass(frozen=True, kw_only=True)
class FileDifference:
    """A difference between a file and the world.

    Parameters
    ----------
    field : str
        The field of the file, such as ``return``.
    recorded, replayed : str
        The value of the file, and that of the world.
    meaning : str
        What it means, in a sentence.
    place : str
        The episode, such as ``episode 17``; empty: the whole file.
    turns : pair of int or None
        The first and the last turn, from 1, in which the difference may be; turn 0 is
        the beginning of the episode.
    """

    field: str
    recorded: str
    replayed: str
    meaning: str
    place: str = ""
    turns: tuple[int, int] | None = None


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
    results : EpisodeResults or None
        What the file says of the episodes that were played again.
    """

    title: str
    num_episodes: int
    num_turns: int
    differences: list[FileDifference]
    compared: dict[str, int] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    total: int = 0
    results: EpisodeResults | None = None

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
    split = find_split(header.id, header.split, **(shop or {}))
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
        episodes = recorded_results(replace(content, records=records), split)
        replays = play_again(episodes, on_progress)
    except InvalidOptionError as error:
        keywords = str(header.keywords)
        problem = _of_file("keywords", keywords, "refused", one_line(error))
        return Verification(title, 0, 0, [problem], {}, notes, len(split))
    num_last_bits = 0
    for record, replay_ in zip(records.values(), replays, strict=True):
        difference = _compare_record(record, replay_)
        if difference is not None:
            problems[record.episode] = difference
        num_last_bits += replay_.has_other_bits(record)
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
    ordered += _check_complete(content, ordered)
    names = "answers", "observations", "rewards", "return", "success", "length", "ends"
    compared = dict.fromkeys(names, len(records))
    counts = len(records), num_turns
    results = EpisodeResults.of(records.values())
    return Verification(title, *counts, ordered, compared, notes, len(split), results)


def recorded_results(content: ResultFile, split: Split) -> list[RecordedEpisode]:
    """Return the episodes of a file of results that has turns, in their order."""
    given = decode(json.dumps(content.header.keywords).encode())
    # It checks that the keywords leave the task as it is.
    split.make_vec(1, **given).close()
    keywords = {**split.keywords, **given}
    episodes = []
    for number, record in content.records.items():
        turns = record.turns or EpisodeTurns([], [], "")
        cut = {*turns.cut}
        episodes.append(
            RecordedEpisode(
                id=split.id,
                keywords=keywords,
                seed=record.seed,
                answers=turns.answers,
                place=f"episode {number}",
                rewards=turns.rewards,
                total_reward=record.total_reward,
                success=record.success,
                terminated=record.terminated,
                truncated=record.truncated,
                was_cut=[turn in cut for turn in range(len(turns.answers))],
                fault=record.fault,
            )
        )
    return episodes


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
        elif record.turns is None:
            meaning = "nobody can verify an episode without answers"
            add(number, "answers", "none", "answers", meaning)
    for number in content.repeated:
        meaning = "the episode stands there more than once, and would count twice"
        add(number, "episode", "twice", "once", meaning)
    last = max([number + 1 for number in content.records], default=0)
    for number in range(min(last, len(split))):
        if number not in content.records:
            meaning = (
                "the episode is missing: a score is one of the first episodes of a "
                "split, without a gap"
            )
            add(number, "episode", "not there", "there", meaning)
    return problems


def _check_complete(
    content: ResultFile, others: Sequence[FileDifference]
) -> list[FileDifference]:
    """Return that the file is not complete, if no other difference says so."""
    count, num = len(content.records), content.num_episodes
    if content.is_complete or any(each.field == "episode" for each in others):
        return []
    number = "unknown" if num is None else f"{num:,}"
    meaning = (
        "the run was interrupted, or episodes at the end were removed; the command "
        "that wrote the file goes on with it"
    )
    return [_of_file("episodes", f"{count:,}", number, meaning)]


def _version_notes(versions: Mapping[str, str]) -> list[str]:
    """Return a note on the versions that differ from those of a file."""
    present = current_versions()
    changes = [
        f"{name} {version} (here {present[name]})"
        for name, version in versions.items()
        if present.get(name, version) != version
    ]
    return [f"versions that differ: {', '.join(changes)}"] if changes else []


# -------------------------------------------------------------------- episodes, again


@dataclass(frozen=True)
class Replay:
    """An episode that was played again.

    Attributes
    ----------
    rewards : (T,) float64
    states : (T + 1,) uint32
        Digests of the observations up to each turn.
    total_reward : float
    success : bool or None
        None: the environment does not say.
    terminated, truncated : bool
    problem : str or None
        Why it cannot be played as it is recorded.
    fault : str or None
    is_float : bool
        Observations are floats.
    """

    rewards: NDArray[np.float64]
    states: NDArray[np.uint32]
    total_reward: float = 0.0
    success: bool | None = None
    terminated: bool = False
    truncated: bool = False
    problem: str | None = None
    fault: str | None = None
    is_float: bool = False

    def same_rewards(self, rewards: Any, mine: Any) -> NDArray[np.bool_]:
        """Return which rewards are equal; of floats of physics, all but last bits."""
        equal: NDArray[np.bool_] = np.asarray(rewards) == mine
        if self.is_float:
            equal |= np.isclose(rewards, mine, **_LAST_BITS)
        return equal

    def has_other_bits(self, record: EpisodeRecord) -> bool:
        """Return whether rewards count as equal that are not."""
        old = [] if record.turns is None else record.turns.rewards
        count = min(len(old), len(self.rewards))
        new = self.rewards[:count]
        is_same = self.same_rewards(old[:count], new)
        return bool((is_same & (np.asarray(old[:count]) != new)).any())


def play_again(
    episodes: Sequence[RecordedEpisode], on_progress: Progress | None = None
) -> list[Replay]:
    """Return a replay of each episode."""
    replays: dict[int, Replay] = {}
    for group in group_episodes(episodes):
        before = len(replays)

        def show(num_done: int, before: int = before) -> None:
            if on_progress is not None:
                on_progress(before + num_done, len(episodes))

        with closing(group.make_vec()) as envs:
            for place, replay in _play_group(group, envs, show).items():
                replays[int(group.places[place])] = replay
    return [replays[place] for place in range(len(episodes))]


def _play_group(
    group: EpisodeGroup, envs: Any, show: Callable[[int], None]
) -> dict[int, Replay]:
    """Return the replays of the episodes of a group, by place."""
    plan, account = AnswerPlan(envs, group.episodes), EpisodeAccount(envs)
    recorder = TurnRecorder(envs, with_answers=False)
    is_float = _has_floats(envs.single_observation_space)
    done: dict[int, Replay] = {}
    for event in plan.play():
        recorder.add(event)
        ended = account.add(event)
        faults = faults_of(event.last_infos) if len(ended) else {}
        columns = (column.tolist() for column in vars(ended).values())
        for env_id, total, _, success, *ends in zip(*columns, strict=True):
            done[int(plan.episodes[env_id])] = Replay(
                recorder.rewards(env_id).copy(),
                recorder.states(env_id).copy(),
                total,
                None if success == UNKNOWN else success == 1,
                *ends,
                fault=faults.get(env_id),
                is_float=is_float,
            )
        if event.is_reset:
            for env_id in np.flatnonzero(event.starts).tolist():
                # Of an episode without answers nothing else is known.
                place = int(plan.episodes[env_id])
                states = recorder.states(env_id).copy()
                skipped = SKIPPED if plan.is_skipped(env_id) else None
                done[place] = Replay(np.zeros(0), states, fault=skipped)
        show(len(done) - int(plan.num_playing))
    problems = plan.problems()
    return {
        place: replace(replay, problem=problems.get(place))
        for place, replay in done.items()
    }


def _has_floats(space: Space[Any]) -> bool:
    kinds: list[str] = []

    def add(leaf: Space[Any]) -> None:
        kinds.append(np.dtype(leaf.dtype).kind if leaf.dtype is not None else "O")

    map_leaves(add, space)
    return "f" in kinds


# ------------------------------------------------------------------------- comparisons


def _compare_record(record: EpisodeRecord, replay: Replay) -> FileDifference | None:
    """Return the first difference of an episode of a file of results."""
    turns = record.turns
    assert turns is not None
    count = len(turns.answers)
    place = f"episode {record.episode}"

    def differ(
        name: str,
        recorded: Any,
        replayed: Any,
        meaning: str,
        at: tuple[int, int] | None = None,
    ) -> FileDifference:
        return FileDifference(
            field=name,
            recorded=str(recorded),
            replayed=str(replayed),
            meaning=meaning,
            place=place,
            turns=at,
        )

    if record.length != count or len(turns.rewards) != count:
        rewards = (
            "" if len(turns.rewards) == count else f", {len(turns.rewards)} rewards"
        )
        have = f"{count} answers{rewards}"
        meaning = "the length is not the number of answers that the file has"
        return differ("length", record.length, have, meaning)
    if record.fault is not None and record.success:
        meaning = "an episode that a fault has ended is no success"
        return differ("success", True, False, meaning)
    if replay.fault == SKIPPED and record.fault is None:
        return differ("fault", None, replay.fault, "the environment fails here")
    # A pool has played another episode in the place of this one.
    if record.fault is not None and record.truncated and not count:
        meaning = "an episode without turns has no return"
        return (
            differ("return", record.total_reward, 0.0, meaning)
            if (record.total_reward)
            else None
        )
    # A fault of the environment need not come again: its turn is not compared.
    has_failed = record.fault is not None and (record.terminated or record.truncated)
    num = min(count - has_failed, len(replay.rewards))
    new = replay.rewards[:num]
    is_same = replay.same_rewards(turns.rewards[:num], new)
    turn = int(np.argmin(is_same)) + 1 if not is_same.all() else None
    marks = _compare_marks(turns, replay.states[: num + 1])
    if marks is not None and (turn is None or turn > marks[1][0]):
        name, at = marks
        at = at if turn is None else (min(at), min(turn, at[1]))
        meaning = _CHANGED_ANSWERS if name == "answers" else _OTHER_WORLD
        shown = _show_answers(turns, at)
        return differ(name, shown, f"{name} that differ", meaning, at)
    if turn is not None:
        meaning = "the environment pays another reward for these answers"
        old = turns.rewards[turn - 1]
        return differ("rewards", old, float(new[turn - 1]), meaning, (turn, turn))
    if replay.fault is not None and record.fault is None:
        meaning = f"the environment fails here: {one_line(replay.fault)}"
        return differ("fault", None, "a fault", meaning)
    if replay.problem is not None and not has_failed:
        meaning = "the answers of the file are no whole episode"
        return differ("length", f"{count} turns", replay.problem, meaning)
    total = float(np.cumsum(turns.rewards)[-1]) if has_failed else replay.total_reward
    if not replay.same_rewards(record.total_reward, total):
        meaning = "the return is not the sum of the rewards of these answers"
        return differ("return", record.total_reward, total, meaning)
    if has_failed:
        return None
    for name in ("success", "terminated", "truncated"):
        old, now = getattr(record, name), bool(getattr(replay, name))
        if old != (now and not (name == "success" and record.fault)):
            meaning = "played again, the episode does not end so"
            return differ(name, old, now, meaning)
    return None


def _compare_marks(
    turns: EpisodeTurns, states: NDArray[np.uint32]
) -> tuple[str, tuple[int, int]] | None:
    """Return whether answers or observations differ first, and in which turns."""
    digest, marks = read_marks(turns.marks)
    answers, expected = make_marks(turns.answers, states)
    stops = mark_turns(len(turns.answers))
    name = "observations" if digest == answers else "answers"
    before = -1
    for stop, old, new in zip(stops, marks, expected, strict=False):
        if old != new:
            return name, (before + 1, stop)
        before = stop
    if name == "answers" or len(marks) != len(stops):
        return "answers", (min(before + 1, len(turns.answers)), len(turns.answers))
    return None


def _show_answers(turns: EpisodeTurns, at: tuple[int, int]) -> str:
    """Return the first answers of some turns, for people."""
    first, last = max(at[0], 1), at[1]
    answers = list(turns.answers[first - 1 : last])
    if not answers:
        return "the beginning of the episode"
    answers = [np.asarray(each).tolist() for each in answers[:12]]
    return shorten(answers if len(answers) > 1 else answers[0])


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
    InvalidOptionError, gymnasium.error.Error
        If an id or a keyword does not exist here.
    """
    replays = play_again(episodes, on_progress)
    pairs = [*zip(episodes, replays, strict=True)]
    found = [_compare_episode(*pair) for pair in pairs]
    names = "rewards", "total_reward", "success", "terminated", "truncated"
    compared = {
        name: sum(getattr(each, name) is not None for each in episodes)
        for name in names
    }
    compared["length"] = len(episodes)
    title = ", ".join(sorted({episode.id for episode in episodes}))
    num_turns = sum(len(each.rewards) for each in replays)
    differences = [each for each in found if each is not None]
    total = len(episodes)
    return Verification(title, total, num_turns, differences, compared, [], total)


def _compare_episode(episode: RecordedEpisode, replay: Replay) -> FileDifference | None:
    """Return the first difference of an episode of a dump."""

    def differ(
        name: str, old: Any, new: Any, meaning: str, turn: int | None = None
    ) -> FileDifference:
        return FileDifference(
            field=name,
            recorded=str(old),
            replayed=str(new),
            meaning=meaning,
            place=episode.place,
            turns=None if turn is None else (turn, turn),
        )

    count = len(replay.rewards)
    if episode.rewards is not None:
        old = np.asarray(episode.rewards, np.float64)
        num = min(count, len(old))
        equal = np.isclose(old[:num], replay.rewards[:num], **_FLOAT32)
        if not equal.all():
            turn = int(np.argmin(equal))
            values = float(old[turn]), float(replay.rewards[turn])
            meaning = "the environment pays another reward for these answers"
            return differ("rewards", *values, meaning, turn + 1)
    if replay.problem is not None:
        meaning = "the answers of the file are no whole episode"
        return differ(
            "length", f"{len(episode.answers)} turns", replay.problem, meaning
        )
    old_total = episode.total_reward
    if old_total is not None:
        total = replay.total_reward
        if not np.isclose(old_total, total, **_FLOAT32):
            meaning = "the environment pays another return for these answers"
            return differ("return", old_total, total, meaning)
    for name in ("success", "terminated", "truncated"):
        old_value, new_value = getattr(episode, name), getattr(replay, name)
        is_known = old_value is not None and new_value is not None
        if is_known and bool(old_value) != new_value:
            meaning = "played again, the episode does not end so"
            return differ(name, bool(old_value), new_value, meaning)
    return None
