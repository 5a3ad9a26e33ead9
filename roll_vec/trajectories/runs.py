"""The episodes of a recorded run, which is played again."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from roll_vec.errors import InvalidFileError
from roll_vec.recordings import BatchEvent, replay
from roll_vec.recordings.files import Run
from roll_vec.registration.any_id import find_spec, load_class
from roll_vec.seeding import episode_seed, expand_seeds
from roll_vec.trajectories.fold import TrajectoryFold
from roll_vec.trajectories.play import fault_counts
from roll_vec.trajectories.trajectory import Trajectory


class _Collector:
    """Collects the trajectories of each environment, in their order."""

    def __init__(self, envs: Any) -> None:
        self.trajectories: list[list[Trajectory]] = [[] for _ in range(envs.num_envs)]
        self._fold = TrajectoryFold(envs)

    def add(self, event: BatchEvent) -> None:
        for env_id, trajectory in self._fold.add(event):
            self.trajectories[env_id].append(trajectory)

    def add_exception(self, actions: Any, error: Exception) -> None:
        """Accept the exception of the last step, which has no results."""


def replay_trajectories(envs: Any, run: Run) -> list[Trajectory]:
    """Return the episodes of a run that ended, in the order of environment and start.

    A pool skips an episode whose reset fails, and nothing says which: the episodes of
    such an environment have no seed.

    Parameters
    ----------
    envs : VectorEnv
        The batch of the run's setup; it is left open.
    run : Run

    Raises
    ------
    InvalidFileError
        If the run differs when it is played.
    """
    collector = _Collector(envs)
    difference = replay(envs, run, recorder=collector).difference
    if difference is not None:
        message = (
            f"{run.path} cannot be read: {difference.field} differ at step "
            f"{difference.step} when it is played here; see roll-vec replay"
        )
        raise InvalidFileError(message)
    setup = run.setup
    seeds = expand_seeds(run.seed, setup.num_envs, setup.options.get("group_size", 1))
    # Only with levels does an episode after the first have a seed of its own.
    cls = load_class(find_spec(setup.id))
    has_levels = getattr(cls, "seeding", "") == "level" or hasattr(cls, "level_seed")
    counts = fault_counts(envs)
    trajectories = []
    for seed, count, episodes in zip(
        seeds, counts, collector.trajectories, strict=True
    ):
        faults = sum(each.fault is not None for each in episodes)
        for number, each in enumerate(episodes):
            is_known = count == faults and (number == 0 or has_levels)
            episode = seed
            if number and seed is not None:
                episode = episode_seed(seed, number)
            trajectories.append(replace(each, seed=episode if is_known else None))
    return trajectories
