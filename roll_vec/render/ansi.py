"""Grids as text in the colours of a terminal.

A colour is the parameter of an ANSI "select graphic rendition" sequence, for example
``"1;31"`` for bold red.  Only the sixteen standard colours are used: the terminal's own
scheme makes them readable on dark and on light backgrounds.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

_SEQUENCE = re.compile(r"\x1b\[[0-9;]*m")


def paint(text: str, colour: str) -> str:
    """Return `text` in a colour; unchanged if either is empty."""
    return f"\x1b[{colour}m{text}\x1b[0m" if text and colour else text


def strip_colours(text: str) -> str:
    """Return `text` without its colour sequences."""
    return _SEQUENCE.sub("", text)


def colour_grid(
    grid: NDArray[np.uint8],
    lookup: Mapping[int, str],
    colours: Mapping[int, str],
    *,
    colour: bool = True,
) -> str:
    r"""Return a grid as lines of text.

    Parameters
    ----------
    grid : (H, W) uint8
        Cell codes.
    lookup : mapping of int to str
        The characters of each code, any number of them; ``"?"`` for a code it lacks.
    colours : mapping of int to str
        The colour of each code; a code it lacks is not coloured.
    colour : bool, default True
        False leaves out every sequence: the same text, plain.

    Returns
    -------
    str
        H lines joined by ``"\n"``, none after the last.
    """
    return "\n".join(_line(row, lookup, colours if colour else {}) for row in grid)


def _line(
    row: NDArray[np.uint8], lookup: Mapping[int, str], colours: Mapping[int, str]
) -> str:
    # Neighbours of one colour share a sequence, which keeps the text short.
    runs = groupby(row.tolist(), key=lambda code: colours.get(code, ""))
    return "".join(
        paint("".join(lookup.get(code, "?") for code in codes), colour)
        for colour, codes in runs
    )
