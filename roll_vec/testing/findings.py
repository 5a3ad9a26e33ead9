"""What a check is, what it finds, and how the findings are told."""

from __future__ import annotations

import textwrap
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NoReturn

from gymnasium.vector import AutoresetMode

if TYPE_CHECKING:
    from roll_vec.testing.context import Context

__all__ = [
    "PROBLEMS_SHOWN",
    "TRACEBACK",
    "CallFailed",
    "Check",
    "ConformanceError",
    "DoesNotApply",
    "Finding",
    "Problem",
    "Report",
    "check",
    "describe_cause",
    "describe_error",
    "skip",
]

# Of one check in one mode: the rest is more of the same more often than not.
PROBLEMS_SHOWN = 3

TRACEBACK = "Traceback (most recent call last)"

_WIDTH = 100

Modes = Literal["once", "each"] | AutoresetMode


@dataclass(frozen=True)
class Problem:
    """One thing that is not as it should be.

    Parameters
    ----------
    did : str
        What was done.
    found : str
        What came of it.
    expected : str
        What should have come of it.
    details : str
        Lines that are shown as they are, as those of a traceback.
    """

    did: str
    found: str
    expected: str
    details: str = ""


@dataclass(frozen=True)
class Finding:
    """The problems that one check found.

    Parameters
    ----------
    slug : str
        The stable code of the check.
    group, title : str
        The subject it belongs to; what should hold, as one sentence.
    problems : tuple of Problem
        The first few, of the first autoreset mode in which there were any.
    modes : tuple of str
        Every autoreset mode in which there were problems.
    """

    slug: str
    group: str
    title: str
    problems: tuple[Problem, ...]
    modes: tuple[str, ...]


class DoesNotApply(Exception):
    """Raised by a check that cannot be made of this environment; says why."""


def skip(reason: str) -> NoReturn:
    """Leave a check, which cannot be made for this reason."""
    raise DoesNotApply(reason)


class CallFailed(Exception):
    """Raised when a documented use of the environment raised.

    Parameters
    ----------
    did : str
        The call, as one would write it.
    error : BaseException
        What it raised.
    """

    def __init__(self, did: str, error: BaseException) -> None:
        super().__init__(f"{did} raised {type(error).__name__}: {error}")
        self.did, self.error = did, error


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
        The modes it is made in: the first there is, every one, or this one alone.
    vital : bool
        Whether no later check makes sense when this one finds something.
    """

    slug: str
    title: str
    run: Callable[[Context, AutoresetMode], Iterator[Problem]]
    modes: Modes
    vital: bool


def check(
    slug: str, *, modes: Modes = "once", vital: bool = False
) -> Callable[[Callable[[Context, AutoresetMode], Iterator[Problem]]], Check]:
    """Make a check of a function that yields problems.

    Its docstring begins with "Check that"; the rest of that line is the title.
    """

    def decorate(run: Callable[[Context, AutoresetMode], Iterator[Problem]]) -> Check:
        line = (run.__doc__ or slug).partition("\n")[0]
        title = line.removeprefix("Check that ").rstrip(".")
        return Check(slug, title, run, modes, vital)

    return decorate


def describe_error(error: BaseException) -> str:
    """Write an exception in one line, with the place that raised it."""
    message = " ".join(str(error).split())
    if len(message) > 240:
        message = f"{message[:239]}…"
    text = f"{type(error).__name__}: {message}" if message else type(error).__name__
    frames = traceback.extract_tb(error.__traceback__)
    # Where a call of ours did not even begin, there is no place to name.
    if frames and Path(frames[-1].filename).parent != Path(__file__).parent:
        last = frames[-1]
        text += f" ({Path(last.filename).name}:{last.lineno}, in {last.name})"
    return text


def describe_cause(error: BaseException) -> str:
    """Return the traceback of what an error was raised from; nothing without it."""
    if error.__cause__ is None:
        return ""
    return "".join(traceback.format_exception(error.__cause__)).rstrip()


@dataclass
class Report:
    """All that came of one run of the checker.

    Parameters
    ----------
    subject : str
        What was checked, as the caller would write it.
    ran : int
        How many checks were made.
    """

    subject: str
    ran: int = 0
    findings: list[Finding] = field(default_factory=list)
    not_applicable: dict[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        lines = [
            f"{self.subject} does not keep the contract of gymnasium.vector.VectorEnv.",
        ]
        group = None
        for number, finding in enumerate(self.findings, start=1):
            if finding.group != group:
                group = finding.group
                lines += ["", f"{group}:"]
            lines += _finding_lines(number, finding)
        if self.not_applicable:
            lines += ["", "Not made:"]
            for slug, reason in self.not_applicable.items():
                lines += _wrapped(f"  [{slug}] ", reason)
        lines += ["", self._summary()]
        return "\n".join(lines)

    def _summary(self) -> str:
        count = len(self.findings)
        return (
            f"{count} finding{'s' * (count != 1)}; {self.ran} checks ran, "
            f"{len(self.not_applicable)} did not apply. The codes in brackets are "
            "explained in the docstring of roll_vec.testing."
        )


def _finding_lines(number: int, finding: Finding) -> list[str]:
    lines = [f"{number:3}. [{finding.slug}] {finding.title}"]
    for problem in finding.problems:
        lines += _wrapped("       did:      ", problem.did)
        lines += _wrapped("       found:    ", problem.found)
        lines += _wrapped("       expected: ", problem.expected)
        lines += textwrap.indent(problem.details.rstrip(), " " * 9).splitlines()
    if len(finding.modes) > 1:
        lines.append(f"       modes:    {', '.join(finding.modes)}")
    return lines


def _wrapped(label: str, text: str) -> list[str]:
    return textwrap.wrap(
        text,
        width=_WIDTH,
        initial_indent=label,
        subsequent_indent=" " * min(len(label), 17),
        break_long_words=False,
        break_on_hyphens=False,
    )


class ConformanceError(AssertionError):
    """Raised when a vector environment does not keep the contract.

    Parameters
    ----------
    report : Report
        Also available as the attributes `report` and `findings`.
    """

    def __init__(self, report: Report) -> None:
        super().__init__(str(report))
        self.report = report
        self.findings = tuple(report.findings)
