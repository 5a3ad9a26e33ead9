"""The size of the terminal, and whether it shows colours."""

from __future__ import annotations

import os
import shutil
import textwrap
from collections.abc import Sequence
from typing import TextIO

__all__ = ["format_rows", "is_screen", "screen_height", "text_width", "wants_colour"]

# Longest line of text, however wide the screen is.
_MAX_WIDTH = 88
_USUAL_HEIGHT = 24
# A narrower column of text stands below its row, with this indent.
_MIN_COLUMN = 30
_INDENT = 4


def text_width() -> int:
    """Return the number of columns for lines of text."""
    # Here and below: Python 3.10 returns 0 if a terminal does not know its size.
    return min(shutil.get_terminal_size().columns or _MAX_WIDTH, _MAX_WIDTH)


def format_rows(rows: Sequence[Sequence[str]], form: str, out: TextIO) -> str:
    """Return rows of texts as lines in columns, two spaces apart.

    Parameters
    ----------
    rows : sequence of rows
        Of equal lengths.
    form : str
        A letter for each column but the last: ``<`` or ``>``, its alignment.
    out : stream
        On a terminal the last column is folded, or below the others, to fit its width.
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    indent = sum(widths[:-1]) + 2 * len(form)
    width = text_width()
    is_below = out.isatty() and width - indent < _MIN_COLUMN
    if is_below:
        indent = _INDENT
    lines = []
    for *cells, text in rows:
        pairs = zip(cells, form, widths, strict=False)
        head = "".join(f"{cell:{side}{size}}  " for cell, side, size in pairs)
        folds = textwrap.wrap(text, width - indent) if out.isatty() else [text]
        first = "" if is_below or not folds else folds.pop(0)
        lines += [head + first, *(" " * indent + line for line in folds)]
    return "".join(f"{line.rstrip()}\n" for line in lines)


def screen_height() -> int:
    """Return the number of lines of the screen."""
    return shutil.get_terminal_size().lines or _USUAL_HEIGHT


def is_screen(out: TextIO) -> bool:
    """Return whether the stream understands escape sequences."""
    return out.isatty() and os.environ.get("TERM") != "dumb"


def wants_colour(out: TextIO) -> bool:
    """Return whether colours can be shown and are not turned off."""
    return is_screen(out) and not os.environ.get("NO_COLOR")
