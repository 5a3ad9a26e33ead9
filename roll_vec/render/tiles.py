"""The project's own pixel art: one 16 × 16 tile for a cell code.

Each picture is drawn with characters; the palette below it gives the colour of each
character, and a dot is transparent, so that a figure stands on its ground.  The arrays
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

import numpy as np
from numpy.typing import NDArray

TILE_SIZE = 16

# The bricks of every second course are shifted by half a brick: walls join without a
# seam.
_WALL = """
hhhhhhhmhhhhhhhm
hbbbbbbmhbbbbbbm
hbbbbbdmhbbbbbdm
mmmmmmmmmmmmmmmm
hhhmhhhhhhhmhhhh
bbbmhbbbbbbmhbbb
bbdmhbbbbbdmhbbb
mmmmmmmmmmmmmmmm
hhhhhhhmhhhhhhhm
hbbbbbbmhbbbbbbm
hbbbbbdmhbbbbbdm
mmmmmmmmmmmmmmmm
hhhmhhhhhhhmhhhh
bbbmhbbbbbbmhbbb
bbdmhbbbbbdmhbbb
mmmmmmmmmmmmmmmm
"""
_BRICK = {"h": 0x7C879E, "b": 0x5F6A82, "d": 0x515B72, "m": 0x3A4256}

# A flagstone; its joint makes the cells countable.
_FLOOR = """
fffffffffffffffs
fffffffffffffffs
ffffffffffsffffs
fffffffffffffffs
fffsfffffffffffs
fffffffffffffffs
fffffffffffffffs
ffffffffffffsffs
fffffffffffffffs
fffffffffffffffs
ffffsffffffffffs
fffffffffffffffs
ffffffffffsffffs
fffffffffffffffs
fffffffffffffffs
ssssssssssssssss
"""
_STONE = {"f": 0xEFE6D2, "s": 0xE0D4BA}

# The corners stay visible around a player.
_TARGET = """
................
.rrrr.....rrrr..
.rrrr.....rrrr..
.rr.........rr..
.rr.........rr..
................
......rrr.......
.....rpppr......
.....rpppr......
.....rpppr......
......rrr.......
.rr.........rr..
.rr.........rr..
.rrrr.....rrrr..
.rrrr.....rrrr..
................
"""
_MARK = {"r": 0xD9434E, "p": 0xF7A3A0}

_BOX = """
................
.oooooooooooooo.
.ohhhhhhhhhhhho.
.ohffffffffffdo.
.ohfssssssssfdo.
.ohfsxppppysfdo.
.ohfsxxppyysfdo.
.ohfspxxyypsfdo.
.ohfsppyxppsfdo.
.ohfspyyxxpsfdo.
.ohfsyyppxxsfdo.
.ohfsyppppxsfdo.
.ohfssssssssfdo.
.oddddddddddddo.
.oooooooooooooo.
................
"""
_WOOD = {
    "o": 0x5A3517,
    "h": 0xE9BC76,
    "f": 0xCF9548,
    "d": 0x9C6829,
    "s": 0x7A4B1F,
    "p": 0xA66F34,
    "x": 0xE2AF63,
    "y": 0xC98E43,
}

# A box on a target is green and has a tick: colour must not be the only sign.
_TICK = """
................
................
................
................
................
...........ww...
..........wwwo..
...ww....wwwo...
...www..wwwo....
....wwwwwwo.....
.....wwwwo......
......wwo.......
.......o........
................
................
................
"""
_PAINTED = {
    "o": 0x14492B,
    "h": 0xA6E58F,
    "f": 0x5CBF5E,
    "d": 0x35884A,
    "s": 0x2C7339,
    "p": 0x459B50,
    "x": 0x459B50,
    "y": 0x459B50,
    "w": 0xFFFFFF,
}

_PLAYER = """
................
.....kkkkkk.....
....kccccclk....
...kccccccclk...
...kkkkkkkkkk...
....kssssssk....
....kskssksk....
....kssssssk....
.....kkkkkk.....
...kkjjjjjjkk...
..ksjjjjjjjjsk..
..ksjbbbbbbjsk..
...kkbbbbbbkk...
....kbbkkbbk....
....kkkkkkkk....
................
"""
_WORKER = {
    "k": 0x232A3D,
    "c": 0xF2B632,
    "l": 0xD08C17,
    "s": 0xF6CFA8,
    "j": 0x3E7BD6,
    "b": 0x2B539B,
}

# Glints, and a joint that makes the cells countable.
_ICE = """
iiiiiiiiiiiiiiie
iiiiiiiiiiiwiiie
iiiiiiiiiiwiiiie
iiiiiiiiiwiiwiie
iiiiiiiiiiiwiiie
iiiiiiiiiiwiiiie
iiiiiiiiiiiiiiie
iiiiiiiiiiiiiiie
iiiiiiiiiiiiiiie
iiiiiiwiiiiiiiie
iiiiiwiiiiiiiiie
iiiiwiiwiiiiiiie
iiiiiiwiiiiiiiie
iiiiiwiiiiiiiiie
iiiiiiiiiiiiiiie
eeeeeeeeeeeeeeee
"""
_FROST = {"i": 0xD3ECF8, "w": 0xFFFFFF, "e": 0xB4D8EB}

_HOLE = """
................
......eeee......
....eeaaaaee....
...eaaddddaae...
..eaddddddddae..
..eddddddddddw..
.eadddddddddddw.
.edddddddddddbw.
.eddddddddddbbw.
.edddddddddbbbw.
..eddddddddbbw..
..wdddddbbbbbw..
...wwbbbbbbww...
....wwwwwwww....
......wwww......
................
"""
_WATER = {"e": 0x7FB2CE, "a": 0x0D2440, "d": 0x173A63, "b": 0x245B8F, "w": 0xFFFFFF}

# A pennant on a pole, in a heap of snow.
_GOAL = """
....kk..........
....yk..........
....yrrrr.......
....yrrrrrrr....
....yrrrrrrrrr..
....yrrrrrrr....
....yrrrr.......
....yk..........
....yk..........
....yk..........
....yk..........
....yk..........
..wwykww........
.wwwwwwwww......
wwwssssswww.....
................
"""
_PENNANT = {"k": 0x6B4A1E, "y": 0xC99A3D, "r": 0xE23D4B, "w": 0xFFFFFF, "s": 0xDCE9F1}

# The same person in a winter coat: in the water, and with the pennant in hand.
_SWIMMER = """
................
................
.....kkkkkk.....
.kk.kccccclk.kk.
ksskccccccclkssk
ksskkkkkkkkkkssk
.kjjksssssskjjk.
..kjksksskskjk..
...kksskksskk...
..w.wwwwwwww.w..
...ww.ww.wwww...
................
................
................
................
................
"""
_WINNER = """
..........kk....
...kkkk...yrr...
..kccclk..yrrrr.
.kcccccck.yrrrrr
.kkkkkkkk.yrrrr.
.kssssssk.yrr...
.kskssksk.ykk...
.ksssssskkyssk..
..kkkkkkjjyssk..
.kkjjjjjjjykk...
ksjjjjjjjkyk....
ksjbbbbjk.yk....
.kkbbbbk..yk....
..kbkkbk..yk....
..kkkkkk.wykw...
........wwwwww..
"""
_SKATER = {**_WORKER, "j": 0x8756C9, "b": 0x5E3A96, "w": 0xFFFFFF}
_WITH_PENNANT = {**_SKATER, "y": _PENNANT["y"], "r": _PENNANT["r"]}


def _paint(
    drawing: str, palette: dict[str, int], under: NDArray[np.uint8] | None = None
) -> NDArray[np.uint8]:
    """Return the drawing in its colours, over `under`: (16, 16, 3) uint8.

    Parameters
    ----------
    drawing : str
        Sixteen lines of sixteen characters.
    palette : dict
        Character to colour, 0xRRGGBB.
    under : (16, 16, 3) uint8, optional
        The picture below, visible through dots; unused by a drawing without dots.
    """
    codes = np.frombuffer("".join(drawing.split()).encode(), dtype=np.uint8)
    codes = codes.reshape(TILE_SIZE, TILE_SIZE)
    colours = np.zeros((128, 3), dtype=np.uint8)
    for character, rgb in palette.items():
        colours[ord(character)] = rgb >> 16, rgb >> 8 & 0xFF, rgb & 0xFF
    tile = colours[codes]
    if under is not None:
        transparent = codes == ord(".")
        tile[transparent] = under[transparent]
    return tile


def _frozen(array: NDArray[np.uint8]) -> NDArray[np.uint8]:
    array.flags.writeable = False
    return array


_floor = _paint(_FLOOR, _STONE)
_target = _paint(_TARGET, _MARK, under=_floor)
_home = _paint(_TICK, _PAINTED, under=_paint(_BOX, _PAINTED, under=_target))
_ice = _paint(_ICE, _FROST)
_hole = _paint(_HOLE, _WATER, under=_ice)

SOKOBAN_TILES = _frozen(
    np.stack(
        (
            _paint(_WALL, _BRICK),
            _floor,
            _target,
            _home,
            _paint(_BOX, _WOOD, under=_floor),
            _paint(_PLAYER, _WORKER, under=_floor),
            _paint(_PLAYER, _WORKER, under=_target),
        )
    )
)
"""(7, 16, 16, 3) uint8, read-only: Sokoban's tiles by grid code."""

FROZEN_LAKE_TILES = _frozen(
    np.stack(
        (
            _paint(_PLAYER, _SKATER, under=_ice),
            _ice,
            _hole,
            _paint(_GOAL, _PENNANT, under=_ice),
            _paint(_SWIMMER, _SKATER, under=_hole),
            _paint(_WINNER, _WITH_PENNANT, under=_ice),
        )
    )
)
"""(6, 16, 16, 3) uint8, read-only: FrozenLake's tiles by grid code."""
