"""Replays of recorded episodes: rewards, ends, and digests of the observations."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import numpy as np
from gymnasium.spaces import Space, Text
from numpy.typing import NDArray

from roll_vec.evaluation.replaying import AnswerPlan, EpisodeGroup, group_episodes
from roll_vec.evaluation.turns import TurnRecorder
from roll_vec.progress import report
from roll_vec.recordings.episodes import EpisodeAccount
from roll_vec.recordings.recorded_episodes import RecordedEpisode
from roll_vec.trajectories.play import SKIPPED
from roll_vec.vector.known_infos import UNKNOWN, faults_of
from roll_vec.vector.space_batches import map_leaves

# Of floats of physics: the last bits of a sine are those of the machine.
_LAST_BITS = 1e-9

OTHER_BOARDS = (
    "the first prompt of {:,} episodes does not show the board of the replay: id, "
    "keywords or seed are wrong, or the prompt was changed"
)


@dataclass
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
    tolerance : float
        Of rewards; not 0 if observations are floats.
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
    tolerance: float = 0.0
    has_other_prompt: bool = False


def play_again(episodes: Sequence[RecordedEpisode]) -> list[Replay]:
    """Return a replay of each episode."""
    replays: dict[int, Replay] = {}
    for group in group_episodes(episodes):
        with closing(group.make_vec()) as envs:
            results = _play_group(group, envs, len(replays), len(episodes))
        for place, each in results.items():
            replays[int(group.places[place])] = each
    return [replays[place] for place in range(len(episodes))]


def _play_group(
    group: EpisodeGroup, envs: Any, num_before: int, total: int
) -> dict[int, Replay]:
    """Return the replays of a group's episodes, by their places in it."""
    plan, account = AnswerPlan(envs, group.episodes), EpisodeAccount(envs)
    recorder = TurnRecorder(envs, with_answers=False)
    tolerance = _LAST_BITS if _has_floats(envs.single_observation_space) else 0.0
    results: dict[int, Replay] = {}
    others: set[int] = set()
    is_text = isinstance(envs.single_observation_space, Text)
    for event in plan.play():
        recorder.add(event)
        ends = account.add(event)
        faults = faults_of(event.last_infos) if len(ends) else {}
        columns = (column.tolist() for column in vars(ends).values())
        for row in zip(*columns, strict=True):
            env_id, total_reward, _, success, terminated, truncated = row
            results[int(plan.episodes[env_id])] = Replay(
                recorder.rewards(env_id),
                recorder.states(env_id),
                total_reward,
                None if success == UNKNOWN else success == 1,
                terminated,
                truncated,
                fault=faults.get(env_id),
                tolerance=tolerance,
            )
        for env_id in np.flatnonzero(event.starts & event.is_reset).tolist():
            # Of an episode without answers nothing else is known.
            skipped = SKIPPED if plan.is_skipped(env_id) else None
            place, states = int(plan.episodes[env_id]), recorder.states(env_id)
            prompts = group.episodes[place].prompts
            if is_text and has_other_board(prompts, event.observations[env_id]):
                others.add(place)
            results[place] = Replay(np.zeros(0), states, fault=skipped)
        # Those whose last event this is are counted with the next one.
        report("episodes", num_before + len(results) - plan.num_playing, total)
    report("episodes", num_before + len(results), total)
    problems = plan.problems()
    for place, replay in results.items():
        replay.problem = problems.get(place)
        replay.is_refused = place in plan.refusals
        replay.has_other_prompt = place in others
    return results


def has_other_board(prompts: Sequence[str] | None, observation: str) -> bool:
    """Return whether the first of some prompts does not have an observation.

    White space does not count: verl-agent sets cells apart by it.
    """
    if not prompts:
        return False
    return "".join(observation.split()) not in "".join(prompts[0].split())


def _has_floats(space: Space[Any]) -> bool:
    kinds: list[str] = []

    def add(leaf: Space[Any]) -> None:
        kinds.append(np.dtype(leaf.dtype).kind if leaf.dtype is not None else "O")

    map_leaves(add, space)
    return "f" in kinds
