"""Checks: functions from the context to what is wrong, with their codes and modes."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from gymnasium.vector import AutoresetMode

from roll_vec.testing.comparison import difference, mismatches
from roll_vec.testing.context import Context
from roll_vec.testing.errors import CallFailed
from roll_vec.testing.recorder import Call, Recorder, Transition
from roll_vec.testing.report import Problem

Problems: TypeAlias = Iterator[Problem]
Modes: TypeAlias = Literal["once", "each"] | AutoresetMode
Run: TypeAlias = Callable[[Context, AutoresetMode], Problems]


@dataclass(frozen=True)
class Check:
    """One function, which makes the checks of one code or several.

    Parameters
    ----------
    codes : tuple of str
    run : callable
        Takes the context and an autoreset mode and yields problems.  Those without a
        code have the first one.
    modes : {"once", "each"} or AutoresetMode
        The modes to run in: the first available one, every one, or this one alone.
    is_vital : bool
        True: when this check finds something, no later check makes sense.
    """

    codes: tuple[str, ...]
    run: Run
    modes: Modes
    is_vital: bool


def check(
    *codes: str, modes: Modes = "once", is_vital: bool = False
) -> Callable[[Run], Check]:
    """Return a decorator that makes a `Check` of a function."""
    return lambda run: Check(codes, run, modes, is_vital)


def differ(left: Any, right: Any, did: str, left_is: str, **more: str) -> Problems:
    """Yield a problem if two values differ.

    Parameters
    ----------
    left, right : object
    did : str
        Of the problem.
    left_is : str
        The left one in words.
    **more
        Other parameters of the problem.
    """
    diff = difference(left, right)
    if diff is not None:
        yield Problem(did, f"{diff} (left: {left_is})", **more)


def mismatch(did: str, form: Any, value: Any, place: str, code: str = "") -> Problems:
    """Yield a problem for each part of a value that is not of the kind of a form."""
    for at, actual, expected in mismatches(form, value, place):
        yield Problem(did, actual, expected, at, code)


def repeat(
    run: Recorder,
    calls: Iterable[Call],
    left_is: str,
    note: str = "",
    after: Callable[[Call], object] = lambda _: None,
    code: str = "",
) -> Problems:
    """Make the calls of another run again; yield a problem if results differ.

    Parameters
    ----------
    run : Recorder
    calls : iterable of Call
        With results, those of the other run, and maybe other arguments.
    left_is, note : str
        The other run, and what is done between the calls, in words.
    after : callable
        Called with each new call that is equal.
    code : str
        Of the problem.
    """
    for call in calls:
        try:
            again = run.make(copy.deepcopy(call.arguments))
        except CallFailed as failure:
            # It did not raise the first time.
            yield Problem(failure.did + note, failure.text, code=code)
            return
        did = again.did + note
        problems = [*differ(call.results, again.results, did, left_is, code=code)]
        if problems:
            yield from problems
            return
        after(again)


def unequal(
    left: Sequence[Transition], right: Sequence[Transition], did: str, left_is: str
) -> Problems:
    """Yield a problem if two episodes differ within the shorter one.

    Parameters
    ----------
    left, right : sequence of Transition
    did : str
        Of the problem.
    left_is : str
        The left one in words.
    """
    for (_, results), (call, others) in zip(left, right, strict=False):
        diff = difference(results, others)
        if diff is not None:
            yield Problem(did, f"after {call.did}: {diff} (left: {left_is})")
            return
