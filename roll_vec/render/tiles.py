"""The project's own pixel art: one 16 × 16 tile for a cell code.

``tiles.ini`` has the drawings, their palettes, and the layers of each tile.  The arrays
are read-only and are indexed by a grid: ``SOKOBAN_TILES[grid]``.

====  ==================  ====================
code  Sokoban             FrozenLake
====  ==================  ====================
0     wall                player on the ice
1     floor               ice
2     target              hole
3     box on a target     goal
4     box                 player in a hole
5     player              player on the goal
6     player on a target
====  ==================  ====================
"""

from __future__ import annotations

import configparser
from importlib import resources

import numpy as np
from numpy.typing import NDArray

TILE_SIZE = 16

_data = configparser.ConfigParser()
_data.read_string((resources.files(__package__) / "tiles.ini").read_text("utf-8"))


def _paint_tiles(game: str) -> NDArray[np.uint8]:
    """Return the tiles of a game: (codes, 16, 16, 3) uint8, read-only."""
    layers = [line.split() for line in _data["tiles"][game].split("\n") if line]
    tiles = np.zeros((len(layers), TILE_SIZE, TILE_SIZE, 3), np.uint8)
    for tile, names in zip(tiles, layers, strict=True):
        for layer in names:
            _paint(tile, *layer.split("/"))
    tiles.flags.writeable = False
    return tiles


def _paint(tile: NDArray[np.uint8], drawing: str, palette: str) -> None:
    """Paint a drawing over what is there; its dots are transparent."""
    lines = "".join(_data["drawings"][drawing].split())
    codes = np.frombuffer(lines.encode(), np.uint8).reshape(tile.shape[:2])
    for entry in _data["palettes"][palette].split():
        character, _, rgb = entry.partition(":")
        tile[codes == ord(character)] = tuple(bytes.fromhex(rgb))


SOKOBAN_TILES = _paint_tiles("sokoban")
"""(7, 16, 16, 3) uint8, read-only: Sokoban's tiles by grid code."""

FROZEN_LAKE_TILES = _paint_tiles("frozen_lake")
"""(6, 16, 16, 3) uint8, read-only: FrozenLake's tiles by grid code."""
