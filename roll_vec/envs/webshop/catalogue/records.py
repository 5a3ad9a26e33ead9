"""Records of a catalogue: JSON in one block of bytes, read when it is asked for."""

from __future__ import annotations

import functools
import json
import mmap
import zlib
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Generic, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from roll_vec.envs.webshop.manifest import refuse_damage

__all__ = ["Records"]

T = TypeVar("T")

# Records that are kept as objects; a product with its strings is some 10 KB.
_KEPT = 4096


class Records(Sequence[T], Generic[T]):
    """A sequence of objects that are made from JSON when they are asked for.

    The block can lie in a file that processes share; every object is the same one for
    as long as it is among those that are kept.

    Parameters
    ----------
    block : bytes or mmap
        JSON objects, one a line.
    ends : (n,) int64
        Where each line ends, in bytes.
    decode : function of (int, dict)
        Makes the object from its number and its JSON.
    checks : (n,) uint32 or None
        The CRC-32 of each line, where the block has been stored.
    path : Path or None
        Of the block.
    """

    def __init__(
        self,
        block: bytes | mmap.mmap,
        ends: NDArray[np.int64],
        decode: Callable[[int, dict[str, Any]], T],
        checks: NDArray[np.uint32] | None = None,
        path: Path | None = None,
    ) -> None:
        self._block, self._ends, self._decode = block, ends, decode
        self._checks, self._path = checks, path
        self._read = functools.lru_cache(_KEPT)(self._read_uncached)

    @classmethod
    def pack(
        cls,
        entries: Iterable[dict[str, Any]],
        decode: Callable[[int, dict[str, Any]], T],
    ) -> Records[T]:
        """Return records in memory."""
        # In ASCII: a file may hold half a surrogate pair, which UTF-8 has not.
        lines = [json.dumps(entry).encode() + b"\n" for entry in entries]
        ends = np.cumsum([len(line) for line in lines], dtype=np.int64)
        return cls(b"".join(lines), ends, decode)

    @classmethod
    def open(
        cls,
        path: Path,
        decode: Callable[[int, dict[str, Any]], T],
        memory_map: bool,
    ) -> Records[T]:
        """Return the records that `save` stored at a path.

        Raises
        ------
        InvalidOptionError
            If the files do not belong together.  A damaged record is refused when it
            is read.
        OSError, ValueError
            If they cannot be read.
        """
        mode: Any = "r" if memory_map else None
        ends = np.load(_ends_of(path), mmap_mode=mode)
        checks = np.load(_checks_of(path), mmap_mode=mode)
        block: bytes | mmap.mmap = b""
        with path.open("rb") as file:
            if memory_map and len(ends):
                block = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
            else:
                block = file.read()
        if (int(ends[-1]) if len(ends) else 0) != len(block):
            refuse_damage(path, f"it does not fit {_ends_of(path).name} beside it")
        return cls(block, ends, decode, checks, path)

    def save(self, path: Path) -> None:
        """Write the lines to a path, their ends and checksums to files beside it."""
        checks = self._checks
        if checks is None:
            lines = [self._line(number) for number in range(len(self))]
            checks = np.array([zlib.crc32(line) for line in lines], np.uint32)
        path.write_bytes(self._block)
        np.save(_ends_of(path), self._ends)
        np.save(_checks_of(path), checks)

    @functools.cached_property
    def longest(self) -> int:
        """Bytes of the longest line, at least the characters of all its strings."""
        return int(np.diff(self._ends, prepend=0).max(initial=0))

    def __len__(self) -> int:
        return len(self._ends)

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> list[T]: ...
    def __getitem__(self, index: int | slice) -> T | list[T]:
        """Return an object, or several.

        Raises
        ------
        IndexError
        InvalidOptionError
            If the record is not what was stored.
        """
        if isinstance(index, slice):
            return [self._read(number) for number in range(*index.indices(len(self)))]
        if index < 0:
            index += len(self)
        if not 0 <= index < len(self):
            message = f"expected an index below {len(self)}, got {index}"
            raise IndexError(message)
        return self._read(index)

    def _line(self, number: int) -> bytes:
        start = int(self._ends[number - 1]) if number else 0
        return self._block[start : int(self._ends[number])]

    def _read_uncached(self, number: int) -> T:
        line = self._line(number)
        if self._checks is not None and zlib.crc32(line) != self._checks[number]:
            problem = f"record {number} has changed since it was stored"
            refuse_damage(Path(str(self._path)), problem)
        return self._decode(number, json.loads(line))


def _ends_of(path: Path) -> Path:
    return path.with_suffix(".npy")


def _checks_of(path: Path) -> Path:
    return path.with_suffix(".crc32.npy")
