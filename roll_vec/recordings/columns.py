"""Columns of a recorded run: the rows of one leaf in all frames, compressed.

Each entry is stored as its exclusive or with the one before it: most bytes of an
environment do not change in a step.  All entries of a column are one stream of gzip.
"""

from __future__ import annotations

import gzip
import io
import itertools
import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

# The fastest level: the others save little.
_LEVEL = 1


class Column:
    """Entries of one dtype and shape; frames without an entry are left out.

    Parameters
    ----------
    dtype : dtype
    shape : tuple of int
        Of one entry, (num_envs, ...).
    """

    def __init__(self, dtype: np.dtype[Any], shape: tuple[int, ...]) -> None:
        self.dtype, self.shape = dtype, shape
        self._last = np.zeros(dtype.itemsize * math.prod(shape), np.uint8)
        self._data = io.BytesIO()
        self._stream = gzip.GzipFile(
            fileobj=self._data, mode="wb", compresslevel=_LEVEL, mtime=0
        )
        # Ranges of frames, [start, stop].
        self._frames: list[list[int]] = []

    def append(self, frame: int, entry: NDArray[Any]) -> None:
        """Add a copy of the entry of a frame, later than all before."""
        data = np.ascontiguousarray(entry).reshape(-1).view(np.uint8)
        self._stream.write(np.bitwise_xor(self._last, data, out=self._last).data)
        self._last[...] = data
        if self._frames and self._frames[-1][1] == frame:
            self._frames[-1][1] += 1
        else:
            self._frames.append([frame, frame + 1])

    def finish(self) -> tuple[dict[str, Any], NDArray[np.uint8]]:
        """Return a description, which `json` can write, and the compressed entries."""
        self._stream.close()
        description = {
            "dtype": self.dtype.str,
            "shape": list(self.shape),
            "frames": self._frames,
        }
        return description, np.frombuffer(self._data.getvalue(), np.uint8)


def read_column(
    description: Mapping[str, Any], data: NDArray[np.uint8]
) -> Iterator[tuple[int, NDArray[Any]]]:
    """Yield frames and entries, in order; one entry is in memory at a time.

    Raises
    ------
    ValueError, KeyError, TypeError, EOFError, OSError, zlib.error
        If they are no description and data of a `Column`.
    """
    dtype, shape = np.dtype(description["dtype"]), tuple(description["shape"])
    last = np.zeros(dtype.itemsize * math.prod(shape), np.uint8)
    ranges = (range(start, stop) for start, stop in description["frames"])
    with gzip.GzipFile(fileobj=io.BytesIO(data.data)) as stream:
        for frame in itertools.chain.from_iterable(ranges):
            change = np.frombuffer(stream.read(len(last)), np.uint8, len(last))
            last = np.bitwise_xor(last, change)
            yield frame, last.view(dtype).reshape(shape)


class TextTable:
    """Different texts, numbered in the order of their first occurrence."""

    def __init__(self) -> None:
        self._numbers: dict[bytes, int] = {}

    def number(self, texts: list[bytes]) -> tuple[NDArray[np.uint32], int]:
        """Return the numbers of texts, and the size of those that are new."""
        numbers, size = self._numbers, 0
        for text in texts:
            if text not in numbers:
                numbers[text] = len(numbers)
                size += len(text)
        return np.array([numbers[text] for text in texts], np.uint32), size

    def finish(self) -> dict[str, NDArray[Any]]:
        """Return the arrays of all texts."""
        return pack_texts([*self._numbers])


def pack_texts(texts: list[bytes], prefix: str = "") -> dict[str, NDArray[Any]]:
    """Return texts as arrays: ``texts`` uint8, end to end, and ``text_ends`` int64.

    Their names begin with the prefix.
    """
    ends = np.cumsum([len(text) for text in texts], dtype=np.int64)
    data = np.frombuffer(b"".join(texts), np.uint8)
    return {f"{prefix}texts": data, f"{prefix}text_ends": ends}


def read_texts(arrays: Mapping[str, NDArray[Any]], prefix: str = "") -> list[bytes]:
    """Return the texts of `pack_texts`.

    Raises
    ------
    ValueError
        If they overlap: a small file could have any number of long ones.
    """
    data = arrays[f"{prefix}texts"].tobytes()
    ends = arrays[f"{prefix}text_ends"].tolist()
    if ends != sorted(ends) or (ends and not 0 <= ends[0] <= ends[-1] <= len(data)):
        message = "texts that overlap"
        raise ValueError(message)
    return [data[start:end] for start, end in zip([0, *ends], ends, strict=False)]
