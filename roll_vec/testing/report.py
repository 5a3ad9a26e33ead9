"""The findings of one run of the checker, and the error that lists them."""

from __future__ import annotations

import importlib
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

from roll_vec.docstrings import read_items, read_sections

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
    """

    slug: str
    problems: tuple[Problem, ...]
    modes: tuple[str, ...] = ()


def read_rules() -> dict[str, str]:
    """Return the rule of each code, from the docstring of the package.

    There is none under ``python -OO``, which has no docstrings.
    """
    docstring = importlib.import_module("roll_vec.testing").__doc__
    items = chain.from_iterable(map(read_items, read_sections(docstring).values()))
    rules = (item.partition(": ") for item in items if item.startswith("``"))
    return {code.strip("`"): rule.rstrip(".") for code, _, rule in rules}


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
    subject : str
        The environment under test, as the caller would write it.
    findings : sequence of Finding
        Also an attribute.
    """

    def __init__(self, subject: str, findings: Sequence[Finding]) -> None:
        super().__init__(subject, findings)
        self.subject, self.findings = subject, tuple(findings)

    def __str__(self) -> str:
        text = f"{self.subject} does not keep the contract of gymnasium.vector."
        lines, rules = [f"{text}VectorEnv.", ""], read_rules()
        for number, finding in enumerate(self.findings, start=1):
            slug = finding.slug
            lines += _wrap(f"{number:3}. [{slug}] ", rules.get(slug, ""))
            for problem in finding.problems:
                lines += problem.lines()
            if len(finding.modes) > 1:
                lines.append(f"       modes:    {', '.join(finding.modes)}")
        count = len(self.findings)
        end = "the codes are explained in the docstring of roll_vec.testing."
        return "\n".join([*lines, "", f"{count} finding{'s' * (count != 1)}; {end}"])
