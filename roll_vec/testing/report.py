"""The findings of one run of the checker, and the error message that lists them."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass, field

_WIDTH = 100


@dataclass(frozen=True)
class Problem:
    """One deviation from the contract.

    Parameters
    ----------
    did : str
        The calls that were made.
    actual : str
        Their outcome.
    expected : str
        The outcome that the contract asks for.
    details : str
        Lines that are shown unchanged, such as a traceback.
    """

    did: str
    actual: str
    expected: str
    details: str = ""


@dataclass(frozen=True)
class Finding:
    """The problems of one check.

    Parameters
    ----------
    slug : str
        The stable code of the check.
    group, title : str
        The check's subject; the rule that should hold, as one sentence.
    problems : tuple of Problem
        The first few, of the first autoreset mode that has any.
    modes : tuple of str
        Every autoreset mode that has problems.
    """

    slug: str
    group: str
    title: str
    problems: tuple[Problem, ...]
    modes: tuple[str, ...]


@dataclass
class Report:
    """The outcome of one run of the checker.

    Parameters
    ----------
    subject : str
        The environment under test, as the caller would write it.
    ran : int
        Number of checks that ran.
    findings : list of Finding
    not_applicable : dict of str
        Codes of the checks that did not apply, and the reasons.
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
                lines += _wrap(f"  [{slug}] ", reason)
        count = len(self.findings)
        lines += [
            "",
            f"{count} finding{'s' * (count != 1)}; {self.ran} checks ran, "
            f"{len(self.not_applicable)} did not apply. The codes in brackets are "
            "explained in the docstring of roll_vec.testing.",
        ]
        return "\n".join(lines)


def _finding_lines(number: int, finding: Finding) -> list[str]:
    lines = [f"{number:3}. [{finding.slug}] {finding.title}"]
    for problem in finding.problems:
        lines += _wrap("       did:      ", problem.did)
        lines += _wrap("       found:    ", problem.actual)
        lines += _wrap("       expected: ", problem.expected)
        lines += textwrap.indent(problem.details.rstrip(), " " * 9).splitlines()
    if len(finding.modes) > 1:
        lines.append(f"       modes:    {', '.join(finding.modes)}")
    return lines


def _wrap(label: str, text: str) -> list[str]:
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
