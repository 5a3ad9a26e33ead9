"""Replays of recorded episodes: rewards, ends, and digests of the observations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from gymnasium.spaces import Space
from numpy.typing import NDArray

from roll_vec.evaluation.replaying import AnswerPlan, EpisodeGroup, group_episodes
from roll_vec.evaluation.turns import TurnRecorder
from roll_vec.recordings.episodes import EpisodeAccount
from roll_vec.recordings.recorded_episodes import RecordedEpisode
from roll_vec.trajectories.play import SKIPPED
from roll_vec.vector.known_infos import UNKNOWN, faults_of
from roll_vec.vector.space_batches import map_leaves

Progress: TypeAlias = Callable[[int, int], None]
"""Called with the number of episodes that were played again, and that of all."""

OTHER_BOARDS = (
    "the first prompt of {:,} episodes does not show the board of the replay: id, "
    "keywords or seed are wrong, or the prompt was changed"
)


@dataclass(frozen=True)
class Replay:
    """An episode that was played again.

    Attributes
    ----------
    rewards : (T,) float64
    states : (T + 1,) uint32
        Digests of the observations up to each turn.
    total_reward : float
    success : bool or None
        None: the environment does not say.
    terminated, truncated : bool
    problem : str or None
        Why it cannot be played as it is recorded.
    is_refused : bool
        The environment refuses an answer, or the seed.
    fault : str or None
    is_float : bool
        Observations are floats.
    has_other_prompt : bool
        The first prompt, if there is one, does not have the first observation.
    """

    rewards: NDArray[np.float64]
    states: NDArray[np.uint32]
    total_reward: float = 0.0
    success: bool | None = None
    terminated: bool = False
    truncated: bool = False
    problem: str | None = None
    is_refused: bool = False
    fault: str | None = None
    is_float: bool = False
    has_other_prompt: bool = False


def play_again(
    episodes: Sequence[RecordedEpisode], on_progress: Progress | None = None
) -> list[Replay]:
    """Return a replay of each episode."""
    replays: dict[int, Replay] = {}
    for group in group_episodes(episodes):
        before = len(replays)

        def show(num_done: int, before: int = before) -> None:
            if on_progress is not None:
                on_progress(before + num_done, len(episodes))

        with closing(group.make_vec()) as envs:
            for place, replay in _play_group(group, envs, show).items():
                replays[int(group.places[place])] = replay
    return [replays[place] for place in range(len(episodes))]


def _play_group(
    group: EpisodeGroup, envs: Any, show: Callable[[int], None]
) -> dict[int, Replay]:
    """Return the replays of the episodes of a group, by place."""
    plan, account = AnswerPlan(envs, group.episodes), EpisodeAccount(envs)
    recorder = TurnRecorder(envs, with_answers=False)
    is_float = _has_floats(envs.single_observation_space)
    done: dict[int, Replay] = {}
    others: set[int] = set()
    for event in plan.play():
        recorder.add(event)
        ended = account.add(event)
        faults = faults_of(event.last_infos) if len(ended) else {}
        columns = (column.tolist() for column in vars(ended).values())
        for env_id, total, _, success, *ends in zip(*columns, strict=True):
            terminated, truncated = ends
            done[int(plan.episodes[env_id])] = Replay(
                rewards=recorder.rewards(env_id),
                states=recorder.states(env_id),
                total_reward=total,
                success=None if success == UNKNOWN else success == 1,
                terminated=terminated,
                truncated=truncated,
                fault=faults.get(env_id),
                is_float=is_float,
            )
        if event.is_reset:
            for env_id in np.flatnonzero(event.starts).tolist():
                # Of an episode without answers nothing else is known.
                place = int(plan.episodes[env_id])
                states = recorder.states(env_id)
                prompts = group.episodes[place].prompts
                if has_other_board(prompts, event.observations[env_id]):
                    others.add(place)
                skipped = SKIPPED if plan.is_skipped(env_id) else None
                done[place] = Replay(np.zeros(0), states, fault=skipped)
        # Those whose last event this is are counted with the next one.
        show(len(done) - plan.num_playing)
    show(len(done))
    problems = plan.problems()
    return {
        place: replace(
            replay,
            problem=problems.get(place),
            is_refused=place in plan.refusals,
            has_other_prompt=place in others,
        )
        for place, replay in done.items()
    }


def has_other_board(prompts: Sequence[str] | None, observation: Any) -> bool:
    """Return whether the first of some prompts does not have an observation.

    White space does not count: verl-agent sets cells apart by it.
    """
    if not prompts or not isinstance(observation, str):
        return False
    return "".join(observation.split()) not in "".join(prompts[0].split())


def _has_floats(space: Space[Any]) -> bool:
    kinds: list[str] = []

    def add(leaf: Space[Any]) -> None:
        kinds.append(np.dtype(leaf.dtype).kind if leaf.dtype is not None else "O")

    map_leaves(add, space)
    return "f" in kinds
