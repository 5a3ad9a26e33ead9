"""All findings of episodes, the weightiest first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from roll_vec.errors import InvalidOptionError
from roll_vec.evaluation.diagnosis import groups, play, rewards, tasks
from roll_vec.evaluation.diagnosis.best_play import add_best_play
from roll_vec.evaluation.diagnosis.examples import Example, show_turns
from roll_vec.evaluation.diagnosis.findings import (
    LOST,
    SHARE,
    Evidence,
    Finding,
    Hits,
    Kind,
    percent,
)
from roll_vec.evaluation.diagnosis.played import play_again
from roll_vec.evaluation.verification.replays import OTHER_BOARDS
from roll_vec.recordings.recorded_episodes import RecordedEpisode

KINDS: tuple[Kind, ...] = (
    rewards.reward,
    groups.singles,
    groups.seeds,
    groups.duplicates,
    play.cut,
    play.invalid,
    play.constant,
    tasks.easy,
    play.limit,
    tasks.hard,
    play.dead_ends,
    play.ineffective,
    play.loops,
    play.regret,
    groups.variance,
)
"""The kinds in the order of causes: an earlier one can explain a later one."""
# A finding follows from another one in whose episodes it has this part of its weight.
_EXPLAINED = 0.8


@dataclass(frozen=True)
class Diagnosis:
    """The findings of some episodes.

    Attributes
    ----------
    evidence : Evidence
    findings : list of Finding
        Those that stand out, by weight, then those that stand out and follow from them,
        then the others.
    """

    evidence: Evidence
    findings: list[Finding]

    @property
    def outstanding(self) -> list[Finding]:
        """The findings that stand out."""
        return [each for each in self.findings if each.stands_out]

    @cached_property
    def examples(self) -> dict[int, Example]:
        """The examples of the findings that stand out, by turn."""
        turns = {turn for each in self.outstanding for turn in each.examples}
        return show_turns(self.evidence.played, turns)

    def summary(self) -> list[str]:
        """Return lines on the episodes and their return."""
        played = self.evidence.played
        ids = ", ".join(sorted({task.group.id for task in played.tasks}))
        own, best = np.mean([played.returns, played.best], axis=1)
        is_other = played.has_other_prompt.copy()
        is_other[played.episode[played.is_prompt_cut]] = False
        num_others = int(is_other.sum())
        return [
            f"episodes: {len(played):,}, turns: {played.is_played.sum():,}; {ids}",
            f"mean return {own:.4g}, of the best play {best:.4g}; "
            f"{percent(self.evidence.lost)} of the return is lost",
            *([OTHER_BOARDS.format(num_others)] if num_others else ()),
        ]

    def verdict(self) -> str:
        """Return one sentence on what stands out."""
        for task in self.evidence.played.tasks:
            if task.missing_pattern:
                option = f"-o 'action_pattern={task.missing_pattern}'"
                return f"No answer can be read without action_pattern: pass {option}."
        if self.outstanding:
            return f"First to change: {self.outstanding[0].kind.title}."
        has_best = any(task.has_best for task in self.evidence.played.tasks)
        if has_best and self.evidence.lost >= LOST:
            return "No reason for the lost return stands out."
        return "Nothing stands out."


def diagnose(
    episodes: Sequence[RecordedEpisode], files: Sequence[int] | None = None
) -> Diagnosis:
    """Return why the reward of episodes is flat or low.

    The episodes are played again, and so is the solver on their seeds.

    Parameters
    ----------
    episodes : sequence of RecordedEpisode
        At least 1.
    files : sequence of int, optional
        The number of the file of each episode: groups and tasks of several files have
        nothing to do with each other.  None: all are of one file.

    Raises
    ------
    InvalidOptionError, UnknownOptionError, gymnasium.error.Error
        If an id or a keyword does not exist.
    """
    if not episodes:
        raise InvalidOptionError.expected("episodes", "at least 1", episodes)
    played = play_again(episodes, files)
    add_best_play(played)
    evidence = Evidence(played)
    pairs = [(kind, kind.find(evidence)) for kind in KINDS]
    findings = [
        _weigh(evidence, kind, hits) for kind, hits in pairs if hits and hits.number
    ]
    # Stable: of equal weights the earlier cause comes first.
    findings.sort(key=lambda each: -round(each.weight, 2))
    findings = [_explain(each, findings, evidence) for each in findings]
    findings.sort(key=lambda each: (not each.stands_out, each.follows is not None))
    return Diagnosis(evidence, findings)


def _weigh(evidence: Evidence, kind: Kind, hits: Hits) -> Finding:
    lost = float((evidence.stakes * hits.hits).mean())
    share = lost / evidence.lost if evidence.lost else 0.0
    if kind.least is None:
        weight, stands_out = lost, evidence.lost >= LOST and share >= SHARE
    else:
        weight = float(hits.hits.mean())
        stands_out = weight >= kind.least
    episodes = evidence.played.episode[hits.turns]
    costs = (evidence.stakes * hits.hits)[episodes]
    # The first turn of each episode, the most costly ones first.
    _, firsts = np.unique(episodes, return_index=True)
    order = firsts[np.argsort(-costs[firsts], kind="stable")]
    examples = tuple(hits.turns[order[:2]].tolist())
    return Finding(kind, hits, share, weight, stands_out, examples)


def _explain(finding: Finding, findings: list[Finding], evidence: Evidence) -> Finding:
    """Return a finding with the one that it follows from, if there is one."""
    weights = finding.hits.hits
    if finding.kind.least is None:
        weights = weights * evidence.stakes
    for other in findings:
        is_cause = KINDS.index(other.kind) < KINDS.index(finding.kind)
        if is_cause and other.stands_out and other.kind.explains:
            inside = weights[other.hits.hits >= 0.5].sum()
            if inside >= _EXPLAINED * weights.sum() > 0:
                return replace(finding, follows=other.kind, examples=())
    return finding
