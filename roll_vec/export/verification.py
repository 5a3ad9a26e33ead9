"""Play each row of a file again, and compare."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from itertools import groupby, islice
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np

from roll_vec.errors import InvalidFileError, RollVecError
from roll_vec.export.formats import Row, find_format
from roll_vec.export.source import NUM_ENVS, encode_keywords, make_batch
from roll_vec.storage.files import check_regular
from roll_vec.trajectories import Trajectory, Turn, play_seeds

_BLOCK = 4096


class VerificationError(RollVecError, ValueError):
    """Raised when a row of a file is not what its seed and its actions give."""


def verify(
    path: str | os.PathLike[str],
    format: str = "messages",
    *,
    num_envs: int = NUM_ENVS,
    on_progress: Callable[[int], None] | None = None,
) -> tuple[int, int]:
    """Reset with the seed of each row, take its actions, and compare to the bit.

    Return, success, number of steps and the observations in the file are compared.

    Parameters
    ----------
    path : path
        A complete export.
    format : str
    num_envs : int
        Environments stepped at once.
    on_progress : callable, optional
        Called with the number of rows so far.

    Returns
    -------
    rows, rows_without_seed : int
        Episodes of a recorded run may have no seed that begins them; such rows are not
        played.  (`roll-vec replay` plays the whole run.)

    Raises
    ------
    VerificationError
        Names the first row that differs, from 0, and its seed.
    InvalidFileError
        If it is none of the format, or names an unknown environment.
    InvalidOptionError, UnknownOptionError
        If the environment cannot be made here.
    """
    path = Path(path)
    if not path.is_dir():
        check_regular(path)
    rows = find_format(format).read(path)
    count = without_seed = 0
    while block := list(islice(rows, _BLOCK)):
        numbered = [(count + i, row) for i, row in enumerate(block)]
        playable = [pair for pair in numbered if pair[1].seed is not None]
        without_seed += len(block) - len(playable)
        for _, group in groupby(playable, _recipe):
            _play(str(path), list(group), num_envs)
        count += len(block)
        if on_progress is not None:
            on_progress(count)
    return count, without_seed


def _recipe(numbered: tuple[int, Row]) -> tuple[str, str]:
    row = numbered[1]
    return row.id, encode_keywords(row.keywords)


def _play(path: str, numbered: Sequence[tuple[int, Row]], num_envs: int) -> None:
    """Play rows of one environment again; raise an error for one that differs."""
    rows = [row for _, row in numbered]
    seeds = [row.seed for row in rows if row.seed is not None]
    id = rows[0].id
    try:
        envs = make_batch(id, min(num_envs, len(rows)), rows[0].keywords)
    except RollVecError:
        raise
    except (gymnasium.error.Error, ImportError) as error:
        message = f"{path}: the environment {id!r} cannot be made here: {error}"
        raise InvalidFileError(message) from error
    dtype = envs.action_space.dtype

    def refuse(number: int, difference: str) -> None:
        row, seed = numbered[number][0], rows[number].seed
        message = f"{path}: row {row} (seed {seed}): {difference}"
        raise VerificationError(message)

    def policy(turn: Turn) -> Any:
        actions = []
        pairs = np.stack([turn.episodes, turn.steps], 1)
        for number, step in pairs.tolist():
            planned = rows[number].actions
            if step > len(planned) or not planned:
                refuse(number, f"the episode does not end after {len(planned)} steps")
            # An environment whose episode has ended waits; its action has no effect.
            actions.append(planned[min(step, len(planned) - 1)])
        return actions if dtype is None else np.array(actions, dtype)

    with closing(envs):
        for number, episode in enumerate(play_seeds(envs, seeds, policy)):
            for difference in _differences(rows[number], episode):
                refuse(number, difference)


def _differences(row: Row, episode: Trajectory) -> Iterator[str]:
    """Yield the differences between a row and its episode."""
    facts: list[tuple[str, Any, Any]] = [
        ("num_steps", row.num_steps, episode.num_steps),
        ("the number of actions", len(row.actions), episode.num_steps),
        ("the number of rewards", len(row.rewards), episode.num_steps),
        ("return", row.total_reward, episode.total_reward),
        ("success", row.success, episode.success),
    ]
    rewards = zip(row.rewards, episode.rewards.tolist(), strict=False)
    facts += [(f"reward {i}", *pair) for i, pair in enumerate(rewards)]
    for name, stated, played in facts:
        # As texts: 0.0 is not -0.0, and nan is nan.
        if repr(stated) != repr(played):
            yield f"{name} is {stated} in the file, and {played} when it is played"
    observations = zip(row.observations, episode.observations, strict=False)
    for step, (stated, played) in enumerate(observations):
        if not _are_equal(stated, played):
            yield f"observation {step} differs when it is played"


def _are_equal(stated: Any, played: Any) -> bool:
    """Return whether two observations are equal; nan is nan."""
    has_nan = np.asarray(played).dtype.kind in "fc"
    return np.array_equal(stated, played, equal_nan=has_nan)
