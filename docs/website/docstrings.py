"""An extension of griffe: docstrings in reStructuredText, shown as Markdown.

Docstrings use two forms of reStructuredText: double backticks, which Markdown
knows, and ``::`` before an indented block.  Games have sections that griffe does not
know.
"""

from __future__ import annotations

import ast
import re
import textwrap
from typing import Any

from griffe import Extension, Object

from roll_vec.docstrings import read_entries

# A line that ends with two colons, and the indented lines below it.
_BLOCK = re.compile(r"^( *)(.*)::\n\n((?:\1 +\S.*\n?|[ \t]*\n)+)", re.MULTILINE)
# The sections of games, up to the next one.
_SECTION = re.compile(
    r"^(Actions|Rewards|Episode end|Infos|Sources|Differences)\n-{3,}\n"
    r"(.*?)(?=\n\n[^\n]+\n-{3,}$|\Z)",
    re.MULTILINE | re.DOTALL,
)


class FencedBlocks(Extension):
    """Put the blocks behind ``::`` into fences."""

    def on_object(self, *, obj: Object, **_: Any) -> None:
        """Change the docstring of an object after griffe has read it."""
        if obj.docstring is not None:
            obj.docstring.value = markdown_of(obj.docstring.value)


def markdown_of(docstring: str) -> str:
    """Return a docstring as Markdown."""
    return _SECTION.sub(_list, _BLOCK.sub(_fence, docstring))


def _list(match: re.Match[str]) -> str:
    title, text = match.groups()
    if title not in ("Actions", "Differences"):
        lines = [
            f"- ``{name}``{f' ({kind})' if kind else ''}: {meaning}"
            for name, kind, meaning in read_entries(text)
        ]
        text = "\n".join(lines)
    return f"{title}\n{'-' * len(title)}\n{text}"


def _fence(match: re.Match[str]) -> str:
    indent, title, block = match.groups()
    code = textwrap.dedent(block).strip("\n")
    language = "python" if _is_python(code) else "text"
    title = f"{title}:\n\n" if title else ""
    lines = f"{title}```{language}\n{code}\n```\n\n"
    return textwrap.indent(lines, indent)


def _is_python(code: str) -> bool:
    try:
        ast.parse(code)
    except SyntaxError:
        return False
    return True
