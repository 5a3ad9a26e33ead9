"""The form of an episode in a file, by whatever trainer it was played.

Results of ``roll-vec eval run`` and dumps of trainers become `RecordedEpisode`; so what
checks a score, or looks for the reason of a low one, knows no format.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, kw_only=True)
class RecordedEpisode:
    """One episode, as a file has it; None: the file does not say.

    Parameters
    ----------
    id : str
        Of the environment.
    keywords : mapping
        Of `roll_vec.make_vec`: those of the task, of observations and of answers.
    seed : int
        ``reset(seed=seed)`` begins the episode.
    answers : sequence of T
        What the policy answered, by turns, as the environment got it: texts, ints,
        arrays.
    place : str
        Where the episode stands in its file, such as ``line 3`` or ``episode 17``.
    rewards : sequence of T floats, optional
        Of each turn.
    total_reward : float, optional
        Their sum.
    success, terminated, truncated : bool, optional
        At the last step.
    prompts : sequence of T texts, optional
        What the policy read at each turn, if the file has it.
    was_cut : sequence of T bools, optional
        Whether the longest length of an answer cut it.
    group : str or int, optional
        Episodes of one group were compared with each other, as GRPO does.
    fault : str, optional
        Why the episode ended, if the environment or the policy failed.
    """

    id: str
    seed: int
    answers: Sequence[Any]
    place: str
    keywords: Mapping[str, Any] = field(default_factory=dict)
    rewards: Sequence[float] | None = None
    total_reward: float | None = None
    success: bool | None = None
    terminated: bool | None = None
    truncated: bool | None = None
    prompts: Sequence[str] | None = None
    was_cut: Sequence[bool] | None = None
    group: str | int | None = None
    fault: str | None = None
