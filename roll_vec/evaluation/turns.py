"""Turns of episodes: answers, rewards, and marks, by which the world is compared.

A mark is a digest of all observations and answers of an episode up to a turn.  An
episode has at most `MOST_MARKS`, so that a difference is known to be in a short range
of turns.  Floats of observations are rounded to four decimals, as the last bits of a
sine are those of the machine.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from gymnasium.spaces import Box, Discrete, MultiBinary, MultiDiscrete, Space, Text
from gymnasium.vector.utils import iterate
from numpy.typing import NDArray

from roll_vec.recordings.digests import digest_rows
from roll_vec.recordings.events import BatchEvent
from roll_vec.storage.plain_data import encode
from roll_vec.vector.space_batches import map_leaves

MOST_MARKS = 12
# Spaces whose batches are arrays.
ARRAY_SPACES = (Discrete, MultiDiscrete, MultiBinary, Box)
_FACTOR = 0x9E3779B97F4A7C15
_WORD = (1 << 64) - 1
# Turns that are kept in one array for all environments.
_BLOCK = 512


@dataclass(frozen=True)
class EpisodeTurns:
    """The T turns of an episode.

    Parameters
    ----------
    answers : list of T, or (T, ...) array
        As the environment got them: ints of a `Discrete` space, texts, an array, or
        other plain data.
    rewards : list of T floats
    marks : str
        See `write_marks`.
    cut : list of int
        The turns, from 0, whose answers were cut at their longest length.
    """

    answers: Any
    rewards: list[float]
    marks: str
    cut: list[int] = field(default_factory=list)

    @classmethod
    def of_texts(
        cls,
        observations: Sequence[str],
        answers: list[str],
        rewards: Any,
        cut: list[int],
    ) -> EpisodeTurns:
        """Return the turns of an episode whose T + 1 observations are texts."""
        space, count = Text(1), len(observations)
        digests = digest_rows(space, count, tuple(observations), {})
        state, states = 0, []
        for digest in digests.tolist():
            state = (state + digest) * _FACTOR & _WORD
            states.append(state >> 32)
        marks = write_marks(answers, states)
        return cls(answers, [float(reward) for reward in rewards], marks, cut)


NO_TURNS = EpisodeTurns([], [], "")
"""Of an episode whose turns were not kept."""


def mark_turns(num_turns: int) -> list[int]:
    """Return how many turns were played at each mark, from 0 up to all."""
    count = min(num_turns, MOST_MARKS - 1)
    return [0, *((i + 1) * num_turns // count for i in range(count))]


def make_marks(
    answers: Any, states: Sequence[int] | NDArray[np.uint32]
) -> tuple[int, list[int]]:
    """Return a digest of the answers alone, of 16 bits, and the marks of an episode.

    Parameters
    ----------
    answers : list or array of T
    states : sequence of T + 1 ints, or fewer
        Digests of the observations up to each turn; only marks of these turns are
        returned.
    """
    digest, before, marks = 0, 0, []
    for stop in mark_turns(len(answers)):
        digest = zlib.crc32(encode(answers[before:stop]), digest)
        before = stop
        if stop < len(states):
            mark = digest ^ int(states[stop])
            # Half of it says enough, but of the whole episode.
            marks.append(mark if stop == len(answers) else mark >> 16)
    return digest & 0xFFFF, marks


def write_marks(answers: Any, states: Sequence[int] | NDArray[np.uint32]) -> str:
    """Return `make_marks` in hexadecimal digits: 4 of each, but 8 of the last mark."""
    digest, (*marks, last) = make_marks(answers, states)
    return "".join([*(f"{number:04x}" for number in (digest, *marks)), f"{last:08x}"])


def read_marks(text: str) -> tuple[int, list[int]]:
    """Return what `make_marks` has returned.

    Raises
    ------
    ValueError
        If the text is none of `write_marks`.
    """
    if len(text) < 12 or len(text) % 4:
        message = f"marks of {len(text)} digits"
        raise ValueError(message)
    parts = [text[i : i + 4] for i in range(0, len(text) - 8, 4)]
    digest, *marks = (int(part, 16) for part in [*parts, text[-8:]])
    return digest, marks


class TurnRecorder:
    """Keeps the turns of the episodes that a batch plays in ``Disabled`` mode.

    Parameters
    ----------
    envs : VectorEnv
    with_answers : bool
        False: those of the events are left out.
    """

    def __init__(self, envs: Any, *, with_answers: bool = True) -> None:
        self._space, size = envs.single_observation_space, envs.num_envs
        self._action_space = envs.single_action_space
        self._actions_space = envs.action_space
        self._steps = np.zeros(size, np.int64)
        self._sums = np.zeros(size, np.uint64)
        self._first_states = np.zeros(size, np.uint32)
        # The turns of the last block of each episode, and its blocks before: an episode
        # that never ends takes no memory for the others.
        self._states = np.zeros((size, _BLOCK), np.uint32)
        self._rewards = np.zeros((size, _BLOCK))
        self._arrays: NDArray[Any] = np.zeros((size, 0))
        self._blocks: list[list[tuple[NDArray[Any], ...]]] = [[] for _ in range(size)]
        self._with_answers = with_answers
        self._is_array = isinstance(self._action_space, ARRAY_SPACES)
        self._lists: list[list[Any]] = [[] for _ in range(size)]

    def add(self, event: BatchEvent) -> None:
        """Add a reset or a step; nothing of it is kept."""
        rows = np.flatnonzero(event.starts if event.is_reset else event.plays)
        size = len(self._steps)
        observations = map_leaves(_round, self._space, event.observations)
        digests = digest_rows(self._space, size, observations, {})[rows]
        if event.is_reset:
            self._steps[rows] = self._sums[rows] = 0
            for row in rows.tolist():
                self._lists[row], self._blocks[row] = [], []
        self._sums[rows] = (self._sums[rows] + digests) * np.uint64(_FACTOR)
        states = self._sums[rows] >> np.uint64(32)
        if event.is_reset:
            self._first_states[rows] = states
            return
        columns = self._steps[rows] % _BLOCK
        self._states[rows, columns] = states
        self._rewards[rows, columns] = event.rewards[rows]
        if self._with_answers:
            self._add_answers(event.actions, rows, columns)
        self._steps[rows] += 1
        for row in rows[columns == _BLOCK - 1].tolist():
            parts = self._states[row], self._rewards[row], self._arrays[row]
            self._blocks[row].append(tuple(part.copy() for part in parts))

    def _add_answers(
        self, actions: Any, rows: NDArray[np.intp], columns: NDArray[np.int64]
    ) -> None:
        if self._is_array:
            batch = np.asarray(actions)
            if not self._arrays.size:
                shape = len(batch), _BLOCK, *batch.shape[1:]
                self._arrays = np.zeros(shape, batch.dtype)
            if batch.dtype != self._arrays.dtype:
                dtype = np.promote_types(batch.dtype, self._arrays.dtype)
                self._arrays = self._arrays.astype(dtype)
            self._arrays[rows, columns] = batch[rows]
            return
        items = actions
        if not isinstance(self._action_space, Text):
            items = list(iterate(self._actions_space, actions))
        for row in rows.tolist():
            item = items[row]
            self._lists[row].append(str(item) if isinstance(item, str) else item)

    def _join(self, number: int, env_id: int, block: NDArray[Any]) -> NDArray[Any]:
        """Return all turns of an episode, in a new array."""
        last = block[env_id, : self._steps[env_id] % _BLOCK]
        return np.concatenate([*(each[number] for each in self._blocks[env_id]), last])

    def rewards(self, env_id: int) -> NDArray[np.float64]:
        """Return the (T,) rewards of an environment's episode so far."""
        return self._join(1, env_id, self._rewards)

    def states(self, env_id: int) -> NDArray[np.uint32]:
        """Return the (T + 1,) digests of its observations up to each turn."""
        states = self._join(0, env_id, self._states)
        return np.concatenate([self._first_states[env_id : env_id + 1], states])

    def turns(self, env_id: int) -> EpisodeTurns | None:
        """Return the turns of an environment's episode so far.

        None: its answers are no plain data, which a file could keep.
        """
        answers: Any = self._lists[env_id]
        if self._is_array:
            answers = self._join(2, env_id, self._arrays)
            if isinstance(self._action_space, Discrete):
                answers = answers.tolist()
        try:
            marks = write_marks(answers, self.states(env_id))
        except TypeError:
            return None
        return EpisodeTurns(answers, self.rewards(env_id).tolist(), marks)


def _round(space: Space[Any], batch: Any) -> Any:
    """Return a batch of a leaf with floats as whole numbers of 1 / 10,000."""
    del space
    if isinstance(batch, np.ndarray) and batch.dtype.kind == "f":
        return np.rint(batch.astype(np.float64) * 10_000) + 0.0
    return batch
