"""The pictures of a video: one for each tick of a recording, with captions.

Below each board stand the number of the environment, the action and the reward, then
the end of the episode and the return so far.  A frame in the colour of the end stands
around a board whose episode has ended.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, TypeAlias

from roll_vec.errors import InvalidOptionError, MissingExtraError
from roll_vec.watch.frames import Frame, Recording

Ink: TypeAlias = tuple[int, int, int]

# The largest width and height of a picture, in pixels: the limit of H.264 decoders.
MAX_SIDE = 4096

BACKGROUND = (24, 26, 34)
_TEXT, _DIM = (226, 230, 240), (150, 158, 176)
_GOOD, _BAD, _CAUTION = (96, 208, 136), (255, 138, 128), (240, 200, 96)
_END_INKS = {
    "first difference": _BAD,
    "fault": _BAD,
    "success": _GOOD,
    "failure": _BAD,
    "terminated": _CAUTION,
    "truncated": _CAUTION,
}
# Smooth edges have so many levels that the palette of a GIF has room for all.
_LEVELS = [round(level / 255 * 4) * 255 // 4 for level in range(256)]
_FONT_SIZE = 12
# In pixels.
LINE_HEIGHT = 16

_GAP = 10
_BORDER = 2
# Where there is neither a board nor a picture: the size of the panel of a text.
_PANEL = (14 * LINE_HEIGHT, 320)
# Without a scale, boards grow and pictures shrink to about this width of the whole.
_USUAL_WIDTH = 900
_LARGEST_SCALE = 3


class PictureMaker:
    """Draws the ticks of a recording.

    Parameters
    ----------
    recording : Recording
    scale : int, optional
        Every pixel of a board or picture becomes a square of this side.  None: boards
        are enlarged up to three times, and large pictures are reduced, so that the
        whole is about 900 pixels wide.

    Raises
    ------
    MissingExtraError
        Pillow is not installed.
    InvalidOptionError
        The pictures would be wider or higher than `MAX_SIDE`.
    """

    def __init__(self, recording: Recording, *, scale: int | None = None) -> None:
        _font()  # raises without Pillow
        self._recording = recording
        count = len(recording.env_ids)
        # The largest height and width of a view, before scaling.
        sizes = [
            self._view(frame).shape[:2]
            for frames in recording.frames
            for frame in frames
            if frame is not None
            and (frame.board is not None or frame.picture is not None)
        ]
        height, width = map(max, zip(*sizes or [_PANEL], strict=True))
        self._columns = _columns(count, height + 2 * LINE_HEIGHT, width)
        room = _USUAL_WIDTH / (self._columns * width)
        self._reduction = 1
        if scale is None:
            scale = min(max(int(room), 1), _LARGEST_SCALE)
            if recording.tiles is None:
                scale, self._reduction = 1, max(math.ceil(1 / room - 0.25), 1)
        if not sizes:
            scale = self._reduction = 1
        self._scale = scale
        self._height = height * scale // self._reduction
        self._width = width * scale // self._reduction
        self._cell = (
            self._height + 2 * LINE_HEIGHT + _GAP + 2 * _BORDER,
            self._width + _GAP + 2 * _BORDER,
        )
        rows = -(-count // self._columns)
        # Even numbers, as H.264 wants them.
        self.height = -(-(LINE_HEIGHT + _GAP + rows * self._cell[0]) // 2) * 2
        """Of a picture, in pixels."""
        self.width = -(-(_GAP + self._columns * self._cell[1]) // 2) * 2
        if max(self.height, self.width) > MAX_SIDE:
            accepted = f"so few and small boards that {MAX_SIDE} pixels are enough"
            value = f"{self.width} x {self.height} pixels"
            hint = "; a smaller --num or --scale"
            raise InvalidOptionError.expected("recording", accepted, value, hint)

    def _view(self, frame: Frame) -> Any:
        """Return the pixels of a board or picture, before scaling: (H, W, 3) uint8."""
        tiles = self._recording.tiles
        if frame.board is not None and tiles is not None:
            (height, width), side = frame.board.shape, tiles.shape[1]
            pixels = tiles[frame.board].transpose(0, 2, 1, 3, 4)
            return pixels.reshape(height * side, width * side, 3)
        return frame.picture

    def pictures(self) -> Iterator[Any]:
        """Yield a picture of each tick: an image of Pillow, in RGB.

        It is the same image each time: copy what must last.
        """
        from PIL import Image

        canvas = Image.new("RGB", (self.width, self.height), BACKGROUND)
        for number, tick in enumerate(self._recording.ticks):
            self._draw_title(canvas, tick.step)
            for index, frames in enumerate(self._recording.frames):
                if (frame := frames[number]) is not None:
                    row, column = divmod(index, self._columns)
                    top = LINE_HEIGHT + _GAP + row * self._cell[0]
                    left = _GAP + column * self._cell[1]
                    canvas.paste(self._draw_cell(index, frame, tick.step), (left, top))
            yield canvas

    def _draw_title(self, canvas: Any, step: int) -> None:
        canvas.paste(BACKGROUND, (0, 0, self.width, LINE_HEIGHT + _GAP // 2))
        number = f"step {step}"
        free = self.width - 2 * _GAP - _width(number) - 8
        _write(canvas, _GAP, _GAP // 2, _fit(self._recording.title, free), _DIM)
        _write_right(canvas, self.width - _GAP, _GAP // 2, number, _TEXT)

    def _draw_cell(self, index: int, frame: Frame, step: int) -> Any:
        """Return the image of a board with its frame and captions."""
        from PIL import Image

        size = self._cell[1] - _GAP, self._cell[0] - _GAP
        cell = Image.new("RGB", size, BACKGROUND)
        end = self._recording.end_word(index, frame, step)
        caption = self._height + 2 * _BORDER
        if end:
            cell.paste(_END_INKS[end], (0, 0, cell.width, caption))
        box = Image.new("RGB", (self._width, self._height), BACKGROUND)
        if frame.board is not None or frame.picture is not None:
            view = Image.fromarray(self._view(frame))
            size = view.width * self._scale, view.height * self._scale
            view = view.resize(size, Image.Resampling.NEAREST).reduce(self._reduction)
            places = (box.width - view.width, box.height - view.height)
            box.paste(view, (max(places[0] // 2, 0), max(places[1] // 2, 0)))
        else:
            _write_panel(box, frame)
        cell.paste(box, (_BORDER, _BORDER))
        self._draw_caption(cell, caption, index, frame, end)
        return cell

    def _draw_caption(
        self, cell: Any, top: int, index: int, frame: Frame, end: str
    ) -> None:
        """Write the two lines below a board."""
        number, reward = f"#{self._recording.env_ids[index]}", frame.reward_text
        begin, total = _width(number) + 6, frame.return_text
        free = cell.width - begin - _width(reward) - 6
        _write(cell, 0, top, number, _DIM)
        _write(cell, begin, top, _fit(frame.action_text, free), _TEXT)
        _write_right(cell, cell.width, top, reward, _TEXT)
        top += LINE_HEIGHT
        if end:
            free = cell.width - _width(total) - 6
            _write(cell, 0, top, _fit(end, free), _END_INKS[end])
        _write_right(cell, cell.width, top, total, _DIM)


def _columns(count: int, height: int, width: int) -> int:
    """Return the columns that make the whole nearly square, with few empty cells."""

    def cost(columns: int) -> float:
        rows = -(-count // columns)
        shape = columns * width / (rows * height)
        return abs(math.log(shape)) + 4 * (rows * columns - count) / count

    return min(range(1, count + 1), key=cost)


def _write_panel(box: Any, frame: Frame) -> None:
    """Write the answer and the observation into the panel of a text."""
    # About as many letters as fit; the width of a line is measured.
    num_letters = max(box.width // 6, 8)
    lines = []
    for text, ink in ((frame.action_name, _CAUTION), (frame.text or "", _TEXT)):
        for paragraph in text.splitlines():
            wrapped = textwrap.wrap(paragraph, num_letters) or [""]
            lines += [(_fit(line, box.width), ink) for line in wrapped]
    num_lines = box.height // LINE_HEIGHT
    if len(lines) > num_lines:
        lines = [*lines[: num_lines - 1], ("..", _DIM)]
    for number, (line, ink) in enumerate(lines):
        _write(box, 0, number * LINE_HEIGHT, line, ink)


# ------------------------------------------------------------------- lines of text


@lru_cache(maxsize=1)
def _font() -> Any:
    """Return Pillow's own font.

    Raises
    ------
    MissingExtraError
        Pillow is not installed.
    """
    fonts = MissingExtraError.import_module(
        "PIL.ImageFont", "a video", extra="cli", package="pillow"
    )
    return fonts.load_default(_FONT_SIZE)


def _width(text: str) -> int:
    """Return the width of a line in pixels."""
    width: float = _font().getlength(_to_latin(text))
    return math.ceil(width)


def _to_latin(text: str) -> str:
    """Return a text with a question mark for each letter that the font lacks."""
    return text.encode("latin-1", "replace").decode("latin-1")


def _fit(text: str, width: int) -> str:
    """Return a text, cut where it would be wider than so many pixels."""
    if _width(text) <= width:
        return text
    while text and _width(text + "..") > width:
        text = text[:-1]
    return text + ".." if text else ""


@lru_cache(maxsize=4096)
def _mask(text: str) -> Any:
    """Return how much of each pixel a line covers, as an image of few levels."""
    from PIL import Image, ImageDraw

    mask = Image.new("L", (_width(text) + 1, LINE_HEIGHT))
    ImageDraw.Draw(mask).text((0, 0), _to_latin(text), font=_font(), fill=255)
    return mask.point(_LEVELS)


def _write(image: Any, left: int, top: int, text: str, ink: Ink) -> None:
    """Write a line onto the background; what does not fit is cut off."""
    if text:
        image.paste(ink, (max(left, 0), top), _mask(text))


def _write_right(image: Any, right: int, top: int, text: str, ink: Ink) -> None:
    """Write a line that ends at a column."""
    _write(image, right - _width(text), top, text, ink)
