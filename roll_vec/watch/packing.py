"""The data of a page: a header of JSON and one block of bytes, compressed.

::

    bytes 0-3    length L of the header, little-endian
    L bytes      the header, JSON in ASCII, filled with spaces to a multiple of 8
    others       the arrays that the header names, each from a multiple of 8 on

Values that repeat, such as boards, texts and infos, stand once in a table; arrays of
uint32 have their numbers from 1 on, and 0 for "none".  Arrays are (E, T), E
environments by T ticks.
"""

from __future__ import annotations

import base64
import io
import json
import struct
import zlib
from collections import defaultdict
from functools import partial
from itertools import islice
from math import isfinite
from typing import Any

import numpy as np
from numpy.typing import NDArray

from roll_vec.errors import MissingExtraError
from roll_vec.progress import report
from roll_vec.watch.frames import Frame, Recording

FORMAT = 1

_OF_DIFFERENCE = ("step", "field", "recorded", "present")

# Bits of a frame.
RESET, STEP, TERMINATED, TRUNCATED, SAYS_SUCCESS, SUCCESS, FAULT = (
    1 << bit for bit in range(7)
)

# Characters of one text that a page shows at most.
LONGEST_TEXT = 100_000
# Entries of one info that a page shows at most, and how deep.
_MOST_ENTRIES, _DEEPEST = 200, 6


class _Column:
    """The numbers of values by (environment, tick), and the different values."""

    def __init__(self, shape: tuple[int, int]) -> None:
        self.numbers = np.zeros(shape, np.uint32)
        self._table: dict[Any, tuple[int, Any]] = {}

    def put(self, place: tuple[int, int], key: Any, value: Any) -> None:
        """Put a value; of those with an equal key the first one is stored."""
        entry = self._table.setdefault(key, (len(self._table) + 1, value))
        self.numbers[place] = entry[0]

    @property
    def values(self) -> list[Any]:
        """The different values, in order of appearance."""
        return [value for _, value in self._table.values()]


class _Packer:
    """Puts frames into columns."""

    def __init__(self, recording: Recording) -> None:
        shape = (len(recording.env_ids), len(recording.ticks))
        self.flags, self.rewards = np.zeros(shape, np.uint8), np.zeros(shape)
        names = ("action", "text", "fault", "board", "picture")
        self.columns = {name: _Column(shape) for name in names}
        self.infos: dict[str, _Column] = defaultdict(partial(_Column, shape))

    def add(self, place: tuple[int, int], frame: Frame) -> None:
        """Add a frame at (environment, tick)."""
        flags = RESET if frame.is_reset else STEP
        flags |= TERMINATED * frame.terminated | TRUNCATED * frame.truncated
        if frame.success is not None:
            flags |= SAYS_SUCCESS | SUCCESS * frame.success
        flags |= FAULT * (frame.fault is not None)
        self.flags[place] = flags
        self.rewards[place] = frame.reward
        action = None if frame.is_reset else frame.action_name
        texts = {"action": action, "text": frame.text, "fault": frame.fault}
        for name, text in texts.items():
            if text is not None:
                self.columns[name].put(place, text, _cut(text))
        for name, pixels in (("board", frame.board), ("picture", frame.picture)):
            if pixels is not None:
                key = pixels.shape, pixels.tobytes()
                self.columns[name].put(place, key, pixels)
        for name, value in frame.infos.items():
            plain = to_plain(value)
            # JSON: True equals 1, but looks different.
            self.infos[str(name)].put(place, json.dumps(plain), plain)


def pack(recording: Recording) -> bytes:
    """Return the data of a page, not yet compressed.

    Parameters
    ----------
    recording : Recording

    Raises
    ------
    MissingExtraError
        If there are pictures, and Pillow, which writes them, is not installed.
    """
    packer, total = _Packer(recording), len(recording.env_ids)
    for i, frames in enumerate(recording.frames):
        for t, frame in enumerate(frames):
            if frame is not None:
                packer.add((i, t), frame)
        report("written", i + 1, total)
    arrays: dict[str, NDArray[Any]] = {
        "flags": packer.flags,
        "rewards": packer.rewards,
        **{name: column.numbers for name, column in packer.columns.items()},
        "steps": np.array([tick.step for tick in recording.ticks], np.uint32),
        "resets": np.array([tick.is_reset for tick in recording.ticks], np.uint8),
        **{f"info_{k}": each.numbers for k, each in enumerate(packer.infos.values())},
    }
    columns = packer.columns
    boards = columns["board"].values
    if boards:
        arrays["boards"] = np.concatenate([board.reshape(-1) for board in boards])
        assert recording.tiles is not None
        arrays["tiles"] = np.ascontiguousarray(recording.tiles)
    pictures = [_png(pixels) for pixels in columns["picture"].values]
    if pictures:
        arrays["pictures"] = np.frombuffer(b"".join(pictures), np.uint8)
    difference = recording.difference
    header = {
        "format": FORMAT,
        "id": recording.id,
        "details": [[name, _cut(text)] for name, text in recording.details.items()],
        "envs": list(recording.env_ids),
        "groupSize": recording.group_size,
        "isText": recording.is_text,
        "isReplay": recording.is_replay,
        "difference": None
        if difference is None
        else {
            "env": difference.env_id,
            **{name: getattr(difference, name) for name in _OF_DIFFERENCE},
        },
        "boardShapes": [board.shape for board in boards],
        "tileSize": 0 if recording.tiles is None else recording.tiles.shape[1],
        "meanings": list(recording.meanings),
        "pictureEnds": np.cumsum([len(png) for png in pictures]).tolist(),
        "actions": columns["action"].values,
        "texts": columns["text"].values,
        "faults": columns["fault"].values,
        "infos": [
            {"name": name, "values": column.values}
            for name, column in packer.infos.items()
        ],
    }
    return _join(header, arrays)


def to_base64(data: bytes) -> str:
    """Return the data as zlib's compressed format in base64."""
    return base64.b64encode(zlib.compress(data, 9)).decode("ascii")


def _join(header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> bytes:
    """Return the header and the arrays as one block."""
    places, chunks, offset = {}, [], 0
    for name, array in arrays.items():
        data = array.astype(array.dtype.newbyteorder("<"), copy=False).tobytes()
        places[name] = [array.dtype.name, offset, array.size]
        padding = -len(data) % 8
        chunks += [data, bytes(padding)]
        offset += len(data) + padding
    # ASCII: a lone surrogate is an escape, which JSON.parse of a browser reads.
    text = json.dumps({**header, "arrays": places}, separators=(",", ":"))
    encoded = text.encode("ascii")
    encoded += b" " * (-(len(encoded) + 4) % 8)
    return struct.pack("<I", len(encoded)) + encoded + b"".join(chunks)


def to_plain(value: Any, depth: int = 0) -> Any:
    """Return a value as JSON can have it: what it cannot have becomes a text."""
    if isinstance(value, np.ndarray) and value.size > _MOST_ENTRIES:
        return f"{value.dtype} array of shape {value.shape}"
    if isinstance(value, (np.generic, np.ndarray)):
        value = value.tolist()
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, (int, float)):
        # A number of JavaScript has 53 bits.
        is_exact = abs(value) < 1 << 53 if isinstance(value, int) else isfinite(value)
        return value if is_exact else str(value)
    if isinstance(value, (dict, list, tuple, set, frozenset)) and depth > _DEEPEST:
        return "..."
    if isinstance(value, dict):
        items = islice(value.items(), _MOST_ENTRIES)
        return {_cut(str(key)): to_plain(part, depth + 1) for key, part in items}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [to_plain(part, depth + 1) for part in islice(value, _MOST_ENTRIES)]
    return _cut(str(value))


def _cut(text: str) -> str:
    """Return a text, shortened if it is longer than a page shows."""
    if len(text) <= LONGEST_TEXT:
        return text
    more = len(text) - LONGEST_TEXT
    return f"{text[:LONGEST_TEXT]}\n... ({more:,} more characters)"


def _png(pixels: NDArray[np.uint8]) -> bytes:
    """Return (H, W, 3) pixels as a PNG file.

    Raises
    ------
    MissingExtraError
    """
    Image = MissingExtraError.import_module(
        "PIL.Image", "a page with rendered frames", extra="cli", package="pillow"
    )
    file = io.BytesIO()
    image = Image.fromarray(pixels)
    if image.getcolors(256) is not None:
        # So many colours fit into a palette, without loss.
        image = image.quantize(256, Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE)
    image.save(file, format="PNG", optimize=True)
    return file.getvalue()
