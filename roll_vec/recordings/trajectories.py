"""The events of a saved run, and its episodes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from roll_vec.errors import InvalidFileError
from roll_vec.recordings.events import BatchEvent, EventStream
from roll_vec.recordings.files import Run, refuse_damage
from roll_vec.recordings.flat_results import FlatResults
from roll_vec.registration.any_id import find_spec, load_class
from roll_vec.seeding import episode_seed, expand_seeds
from roll_vec.storage.plain_data import decode
from roll_vec.trajectories import Trajectory
from roll_vec.trajectories.trajectory import OpenEpisode
from roll_vec.vector.known_infos import fault_of

_NEEDED = ("observations", "infos")


def read_events(run: Run) -> Iterator[BatchEvent]:
    """Yield the resets and steps of a run, in order.

    Batches of Dict and Tuple spaces are dicts; texts and other objects are arrays of
    objects, one an environment.

    Raises
    ------
    InvalidFileError
        If the file is damaged, or has digests in place of some observations or infos.
    """
    with refuse_damage(run.path):
        stream = EventStream(run.setup.num_envs, run.setup.autoreset)
        actions = run.actions()
        for frame in run.frames():
            if frame.digest_fields & {*_NEEDED}:
                message = (
                    f"{run.path} has only digests of the observations or infos of "
                    "later steps; save the run with a larger --save-values"
                )
                raise InvalidFileError(message)
            results = _nested(frame.values)
            results.setdefault("infos", {})
            if frame.is_reset:
                yield stream.add_reset(**results)
            else:
                yield stream.add_step(next(actions), **results)


def read_trajectories(run: Run) -> Iterator[Trajectory]:
    """Yield the episodes of a run that ended, in the order of environment and start.

    A pool skips an episode whose reset fails, and the file does not say which: the
    episodes of such an environment have no seed.

    Nested observations, of Dict and Tuple spaces, are dicts.

    Raises
    ------
    InvalidFileError
        As `read_events`.
    """
    setup = run.setup
    spec = find_spec(setup.id)
    seeds = expand_seeds(run.seed, setup.num_envs, setup.options.get("group_size", 1))
    # Only with levels does an episode after the first have a seed of its own.
    cls = load_class(spec)
    has_levels = getattr(cls, "seeding", "") == "level" or hasattr(cls, "level_seed")
    successes = run.successes()
    ended: list[list[Trajectory]] = [[] for _ in seeds]
    episodes: dict[int, OpenEpisode] = {}
    with refuse_damage(run.path):
        for event in read_events(run):
            _extend(episodes, event)
            for env_id in np.flatnonzero(event.ends).tolist():
                episode, number = episodes.pop(env_id), len(ended[env_id])
                seed = seeds[env_id]
                if number and seed is not None:
                    seed = episode_seed(seed, number) if has_levels else None
                flags = event.terminations[env_id], event.truncations[env_id]
                outcome = successes[env_id][number], fault_of(episode.infos[-1])
                trajectory = episode.end(spec.id, seed, *flags, *outcome)
                ended[env_id].append(trajectory)
            env_ids = np.flatnonzero(event.starts)
            first = event.first_infos(env_ids)
            for env_id, info in zip(env_ids.tolist(), first, strict=True):
                episodes[env_id] = OpenEpisode(_row(event.observations, env_id), info)
    for env_id, each in enumerate(ended):
        faults = sum(one.fault is not None for one in each)
        if run.fault_counts is not None and run.fault_counts[env_id] != faults:
            each = [replace(one, seed=None) for one in each]
        yield from each


def _extend(episodes: dict[int, OpenEpisode], event: BatchEvent) -> None:
    """Add a step to the episodes of the environments that took it."""
    env_ids = np.flatnonzero(event.plays)
    for env_id, info in zip(env_ids.tolist(), event.step_infos(env_ids), strict=True):
        if event.ends[env_id] and event.starts[env_id]:
            observation = event.final_observation(env_id)
        else:
            observation = _row(event.observations, env_id)
        action, reward = _row(event.actions, env_id), float(event.rewards[env_id])
        episodes[env_id].add(action, observation, reward, info)


def _nested(frame: FlatResults) -> dict[str, Any]:
    """Return leaves as nested dicts of arrays, by field."""
    results: dict[str, Any] = {}
    for path, leaf in frame.items():
        place = results
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
    return results


def _row(batch: Any, env_id: int) -> Any:
    """Return the entry of one environment of a batch."""
    if isinstance(batch, dict):
        return {key: _row(part, env_id) for key, part in batch.items()}
    row = batch[env_id]
    return row.item() if isinstance(row, np.generic) else row
