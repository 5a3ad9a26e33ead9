"""Differences between an episode of a file and its replay, each with its meaning."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from roll_vec.errors import one_line, shorten
from roll_vec.evaluation.turns import make_marks, mark_turns, read_marks
from roll_vec.evaluation.verification.replays import Replay
from roll_vec.recordings.recorded_episodes import RecordedEpisode

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


@dataclass(frozen=True)
class FileDifference:
    """A difference between a file and the world.

    Parameters
    ----------
    place : str
        The episode, such as ``episode 17``; empty: the whole file.
    field : str
        The field of the file, such as ``return``.
    recorded, replayed : str
        The value of the file, and that of the world; other values become texts.
    meaning : str
        What it means, in a sentence.
    turns : pair of int or None
        The first and the last turn, from 1, in which the difference may be; turn 0 is
        the beginning of the episode.
    """

    place: str
    field: str
    recorded: Any
    replayed: Any
    meaning: str
    turns: tuple[int, int] | None = None

    def __post_init__(self) -> None:
        for name in ("recorded", "replayed"):
            object.__setattr__(self, name, str(getattr(self, name)))


_Differ: TypeAlias = Callable[..., FileDifference]


def find_difference(
    episode: RecordedEpisode, replay: Replay, marks: str | None = None
) -> FileDifference | None:
    """Return the first difference of an episode of a file from its replay.

    Parameters
    ----------
    episode : RecordedEpisode
    replay : Replay
    marks : str, optional
        Of a file of results, which is compared to the bit.  None: a dump of a trainer,
        of which all is compared that it says, floats to five digits.
    """
    differ = partial(FileDifference, episode.place)
    return next(_differences(episode, replay, marks, differ), None)


def _differences(
    episode: RecordedEpisode, replay: Replay, marks: str | None, differ: _Differ
) -> Iterator[FileDifference]:
    """Yield differences: first those that explain others."""
    count, is_exact = len(episode.answers), marks is not None
    tolerance = replay.tolerance if is_exact else _FLOAT32
    has_fault = is_exact and episode.fault is not None
    if has_fault and episode.success:
        meaning = "an episode that a fault has ended is no success"
        yield differ("success", True, False, meaning)
    # A fault of the environment, at its last turn or at its reset, need not come again.
    has_failed = has_fault and bool(episode.terminated or episode.truncated)
    num_compared = count - (has_failed and count > 0)
    stop = min(num_compared, len(replay.rewards))
    rewards = [] if episode.rewards is None else episode.rewards
    is_same = _is_close(
        rewards[:stop], replay.rewards[: len(rewards[:stop])], tolerance
    )
    turn = None if is_same.all() else int(np.argmin(is_same)) + 1
    if marks is not None and not (has_failed and count == 0):
        other = _compare_marks(episode.answers, marks, replay.states[: stop + 1])
        yield from _mark_differences(episode, replay, other, turn, differ)
    if turn is not None:
        values = float(rewards[turn - 1]), float(replay.rewards[turn - 1])
        meaning = "the environment pays another reward for these answers"
        yield differ("rewards", *values, meaning, (turn, turn))
    is_short = len(replay.rewards) < num_compared
    is_open = is_short if has_failed or not is_exact else replay.problem is not None
    # Trainers stop episodes as well, so that their answers run out.
    if is_open or (has_failed and replay.is_refused):
        name = "answers" if replay.is_refused else "length"
        meaning = "the answers of the file are no whole episode"
        yield differ(name, f"{count} turns", replay.problem, meaning)
    total = replay.total_reward
    if has_failed:
        total = float(np.cumsum([0.0, *rewards])[-1])
        if count and rewards[-1]:
            meaning = "a turn in which the environment fails has no reward"
            yield differ("rewards", rewards[-1], 0.0, meaning, (count, count))
    old = episode.total_reward
    if old is not None and not _is_close(old, total, tolerance):
        meaning = "the return is not the sum of the rewards of these answers"
        yield differ("return", old, total, meaning)
    # An episode that goes on is no success.
    has_ended = replay.terminated or replay.truncated
    for name in () if has_failed else ("success", "terminated", "truncated"):
        old, new = getattr(episode, name), getattr(replay, name)
        is_known = old is not None and (is_exact or not has_ended or new is not None)
        if has_fault and name == "success":
            continue
        if is_known and bool(old) != bool(new):
            meaning = "played again, the episode does not end so"
            yield differ(name, bool(old), bool(new), meaning)


def _mark_differences(
    episode: RecordedEpisode,
    replay: Replay,
    other: tuple[str, tuple[int, int]] | None,
    turn: int | None,
    differ: _Differ,
) -> Iterator[FileDifference]:
    """Yield differences of answers and of observations, and of faults.

    Parameters
    ----------
    other : tuple or None
        Of `_compare_marks`.
    turn : int or None
        The first turn with another reward.
    """
    name, (first, last) = other or ("", (0, 0))
    if turn is not None and turn >= first:
        last = min(last, turn)
    answers = episode.answers[max(first, 1) - 1 : last][:12]
    shown = shorten([np.asarray(answer).tolist() for answer in answers])
    at = first, last
    if name == "answers":
        yield differ(name, shown, "others, by their digest", _CHANGED_ANSWERS, at)
    if replay.fault is not None and episode.fault is None:
        end = len(replay.rewards)
        meaning = f"the environment fails here: {one_line(replay.fault)}"
        yield differ("fault", None, "a fault", meaning, (end, end))
    if name and (turn is None or turn > first):
        shown = f"a digest, after the answers {shown}"
        yield differ(name, shown, "another digest", _OTHER_WORLD, at)


def _compare_marks(
    answers: Any, text: str, states: NDArray[np.uint32]
) -> tuple[str, tuple[int, int]] | None:
    """Return whether answers or observations differ, and in which turns."""
    count, (digest, marks) = len(answers), read_marks(text)
    here, expected = make_marks(answers, states)
    stops = mark_turns(count)
    name = "observations" if digest == here else "answers"
    before = -1
    for stop, old, new in zip(stops, marks, expected, strict=False):
        if old != new:
            return name, (before + 1, stop)
        before = stop
    if name == "answers" or len(marks) != len(stops):
        return "answers", (min(before + 1, count), count)
    return None


def _is_close(first: Any, second: Any, tolerance: float) -> Any:
    return np.isclose(first, second, rtol=tolerance, atol=tolerance)


def has_other_bits(episode: RecordedEpisode, replay: Replay) -> bool:
    """Return whether rewards differ in their last bits, which is no difference."""
    count = min(len(episode.rewards or ()), len(replay.rewards))
    old, new = np.array(episode.rewards or [])[:count], replay.rewards[:count]
    return bool((_is_close(old, new, replay.tolerance) & (old != new)).any())
