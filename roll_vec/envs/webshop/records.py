"""Records: a sequence of objects, each decoded from a line of JSON at first use."""

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
from roll_vec.errors import InvalidOptionError

T = TypeVar("T")

# Number of cached objects; a product with its strings is some 10 KB.
_CACHE_SIZE = 4096
_MALFORMED = ValueError, LookupError, TypeError, AttributeError, RecursionError


class Records(Sequence[T], Generic[T]):
    """A sequence of objects that are decoded from JSON when they are read.

    The JSON can lie in a file that processes share.  The same object is returned for as
    long as it is in the cache.

    Parameters
    ----------
    block : bytes or mmap
        JSON objects, one a line.
    ends : (n,) int64
        End of each line, in bytes.
    decode : function of (int, dict)
        Makes the object from its index and its JSON.
    checks : (n,) uint32 or None
        CRC-32 of each line of a stored block.
    path : Path or None
        Of the stored block.
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
        self._record = functools.lru_cache(_CACHE_SIZE)(self._decode_line)

    @classmethod
    def pack(
        cls,
        entries: Iterable[dict[str, Any]],
        decode: Callable[[int, dict[str, Any]], T],
    ) -> Records[T]:
        """Return records in memory."""
        # ASCII: WebShop's files may have lone surrogates, which UTF-8 cannot encode.
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
            If the files do not fit together.  A damaged record is refused when it is
            read.
        OSError, ValueError
            If the files cannot be read.
        """
        mode: Any = "r" if memory_map else None
        ends = np.load(path.with_suffix(".npy"), mmap_mode=mode)
        checks = np.load(path.with_suffix(".crc32.npy"), mmap_mode=mode)
        block: bytes | mmap.mmap = b""
        with path.open("rb") as file:
            # An empty file cannot be mapped.
            if memory_map and len(ends):
                block = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
            else:
                block = file.read()
        if (int(ends[-1]) if len(ends) else 0) != len(block):
            other = path.with_suffix(".npy").name
            refuse_damage(path, f"it does not fit {other} beside it")
        return cls(block, ends, decode, checks, path)

    def save(self, path: Path) -> None:
        """Write the lines to a path, their ends and checksums to files beside it."""
        checks = self._checks
        if checks is None:
            lines = [self._line(number) for number in range(len(self))]
            checks = np.array([zlib.crc32(line) for line in lines], np.uint32)
        path.write_bytes(self._block)
        np.save(path.with_suffix(".npy"), self._ends)
        np.save(path.with_suffix(".crc32.npy"), checks)

    @functools.cached_property
    def max_length(self) -> int:
        """Bytes of the longest line: an upper bound of the characters in a record."""
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
            If a record is damaged.
        """
        if isinstance(index, slice):
            return [self._record(number) for number in range(*index.indices(len(self)))]
        if index < 0:
            index += len(self)
        if not 0 <= index < len(self):
            message = f"expected an index below {len(self)}, got {index}"
            raise IndexError(message)
        return self._record(index)

    def _line(self, number: int) -> bytes:
        start = int(self._ends[number - 1]) if number else 0
        return self._block[start : int(self._ends[number])]

    def _decode_line(self, number: int) -> T:
        line = self._line(number)
        if self._checks is not None and zlib.crc32(line) != self._checks[number]:
            problem = f"record {number} has changed since it was stored"
            refuse_damage(Path(str(self._path)), problem)
        if self._path is None:
            return self._decode(number, json.loads(line))
        try:
            return self._decode(number, json.loads(line))
        except InvalidOptionError:
            raise
        except _MALFORMED as error:
            refuse_damage(self._path, f"record {number} is malformed ({error!r})")
