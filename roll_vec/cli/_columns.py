"""Columns of a recorded run: the rows of one leaf in all frames, in compressed blocks.

A block has some consecutive entries of a column.  Each entry but the first is stored
as its exclusive or with the one before it: most bytes of an environment do not change
in a step.  A block is a bit for each byte, which says whether it is not zero, and these
bytes; both are compressed.  Without the zeros `zlib` takes half the time, and the file
two thirds of the size.
"""

from __future__ import annotations

import itertools
import math
import zlib
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Column", "TextTable", "read_column", "read_texts"]

_BLOCK_BYTES = 1 << 22
_BLOCK_ENTRIES = 256
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
        capacity = _block_capacity(dtype.itemsize * math.prod(shape))
        self._buffer = np.empty((capacity, *shape), dtype)
        self._size = 0
        self._parts: list[bytes] = []
        self._sizes: list[int] = []
        # Ranges of frames, [start, stop].
        self._frames: list[list[int]] = []

    def append(self, frame: int, entry: NDArray[Any]) -> None:
        """Add a copy of the entry of a frame, later than all before."""
        if self._size == len(self._buffer):
            self._flush()
        self._buffer[self._size] = entry
        self._size += 1
        if self._frames and self._frames[-1][1] == frame:
            self._frames[-1][1] += 1
        else:
            self._frames.append([frame, frame + 1])

    def _flush(self) -> None:
        entries = self._buffer[: self._size]
        size = entries[0].nbytes
        data = entries.reshape(-1).view(np.uint8).reshape(self._size, size)
        changes = data.copy()
        np.bitwise_xor(data[1:], data[:-1], out=changes[1:])
        self._sizes.append(self._size)
        is_changed = changes.reshape(-1) != 0
        # Twice as fast as an index of bool where most are False.
        values = changes.reshape(-1)[np.flatnonzero(is_changed)]
        self._parts.append(zlib.compress(np.packbits(is_changed).data, _LEVEL))
        self._parts.append(zlib.compress(values.data, _LEVEL))
        self._size = 0

    def finish(self) -> tuple[dict[str, Any], NDArray[np.uint8]]:
        """Return a description, which `json` can write, and the compressed blocks."""
        if self._size:
            self._flush()
        description = {
            "dtype": self.dtype.str,
            "shape": list(self.shape),
            "frames": self._frames,
            # Entries of each block, and the bytes of its two parts.
            "sizes": self._sizes,
            "bytes": [len(part) for part in self._parts],
        }
        return description, np.frombuffer(b"".join(self._parts), np.uint8)


def _block_capacity(size: int) -> int:
    """Return how many entries of some bytes a block has at most."""
    return min(_BLOCK_ENTRIES, max(1, _BLOCK_BYTES // max(1, size)))


def _inflate(part: NDArray[np.uint8], size: int) -> NDArray[np.uint8]:
    """Return compressed data of a known size; no more is ever in memory.

    Raises
    ------
    ValueError, zlib.error
        If they have another size.
    """
    stream = zlib.decompressobj()
    data = stream.decompress(part.data, size + 1)
    if len(data) != size or not stream.eof:
        message = f"expected {size} bytes in a block"
        raise ValueError(message)
    return np.frombuffer(data, np.uint8)


def read_column(
    description: Mapping[str, Any], data: NDArray[np.uint8]
) -> Iterator[tuple[int, NDArray[Any]]]:
    """Yield frames and entries, in order; one block is in memory at a time.

    Raises
    ------
    ValueError, KeyError, TypeError, zlib.error
        If they are no description and data of a `Column`.
    """
    dtype, shape = np.dtype(description["dtype"]), tuple(description["shape"])
    size = dtype.itemsize * math.prod(shape)
    ranges = (range(start, stop) for start, stop in description["frames"])
    frames = itertools.chain.from_iterable(ranges)
    ends = [0, *itertools.accumulate(description["bytes"])]
    for i, count in enumerate(description["sizes"]):
        if not 0 < count <= _block_capacity(size):
            message = f"a block of {count} entries"
            raise ValueError(message)
        mask, values = (data[ends[j] : ends[j + 1]] for j in (2 * i, 2 * i + 1))
        bits = _inflate(mask, -(-count * size // 8))
        places = np.flatnonzero(np.unpackbits(bits, count=count * size).view(np.bool_))
        block = np.zeros((count, size), np.uint8)
        block.reshape(-1)[places] = _inflate(values, len(places))
        # `accumulate` along the first axis takes ten times as long.
        for before, entry in itertools.pairwise(block):
            np.bitwise_xor(before, entry, out=entry)
        entries = block.reshape(-1).view(dtype)
        # The entries first: `zip` takes from both in this order.
        for entry, frame in zip(entries.reshape(count, *shape), frames, strict=False):
            yield frame, entry


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


def pack_texts(texts: list[bytes]) -> dict[str, NDArray[Any]]:
    """Return texts as arrays: ``texts`` uint8, end to end, and ``text_ends`` int64."""
    ends = np.cumsum([len(text) for text in texts], dtype=np.int64)
    return {"texts": np.frombuffer(b"".join(texts), np.uint8), "text_ends": ends}


def read_texts(arrays: Mapping[str, NDArray[Any]]) -> list[bytes]:
    """Return the texts of `pack_texts`.

    Raises
    ------
    ValueError
        If they overlap: a small file could have any number of long ones.
    """
    data, ends = arrays["texts"].tobytes(), arrays["text_ends"].tolist()
    if ends != sorted(ends) or (ends and not 0 <= ends[0] <= ends[-1] <= len(data)):
        message = "texts that overlap"
        raise ValueError(message)
    return [data[start:end] for start, end in zip([0, *ends], ends, strict=False)]
