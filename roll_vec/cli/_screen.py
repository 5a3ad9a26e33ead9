"""What the stream that a person looks at can show."""

from __future__ import annotations

import os
from typing import TextIO

__all__ = ["WIDTH", "is_screen", "wants_colour"]

# Lines of text are no longer than this, however wide the screen is.
WIDTH = 88


def is_screen(out: TextIO) -> bool:
    """Tell whether sequences of a terminal mean anything there."""
    return out.isatty() and os.environ.get("TERM") != "dumb"


def wants_colour(out: TextIO) -> bool:
    """Tell whether colours can be shown and are not turned off."""
    return is_screen(out) and not os.environ.get("NO_COLOR")
