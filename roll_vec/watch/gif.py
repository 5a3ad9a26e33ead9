"""A recording as an animated GIF: the boards at each tick, with captions.

Below each board stand the number of the environment, the action and the reward, then
the end of the episode and the return so far.  A frame in the colour of the end stands
around a board whose episode has ended.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterator
from typing import Any, BinaryIO

from roll_vec.errors import InvalidOptionError, MissingExtraError
from roll_vec.options import check_number
from roll_vec.progress import report
from roll_vec.render.mosaic import nearly_square
from roll_vec.watch.frames import Frame, Recording

# Ticks a second.
DEFAULT_FPS = 8
# Browsers show more pictures a second slowly; a GIF keeps a picture up to 11 minutes.
MIN_FPS, MAX_FPS = 0.01, 50
# The largest width and height of a picture, in pixels.
MAX_SIDE = 4096

# The last picture stays so long, before the GIF begins again.
_LAST_SECONDS = 2
_NUM_COLOURS = 256
_BACKGROUND, _TEXT, _DIM = (24, 26, 34), (226, 230, 240), (150, 158, 176)
_GOOD, _BAD, _CAUTION = (96, 208, 136), (255, 138, 128), (240, 200, 96)
_END_INKS = {
    "first difference": _BAD,
    "fault": _BAD,
    "success": _GOOD,
    "failure": _BAD,
    "terminated": _CAUTION,
    "truncated": _CAUTION,
}
# In pixels: of letters, of a line, between boards, around a board.
_FONT_SIZE, _LINE, _GAP, _BORDER = 12, 16, 10, 2
# Height and width of a text, where there is neither a board nor a picture.
_PANEL = 14 * _LINE, 320
# Without a scale, boards grow and pictures shrink to about this width of the whole.
_USUAL_WIDTH = 900
_LARGEST_SCALE = 3


def write_gif(
    file: BinaryIO,
    recording: Recording,
    *,
    fps: float = DEFAULT_FPS,
    scale: int | None = None,
) -> None:
    """Write a recording as an animated GIF, which repeats without end.

    Boards and captions keep their exact colours; pictures that environments render get
    the 256 that fit them best.  It reports its progress to `roll_vec.progress.listen`.

    Parameters
    ----------
    file : binary file
    recording : Recording
    fps : float, default 8
        Ticks a second, 0.01 to 50.  A GIF counts in hundredths of a second.
    scale : int, optional
        Every pixel of a board or picture becomes a square of this side.  None: boards
        are enlarged up to three times, and large pictures are reduced, so that the
        whole is about 900 pixels wide.

    Raises
    ------
    MissingExtraError
        Pillow is not installed.
    InvalidOptionError
        The pictures would be wider or higher than 4096 pixels, or `fps` is out of
        range.
    """
    check_number("fps", fps, MIN_FPS, MAX_FPS)
    painter, total = _Painter(recording, scale), len(recording.ticks)
    others = painter.pictures()
    durations = [round(100 / fps) * 10] * total
    durations[-1] = 1000 * _LAST_SECONDS
    next(others).save(
        file,
        format="GIF",
        save_all=True,
        append_images=others,
        duration=durations,
        loop=0,
        optimize=True,
        disposal=1,
    )


class _Painter:
    """Draws the ticks of a recording.

    Raises
    ------
    MissingExtraError
        Pillow is not installed.
    InvalidOptionError
        The pictures would be too large.
    """

    def __init__(self, recording: Recording, scale: int | None) -> None:
        fonts = MissingExtraError.import_module(
            "PIL.ImageFont", "a GIF", extra="cli", package="pillow"
        )
        self._font = fonts.load_default(_FONT_SIZE)
        self._recording = recording
        views = [
            view.shape
            for frames in recording.frames
            for frame in frames
            if frame is not None and (view := self._view(frame)) is not None
        ]
        height = max((shape[0] for shape in views), default=_PANEL[0])
        width = max((shape[1] for shape in views), default=_PANEL[1])
        count = len(recording.env_ids)
        self._columns = nearly_square(count, height, width)
        room = _USUAL_WIDTH / (self._columns * width)
        self._scale: float = 1
        if views and scale is not None:
            self._scale = scale
        elif views and recording.tiles is not None:
            self._scale = min(max(int(room), 1), _LARGEST_SCALE)
        elif views:
            self._scale = min(room, 1)
        # Width and height of a board, and from one board to the next.
        self._size = round(width * self._scale), round(height * self._scale)
        self._pitch = (
            self._size[0] + 2 * _BORDER + _GAP,
            self._size[1] + 2 * _BORDER + 2 * _LINE + _GAP,
        )
        self._width = _GAP + self._columns * self._pitch[0]
        self._height = _GAP + _LINE + math.ceil(count / self._columns) * self._pitch[1]
        if max(self._height, self._width) > MAX_SIDE:
            raise InvalidOptionError.expected(
                "recording",
                f"boards that fit into {MAX_SIDE} x {MAX_SIDE} pixels",
                f"{self._width} x {self._height} pixels",
                ": fewer environments (--num-envs) or a smaller scale (--scale)",
            )

    def _view(self, frame: Frame) -> Any:
        """Return the pixels of a board or picture, (H, W, 3) uint8; None: no such."""
        tiles = self._recording.tiles
        if frame.board is None or tiles is None:
            return frame.picture
        (height, width), side = frame.board.shape, tiles.shape[1]
        pixels = tiles[frame.board].transpose(0, 2, 1, 3, 4)
        return pixels.reshape(height * side, width * side, 3)

    def pictures(self) -> Iterator[Any]:
        """Yield a picture of each tick: a new image of Pillow with a palette."""
        from PIL import Image

        canvas, recording = self._image(self._width, self._height), self._recording
        for number, tick in enumerate(recording.ticks):
            title = self._image(self._width - 2 * _GAP, _LINE)
            self._write_line(title, 0, recording.title, _DIM, f"step {tick.step}")
            canvas.paste(title, (_GAP, _GAP // 2))
            for index, frames in enumerate(recording.frames):
                if (frame := frames[number]) is not None:
                    row, column = divmod(index, self._columns)
                    left = _GAP + column * self._pitch[0]
                    top = _LINE + _GAP + row * self._pitch[1]
                    canvas.paste(self._cell(index, frame, tick.step), (left, top))
            # Without loss up to 256 colours: those of tiles and captions are fewer.
            method, dither = Image.Quantize.MEDIANCUT, Image.Dither.NONE
            yield canvas.quantize(_NUM_COLOURS, method, dither=dither)
            report("written", number + 1, len(recording.ticks))

    def _cell(self, index: int, frame: Frame, step: int) -> Any:
        """Return the image of a board with its frame and captions."""
        from PIL import Image

        cell = self._image(self._pitch[0] - _GAP, self._pitch[1] - _GAP)
        box, view = self._image(*self._size), self._view(frame)
        if view is None:
            self._write_panel(box, frame)
        else:
            height, width = (round(side * self._scale) for side in view.shape[:2])
            # With a whole scale every pixel becomes a square.
            picture = Image.fromarray(view).resize(
                (width, height), Image.Resampling.BOX
            )
            box.paste(picture, ((box.width - width) // 2, (box.height - height) // 2))
        end = _end_word(self._recording, index, frame, step)
        caption = box.height + 2 * _BORDER
        if end:
            cell.paste(_END_INKS[end], (0, 0, cell.width, caption))
        cell.paste(box, (_BORDER, _BORDER))
        action = "start" if frame.is_reset else " ".join(frame.action_name.split())
        reward = "" if frame.is_reset else f"{frame.reward:+.4g}"
        # Without the rounding errors of sums.
        total = f"{round(frame.total_reward, 6) + 0.0:.4g}"
        number = f"#{self._recording.env_ids[index]} "
        self._write_line(cell, caption, f"{number}{action}", _TEXT, reward)
        self._write_line(cell, caption + _LINE, end, _END_INKS.get(end, _DIM), total)
        return cell

    def _write_panel(self, box: Any, frame: Frame) -> None:
        """Write the answer and the observation into the panel of a text."""
        top = 0
        for text, ink in ((frame.action_name, _CAUTION), (frame.text or "", _TEXT)):
            for paragraph in text.splitlines():
                # About as many letters as fit.
                for line in textwrap.wrap(paragraph, box.width // 6) or [""]:
                    self._write_line(box, top, line, ink)
                    top += _LINE

    def _write_line(
        self, image: Any, top: int, text: str, ink: tuple[int, ...], right: str = ""
    ) -> None:
        """Write a line, and a text at its right end, which may cover the others."""
        from PIL import ImageDraw

        draw = ImageDraw.Draw(image)
        # Letters of one colour, without smooth edges: the palette has room for all.
        draw.fontmode = "1"
        draw.text((0, top), text, fill=ink, font=self._font)
        if right:
            left = image.width - math.ceil(self._font.getlength(right)) - 2
            draw.rectangle((left - 4, top, image.width, top + _LINE - 1), _BACKGROUND)
            draw.text((left, top), right, fill=_TEXT, font=self._font)

    @staticmethod
    def _image(width: int, height: int) -> Any:
        from PIL import Image

        return Image.new("RGB", (width, height), _BACKGROUND)


def _end_word(recording: Recording, index: int, frame: Frame, step: int) -> str:
    """Return the word for what happened to an environment; empty: nothing did."""
    first = recording.difference
    if first and step >= first.step and first.env_id == recording.env_ids[index]:
        return "first difference"
    if frame.fault is not None:
        return "fault"
    if not frame.has_ended:
        return ""
    if frame.success:
        return "success"
    if frame.truncated:
        return "truncated"
    return "terminated" if frame.success is None else "failure"
