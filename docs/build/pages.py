"""Pages with marks, and the replacement of their generated parts."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))
MARK = re.compile(r"(<!-- ([a-z]+)\.([a-z]\w*) ?([^>]*?) ?-->)(.*?)<!-- end -->", re.S)


def fill(text: str) -> str:
    """Return a page with all its parts generated.

    Raises
    ------
    ValueError
        For a mark without a function or an end, and for words that name nothing.
    """

    def replace(match: re.Match[str]) -> str:
        mark, module, name, words, old = match.groups()
        try:
            if "<!--" in old:
                raise ValueError(f"expected <!-- end -->, got {old}")
            new = getattr(import_module(f"docs.build.{module}"), name)(words)
        except (ImportError, AttributeError, KeyError, ValueError) as error:
            message = f"{mark}: {type(error).__name__}: {error}"
            raise ValueError(message) from error
        # A part of several lines has empty lines around it; others stand in a line.
        space = "\n\n" if "\n" in new else ""
        return f"{mark}{space}{new}{space}<!-- end -->"

    return MARK.sub(replace, text)
