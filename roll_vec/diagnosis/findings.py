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
from typing import Any, NamedTuple

import numpy as np

from roll_vec.diagnosis.played import Bools, Floats, Ints, Played


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
    def may_cost(self) -> Bools:
        """(N,) bool: of them, turns that are not known to be the best."""
        regret = -self.played.advantages
        return self.counts & (np.isnan(regret) | (regret > 1e-9))

    @cached_property
    def is_wasted(self) -> Bools:
        """(N,) bool: a valid action without an effect."""
        played = self.played
        return self.may_cost & played.is_valid & ~played.is_effective

    @cached_property
    def is_loop(self) -> Bools:
        """(N,) bool: an effective action led to a board that the episode had before."""
        played = self.played
        keys = (played.episode.astype(np.uint64) << np.uint64(32)) | played.next_boards
        begin = (played.episode.astype(np.uint64) << np.uint64(32)) | played.boards
        firsts: dict[str, Any] = {}
        both = np.concatenate([begin, keys])
        # The board before turn t has the time t, that after it t + 1.
        times = np.concatenate([played.turn, played.turn + 1])
        order = np.lexsort((times, both))
        is_first = np.ones(len(order), np.bool_)
        is_first[1:] = both[order][1:] != both[order][:-1]
        first_times = times[order][is_first][np.cumsum(is_first) - 1]
        firsts["times"] = np.empty(len(order), np.int64)
        firsts["times"][order] = first_times
        is_old = firsts["times"][len(keys) :] <= played.turn
        is_last = played.turn == played.lengths[played.episode] - 1
        ends = is_last & played.terminated[played.episode]
        changes = played.boards != played.next_boards
        return self.may_cost & played.is_valid & changes & is_old & ~ends

    def share_of_turns(self, is_hit: Bools) -> Floats:
        """Return (E,) the share of an episode's turns, until a dead end, that are hit."""
        turns = self.played.sum_by_episode(self.counts)
        hits = self.played.sum_by_episode(is_hit & self.counts)
        return hits / np.maximum(turns, 1)


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
    least : float
        The weight from which it stands out.
    is_signal : bool
        It spoils the reward or the comparison of episodes, whatever the policy does:
        its weight is the share of the episodes that it hits.  The weight of others is
        the return that they cost, as a part of the best.
    """

    name: str
    title: str
    meaning: str
    advice: str
    count: Callable[[Evidence], Hits | None]
    least: float
    is_signal: bool


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
    follows : Finding or None
        The finding that explains this one: four fifths of it are in its episodes.
    """

    kind: Kind
    share: float
    weight: float
    hits: Hits
    examples: tuple[int, ...] = ()
    follows: Finding | None = field(default=None, repr=False)

    @property
    def stands_out(self) -> bool:
        """Whether it is weighty enough to be named."""
        return self.weight >= self.kind.least

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
    least: float = 0.35,
    is_signal: bool = False,
) -> Callable[[Callable[[Evidence], Hits | None]], Kind]:
    """Return a decorator that makes a kind of finding of a function."""

    def decorate(count: Callable[[Evidence], Hits | None]) -> Kind:
        return Kind(name, title, meaning, advice, count, least, is_signal)

    return decorate


def percent(part: float, whole: float = 1.0) -> str:
    """Return a share in percent, such as ``12 %``."""
    value = 100 * part / whole if whole else 0.0
    return f"{value:.1f} %" if 0 < value < 1 else f"{value:.0f} %"


def quote_counts(counts: dict[str, int], most: int = 6) -> list[str]:
    """Return lines such as ``12 x reason``, the most frequent first."""
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    lines = [f"{count:,} × {text}" for text, count in ordered[:most]]
    rest = sum(count for _, count in ordered[most:])
    return [*lines, f"{rest:,} × others"] if rest else lines
