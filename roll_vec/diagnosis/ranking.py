"""All findings of episodes, the weightiest first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from roll_vec.diagnosis import play, training
from roll_vec.diagnosis.best_play import add_best_play
from roll_vec.diagnosis.findings import (
    LOST,
    SHARE,
    Evidence,
    Finding,
    Hits,
    Kind,
    percent,
)
from roll_vec.diagnosis.played import Floats, play_again
from roll_vec.recordings.recorded_episodes import RecordedEpisode

KINDS: tuple[Kind, ...] = (
    training.reward,
    training.singles,
    training.seeds,
    training.duplicates,
    play.cut,
    play.invalid,
    play.constant,
    training.easy,
    play.limit,
    training.hard,
    play.dead_ends,
    play.ineffective,
    play.loops,
    play.regret,
    training.variance,
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
        Of all kinds that count anything.  First those that stand out, by weight, then
        those that stand out and follow from them, then the others.
    """

    evidence: Evidence
    findings: list[Finding]

    @property
    def outstanding(self) -> list[Finding]:
        """The findings that stand out; none: nothing does."""
        return [each for each in self.findings if each.stands_out]

    def summary(self) -> list[str]:
        """Return lines on the episodes and their return."""
        played = self.evidence.played
        names = sorted({task.group.id for task in played.tasks})
        counts = f"episodes: {len(played):,}, turns: {int(played.is_played.sum()):,}"
        returns = np.mean(played.returns), np.mean(played.best)
        lost = percent(self.evidence.lost)
        return [
            f"{counts}; {', '.join(names)}",
            "mean return {:.4g}, of the best play {:.4g}; ".format(*returns)
            + f"{lost} of the return is lost",
        ]

    def verdict(self) -> str:
        """Return one sentence on what stands out."""
        causes = [each for each in self.outstanding if each.follows is None]
        if not causes and self.evidence.lost >= LOST:
            return "No reason for the lost return stands out."
        if not causes:
            return "Nothing stands out."
        first = causes[0].kind.title
        return (
            f"The weightiest of {len(causes)}: {first}."
            if len(causes) > 1
            else f"{first}."
        )


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
    played = play_again(episodes, files)
    add_best_play(played)
    evidence = Evidence(played)
    findings = []
    for kind in KINDS:
        hits = kind.count(evidence)
        if hits is not None and hits.count:
            findings.append(_weigh(evidence, kind, hits))
    order = {kind.name: number for number, kind in enumerate(KINDS)}
    # Of equal weights the earlier cause counts.
    findings.sort(key=lambda each: (-round(each.weight, 2), order[each.kind.name]))
    findings = [_explain(each, findings, evidence, order) for each in findings]
    findings.sort(key=lambda each: (not each.stands_out, each.follows is not None))
    return Diagnosis(evidence, findings)


def _weigh(evidence: Evidence, kind: Kind, hits: Hits) -> Finding:
    stakes = evidence.stakes
    lost = float((stakes * hits.hits).mean())
    share = lost / evidence.lost if evidence.lost else 0.0
    weight = lost if kind.least is None else float(hits.hits.mean())
    stands_out = (
        weight >= kind.least
        if kind.least is not None
        else (evidence.lost >= LOST and share >= SHARE)
    )
    episodes = evidence.played.episode
    turns = hits.turns[hits.turns < len(episodes)]
    costs = stakes[episodes[turns]] * hits.hits[episodes[turns]]
    examples: list[int] = []
    for turn in turns[np.argsort(-costs, kind="stable")].tolist():
        if all(episodes[turn] != episodes[other] for other in examples):
            examples.append(turn)
        if len(examples) == 2:
            break
    return Finding(kind, share, weight, hits, tuple(examples), stands_out)


def _explain(
    finding: Finding,
    findings: list[Finding],
    evidence: Evidence,
    order: dict[str, int],
) -> Finding:
    """Return a finding with the one that it follows from, if there is one."""
    kind = finding.kind
    weights: Floats = finding.hits.hits
    if kind.least is None:
        weights = weights * evidence.stakes
    for other in findings:
        is_cause = order[other.kind.name] < order[kind.name] and other.stands_out
        if is_cause and other.kind.explains:
            inside = weights[other.hits.hits >= 0.5].sum()
            if inside >= _EXPLAINED * weights.sum() > 0:
                return replace(finding, follows=other)
    return finding
