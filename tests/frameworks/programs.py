"""The programs of pages."""

from __future__ import annotations

import re
from pathlib import Path

from tests.frameworks.frameworks import FRAMEWORKS

ROOT = Path(__file__).resolve().parents[2]
PAGE_FOLDER = ROOT / "docs" / "frameworks"
# Each framework that has no page of its own has a section, under its title.
OTHERS = PAGE_FOLDER / "others.md"


def link_to(name: str) -> str:
    """Return the target of a framework, as a page of the folder links to it."""
    if (PAGE_FOLDER / f"{name}.md").is_file():
        return f"{name}.md"
    return f"{OTHERS.name}#{FRAMEWORKS[name].title.lower().replace(' ', '-')}"


def text_of(name: str) -> str:
    """Return the page of a framework; the lines of other frameworks are empty."""
    page = PAGE_FOLDER / f"{name}.md"
    if page.is_file():
        return page.read_text("utf-8")
    lines, inside = [], False
    for line in OTHERS.read_text("utf-8").splitlines():
        if line.startswith("## "):
            inside = line == f"## {FRAMEWORKS[name].title}"
        lines.append(line if inside else "")
    return "\n".join(lines) + "\n"


def blocks_of(text: str | Path, language: str = "python") -> list[str]:
    """Return the blocks of a text, or of a page, that are in a language."""
    if isinstance(text, Path):
        text = text.read_text("utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def program_of(text: str) -> str:
    """Return the Python blocks of a text as one program; empty without any.

    Each line has the number that it has in the text, so that errors name it.  A
    text that links a file of docs/examples/frameworks has this file instead.
    """
    file = re.search(r"\]\(\.\./(examples/frameworks/\w+\.py)\)", text)
    if file is not None:
        return (ROOT / "docs" / file[1]).read_text("utf-8")
    lines, inside = [], False
    for line in text.splitlines():
        inside = inside and line != "```"
        lines.append(line if inside else "")
        inside = inside or line == "```python"
    return "\n".join(lines).strip("\n") and "\n".join(lines).rstrip("\n") + "\n"
