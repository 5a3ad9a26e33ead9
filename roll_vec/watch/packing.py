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

import json
import struct
from collections import defaultdict
from dataclasses import asdict
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from roll_vec.progress import report
from roll_vec.render.png import to_png
from roll_vec.trajectories import to_json
from roll_vec.watch.frames import Frame, Recording

# Bits of a frame.
RESET, STEP, TERMINATED, TRUNCATED, SAYS_SUCCESS, SUCCESS, FAULT = (
    1 << bit for bit in range(7)
)

# Characters of one text that a page shows at most.
LONGEST_TEXT = 100_000
_COLUMNS = "action", "text", "fault", "board", "picture"


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
    num_envs = len(recording.env_ids)
    shape = num_envs, len(recording.ticks)
    flags, rewards = np.zeros(shape, np.uint8), np.zeros(shape)
    columns = {name: _Column(shape) for name in _COLUMNS}
    infos: dict[str, _Column] = defaultdict(partial(_Column, shape))
    for i, frames in enumerate(recording.frames):
        for t, frame in enumerate(frames):
            if frame is not None:
                place = i, t
                flags[place], rewards[place] = _flags(frame), frame.reward
                _add_values(columns, place, frame)
                for name, value in frame.infos.items():
                    plain = _plain(value)
                    # JSON: True equals 1, but looks different.
                    infos[str(name)].put(place, json.dumps(plain), plain)
        report("written", i + 1, num_envs)
    arrays: dict[str, NDArray[Any]] = {
        "flags": flags,
        "rewards": rewards,
        **{name: column.numbers for name, column in columns.items()},
        "steps": np.array([tick.step for tick in recording.ticks], np.uint32),
        "resets": np.array([tick.is_reset for tick in recording.ticks], np.uint8),
        **{f"info_{k}": each.numbers for k, each in enumerate(infos.values())},
    }
    boards, tiles = columns["board"].values, recording.tiles
    if tiles is not None and boards:
        arrays["boards"] = np.concatenate([board.reshape(-1) for board in boards])
        arrays["tiles"] = np.ascontiguousarray(tiles)
    pictures = [to_png(pixels) for pixels in columns["picture"].values]
    if pictures:
        arrays["pictures"] = np.frombuffer(b"".join(pictures), np.uint8)
    difference = recording.difference
    header = {
        "id": recording.id,
        "details": [[name, _cut(text)] for name, text in recording.details.items()],
        "envs": list(recording.env_ids),
        "groupSize": recording.group_size,
        "isText": recording.is_text,
        "isReplay": recording.is_replay,
        "difference": None if difference is None else asdict(difference),
        "boardShapes": [board.shape for board in boards],
        "tileSize": 0 if tiles is None else tiles.shape[1],
        "pictureEnds": np.cumsum([len(png) for png in pictures]).tolist(),
        "actions": columns["action"].values,
        "texts": columns["text"].values,
        "faults": columns["fault"].values,
        "infos": [
            {"name": name, "values": each.values} for name, each in infos.items()
        ],
    }
    return _join(header, arrays)


def _flags(frame: Frame) -> int:
    """Return the bits of a frame."""
    flags = RESET if frame.is_reset else STEP
    flags |= TERMINATED * frame.terminated | TRUNCATED * frame.truncated
    if frame.success is not None:
        flags |= SAYS_SUCCESS | SUCCESS * frame.success
    return flags | FAULT * (frame.fault is not None)


def _add_values(
    columns: dict[str, _Column], place: tuple[int, int], frame: Frame
) -> None:
    """Put the texts, the board and the picture of a frame into columns."""
    action = None if frame.is_reset else frame.action_name
    texts = {"action": action, "text": frame.text, "fault": frame.fault}
    for name, text in texts.items():
        if text is not None:
            columns[name].put(place, text, _cut(text))
    for name, pixels in (("board", frame.board), ("picture", frame.picture)):
        if pixels is not None:
            columns[name].put(place, (pixels.shape, pixels.tobytes()), pixels)


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


def _plain(value: Any) -> Any:
    """Return a value as the page shows it: what JSON lacks becomes a text."""
    if isinstance(value, str):
        return _cut(value)
    plain = to_json(value)
    if isinstance(plain, int) and abs(plain) >= 1 << 53:
        # JavaScript would round it.
        return str(plain)
    text = json.dumps(plain)
    return plain if len(text) <= LONGEST_TEXT else _cut(text)


def _cut(text: str) -> str:
    """Return a text, shortened if it is longer than a page shows."""
    if len(text) <= LONGEST_TEXT:
        return text
    more = len(text) - LONGEST_TEXT
    return f"{text[:LONGEST_TEXT]}\n... ({more:,} more characters)"
