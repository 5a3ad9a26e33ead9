"""Play each episode of a split once, or some of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from roll_vec.errors import InvalidOptionError
from roll_vec.evaluation.splits import FREE_KEYWORDS, Split
from roll_vec.evaluation.statistics import Interval, mean_interval, wilson_interval
from roll_vec.evaluation.turns import EpisodeTurns, TurnRecorder, write_marks
from roll_vec.recordings import BatchEvent
from roll_vec.recordings.driver import play_steps
from roll_vec.recordings.episodes import EpisodeAccount
from roll_vec.registration import ENVIRONMENTS
from roll_vec.trajectories.play import SKIPPED, Policy, SeedPlan, Turn
from roll_vec.vector.known_infos import faults_of

# Keywords in the spec of a batch that are not of its environments.
_BATCH_KEYWORDS = frozenset({"autoreset_mode", "num_envs", "vectorization_mode"})


@dataclass(frozen=True, kw_only=True)
class EpisodeRecord:
    """The result of a policy on one episode of a split.

    Parameters
    ----------
    episode : int
        Its number in the split, from 0.
    seed : int
        ``split.seeds[episode]``.
    total_reward : float
        The return: the rewards, added in float64 in the order of the steps.
    success : bool
        The environment's ``success`` at the last step.
    length : int
        Steps.
    terminated, truncated : bool
        Of the last step.  Both are False if a fault of the policy ended the episode.
    fault : str or None
        The reason why the episode ended, if the environment object or the policy
        failed.
    turns : EpisodeTurns or None
        Answers, rewards and marks; None: they were not kept.
    """

    episode: int
    seed: int
    total_reward: float
    success: bool
    length: int
    terminated: bool
    truncated: bool
    fault: str | None = None
    turns: EpisodeTurns | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class EpisodeResults:
    """The results of a policy on a split, in the order of its episodes."""

    returns: NDArray[np.float64]
    """(n,) sums of rewards."""
    successes: NDArray[np.bool_]
    """(n,) the environment's ``success`` at the last step."""
    lengths: NDArray[np.int64]
    """(n,) steps."""
    faults: NDArray[np.bool_]
    """(n,) True: the environment object of a pool, or the policy, failed, which ended
    the episode."""

    @classmethod
    def of(cls, records: Iterable[EpisodeRecord]) -> EpisodeResults:
        """Return the results of some episodes, in the order of their numbers."""
        ordered = sorted(records, key=lambda record: record.episode)
        return cls(
            np.array([record.total_reward for record in ordered], np.float64),
            np.array([record.success for record in ordered], np.bool_),
            np.array([record.length for record in ordered], np.int64),
            np.array([record.fault is not None for record in ordered], np.bool_),
        )

    def success_rate(self) -> Interval:
        """Return the share of successes and its 95 % interval (Wilson)."""
        return wilson_interval(int(self.successes.sum()), len(self.successes))

    def mean_return(self) -> Interval:
        """Return the mean return and its 95 % interval (normal approximation)."""
        return mean_interval(self.returns)


def play_split(split: Split, envs: Any, policy: Policy) -> EpisodeResults:
    """Play each episode of a split once, to its end.

    Parameters
    ----------
    split, envs, policy
        As for `play_episodes`.

    Returns
    -------
    EpisodeResults

    Raises
    ------
    InvalidOptionError
        If the environments are not of this split, or not in ``Disabled`` mode.
    """
    return EpisodeResults.of(play_episodes(split, envs, policy, keep_turns=False))


def play_episodes(
    split: Split,
    envs: Any,
    policy: Policy,
    episodes: Sequence[int] | None = None,
    *,
    keep_turns: bool = True,
) -> Iterator[EpisodeRecord]:
    """Play some episodes of a split once, each to its end.

    With a policy that treats environments independently no record depends on
    ``num_envs`` or on the other episodes.

    Parameters
    ----------
    split : Split
    envs : VectorEnv
        Of ``split.make_vec``.  It is left open.
    policy : callable
        From a `Turn`, whose episodes are numbers in the split, to actions.  A function
        of observations alone is ``lambda turn: function(turn.observations)``.
    episodes : sequence of int, optional
        Different numbers from 0 to ``len(split) - 1``; None: all.
    keep_turns : bool
        False: the records have no `EpisodeTurns`, which saves some time.

    Yields
    ------
    EpisodeRecord
        Each as soon as its episode has ended.

    Raises
    ------
    InvalidOptionError
        If the environments are not of this split, or not in ``Disabled`` mode.
    """
    _check_envs(split, envs)
    numbers = np.array(range(len(split)) if episodes is None else episodes, np.int64)
    seeds = [split.seeds[number] for number in numbers.tolist()]

    def act(turn: Turn) -> Any:
        return policy(replace(turn, episodes=numbers[turn.episodes]))

    plan = SeedPlan(envs, seeds, act)
    recorder = TurnRecorder(envs) if keep_turns else None
    accounts = EpisodeAccount(envs), recorder
    return _records(plan, numbers, seeds, *accounts, play_steps(envs, plan))


def _records(
    plan: SeedPlan,
    numbers: NDArray[np.int64],
    seeds: list[int],
    account: EpisodeAccount,
    recorder: TurnRecorder | None,
    events: Iterator[BatchEvent],
) -> Iterator[EpisodeRecord]:
    """Yield the episodes that events end."""
    for event in events:
        if recorder is not None:
            recorder.add(event)
        episodes = account.add(event)
        faults = faults_of(event.last_infos) if len(episodes) else {}
        columns = (column.tolist() for column in vars(episodes).values())
        for env_id, *sums, success, terminated, truncated in zip(*columns, strict=True):
            place = int(plan.episodes[env_id])
            fault = faults.get(env_id)
            total_reward, length = sums
            turns = None if recorder is None else recorder.turns(env_id)
            if plan.is_skipped(env_id):
                # The episode that a pool plays in its place does not count.
                fault, success = fault or SKIPPED, 0
                total_reward, length, terminated, truncated = 0.0, 0, False, True
                turns = turns and EpisodeTurns([], [], write_marks([], [0]))
            yield EpisodeRecord(
                episode=int(numbers[place]),
                seed=seeds[place],
                total_reward=total_reward,
                success=success == 1,
                length=length,
                terminated=terminated,
                truncated=truncated,
                fault=fault,
                turns=turns,
            )


def _check_envs(split: Split, envs: Any) -> None:
    """Raise an error for environments of another task or autoreset mode."""
    id = None if envs.spec is None else envs.spec.id
    if id != split.id:
        raise InvalidOptionError.expected("envs", f"environments of {split.id}", id)
    registered = ENVIRONMENTS[split.id]
    task = {"max_episode_steps": registered.max_episode_steps, **registered.keywords}
    task |= split.keywords
    keywords = {
        name: value
        for name, value in {"max_episode_steps": None, **envs.spec.kwargs}.items()
        if name not in FREE_KEYWORDS | _BATCH_KEYWORDS
    }
    if keywords != task:
        accepted = f"environments with the keywords {task}"
        raise InvalidOptionError.expected("envs", accepted, keywords)
