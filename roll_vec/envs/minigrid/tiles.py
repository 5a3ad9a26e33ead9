"""The tiles of MiniGrid's pictures.

A tile is drawn at three times its size, shape upon shape, and then made smaller.
Shapes, their order, and the operations are those of MiniGrid's ``render_tile``, so
that pictures are equal.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from roll_vec.envs.minigrid.things import NUM_LOOKS, TYPE_NAMES, TYPES_AND_STATES

# Pixels of a shape, from their coordinates between 0 and 1.
Shape = Callable[[Any, Any], Any]
# Overlays of a cell: none, a highlight, or the agent in one of four directions.
PLAIN, SEEN, AGENT = 0, 1, 2
NUM_OVERLAYS = 6
# In the order of numbers of colours.
_HEX = "ff0000 00ff00 0000ff 7027c3 ffff00 646464"
_COLOURS = np.array([*bytes.fromhex(_HEX)]).reshape(6, 3)
_SUBDIVISION = 3
_BLACK, _RED, _ORANGE, _GREY = (0, 0, 0), (255, 0, 0), (255, 128, 0), (100, 100, 100)


def _rectangle(left: float, right: float, top: float, bottom: float) -> Shape:
    return lambda x, y: (x >= left) & (x <= right) & (y >= top) & (y <= bottom)


def _circle(cx: float, cy: float, r: float) -> Shape:
    return lambda x, y: (x - cx) * (x - cx) + (y - cy) * (y - cy) <= r * r


def _line(x0: float, y0: float, x1: float, y1: float, r: float) -> Shape:
    """Return the points that are no further than r from a line."""
    start, end = np.array([[x0, y0], [x1, y1]], np.float32)
    length = np.linalg.norm(end - start)
    unit = (end - start) / length
    near = _rectangle(
        min(x0, x1) - r, max(x0, x1) + r, min(y0, y1) - r, max(y0, y1) + r
    )

    def contains(x: Any, y: Any) -> Any:
        along = (x - start[0]) * unit[0] + (y - start[1]) * unit[1]
        along = np.clip(along, 0, length)
        dx, dy = x - (start[0] + along * unit[0]), y - (start[1] + along * unit[1])
        return near(x, y) & (np.sqrt(dx * dx + dy * dy) <= r)

    return contains


def _agent(direction: int) -> Shape:
    """Return the triangle of an agent; one to the right is turned."""
    corners: Any = np.array([[0.12, 0.19], [0.87, 0.50], [0.12, 0.81]], np.float32)
    (ax, ay), p, q = corners[0], corners[2] - corners[0], corners[1] - corners[0]
    pp, pq, qq = np.dot(p, p), np.dot(p, q), np.dot(q, q)
    scale = 1 / (pp * qq - pq * pq)
    cosine = math.cos(-0.5 * math.pi * direction)
    sine = math.sin(-0.5 * math.pi * direction)

    def contains(x: Any, y: Any) -> Any:
        x, y = x - 0.5, y - 0.5
        x, y = 0.5 + x * cosine - y * sine, 0.5 + y * cosine + x * sine
        x, y = x - ax, y - ay
        pr, qr = p[0] * x + p[1] * y, q[0] * x + q[1] * y
        u, v = (qq * pr - pq * qr) * scale, (pp * qr - pq * pr) * scale
        return (u >= 0) & (v >= 0) & (u + v < 1)

    return contains


_ALL = _rectangle(0, 1, 0, 1)
# By type, and doors by state: shapes, each with its colour, or with the part of the
# thing's own.
_SHAPES: dict[tuple[str, int], list[tuple[Shape, Any]]] = {
    ("wall", 0): [(_ALL, 1)],
    ("floor", 0): [(_rectangle(0.031, 1, 0.031, 1), 0.5)],
    ("door", 0): [
        (_rectangle(0.88, 1, 0, 1), 1),
        (_rectangle(0.92, 0.96, 0.04, 0.96), _BLACK),
    ],
    ("door", 1): [
        (_ALL, 1),
        (_rectangle(0.04, 0.96, 0.04, 0.96), _BLACK),
        (_rectangle(0.08, 0.92, 0.08, 0.92), 1),
        (_rectangle(0.12, 0.88, 0.12, 0.88), _BLACK),
        (_circle(0.75, 0.5, 0.08), 1),
    ],
    ("door", 2): [
        (_ALL, 1),
        (_rectangle(0.06, 0.94, 0.06, 0.94), 0.45),
        (_rectangle(0.52, 0.75, 0.5, 0.56), 1),
    ],
    ("key", 0): [
        (_rectangle(0.5, 0.63, 0.31, 0.88), 1),
        (_rectangle(0.38, 0.5, 0.59, 0.66), 1),
        (_rectangle(0.38, 0.5, 0.81, 0.88), 1),
        (_circle(0.56, 0.28, 0.19), 1),
        (_circle(0.56, 0.28, 0.064), _BLACK),
    ],
    ("ball", 0): [(_circle(0.5, 0.5, 0.31), 1)],
    ("box", 0): [
        (_rectangle(0.12, 0.88, 0.12, 0.88), 1),
        (_rectangle(0.18, 0.82, 0.18, 0.82), _BLACK),
        (_rectangle(0.16, 0.84, 0.47, 0.53), 1),
    ],
    ("goal", 0): [(_ALL, 1)],
    ("lava", 0): [
        (_ALL, _ORANGE),
        *(
            (_line(x, y + 0.1 * (k % 2), x + 0.2, y + 0.1 * (1 - k % 2), 0.03), _BLACK)
            for y in (0.3, 0.5, 0.7)
            for k, x in enumerate((0.1, 0.3, 0.5, 0.7))
        ),
    ],
}


def _draw_tile(overlay: int, look: int, size: int, highlight: bool) -> Any:
    """Return a tile, (size, size, 3) uint8."""
    n = _SUBDIVISION * size
    shapes: list[tuple[Shape, Any]] = [
        (_rectangle(0, 0.031, 0, 1), _GREY),
        (_rectangle(0, 1, 0, 0.031), _GREY),
    ]
    colour = _COLOURS[(look - 1) % len(_COLOURS)]
    if look > 0:
        kind, state = TYPES_AND_STATES[(look - 1) // len(_COLOURS)]
        shapes += _SHAPES[TYPE_NAMES[kind], state]
    if overlay >= AGENT:
        shapes.append((_agent(overlay - AGENT), _RED))
    image = np.zeros((n, n, 3), np.uint8)
    y, x = (np.mgrid[:n, :n] + 0.5) / n
    for contains, part in shapes:
        image[contains(x, y)] = part if isinstance(part, tuple) else part * colour
    if overlay == SEEN or (overlay >= AGENT and highlight):
        image = (image + 0.3 * (255 - image)).clip(0, 255).astype(np.uint8)
    parts = image.reshape(size, _SUBDIVISION, size, _SUBDIVISION, 3)
    return parts.mean(axis=3).mean(axis=1).astype(np.uint8)


@functools.lru_cache(maxsize=8)
def make_tiles(size: int, highlight: bool) -> NDArray[np.uint8]:
    """Return the tile of each look under each overlay.

    Parameters
    ----------
    size : int
        Pixels of a side.
    highlight : bool
        Whether the agent's cell is lighter, as the others that it sees.

    Returns
    -------
    (6 * NUM_LOOKS, size, size, 3) uint8, read-only
        That of `number_look` of a thing and an overlay stands at ``NUM_LOOKS * overlay
        + look``.
    """
    codes = [divmod(code, NUM_LOOKS) for code in range(NUM_OVERLAYS * NUM_LOOKS)]
    tiles = np.array([_draw_tile(*code, size, highlight) for code in codes])
    tiles.flags.writeable = False
    return tiles
