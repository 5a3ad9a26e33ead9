"""Episodes of the exact solvers as a data set of observations and actions; no torch."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
from display import progress_bar

import roll_vec

GRIDS = {"obs_mode": "grid", "action_start": 0}  # codes of cells, actions from 0


@dataclass(frozen=True)
class Episodes:
    """Episodes of a solver, one after the other: pairs of an observation and an action.

    Episode k plays level ``levels[k]`` and has ``lengths[k]`` pairs.  To replay it:
    ``gymnasium.make(id, **keywords)``, ``reset(seed=levels[k])``, and its actions.
    """

    id: str
    keywords: dict[str, Any]
    levels: np.ndarray  # (E,) int64
    lengths: np.ndarray  # (E,) int64; the sum is T
    observations: np.ndarray  # (T, H, W) uint8, the codes of the cells
    actions: np.ndarray  # (T,) int64, 0 to 3

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write an ``.npz`` without pickled objects."""
        arrays = vars(self) | {"keywords": json.dumps(self.keywords)}
        with Path(path).open("wb") as file:
            np.savez_compressed(file, **arrays)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Episodes:
        """Read the file that `save` wrote; KeyError if it is another one."""
        with np.load(path) as file:
            arrays = {field.name: file[field.name] for field in fields(cls)}
        id, keywords = str(arrays.pop("id")), json.loads(str(arrays.pop("keywords")))
        return cls(id, keywords, **arrays)

    def task(self) -> str:
        """Return the id, the keywords and the number of levels."""
        return describe_task(self.id, self.keywords, len(self.levels))

    def starts(self) -> np.ndarray:
        """Return the first observation of each episode, (E, H, W)."""
        return self.observations[np.cumsum(self.lengths) - self.lengths]


def describe_task(id: str, keywords: Mapping[str, Any], num_levels: int) -> str:
    """Return a text that is equal for equal data sets."""
    return f"{num_levels} levels of {id}, {json.dumps(keywords, sort_keys=True)}"


def collect_episodes(
    id: str, keywords: Mapping[str, Any], num_levels: int, num_envs: int = 4096
) -> Episodes:
    """Play the levels 0 to ``num_levels - 1`` with the fewest moves.

    Parameters
    ----------
    id : str
        Of Sokoban or RandomFrozenLake.
    keywords : mapping
        Of `roll_vec.make_vec`; of lakes with ``is_slippery=False``.
    num_levels : int
    num_envs : int
        The levels that are played together; it has no effect on the result.
    """
    keywords = {**keywords, **GRIDS}
    lengths, observations, actions = [], [], []
    with progress_bar(num_levels, "episodes of the solver") as bar:
        for level in range(0, num_levels, num_envs):
            count = min(num_envs, num_levels - level)
            envs = roll_vec.make_vec(id, count, **keywords)
            start, _ = envs.reset(seed=level)  # without a band, a seed is a level
            solutions = envs.solve()
            length = np.array([len(solution) for solution in solutions])
            is_played = np.arange(length.max()) < length[:, None]
            plan = np.zeros(is_played.shape, np.int64)
            plan[is_played] = np.concatenate(solutions)
            following = envs.unroll(plan.T).observations
            boards = np.concatenate([start[None], following[:-1]]).swapaxes(0, 1)
            lengths.append(length)
            observations.append(boards[is_played])
            actions.append(plan[is_played])
            envs.close()
            bar.advance(count)
    columns = (np.concatenate(parts) for parts in (lengths, observations, actions))
    return Episodes(id, keywords, np.arange(num_levels), *columns)


def load_or_collect(
    path: Path | None, id: str, keywords: Mapping[str, Any], num_levels: int
) -> Episodes:
    """Read the episodes from a file; without one collect them, and write it.

    Raises
    ------
    ValueError
        If the file has episodes of another task.
    """
    if path is None or not path.exists():
        episodes = collect_episodes(id, keywords, num_levels)
        if path is not None:
            episodes.save(path)
        return episodes
    episodes = Episodes.load(path)
    task = describe_task(id, {**keywords, **GRIDS}, num_levels)
    if episodes.task() != task:
        message = f"path: {os.fspath(path)!r} has {episodes.task()}, expected {task}"
        raise ValueError(message)
    return episodes
