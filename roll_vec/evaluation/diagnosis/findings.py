"""A finding: what happened how often, and how much of the return it has cost.

The lost return of an episode is the return of the best play minus its own.  Its unit is
the scale of a task: the mean of the best returns without sign, or the loss that one
episode in twenty exceeds, if that is more.  So 1 means that nothing was earned.

A finding hits an episode by a number from 0 to 1, such as the share of its turns that
have no valid action, or the share of their regret.  Its share of the lost return is the
sum of hits times losses, by the sum of the losses.  An episode can be hit by several
findings, so shares overlap.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from roll_vec.evaluation.diagnosis.played import Bools, Floats, Ints, Played

LOST, SHARE = 0.4, 0.3
"""What has to be lost before findings of `Kind.least` None stand out, and by each."""


class Evidence:
    """Episodes that were played again, and what findings read of them.

    Attributes
    ----------
    played : Played
    stakes : (E,) float64
        The lost return of each episode, at least 0; their mean is `lost`.
    lost : float
        The mean of the lost returns, 0 to 1.
    groups : (E,) int64
        The number of the group of each episode; -1: none.
    sizes : (G,) int64
        Of the groups.
    """

    def __init__(self, played: Played) -> None:
        self.played = played
        losses = np.nan_to_num(played.best - played.returns)
        scaled = np.zeros(len(played))
        for number in range(len(played.tasks)):
            rows = played.task == number
            worst = float(np.quantile(losses[rows], 0.95))
            scale = max(worst, float(np.abs(played.best[rows]).mean()))
            if scale > 0:
                scaled[rows] = np.minimum(losses[rows] / scale, 1.0)
        # With luck an episode earns more than the solver: it outweighs another one.
        self.lost = max(float(scaled.mean()), 0.0)
        stakes = np.maximum(scaled, 0.0)
        self.stakes = stakes * (self.lost / (stakes.mean() or 1.0))
        numbers: dict[Any, int] = {}
        self.groups = np.full(len(played), -1)
        for place, episode in enumerate(played.recorded):
            if episode.group is not None:
                key = int(played.files[place]), episode.group
                self.groups[place] = numbers.setdefault(key, len(numbers))
        members = self.groups[self.groups >= 0]
        self.sizes = np.bincount(members, minlength=len(numbers))

    @cached_property
    def counts(self) -> Bools:
        """(N,) bool: turns that were played, and not after a dead end."""
        return self.played.is_played & ~self.played.is_after_dead_end

    @cached_property
    def regret(self) -> Floats:
        """(N,) float64: what a turn has cost by the solver; 1 where it does not say.

        So it is without a solver, and in episodes that a limit ended without regret,
        such as those of WebShop without an order.
        """
        played = self.played
        regret = np.nan_to_num(np.maximum(-played.advantages, 0.0), nan=1.0)
        is_blank = (played.sum_by_episode(regret) == 0) & ~played.terminated
        is_blank &= self.stakes > 0
        return np.where(self.counts, np.where(is_blank[played.episode], 1.0, regret), 0)

    @cached_property
    def is_wasted(self) -> Bools:
        """(N,) bool: a valid action had no effect, and did not end the episode."""
        played = self.played
        is_last = played.turn == played.lengths[played.episode] - 1
        ends = is_last & played.terminated[played.episode]
        return np.array(self.counts & played.is_valid & ~played.is_effective & ~ends)

    @cached_property
    def is_return(self) -> Bools:
        """(N,) bool: an action led back to a board that the episode had before."""
        played = self.played
        episode = played.episode.astype(np.uint64) << np.uint64(32)
        boards = np.concatenate([episode | played.boards, episode | played.next_boards])
        # The board before turn t has the time t, that after it t + 1.
        times = np.concatenate([played.turn, played.turn + 1])
        order = np.lexsort((times, boards))
        starts = np.flatnonzero(np.diff(boards[order], prepend=boards[order][:1] + 1))
        firsts = np.empty(len(order), np.int64)
        sizes = np.diff(starts, append=len(order))
        firsts[order] = np.repeat(times[order][starts], sizes)
        is_old = firsts[len(played.turn) :] <= played.turn
        is_change = played.boards != played.next_boards
        return np.array(self.counts & played.is_valid & is_change & is_old)

    def share(self, is_hit: Bools, weights: Floats | None = None) -> Floats:
        """Return (E,) the share of an episode's turns, or weights, that turns have.

        Parameters
        ----------
        is_hit : (N,) bool
            Of them those after a dead end do not count.
        weights : (N,) float64, optional
            Such as `regret`.
        """
        ones = np.where(self.counts, 1.0, 0.0)
        weighted = ones if weights is None else ones * weights
        whole = self.played.sum_by_episode(weighted)
        part = self.played.sum_by_episode(weighted * is_hit)
        return np.divide(part, whole, out=np.zeros(len(whole)), where=whole > 0)

    def of_groups(self, values: NDArray[Any], default: Any) -> NDArray[Any]:
        """Return (E,) the values of the episodes' groups; without one, the default."""
        return np.array(np.append(values, default)[self.groups])


@dataclass(frozen=True)
class Hits:
    """What a finding has counted.

    Attributes
    ----------
    number, total : int
        How many of how many.
    unit : str
        Of both, such as ``turns``.
    hits : (E,) float64
        0 to 1.
    turns : (k,) int64
        Places of turns that are examples.
    details : list of str
    """

    number: int
    total: int
    unit: str
    hits: Floats
    turns: Ints
    details: list[str] = field(default_factory=list)

    @classmethod
    def of_turns(
        cls, evidence: Evidence, is_hit: Bools, hits: Floats, details: Iterable[str]
    ) -> Hits:
        """Return hits of (N,) turns."""
        number, total = int(is_hit.sum()), int(evidence.played.is_played.sum())
        return cls(number, total, "turns", hits, np.flatnonzero(is_hit), [*details])

    @classmethod
    def of_episodes(
        cls, evidence: Evidence, hits: NDArray[Any], details: Iterable[str]
    ) -> Hits:
        """Return hits of (E,) episodes; their first turns are examples."""
        number, total = int((hits > 0).sum()), len(hits)
        turns = evidence.played.starts[(hits > 0) & (evidence.played.counts > 0)]
        return cls(number, total, "episodes", hits * 1.0, turns, [*details])

    @classmethod
    def of_groups(
        cls, evidence: Evidence, is_group: Bools, details: Iterable[str] = ()
    ) -> Hits:
        """Return hits of (G,) groups."""
        episodes = cls.of_episodes(
            evidence, evidence.of_groups(is_group, False), details
        )
        if is_group.any():
            # A board says nothing about a group.
            rows = np.flatnonzero(evidence.groups == np.argmax(is_group))[:4].tolist()
            played = evidence.played
            members = (
                f"seed {played.recorded[row].seed}: return {played.returns[row]:.4g}"
                for row in rows
            )
            episodes.details.append(f"such as {', '.join(members)}")
        return replace(
            episodes,
            number=int(is_group.sum()),
            total=len(is_group),
            unit="groups",
            turns=episodes.turns[:0],
        )


@dataclass(frozen=True)
class Kind:
    """A kind of finding.

    Attributes
    ----------
    name, title, meaning, advice : str
        The advice is what to change, with the name of the keyword.
    find : callable
        From `Evidence` to `Hits`; None: there is nothing to count.
    least : float or None
        The part of the episodes from which it stands out, where they are spoilt
        whatever the policy does: this part is its weight.  None: its weight is the
        return that it has cost, and it stands out if `LOST` of the return is lost, and
        `SHARE` of that by it.
    explains : bool
        Later findings in the same episodes follow from it.
    """

    name: str
    title: str
    meaning: str
    advice: str
    find: Callable[[Evidence], Hits | None]
    least: float | None
    explains: bool


def kind(
    least: float | None = None, explains: bool = True
) -> Callable[[Callable[[Evidence], Hits | None]], Kind]:
    """Return a decorator that makes a kind of finding of a function.

    The docstring has the title, the meaning, and the advice in the section ``Change``.
    """

    def decorate(find: Callable[[Evidence], Hits | None]) -> Kind:
        # A docstring is None under ``python -OO``.
        text, _, change = (find.__doc__ or "").partition("Change\n    ------\n")
        title, _, meaning = text.partition("\n\n")
        return Kind(
            name=find.__name__,
            title=title.rstrip(".") or find.__name__,
            meaning=" ".join(meaning.split()),
            advice=" ".join(change.split()),
            find=find,
            least=least,
            explains=explains,
        )

    return decorate


@dataclass(frozen=True)
class Finding:
    """A kind of finding in some episodes.

    Attributes
    ----------
    kind : Kind
    hits : Hits
    share : float
        Of the lost return, 0 to 1.
    weight : float
        0 to 1; see `Kind`.
    stands_out : bool
        Whether it is weighty enough to be named.
    examples : tuple of int
        Two turns of different episodes, those that cost most.
    follows : Kind or None
        The finding that explains this one: four fifths of it are in its episodes.
    """

    kind: Kind
    hits: Hits
    share: float
    weight: float
    stands_out: bool
    examples: tuple[int, ...] = ()
    follows: Kind | None = field(default=None, repr=False)

    def count(self) -> str:
        """Return the count, such as ``12 of 40 turns (30 %)``."""
        number, total = self.hits.number, self.hits.total
        return f"{number:,} of {total:,} {self.hits.unit} ({percent(number, total)})"


def percent(part: float, whole: float = 1.0) -> str:
    """Return a share in percent, such as ``12 %``."""
    value = 100 * part / whole if whole else 0.0
    return f"{value:.1f} %" if 0 < value < 1 else f"{value:.0f} %"


def quote_counts(counts: Mapping[str, int], most: int = 6) -> list[str]:
    """Return lines such as ``12 x reason``, the most frequent first."""
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    lines = [f"{count:,} x {text}" for text, count in ordered[:most]]
    rest = sum(count for _, count in ordered[most:])
    return [*lines, f"{rest:,} x others"] if rest else lines
