"""One check: a function from the context to problems, with its code and title."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

from gymnasium.vector import AutoresetMode

from roll_vec.testing.context import Context
from roll_vec.testing.report import Problem

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
