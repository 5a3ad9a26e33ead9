"""Figures that pages quote from a file of results, so that nobody types them.

A quotation is the text between ``<!-- KIND WORDS -->`` and ``<!-- end -->``.  KIND
names the file, WORDS the figure.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from pathlib import Path

from benchmarks.processes import ROOT

PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))


def pattern(kind: str) -> re.Pattern[str]:
    """Return the pattern of a kind of quotation; the second group has the words."""
    return re.compile(rf"(<!-- {kind} (.*?) -->)(.*?)(<!-- end -->)", re.DOTALL)


def quote(text: str, kind: str, show: Callable[[str], str]) -> str:
    """Return a page with its quotations replaced.

    Parameters
    ----------
    text : str
        The page.
    kind : str
        The kind of quotation; others stay as they are.
    show : callable
        Returns the text of a figure, from its words.
    """
    return pattern(kind).sub(
        lambda match: f"{match[1]}{show(match[2])}{match[4]}", text
    )


def rewrite(paths: Iterable[Path], replace: Callable[[str], str]) -> None:
    """Replace the texts of files, and name each that has changed."""
    for path in paths:
        old = path.read_text("utf-8")
        new = replace(old)
        if new != old:
            path.write_text(new, "utf-8")
            print(f"written: {path}")
