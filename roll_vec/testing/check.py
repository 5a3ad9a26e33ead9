"""One check: a function from the context to problems, with its code and title."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from gymnasium.vector import AutoresetMode

from roll_vec.testing.comparison import show
from roll_vec.testing.context import Context
from roll_vec.testing.recorder import Call, Recorder, first_difference
from roll_vec.testing.report import Problem
from roll_vec.testing.trajectories import Transition

Problems: TypeAlias = Iterator[Problem]
CheckFunction: TypeAlias = Callable[[Context, AutoresetMode], Problems]
Modes: TypeAlias = Literal["once", "each"] | AutoresetMode


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
    run: CheckFunction
    modes: Modes
    vital: bool


def check(
    slug: str, *, modes: Modes = "once", vital: bool = False
) -> Callable[[CheckFunction], Check]:
    """Turn a function that yields problems into a `Check`.

    Its docstring begins with "Check that"; the rest of that line becomes the title.
    """

    def decorate(run: CheckFunction) -> Check:
        line = (run.__doc__ or slug).partition("\n")[0]
        title = line.removeprefix("Check that ").rstrip(".")
        return Check(slug, title, run, modes, vital)

    return decorate


def once_each(problems: Iterable[tuple[Hashable, Problem]]) -> Problems:
    """Yield the first problem of each thing."""
    reported = set()
    for thing, problem in problems:
        if thing not in reported:
            reported.add(thing)
            yield problem


def must_refuse(
    ctx: Context,
    mode: AutoresetMode,
    rule: str,
    *,
    after: int | None = None,
    **arguments: Any,
) -> Problems:
    """Yield a problem if a reset with these arguments raises no error.

    Parameters
    ----------
    after : int or None
        The seed of a reset before; None: it is the first one.
    """
    with ctx.open(mode) as probe:
        if after is not None:
            probe.reset(seed=after)
        call = ", ".join(f"{name}={show(each)}" for name, each in arguments.items())
        did = probe.describe(f"reset({call})")
        try:
            probe.env.reset(**arguments)
        except Exception:
            return
    yield Problem(did, "no error", rule)


# ------------------------------------------------------------------- run A equals run B

Pair: TypeAlias = tuple[Sequence[Call], Recorder]
Runs: TypeAlias = Callable[[Context, AutoresetMode], Pair]
Pairs: TypeAlias = Iterator[
    tuple[Sequence[Transition], Sequence[Transition], dict[str, Any]]
]
Episodes: TypeAlias = Callable[[Context, AutoresetMode], Pairs]


def same_calls(
    slug: str, did: str, rule: str, note: str = "", *, modes: Modes = "each"
) -> Callable[[Runs], Check]:
    """Turn a function that makes two runs into a check that they are equal.

    Parameters
    ----------
    slug : str
    did, rule : str
        Of the problem.  ``{origin}``, ``{seed}`` and ``{at}`` in the first are the call
        that made the second environment, the first seed, and its calls up to the
        difference.
    note : str
        Which run is on the left of the difference.
    modes : see `Check`
    """

    def decorate(make_runs: Runs) -> Check:
        def run(ctx: Context, mode: AutoresetMode) -> Problems:
            left, right = make_runs(ctx, mode)
            diff = first_difference(left, right.calls)
            if diff is not None:
                at, text = diff[0].did, diff[1]
                words = {"origin": right.probe.origin, "seed": ctx.seed, "at": at}
                found = f"after {at}: {text}{note}"
                yield Problem(did.format(**words), found, rule)

        run.__doc__ = make_runs.__doc__
        return check(slug, modes=modes)(run)

    return decorate


def same_episodes(
    slug: str,
    did: str,
    rule: str,
    note: str = "",
    *,
    modes: Modes = "each",
    all_problems: bool = False,
) -> Callable[[Episodes], Check]:
    """Turn a function that yields pairs of episodes into a check that they are equal.

    Parameters
    ----------
    slug : str
    did, rule, note : str
        As for `same_calls`.  The function yields the words in braces with each pair;
        ``{at}`` and ``{position}`` are the calls up to the difference, and its
        transition.
    modes : see `Check`
    all_problems : bool
        False: only the first pair that differs is reported.
    """

    def decorate(make_pairs: Episodes) -> Check:
        def run(ctx: Context, mode: AutoresetMode) -> Problems:
            for left, right, words in make_pairs(ctx, mode):
                diff = ctx.trajectory_difference(left, right)
                if diff is None:
                    continue
                position, text = diff
                words |= {"position": position, "at": right[position].did}
                words["seed"] = ctx.seed
                found = f"they part at transition {position} ({words['at']}): {text}"
                yield Problem(
                    did.format(**words),
                    found + note.format(**words),
                    rule.format(**words),
                )
                if not all_problems:
                    return

        run.__doc__ = make_pairs.__doc__
        return check(slug, modes=modes)(run)

    return decorate
