"""The size of the terminal, and whether it shows colours."""

from __future__ import annotations

import os
import shutil
from typing import TextIO

__all__ = ["is_screen", "screen_height", "text_width", "wants_colour"]

# Longest line of text, however wide the screen is.
_MAX_WIDTH = 88
_USUAL_HEIGHT = 24


def text_width() -> int:
    """Return the number of columns for lines of text."""
    # Here and below: Python 3.10 returns 0 if a terminal does not know its size.
    return min(shutil.get_terminal_size().columns or _MAX_WIDTH, _MAX_WIDTH)


def screen_height() -> int:
    """Return the number of lines of the screen."""
    return shutil.get_terminal_size().lines or _USUAL_HEIGHT


def is_screen(out: TextIO) -> bool:
    """Return whether the stream understands escape sequences."""
    return out.isatty() and os.environ.get("TERM") != "dumb"


def wants_colour(out: TextIO) -> bool:
    """Return whether colours can be shown and are not turned off."""
    return is_screen(out) and not os.environ.get("NO_COLOR")
