"""The programs of pages."""

from __future__ import annotations

import re
from pathlib import Path


def blocks_of(page: Path, language: str = "python") -> list[str]:
    """Return the blocks of a page that are in a language."""
    text = page.read_text("utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def program_of(page: Path) -> str:
    """Return the Python blocks of a page as one program; empty without any.

    Each line has the number that it has in the page, so that errors name it.
    """
    lines, inside = [], False
    for line in page.read_text("utf-8").splitlines():
        inside = inside and line != "```"
        lines.append(line if inside else "")
        inside = inside or line == "```python"
    return "\n".join(lines).strip("\n") and "\n".join(lines).rstrip("\n") + "\n"
