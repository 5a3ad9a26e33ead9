"""Tables and lists of Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence


def table(heads: Sequence[str], rows: Iterable[Sequence[str]], numbers: int = 0) -> str:
    """Return a table; the last columns have numbers, so many of them."""
    signs = ["---"] * (len(heads) - numbers) + ["--:"] * numbers
    lines = [f"| {' | '.join(heads)} |", f"|{'|'.join(signs)}|"]
    lines += [f"| {' | '.join(map(cell, row))} |" for row in rows]
    return "\n".join(lines)


def bullets(rows: Iterable[Sequence[str]]) -> str:
    """Return a list with an entry for each row; its last cell is the meaning."""
    lines = []
    for *names, text in rows:
        name = re.sub("<br>(.*)", r" (\1)", " ".join(map(cell, names)))
        lines.append(f"- {name}{': ' if name else ''}{cell(text)}")
    # Only tables need the backslash.
    return "\n".join(lines).replace("\\|", "|")


def cell(text: str) -> str:
    """Return a text of a docstring as a cell."""
    parts = re.split(r"(``.+?``|`.+?`)", " ".join(text.split()))
    # Two powers in one paragraph would be bold.
    parts[::2] = [re.sub(r"\*\*(?=\d)", r"\\*\\*", part) for part in parts[::2]]
    return re.sub(r"(?<!\\)\|", r"\\|", "".join(parts).replace("``", "`"))


def code(*texts: object) -> str:
    """Return texts as code, one below the other in a cell."""
    return "<br>".join(f"`{text}`" for text in texts)
