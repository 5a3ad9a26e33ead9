"""A finding: what happened how often, and how much of the return it has cost.

The lost return of an episode is the return of the best play minus its own return.  That
of all episodes is the sum, and its unit here is the scale of a task: the mean of the
best returns without sign, or the loss that one episode in twenty exceeds, if that is
more.  So a lost return of 1 means that nothing was earned.

A finding hits an episode by a number from 0 to 1, such as the share of its turns that
have no valid action.  Its share of the lost return is the sum of the hits times the
episodes' losses, by the sum of the losses.  An episode can be hit by several findings,
so shares overlap.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np

from roll_vec.diagnosis.played import Bools, Floats, Ints, Played

LOST, SHARE = 0.4, 0.3
"""What has to be lost before findings of `Kind.least` None stand out, and by each."""


class Evidence:
    """Episodes that were played again, and what all findings read of them.

    Attributes
    ----------
    played : Played
    stakes : (E,) float64
        The lost return of each episode, at least 0, as a part of the scale of its task;
        their mean is `lost`.
    lost : float
        The lost return of all episodes, as a part of their scales, 0 to 1.
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
        stakes = np.maximum(scaled, 0.0)
        # With luck an episode earns more than the solver: it outweighs another one.
        self.lost = max(float(scaled.mean()), 0.0) if len(scaled) else 0.0
        self.stakes = stakes * (self.lost / (stakes.mean() or 1.0))

    @cached_property
    def counts(self) -> Bools:
        """(N,) bool: turns that were played, and not after a dead end."""
        return self.played.is_played & ~self.played.is_after_dead_end

    @cached_property
    def regret(self) -> Floats:
        """(N,) float64: what a turn has cost by the solver, 1 where there is none."""
        regret = np.maximum(-self.played.advantages, 0.0)
        return np.where(self.counts, np.nan_to_num(regret, nan=1.0), 0.0)

    @cached_property
    def is_wasted(self) -> Bools:
        """(N,) bool: a valid action had no effect, and did not end the episode."""
        played = self.played
        is_last = played.turn == played.lengths[played.episode] - 1
        ends = is_last & played.terminated[played.episode]
        return self.counts & played.is_valid & ~played.is_effective & ~ends

    @cached_property
    def is_return(self) -> Bools:
        """(N,) bool: an action led back to a board that the episode had before."""
        played = self.played
        episode = played.episode.astype(np.uint64) << np.uint64(32)
        boards = np.concatenate([episode | played.boards, episode | played.next_boards])
        # The board before turn t has the time t, that after it t + 1.
        times = np.concatenate([played.turn, played.turn + 1])
        order = np.lexsort((times, boards))
        ordered = boards[order]
        starts = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1]))
        sizes = np.diff(np.append(starts, len(order)))
        firsts = np.empty(len(order), np.int64)
        firsts[order] = np.repeat(times[order][starts], sizes) if len(order) else 0
        is_old = firsts[len(played.turn) :] <= played.turn
        is_change = played.boards != played.next_boards
        return self.counts & played.is_valid & is_change & is_old

    def share_of_turns(self, is_hit: Bools) -> Floats:
        """Return (E,) the share of an episode's turns that (N,) turns are.

        Turns after a dead end do not count.
        """
        turns = self.played.sum_by_episode(self.counts)
        hits = self.played.sum_by_episode(is_hit & self.counts)
        return hits / np.maximum(turns, 1)

    def share_of_regret(self, is_hit: Bools) -> Floats:
        """Return (E,) the share of an episode's regret that (N,) turns have."""
        whole = self.played.sum_by_episode(self.regret)
        part = self.played.sum_by_episode(np.where(is_hit, self.regret, 0.0))
        return np.divide(part, whole, out=np.zeros(len(whole)), where=whole > 0)


class Hits(NamedTuple):
    """What a finding has counted.

    Attributes
    ----------
    count, total : int
        How many of how many.
    unit : str
        Of both, such as ``turns``.
    hits : (E,) float64
        0 to 1.
    turns : (k,) int64
        Places of turns that are examples.
    details : sequence of str
    advice : str
        In the place of that of the finding; empty: that one.
    """

    count: int
    total: int
    unit: str
    hits: Floats
    turns: Ints
    details: Sequence[str] = ()
    advice: str = ""


@dataclass(frozen=True)
class Kind:
    """A kind of finding.

    Attributes
    ----------
    name, title : str
    meaning : str
        What is counted.
    advice : str
        What to change, with the name of the keyword.
    count : callable
        From `Evidence` to `Hits`; None: nothing to count, such as without groups.
    least : float or None
        The part of the episodes from which it stands out, where they are spoilt
        whatever the policy does: this part is its weight.  None: its weight is the
        return that it has cost, as a part of the best, and it stands out if `LOST` of
        the return is lost, and `SHARE` of that by it.
    explains : bool
        Later findings in the same episodes follow from it.
    """

    name: str
    title: str
    meaning: str
    advice: str
    count: Callable[[Evidence], Hits | None]
    least: float | None
    explains: bool


@dataclass(frozen=True)
class Finding:
    """A kind of finding in some episodes.

    Attributes
    ----------
    kind : Kind
    share : float
        Of the lost return, 0 to 1.
    weight : float
        0 to 1; see `Kind`.
    hits : Hits
    examples : tuple of int
        Two turns of different episodes, those that cost most.
    stands_out : bool
        Whether it is weighty enough to be named.
    follows : Finding or None
        The finding that explains this one: four fifths of it are in its episodes.
    """

    kind: Kind
    share: float
    weight: float
    hits: Hits
    examples: tuple[int, ...] = ()
    stands_out: bool = False
    follows: Finding | None = field(default=None, repr=False)

    @property
    def advice(self) -> str:
        """What to change."""
        return self.hits.advice or self.kind.advice

    def count(self) -> str:
        """Return the count, such as ``12 of 40 turns (30 %)``."""
        count, total, unit = self.hits[:3]
        return f"{count:,} of {total:,} {unit} ({percent(count, total)})"


def kind(
    name: str,
    title: str,
    meaning: str,
    advice: str,
    least: float | None = None,
    explains: bool = True,
) -> Callable[[Callable[[Evidence], Hits | None]], Kind]:
    """Return a decorator that makes a kind of finding of a function."""

    def decorate(count: Callable[[Evidence], Hits | None]) -> Kind:
        return Kind(name, title, meaning, advice, count, least, explains)

    return decorate


def percent(part: float, whole: float = 1.0) -> str:
    """Return a share in percent, such as ``12 %``."""
    value = 100 * part / whole if whole else 0.0
    return f"{value:.1f} %" if 0 < value < 1 else f"{value:.0f} %"


def quote_counts(counts: dict[str, int], most: int = 6) -> list[str]:
    """Return lines such as ``12 x reason``, the most frequent first."""
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    lines = [f"{count:,} x {text}" for text, count in ordered[:most]]
    rest = sum(count for _, count in ordered[most:])
    return [*lines, f"{rest:,} x others"] if rest else lines
