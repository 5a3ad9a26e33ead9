"""The episodes of a recorded run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NoReturn

import numpy as np
from gymnasium.vector import AutoresetMode

from roll_vec.cli._environments import find_spec, load_class
from roll_vec.cli._frames import Frame
from roll_vec.cli._run_file import Run, refuse_damage
from roll_vec.errors import InvalidFileError
from roll_vec.plain_data import decode
from roll_vec.seeding import episode_seed, expand_seeds
from roll_vec.trajectories import Trajectory
from roll_vec.vector.info_lists import split_infos

__all__ = ["run_trajectories"]

_NEEDED = ("observations", "infos")


def run_trajectories(run: Run) -> Iterator[Trajectory]:
    """Yield the episodes of a run that ended, in the order of environment and start.

    A pool skips an episode whose reset fails, and the file does not say which: the
    episodes of such an environment have no seed.

    Nested observations, of Dict and Tuple spaces, are dicts.

    Raises
    ------
    InvalidFileError
        If the file is damaged, or has digests in place of some observations or infos.
    """
    with refuse_damage(run.path):
        reader = _Reader(run)
        actions = run.actions()
        for frame in run.frames():
            if frame.digest_fields & {*_NEEDED}:
                _refuse_digests(run)
            values = _to_layout(frame.values)
            if frame.is_reset:
                reader.add_reset(values)
            else:
                reader.add_step(next(actions), values)
        episodes = reader.without_uncertain_seeds()
    for env_episodes in episodes:
        yield from env_episodes


class _Reader:
    """Divides frames among the episodes of the environments."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._mode = run.setup.autoreset
        num_envs = run.setup.num_envs
        self.episodes: list[list[Trajectory]] = [[] for _ in range(num_envs)]
        self._env_ids = np.arange(num_envs)
        group_size = run.setup.options.get("group_size", 1)
        self._seeds = expand_seeds(run.seed, num_envs, group_size)
        # Only with levels does an episode after the first have a seed of its own.
        spec = find_spec(run.setup.id)
        self._id = spec.id
        self._has_levels = hasattr(load_class(spec), "level_seed")
        self._successes = run.successes()
        # By environment: observations, actions, rewards, infos; None: it has ended.
        self._open: list[tuple[list[Any], ...] | None] = [None] * num_envs

    def add_reset(self, values: dict[str, Any]) -> None:
        """Begin an episode in the environments that have none."""
        infos = split_infos(values.get("infos", {}), self._env_ids)
        observations = _rows(values["observations"], len(infos))
        for env_id, record in enumerate(self._open):
            if record is None:
                first = observations[env_id], infos[env_id]
                self._open[env_id] = ([first[0]], [], [], [first[1]])

    def add_step(self, actions: Any, values: dict[str, Any]) -> None:
        """Add a step to all episodes, and end those that end."""
        num_envs = len(self._open)
        infos = split_infos(values.get("infos", {}), self._env_ids)
        observations = _rows(values["observations"], num_envs)
        is_same_step = self._mode is AutoresetMode.SAME_STEP
        for env_id in range(num_envs):
            record = self._open[env_id]
            observation, info = observations[env_id], infos[env_id]
            if record is None:
                # The step that resets, in NextStep mode.
                self._open[env_id] = ([observation], [], [], [info])
                continue
            ends = [bool(values[f][env_id]) for f in ("terminations", "truncations")]
            first = observation, info
            if is_same_step and any(ends):
                observation, info = info.pop("final_obs"), info.pop("final_info", {})
            for column, value in zip(
                record,
                (
                    observation,
                    _row(actions, env_id),
                    float(values["rewards"][env_id]),
                    info,
                ),
                strict=True,
            ):
                column.append(value)
            if any(ends):
                self._end(env_id, record, *ends)
                self._open[env_id] = None
                if is_same_step:
                    self._open[env_id] = ([first[0]], [], [], [first[1]])

    def without_uncertain_seeds(self) -> list[list[Trajectory]]:
        """Return the episodes; after a reset that failed they have no seed."""
        if self._run.fault_counts is None:
            return self.episodes
        return [
            episodes
            if count == sum(episode.fault is not None for episode in episodes)
            else [replace(episode, seed=None) for episode in episodes]
            for count, episodes in zip(
                self._run.fault_counts, self.episodes, strict=True
            )
        ]

    def _end(
        self, env_id: int, record: tuple[list[Any], ...], terminated: bool, cut: bool
    ) -> None:
        observations, actions, rewards, infos = record
        number = len(self.episodes[env_id])
        seed = self._seeds[env_id]
        success = self._successes[env_id][number]
        fault = infos[-1].get("error")
        if number and seed is not None:
            seed = episode_seed(seed, number) if self._has_levels else None
        self.episodes[env_id].append(
            Trajectory(
                id=self._id,
                seed=seed,
                observations=observations,
                actions=actions,
                rewards=np.array(rewards, np.float64),
                terminated=terminated,
                truncated=cut,
                success=success if fault is None else False,
                infos=infos,
                fault=fault,
            )
        )


def _to_layout(frame: Frame) -> dict[str, Any]:
    """Return the leaves of a frame as nested dicts of arrays, by field."""
    layout: dict[str, Any] = {}
    for path, leaf in frame.items():
        place = layout
        for part in path[:-1]:
            place = place.setdefault(part, {})
        if isinstance(leaf, np.ndarray):
            place[path[-1]] = leaf
            continue
        values = np.empty(len(leaf), object)
        # Most texts occur many times.
        texts = {text: decode(text) for text in {*leaf}}
        for i, text in enumerate(leaf):
            values[i] = texts[text]
        place[path[-1]] = values
    return layout


def _rows(batch: Any, num_envs: int) -> list[Any]:
    """Return the entries of a batch of observations in the form of one environment."""
    return [_row(batch, env_id) for env_id in range(num_envs)]


def _row(batch: Any, env_id: int) -> Any:
    if isinstance(batch, dict):
        return {key: _row(part, env_id) for key, part in batch.items()}
    row = batch[env_id]
    return row.item() if isinstance(row, np.generic) else row


def _refuse_digests(run: Run) -> NoReturn:
    message = (
        f"{run.path} has only digests of the observations or infos of later steps; "
        "save the run with a larger --save-values"
    )
    raise InvalidFileError(message)
