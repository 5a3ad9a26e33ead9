"""Trajectories of the events of a batch, whatever played it."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import numpy as np
from numpy.typing import NDArray

from roll_vec.recordings.episodes import EpisodeAccount
from roll_vec.recordings.events import BatchEvent
from roll_vec.trajectories.trajectory import OpenEpisode, Trajectory
from roll_vec.vector.known_infos import UNKNOWN, faults_of
from roll_vec.vector.space_batches import item_at


class TrajectoryFold:
    """Makes trajectories of the events of a batch.

    Each event is added before the next call of the batch.

    Parameters
    ----------
    envs : VectorEnv
        In any autoreset mode.
    """

    def __init__(self, envs: Any) -> None:
        self._envs = envs
        self._id = "" if envs.spec is None else envs.spec.id
        self._account = EpisodeAccount(envs)
        self._open: dict[int, OpenEpisode] = {}

    def add(self, event: BatchEvent) -> list[tuple[int, Trajectory]]:
        """Add an event; return the environments and episodes that it ended.

        Returns
        -------
        list of (int, Trajectory)
            Of each episode the environment; without its seed.  An episode that a reset
            cut is neither terminated nor truncated.
        """
        episodes = self._account.add(event)
        env_ids = np.flatnonzero(event.plays)
        if env_ids.size:
            self._add_steps(event, env_ids)
        trajectories = []
        faults = faults_of(event.last_infos) if len(episodes) else {}
        columns = (column.tolist() for column in vars(episodes).values())
        for env_id, _, _, code, terminated, truncated in zip(*columns, strict=True):
            success = None if code == UNKNOWN else bool(code)
            fault = faults.get(env_id)
            flags = terminated, truncated, success, fault
            trajectories.append(
                (env_id, self._open.pop(env_id).end(self._id, None, *flags))
            )
        env_ids = np.flatnonzero(event.starts)
        if env_ids.size:
            space = self._envs.single_observation_space
            rows = _rows(space, event.observations, env_ids)
            infos = _copies(event.first_infos(env_ids))
            starts = map(OpenEpisode, rows, infos)
            self._open.update(zip(env_ids.tolist(), starts, strict=True))
        return trajectories

    def _add_steps(self, event: BatchEvent, env_ids: NDArray[np.intp]) -> None:
        """Add a step to the episodes of some environments."""
        envs = self._envs
        columns = zip(
            env_ids.tolist(),
            _rows(envs.single_action_space, event.actions, env_ids),
            _rows(envs.single_observation_space, event.observations, env_ids),
            event.rewards[env_ids].tolist(),
            _copies(event.step_infos(env_ids)),
            strict=True,
        )
        are_final = event.ends & event.starts
        for env_id, action, observation, reward, info in columns:
            if are_final[env_id]:
                observation = deepcopy(event.final_observation(env_id))
            self._open[env_id].add(action, observation, reward, info)


def _rows(space: Any, batch: Any, env_ids: NDArray[np.intp]) -> list[Any]:
    """Return the observations or actions of some environments, none of them a view."""
    if isinstance(batch, np.ndarray):
        array = batch[env_ids]
        return array.tolist() if array.ndim == 1 else list(array)
    rows = [item_at(space, batch, env_id) for env_id in env_ids.tolist()]
    return rows if all(type(each) is str for each in rows) else deepcopy(rows)


def _copies(infos: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return infos in which no array is a view."""
    for info in infos:
        for key, value in info.items():
            if isinstance(value, (np.ndarray, dict, list)):
                info[key] = deepcopy(value)
    return infos
