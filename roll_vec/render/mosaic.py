"""Mosaics of many frames, and picture files."""

from __future__ import annotations

import math
from collections.abc import Sequence
from os import PathLike
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from roll_vec.render.png import import_pillow
from roll_vec.storage.files import replace_file

# Pillow's names of the formats, by the suffix of a file.
_FORMATS = {
    ".bmp": "BMP",
    ".gif": "GIF",
    ".jpeg": "JPEG",
    ".jpg": "JPEG",
    ".png": "PNG",
}
PICTURE_SUFFIXES = tuple(_FORMATS)

_BACKGROUND = (24, 26, 34)
# Pixels between frames, and around the whole.
_GAP = 8


def upscale(frame: NDArray[np.uint8], factor: int) -> NDArray[np.uint8]:
    """Return (H, W, 3) pixels enlarged to (factor · H, factor · W, 3)."""
    return frame.repeat(factor, axis=0).repeat(factor, axis=1)


def nearly_square(count: int, height: int, width: int) -> int:
    """Return the columns in which frames of one size make a nearly square picture."""
    return min(max(round(math.sqrt(count * height / width)), 1), count)


def mosaic(frames: Sequence[NDArray[np.uint8]], scale: int = 1) -> NDArray[np.uint8]:
    """Return frames side by side in rows, with gaps around each.

    Parameters
    ----------
    frames : sequence of (H, W, 3) uint8
        At least one.  If sizes differ, each is centred in a cell of the largest.
    scale : int, default 1
        Every pixel of a frame becomes a square of this side.

    Returns
    -------
    (H', W', 3) uint8
        Nearly a square.
    """
    frames = [upscale(frame, scale) for frame in frames]
    gap = _GAP
    height = max(frame.shape[0] for frame in frames) + gap
    width = max(frame.shape[1] for frame in frames) + gap
    columns = nearly_square(len(frames), height, width)
    rows = math.ceil(len(frames) / columns)
    picture = np.empty((rows * height + gap, columns * width + gap, 3), dtype=np.uint8)
    picture[:] = _BACKGROUND
    for index, frame in enumerate(frames):
        row, column = divmod(index, columns)
        top = gap + row * height + (height - gap - frame.shape[0]) // 2
        first = gap + column * width + (width - gap - frame.shape[1]) // 2
        picture[top : top + frame.shape[0], first : first + frame.shape[1]] = frame
    return picture


def save_picture(path: str | PathLike[str], picture: NDArray[np.uint8]) -> None:
    """Write (H, W, 3) uint8 pixels to a file, in the format of its suffix.

    The suffix is one of `PICTURE_SUFFIXES`.

    Raises
    ------
    MissingExtraError
        Pillow is not installed.
    InvalidFileError
        The path is that of a directory, a device, a pipe or a socket.
    OSError
        The file cannot be written.
    """
    image = import_pillow("saving a picture").fromarray(np.ascontiguousarray(picture))
    with replace_file(path) as file:
        image.save(file, format=_FORMATS[Path(path).suffix.lower()])
