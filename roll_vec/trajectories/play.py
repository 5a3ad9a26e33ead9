"""Play each seed of a list once, in one batch.

An environment whose episode ends begins the next one of the list.  So short episodes
are not favoured, as they are where the first n ends of a batch are counted.  With a
policy that treats environments independently, no result depends on ``num_envs``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray

from roll_vec.errors import InvalidOptionError
from roll_vec.seeding import fold_seed
from roll_vec.trajectories.trajectory import OpenEpisode, Trajectory
from roll_vec.vector.infos import split_infos
from roll_vec.vector.known_infos import episode_success, faults_of
from roll_vec.vector.space_batches import item_at

# The fault of an episode in whose place a pool plays another one.
SKIPPED = "the reset failed, and the pool played another episode"

# Episodes that may be ahead of the first unfinished one, for each environment.  They
# wait in the memory until they can be returned in order.
_EPISODES_AHEAD = 4


@dataclass(frozen=True)
class Turn:
    """A batch whose environments wait for an action.

    Attributes
    ----------
    observations : any
        Of the whole batch.
    episodes : (num_envs,) int64
        The episode that each environment plays, by its number in the list.  One that
        waits for a new episode, or has none left, has the number of its last one: its
        action has no effect.
    steps : (num_envs,) int64
        The steps of these episodes so far.
    """

    observations: Any
    episodes: NDArray[np.int64]
    steps: NDArray[np.int64]

    def random_words(self, seed: int) -> NDArray[np.uint64]:
        """Return (num_envs,) uint64, each a function of seed, episode and step."""
        # Its import loads numba.
        from roll_vec.kernels.rng.pcg64 import fold_in_rows

        words = np.full(len(self.steps), fold_seed(seed), np.uint64)
        for counters in (self.episodes, self.steps):
            fold_in_rows(words.copy(), counters.astype(np.uint64), words)
        return words


# From a `Turn` to the actions of the batch.
Policy: TypeAlias = Callable[[Turn], Any]


class BatchStep(NamedTuple):
    """The arguments and results of one step of the batch.

    Attributes
    ----------
    turn : Turn
        The observations before the step, and who plays what.
    playing : (num_envs,) bool
        True: the environment plays an episode and took this step.
    reset_infos : dict
        The infos of the reset before this step; environments that it reset have
        ``turn.steps == 0``.
    actions, observations : any
    rewards : (num_envs,) float64
    terminations : (num_envs,) bool
    truncations : (num_envs,) bool
    infos : dict
    skipped : (num_envs,) bool
        True: the reset with the seed failed, and the pool plays another
        episode in its place.
    """

    turn: Turn
    playing: NDArray[np.bool_]
    reset_infos: dict[str, Any]
    actions: Any
    observations: Any
    rewards: NDArray[np.float64]
    terminations: NDArray[np.bool_]
    truncations: NDArray[np.bool_]
    infos: dict[str, Any]
    skipped: NDArray[np.bool_]

    def faults(self) -> dict[int, str]:
        """Return why episodes that have ended do not count, by environment."""
        skipped = np.flatnonzero(self.skipped).tolist()
        return {**dict.fromkeys(skipped, SKIPPED), **faults_of(self.infos)}


def play_steps(
    envs: Any, seeds: Sequence[int], policy: Policy, *, ahead: int | None = None
) -> Iterator[BatchStep]:
    """Play each seed once and yield each step of the batch.

    Parameters
    ----------
    envs : VectorEnv
        A batch of this package in ``Disabled`` mode.  It is left open.
    seeds : sequence of int
        Episode i is the one that ``reset(seed=seeds[i])`` begins.
    policy : callable
        From a `Turn` to actions.  A function of observations alone is
        ``lambda turn: function(turn.observations)``.
    ahead : int, optional
        Episodes that may begin after the first unfinished one; environments wait
        otherwise.  None: no limit.

    Raises
    ------
    InvalidOptionError
        If the environments are not in ``Disabled`` mode.
    """
    _check_mode(envs)
    total, num_envs = len(seeds), envs.num_envs
    # With copy=False a step writes into the array of the observations before it.
    is_shared = not getattr(envs.unwrapped, "copy", True)
    num_started = 0
    episodes = np.full(num_envs, total - 1)
    playing, skipped = np.zeros((2, num_envs), np.bool_)
    steps = np.zeros(num_envs, np.int64)
    observations: Any = None
    while num_started < total or playing.any():
        waiting, reset_infos = np.flatnonzero(~playing), {}
        count = min(len(waiting), total - num_started)
        if ahead is not None and playing.any():
            count = min(count, int(episodes[playing].min()) + 1 + ahead - num_started)
        if count > 0:
            env_ids = waiting[:count]
            episodes[env_ids] = num_started + np.arange(count)
            steps[env_ids] = 0
            beginning = np.zeros(num_envs, np.bool_)
            beginning[env_ids] = True
            playing |= beginning
            old_counts = fault_counts(envs)
            observations, reset_infos = envs.reset(
                seed=[seeds[i] for i in episodes.tolist()],
                options={"reset_mask": beginning} if num_started else None,
            )
            skipped[env_ids] = (fault_counts(envs) > old_counts)[env_ids]
            num_started += count
        if is_shared:
            observations = deepcopy(observations)
        turn = Turn(observations, _read_only(episodes), _read_only(steps))
        actions = policy(turn)
        results: tuple[Any, Any, Any, Any, Any]
        if playing.all():
            results = envs.step(actions)
        else:
            results = envs._step_some(actions, playing)
        observations, _, terminations, truncations, _ = results
        now = playing.copy(), reset_infos, actions
        yield BatchStep(turn, *now, *results, skipped.copy())
        steps += playing
        playing &= ~(terminations | truncations)


def play_seeds(
    envs: Any,
    seeds: Sequence[int],
    policy: Policy,
    *,
    on_progress: Callable[[int], None] | None = None,
) -> Iterator[Trajectory]:
    """Play each seed once and yield the episodes, in the order of the seeds.

    The memory holds at most some episodes for each environment, however many seeds
    there are: an environment waits if it is far ahead of the longest episode.

    Parameters
    ----------
    envs, seeds, policy
        As for `play_steps`.
    on_progress : callable, optional
        Called with the number of episodes that have ended, after each step that ends
        some.

    Yields
    ------
    Trajectory
        Nothing in it changes when the batch goes on.

    Raises
    ------
    InvalidOptionError
        As `play_steps`.
    """
    seeds = list(seeds)
    id = "" if envs.spec is None else envs.spec.id
    open_episodes: dict[int, OpenEpisode] = {}
    complete: dict[int, Trajectory] = {}
    num_ended = num_yielded = 0
    ahead = _EPISODES_AHEAD * envs.num_envs
    first_observations: dict[int, Any] = {}

    def act(turn: Turn) -> Any:
        # A policy may change its observations, such as by a normalisation in place.
        env_ids = np.flatnonzero(turn.steps == 0)
        rows = _rows(envs.single_observation_space, turn.observations, env_ids)
        first_observations.update(zip(env_ids.tolist(), rows, strict=True))
        return policy(turn)

    for step in play_steps(envs, seeds, act, ahead=ahead):
        env_ids = np.flatnonzero(step.playing)
        beginning = env_ids[step.turn.steps[env_ids] == 0]
        own_infos = _own(split_infos(step.reset_infos, beginning))
        for env_id, info in zip(beginning.tolist(), own_infos, strict=True):
            open_episodes[env_id] = OpenEpisode(first_observations.pop(env_id), info)
        columns = zip(
            env_ids.tolist(),
            _rows(envs.single_action_space, step.actions, env_ids),
            _rows(envs.single_observation_space, step.observations, env_ids),
            step.rewards[env_ids].tolist(),
            _own(split_infos(step.infos, env_ids)),
            strict=True,
        )
        for env_id, *values in columns:
            open_episodes[env_id].add(*values)
        dones = step.terminations | step.truncations
        ended = env_ids[dones[env_ids]]
        faults = step.faults() if len(ended) else {}
        for env_id in ended.tolist():
            episode = int(step.turn.episodes[env_id])
            record, seed = open_episodes.pop(env_id), seeds[episode]
            flags = step.terminations[env_id], step.truncations[env_id]
            success = episode_success(envs, env_id, record.infos[-1])
            outcome = success, faults.get(env_id)
            complete[episode] = record.end(id, seed, *flags, *outcome)
        num_ended += len(ended)
        if on_progress is not None and len(ended):
            on_progress(num_ended)
        while num_yielded in complete:
            yield complete.pop(num_yielded)
            num_yielded += 1


def _read_only(values: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return a copy that a policy cannot change."""
    values = values.copy()
    values.flags.writeable = False
    return values


def _rows(space: Any, batch: Any, env_ids: NDArray[np.int64]) -> list[Any]:
    """Return the observations or actions of some environments, none of them a view."""
    if isinstance(batch, np.ndarray):
        array = batch[env_ids]
        return array.tolist() if array.ndim == 1 else list(array)
    rows = [item_at(space, batch, env_id) for env_id in env_ids.tolist()]
    return rows if all(type(each) is str for each in rows) else deepcopy(rows)


def _own(infos: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return infos in which no array is a view."""
    for info in infos:
        for key, value in info.items():
            if isinstance(value, (np.ndarray, dict, list)):
                info[key] = deepcopy(value)
    return infos


def fault_counts(envs: Any) -> NDArray[np.int64]:
    """Return (num_envs,) the faults of each environment so far; 0 without a pool."""
    counts = getattr(envs.unwrapped, "fault_counts", None)
    return np.zeros(envs.num_envs, np.int64) if counts is None else np.array(counts)


def _check_mode(envs: Any) -> None:
    mode = envs.metadata.get("autoreset_mode")
    if mode is not AutoresetMode.DISABLED:
        accepted = "environments in Disabled mode (autoreset_mode='Disabled')"
        raise InvalidOptionError.expected("envs", accepted, mode)
