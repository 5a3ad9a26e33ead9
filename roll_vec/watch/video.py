"""Videos of a recording: animated GIF by Pillow, MP4 by imageio-ffmpeg."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

from roll_vec.errors import MissingExtraError
from roll_vec.options import check_number
from roll_vec.progress import report
from roll_vec.watch.frames import Recording
from roll_vec.watch.pictures import PictureMaker

# Ticks a second.
DEFAULT_FPS = 8
# Browsers show a GIF with more than 50 pictures a second slowly.
MAX_GIF_FPS = 50
# No screen shows more.
MAX_MP4_FPS = 240
# The longest time of a picture in a GIF is some eleven minutes.
MIN_FPS = 0.01

# The last picture stays so long, before a GIF begins again.
_LAST_SECONDS = 2
_NUM_COLOURS = 256


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
        See `PictureMaker`.

    Raises
    ------
    MissingExtraError
        Pillow is not installed.
    InvalidOptionError
        The pictures would be too large, or `fps` is out of range.
    """
    check_number("fps", fps, MIN_FPS, MAX_GIF_FPS)
    maker = PictureMaker(recording, scale=scale)
    from PIL import Image

    total = len(recording.ticks)

    def images() -> Iterator[Any]:
        for number, image in enumerate(maker.pictures(), start=1):
            # Without loss up to 256 colours: those of tiles and captions are fewer.
            method, dither = Image.Quantize.MEDIANCUT, Image.Dither.NONE
            yield image.quantize(_NUM_COLOURS, method, dither=dither)
            report("written", number, total)

    others = images()
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


def write_mp4(
    file: BinaryIO,
    recording: Recording,
    *,
    fps: float = DEFAULT_FPS,
    scale: int | None = None,
) -> None:
    """Write a recording as an MP4 file with H.264, which browsers play.

    Parameters
    ----------
    file, recording, fps, scale
        As for `write_gif`; up to 240 ticks a second.

    Raises
    ------
    MissingExtraError
        Pillow or imageio-ffmpeg is not installed.
    InvalidOptionError
        The pictures would be too large, or `fps` is out of range.
    """
    check_number("fps", fps, MIN_FPS, MAX_MP4_FPS)
    maker = PictureMaker(recording, scale=scale)
    ffmpeg = MissingExtraError.import_module(
        "imageio_ffmpeg", "an MP4 file", extra="render", package="imageio-ffmpeg"
    )
    total = len(recording.ticks)
    with tempfile.TemporaryDirectory() as folder:
        # ffmpeg needs a file in which it can go back.
        path = Path(folder) / "video.mp4"
        writer = ffmpeg.write_frames(
            str(path),
            (maker.width, maker.height),
            fps=fps,
            codec="libx264",
            quality=None,
            macro_block_size=2,
            # No date and no version of ffmpeg in the file; its index at the beginning.
            output_params=[
                *("-crf", "20", "-preset", "medium"),
                *("-fflags", "+bitexact", "-flags:v", "+bitexact"),
                *("-movflags", "+faststart"),
            ],
        )
        try:
            writer.send(None)
            pixels = b""
            for number, image in enumerate(maker.pictures(), start=1):
                pixels = image.tobytes()
                writer.send(pixels)
                report("written", number, total)
            for _ in range(round(_LAST_SECONDS * fps) - 1):
                writer.send(pixels)
        finally:
            writer.close()
        with path.open("rb") as video:
            shutil.copyfileobj(video, file)
