"""Groups of checks: functions from the context to what is wrong, with codes and titles.

A check yields what was done, what was found and what is expected.  Where it yields no
expectation, the rule of its decorator stands for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Literal, TypeAlias

from gymnasium.vector import AutoresetMode

from roll_vec.testing.context import Context
from roll_vec.testing.recorder import Call, Recorder, Transition, first_difference
from roll_vec.testing.report import Problem

# Problems to report of one check in one mode; the others are mostly more of the same.
_MOST = 3

Found: TypeAlias = Iterator[tuple[Any, ...]]
"""The arguments of a `Problem`; the rule of the decorator may be left out."""
Modes: TypeAlias = Literal["once", "each"] | AutoresetMode
Pair: TypeAlias = tuple[Sequence[Call], Recorder]
Pairs: TypeAlias = Iterator[
    tuple[Sequence[Transition], Sequence[Transition], dict[str, Any]]
]
Find: TypeAlias = Callable[[Context, AutoresetMode], Found]
MakeRuns: TypeAlias = Callable[[Context, AutoresetMode], Pair]
MakePairs: TypeAlias = Callable[[Context, AutoresetMode], Pairs]


@dataclass(frozen=True)
class Check:
    """One check.

    Parameters
    ----------
    slug, title : str
        See `Finding`.
    run : callable
        Takes the context and an autoreset mode and yields problems.
    modes : {"once", "each"} or AutoresetMode
        The modes to run in: the first available one, every one, or this one alone.
    vital : bool
        True: when this check finds something, no later check makes sense.
    """

    slug: str
    title: str
    run: Callable[[Context, AutoresetMode], Iterator[Problem]]
    modes: Modes
    vital: bool


class Group:
    """The checks of one subject, in the order of their definitions.

    The methods are decorators, which leave the function as it is.  The docstring of a
    check begins with "Check that"; the rest of that line becomes its title.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.checks: list[Check] = []

    def check(
        self,
        slug: str,
        rule: str = "",
        *,
        modes: Modes = "once",
        vital: bool = False,
        most: int = _MOST,
        of_things: bool = False,
    ) -> Callable[[Find], Find]:
        """Make a check of a function that yields what is wrong.

        Parameters
        ----------
        slug, modes, vital : see `Check`
        rule : str
            What is expected, unless the function yields it.
        most : int
            Problems to report in one mode.
        of_things : bool
            True: the function yields a thing in front of each problem, and only the
            first problem of each thing is reported.
        """

        def decorate(find: Find) -> Find:
            def run(ctx: Context, mode: AutoresetMode) -> Iterator[Problem]:
                found = find(ctx, mode)
                for each in islice(_once_each(found) if of_things else found, most):
                    did, actual, *others = each
                    yield Problem(did, actual, *(others or [rule]))

            line = (find.__doc__ or slug).partition("\n")[0]
            title = line.removeprefix("Check that ").rstrip(".")
            self.checks.append(Check(slug, title, run, modes, vital))
            return find

        return decorate

    def same_calls(
        self, slug: str, did: str, rule: str, note: str = "", *, modes: Modes = "each"
    ) -> Callable[[MakeRuns], MakeRuns]:
        """Make a check of a function that makes two runs: they have to be equal.

        Parameters
        ----------
        slug, modes : see `Check`
        did, rule : str
            Of the problem.  ``{origin}``, ``{seed}`` and ``{at}`` in the first are the
            call that made the second environment, the first seed, and its calls up to
            the difference.
        note : str
            Which run is on the left of the difference.
        """

        def decorate(make_runs: MakeRuns) -> MakeRuns:
            def find(ctx: Context, mode: AutoresetMode) -> Found:
                left, right = make_runs(ctx, mode)
                diff = first_difference(left, right.calls)
                if diff is not None:
                    at = diff[0].did
                    words = {"origin": right.probe.origin, "seed": ctx.seed, "at": at}
                    yield did.format(**words), f"after {at}: {diff[1]}{note}"

            find.__doc__ = make_runs.__doc__
            self.check(slug, rule, modes=modes)(find)
            return make_runs

        return decorate

    def same_episodes(
        self,
        slug: str,
        did: str,
        rule: str,
        note: str = "",
        *,
        modes: Modes = "each",
        most: int = 1,
    ) -> Callable[[MakePairs], MakePairs]:
        """Make a check of a function that yields pairs of episodes: they are equal.

        Parameters
        ----------
        slug, did, rule, note, modes
            As for `same_calls`.  The function yields the words in braces with each
            pair; ``{at}`` are the calls up to the difference.
        most : int
            Pairs to report.
        """

        def decorate(make_pairs: MakePairs) -> MakePairs:
            def find(ctx: Context, mode: AutoresetMode) -> Found:
                for left, right, words in make_pairs(ctx, mode):
                    diff = ctx.trajectory_difference(left, right)
                    if diff is None:
                        continue
                    at = right[diff[0]].did
                    words |= {"at": at, "seed": ctx.seed}
                    found = f"they part at transition {diff[0]} ({at}): {diff[1]}"
                    texts = (text.format(**words) for text in (did, note, rule))
                    made, left_is, expected = texts
                    yield made, found + left_is, expected

            find.__doc__ = make_pairs.__doc__
            self.check(slug, rule, modes=modes, most=most)(find)
            return make_pairs

        return decorate


def _once_each(found: Found) -> Found:
    """Yield the first problem of each thing."""
    reported = set()
    for thing, *problem in found:
        if thing not in reported:
            reported.add(thing)
            yield tuple(problem)
