"""Lines about an installation, and checks that cannot stop each other."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

OK, WARNING, BROKEN = "ok", "warning", "broken"


@dataclass(frozen=True)
class Finding:
    """A line about an installation.

    Parameters
    ----------
    name : str
    value : str, int, list of str or None
        None: there is none, for example of a package that is not installed.
    status : str
        `OK`; `WARNING`: something works less well; `BROKEN`: environments cannot run.
    advice : str
        What to do; empty for `OK`.
    """

    name: str
    value: Any
    status: str = OK
    advice: str = ""


Checks = Mapping[str, Callable[[], Iterable[Finding]]]
"""Functions by name; each returns its lines."""


def run_checks(checks: Checks) -> list[Finding]:
    """Return the lines of all checks.

    A check that raises becomes one line: a warning with the name of the check and the
    error.
    """
    findings: list[Finding] = []
    for name, check in checks.items():
        try:
            findings += check()
        except Exception as error:
            text = f"{type(error).__name__}: {error}"
            advice = "this line could not be checked"
            findings.append(Finding(name, " ".join(text.split()), WARNING, advice))
    return findings
