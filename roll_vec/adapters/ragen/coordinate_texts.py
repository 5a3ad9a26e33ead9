"""Grids as texts that list the coordinates of things: RAGEN's format ``coord``.

The strings are those of RAGEN (20daedc), ``ragen/env/*/utils.py``, to the character::

    Board size: 6 rows x 6 cols (zero-indexed).
    Targets: (2, 4)
    Boxes: (2, 3)
    Player: (3, 1)
"""

from __future__ import annotations

from typing import Any

import numpy as np

TEXT_FORMATS = ("grid", "coord", "grid_coord")
# The lines of each game and the codes of the cells on them; None: start cells.
_SOKOBAN = {
    "Targets": (2, 3, 6),
    "Boxes": (4,),
    "Boxes on target": (3,),
    "Player": (5,),
    "Player on target": (6,),
}
_LAKE = {
    "Start": None,
    "Goal": (3, 5),
    "Player": (0,),
    "Player on goal": (5,),
    "Player in hole": (4,),
    "Holes": (2, 4),
}


def format_text(engine: Any, row: int, text: str, text_format: str) -> str:
    """Return the text of an environment's grid in one of `TEXT_FORMATS`.

    Parameters
    ----------
    engine : ArrayEngine
    row : int
        The number of the environment.
    text : str
        The glyphs.
    text_format : str
    """
    if text_format == "grid":
        return text
    (codes,) = engine.grids(np.array([row]))
    variables = engine.named_variables()
    height, width = codes.shape
    lines = [f"Board size: {height} rows x {width} cols (zero-indexed)."]
    for label, listed in (_LAKE if "start" in variables else _SOKOBAN).items():
        if listed is None:
            places = [divmod(int(variables["start"][row]), width)]
        else:
            places = [
                tuple(place) for place in np.argwhere(np.isin(codes, listed)).tolist()
            ]
        if places:
            lines.append(f"{label}: {', '.join(map(str, places))}")
    coordinates = "\n".join(lines)
    if text_format == "coord":
        return coordinates
    # RAGEN's titles have a space before the newline.
    return f"Coordinates: \n{coordinates}\nGrid Map: \n{text}"
