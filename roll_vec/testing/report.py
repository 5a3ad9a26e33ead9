"""The findings of one run of the checker, and the error message that lists them."""

from __future__ import annotations

import importlib
import re
import textwrap
from dataclasses import dataclass, field
from itertools import chain

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
        The outcome that the contract asks for, where the title of the finding does not
        say enough.
    place : str
        The part of the outcome that deviates, if it is not the whole.
    code : str
        The code of the check, where a function makes several.
    details : str
        Lines that are shown unchanged, such as a traceback.
    """

    did: str
    actual: str
    expected: str = ""
    place: str = ""
    code: str = ""
    details: str = ""

    def lines(self) -> list[str]:
        """Return the lines of the message."""
        place = f"{self.place}: " if self.place else ""
        texts = {"did": self.did, "found": place + self.actual}
        if self.expected:
            texts["expected"] = self.expected
        details = textwrap.indent(self.details.rstrip(), " " * 9).splitlines()
        lines = [
            _wrap(f"       {name + ':':<10}", text) for name, text in texts.items()
        ]
        return [*chain(*lines), *details]


@dataclass(frozen=True)
class Finding:
    """The problems of one check.

    Parameters
    ----------
    slug : str
        The stable code of the check.
    problems : tuple of Problem
        The first few, of the first autoreset mode that has any.
    modes : tuple of str
        Every autoreset mode that has problems.

    Attributes
    ----------
    group, title : str
        The check's subject; the rule that should hold.  Empty under ``python -OO``,
        which has no docstrings.
    """

    slug: str
    problems: tuple[Problem, ...]
    modes: tuple[str, ...] = ()

    @property
    def group(self) -> str:
        """The subject of the check."""
        return read_rules().get(self.slug, ("", ""))[0]

    @property
    def title(self) -> str:
        """The rule that should hold."""
        return read_rules().get(self.slug, ("", ""))[1]


def read_rules() -> dict[str, tuple[str, str]]:
    """Return the group and the rule of each code, from the docstring of the package."""
    docstring = importlib.import_module("roll_vec.testing").__doc__
    headings = r"^(.+)\n-+$"
    _, *parts = re.split(headings, docstring or "", flags=re.MULTILINE)
    rules = {}
    for group, section in zip(parts[::2], parts[1::2], strict=True):
        for item in section.split("\n- ")[1:]:
            codes, _, rule = " ".join(item.split()).partition(": ")
            for code in re.findall(r"``([a-z-]+)``", codes):
                rules[code] = group, rule.rstrip(".")
    return rules


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
        text = f"{self.subject} does not keep the contract of gymnasium.vector."
        lines, group = [f"{text}VectorEnv."], ""
        for number, finding in enumerate(self.findings, start=1):
            if finding.group != group:
                group = finding.group
                lines += ["", f"{group}:"]
            lines += _wrap(f"{number:3}. [{finding.slug}] ", finding.title)
            for problem in finding.problems:
                lines += problem.lines()
            if len(finding.modes) > 1:
                lines.append(f"       modes:    {', '.join(finding.modes)}")
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


def _wrap(label: str, text: str) -> list[str]:
    """Return a label and a text as lines of the message."""
    return textwrap.wrap(
        text or "…",
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
