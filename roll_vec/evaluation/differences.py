"""Differences between an episode of a file and its replay, each with its meaning."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from roll_vec.errors import one_line, shorten
from roll_vec.evaluation.episodes import EpisodeRecord
from roll_vec.evaluation.replays import Replay
from roll_vec.evaluation.turns import (
    EpisodeTurns,
    make_marks,
    mark_turns,
    read_marks,
)
from roll_vec.recordings.recorded_episodes import RecordedEpisode

# Of floats of physics: the last bits of a sine are those of the machine.
_LAST_BITS = 1e-9
# Of dumps of trainers, which are often in float32.
_FLOAT32 = 1e-5
_OTHER_WORLD = (
    "the answers lead to other observations here: the level, the keywords, the data or "
    "the code was another one when this episode was played"
)
_CHANGED_ANSWERS = (
    "the answers do not fit the digest that was written when they were given: one was "
    "changed, left out or added later"
)
_OTHER_REWARD = "the environment pays another reward for these answers"
_OTHER_END = "played again, the episode does not end so"
_NO_EPISODE = "the answers of the file are no whole episode"


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


_Differ: TypeAlias = Callable[..., FileDifference]


def compare_record(record: EpisodeRecord, replay: Replay) -> FileDifference | None:
    """Return the first difference of an episode of a file of results.

    Parameters
    ----------
    record : EpisodeRecord
        With turns.
    replay : Replay
    """
    turns = record.turns
    if turns is None:
        message = "a record without turns"
        raise ValueError(message)
    place = f"episode {record.episode}"
    return next(
        _differences(record, turns, replay, partial(_make_difference, place)), None
    )


def _make_difference(
    place: str,
    field: str,
    recorded: Any,
    replayed: Any,
    meaning: str,
    turns: tuple[int, int] | None = None,
) -> FileDifference:
    return FileDifference(
        field=field,
        recorded=str(recorded),
        replayed=str(replayed),
        meaning=meaning,
        place=place,
        turns=turns,
    )


def _differences(
    record: EpisodeRecord, turns: EpisodeTurns, replay: Replay, differ: _Differ
) -> Iterator[FileDifference]:
    """Yield differences: first those that explain others."""
    count, fault = len(turns.answers), record.fault
    if record.length != count or len(turns.rewards) != count:
        have = f"{count} answers, {len(turns.rewards)} rewards"
        meaning = (
            f"the line says {record.length} turns, but the file has {count} answers "
            f"and {len(turns.rewards)} rewards"
        )
        yield differ("length", record.length, have, meaning)
    if fault is not None and record.success:
        meaning = "an episode that a fault has ended is no success"
        yield differ("success", True, False, meaning)
    total = float(np.cumsum([0.0, *turns.rewards])[-1])
    # A fault of the environment, at its last turn or at its reset, need not come again.
    has_failed = fault is not None and (record.terminated or record.truncated)
    num_compared = count - (has_failed and count > 0)
    rewards = _compare_rewards(turns, replay, min(num_compared, len(replay.rewards)))
    if not (has_failed and count == 0):
        marks = _compare_marks(turns, replay.states[: num_compared + 1])
        if marks is not None and marks[0] == "answers":
            at = _narrow(marks[1], rewards)
            shown = _show_answers(turns, at)
            yield differ(
                "answers", shown, "others, by their digest", _CHANGED_ANSWERS, at
            )
        if replay.fault is not None and fault is None:
            turn = len(replay.rewards)
            meaning = f"the environment fails here: {one_line(replay.fault)}"
            yield differ("fault", None, "a fault", meaning, (turn, turn))
        if marks is not None and (rewards is None or rewards > marks[1][0]):
            at = _narrow(marks[1], rewards)
            shown = f"a digest, after the answers {_show_answers(turns, at)}"
            yield differ("observations", shown, "another digest", _OTHER_WORLD, at)
    if rewards is not None:
        values = turns.rewards[rewards - 1], float(replay.rewards[rewards - 1])
        yield differ("rewards", *values, _OTHER_REWARD, (rewards, rewards))
    if has_failed and (replay.is_refused or len(replay.rewards) < num_compared):
        name = "answers" if replay.is_refused else "length"
        yield differ(name, f"{count} turns", replay.problem, _NO_EPISODE)
    elif has_failed:
        if turns.rewards and turns.rewards[-1]:
            meaning = "a turn in which the environment fails has no reward"
            yield differ("rewards", turns.rewards[-1], 0.0, meaning, (count, count))
    elif replay.problem is not None:
        name = "answers" if replay.is_refused else "length"
        yield differ(name, f"{count} turns", replay.problem, _NO_EPISODE)
    else:
        total = replay.total_reward
    if not _is_same(record.total_reward, total, replay):
        meaning = "the return is not the sum of the rewards of these answers"
        yield differ("return", record.total_reward, total, meaning)
    for name in () if has_failed else ("success", "terminated", "truncated"):
        old, new = getattr(record, name), bool(getattr(replay, name))
        if old != new and not (name == "success" and fault is not None):
            yield differ(name, old, new, _OTHER_END)


def _is_same(old: Any, new: Any, replay: Replay) -> Any:
    """Return what is equal; of floats of physics, all but the last bits."""
    equal = np.asarray(old) == new
    return equal | _is_close(old, new, _LAST_BITS) if replay.is_float else equal


def _is_close(first: Any, second: Any, tolerance: float) -> Any:
    return np.isclose(first, second, rtol=tolerance, atol=tolerance)


def has_other_bits(record: EpisodeRecord, replay: Replay) -> bool:
    """Return whether rewards differ in their last bits, which is no difference."""
    old = [] if record.turns is None else record.turns.rewards
    new = replay.rewards[: len(old)]
    old = old[: len(new)]
    return bool((_is_same(old, new, replay) & (np.asarray(old) != new)).any())


def _compare_rewards(turns: EpisodeTurns, replay: Replay, count: int) -> int | None:
    """Return the first of some turns, from 1, whose rewards differ."""
    is_same = _is_same(turns.rewards[:count], replay.rewards[:count], replay)
    return None if is_same.all() else int(np.argmin(is_same)) + 1


def _narrow(turns: tuple[int, int], turn: int | None) -> tuple[int, int]:
    """Return a range of turns up to one at which other rewards come."""
    first, last = turns
    return turns if turn is None or turn < first else (first, min(last, turn))


def _compare_marks(
    turns: EpisodeTurns, states: NDArray[np.uint32]
) -> tuple[str, tuple[int, int]] | None:
    """Return whether answers or observations differ, and in which turns."""
    count = len(turns.answers)
    digest, marks = read_marks(turns.marks)
    answers, expected = make_marks(turns.answers, states)
    stops = mark_turns(count)
    name = "observations" if digest == answers else "answers"
    before = -1
    for stop, old, new in zip(stops, marks, expected, strict=False):
        if old != new:
            return name, (before + 1, stop)
        before = stop
    if name == "answers" or len(marks) != len(stops):
        return "answers", (min(before + 1, count), count)
    return None


def _show_answers(turns: EpisodeTurns, at: tuple[int, int]) -> str:
    """Return the answers of some turns, for people."""
    answers = turns.answers[max(at[0], 1) - 1 : at[1]]
    return shorten([np.asarray(answer).tolist() for answer in answers[:12]])


def compare_episode(episode: RecordedEpisode, replay: Replay) -> FileDifference | None:
    """Return the first difference of an episode of a dump, of what the dump says."""
    differ = partial(_make_difference, episode.place)
    return next(_dump_differences(episode, replay, differ), None)


def _dump_differences(
    episode: RecordedEpisode, replay: Replay, differ: _Differ
) -> Iterator[FileDifference]:
    if episode.rewards is not None:
        old = np.asarray(episode.rewards, np.float64)
        count = min(len(replay.rewards), len(old))
        equal = _is_close(old[:count], replay.rewards[:count], _FLOAT32)
        if not equal.all():
            turn = int(np.argmin(equal)) + 1
            values = float(old[turn - 1]), float(replay.rewards[turn - 1])
            yield differ("rewards", *values, _OTHER_REWARD, (turn, turn))
    # Trainers stop episodes as well, so that their answers run out.
    if len(replay.rewards) < len(episode.answers):
        name = "answers" if replay.is_refused else "length"
        size = f"{len(episode.answers)} turns"
        yield differ(name, size, replay.problem, _NO_EPISODE)
    total = episode.total_reward
    if total is not None and not _is_close(total, replay.total_reward, _FLOAT32):
        meaning = "the environment pays another return for these answers"
        yield differ("return", total, replay.total_reward, meaning)
    has_ended = replay.terminated or replay.truncated
    for name in ("success", "terminated", "truncated"):
        new = getattr(replay, name)
        # An episode that goes on is no success.
        values = getattr(episode, name), False if new is None and not has_ended else new
        if None not in values and bool(values[0]) != values[1]:
            yield differ(name, *values, _OTHER_END)
