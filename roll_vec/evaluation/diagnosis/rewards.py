"""The finding of rewards that are not those of the world."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np

from roll_vec.evaluation.diagnosis.findings import Evidence, Hits, kind, quote_counts
from roll_vec.evaluation.diagnosis.played import Bools, Floats
from roll_vec.vector.known_infos import UNKNOWN

_LONGER = (
    "the world ends the episode before its last answer: stop the conversation when the "
    "episode has ended"
)


def _is_close(first: Any, second: Any) -> Bools:
    """Compare rewards up to the rounding of float32 and of texts."""
    return np.array(np.isclose(first, second, rtol=1e-4, atol=1e-4))


@kind(least=0.05, explains=False)
def reward(evidence: Evidence) -> Hits | None:
    """Rewards that disagree with the world's.

    Episodes whose rewards, success or length are not those of the replay, such as
    rewards that are shifted, scaled or summed.

    Change
    ------
    Mend the adapter or the scorer: record the reward that `step` returned for this
    turn, without scaling, with the `id`, the keywords and the seed of the episode.
    """
    played = evidence.played
    recorded = np.where(played.is_played, played.recorded_rewards, 0.0)
    rewards = np.where(played.is_played, played.rewards, 0.0)
    has_turns = np.isfinite(played.sum_by_episode(recorded))
    differs = np.isfinite(recorded) & ~_is_close(recorded, rewards)
    known = np.isfinite(played.recorded_returns)
    is_other = known & ~_is_close(played.recorded_returns, played.returns)
    is_other |= has_turns & (played.sum_by_episode(differs) > 0)
    is_longer = (played.lengths < played.counts) & ~played.is_refused
    success = [UNKNOWN if x.success is None else x.success for x in played.recorded]
    is_known = (np.array(success) != UNKNOWN) & (played.success != UNKNOWN)
    has_other_success = is_known & (success != played.success)
    is_hit = (is_other | is_longer | has_other_success) & (played.counts > 0)
    is_misread = np.array([bool(task.missing_pattern) for task in played.tasks])
    is_hit &= ~is_misread[played.task]
    forms: Counter[str] = Counter()
    turns = []
    for place in np.flatnonzero(is_hit).tolist():
        start, stop = played.starts[place] + [0, played.lengths[place]]
        rows = slice(start, stop)
        turns.append(
            min(start + int(differs[rows].argmax()), stop) if stop > start else start
        )
        if is_longer[place]:
            forms[_LONGER] += 1
        elif not is_other[place]:
            forms["the recorded success is not that of the world"] += 1
        elif not has_turns[place]:
            forms["the recorded return is not that of the world"] += 1
        else:
            forms[describe_difference(recorded[rows], rewards[rows])] += 1
    hits = Hits.of_episodes(evidence, is_hit, quote_counts(forms))
    return replace(hits, turns=np.array(turns, np.int64))


def describe_difference(recorded: Floats, rewards: Floats) -> str:
    """Return how the recorded rewards of an episode differ from those of the world."""
    total, last = rewards.sum(), rewards[-1:]
    factor = recorded @ rewards / max(float(rewards @ rewards), 1e-12)
    shift = (recorded - rewards)[:1].sum()
    only_last = np.zeros(len(rewards))
    only_last[-1:] = 1
    forms = {
        "all rewards are 0": 0 * rewards,
        "the return stands at the last turn, other turns have 0": total * only_last,
        "only the last turn has its reward": last * only_last,
        "summed: each turn has the return so far": rewards.cumsum(),
        "summed: each turn has the return to go": rewards[::-1].cumsum()[::-1],
        f"scaled by {factor:.3g}": factor * rewards,
        f"{shift:+.3g} at each turn": shift + rewards,
    }
    for text, others in forms.items():
        if _is_close(recorded, others).all():
            return text
    if len(rewards) > 1 and _is_close(recorded[1:], rewards[:-1]).all():
        return "shifted: each turn has the reward of the turn before"
    if len(rewards) > 1 and _is_close(recorded[:-1], rewards[1:]).all():
        return "shifted: each turn has the reward of the turn after"
    if _is_close(recorded[:-1], rewards[:-1]).all():
        return "other rewards at the last turn"
    return "other rewards"
