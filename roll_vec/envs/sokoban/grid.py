"""The cells of a Sokoban room: characters, meanings, names of the actions."""

from __future__ import annotations

GRID_LOOKUP = {0: "#", 1: "_", 2: "O", 3: "√", 4: "X", 5: "P", 6: "S"}
GRID_VOCAB = {
    "#": "wall",
    "_": "empty",
    "O": "target",
    "√": "box on target",
    "X": "box",
    "P": "player",
    "S": "player on target",
}
ACTION_LOOKUP = {1: "Up", 2: "Down", 3: "Left", 4: "Right"}
