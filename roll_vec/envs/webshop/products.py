"""Products: one product, a purchase of one, and all products of a catalogue.

Products, and goals in `roll_vec.envs.webshop.goals`, are records: objects that are
decoded from lines of JSON, each at its first use.
"""

from __future__ import annotations

import functools
import json
import mmap
import zlib
from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from roll_vec.envs.webshop.manifest import naming_damage, refuse_damage
from roll_vec.storage.plain_data import check_elements

if TYPE_CHECKING:
    from typing_extensions import Self

T = TypeVar("T")

# Number of cached objects; a product with its strings is some 10 KB.
_CACHE_SIZE = 4096


class Records(Sequence[T]):
    """A sequence of objects that are decoded from JSON when they are read.

    The JSON can lie in a file that processes share.  The same object is returned for as
    long as it is in the cache.

    Parameters
    ----------
    block : bytes or mmap
        JSON objects, one a line.
    ends : (n,) int64
        End of each line, in bytes.
    column : (n,) array
        A value of each object that is needed without the object.
    checks : (n,) uint32 or None
        CRC-32 of each line of a stored block.
    path : Path or None
        Of the stored block.
    """

    NAME: ClassVar[str]
    """Stem of the stored files."""
    COLUMN: ClassVar[str]
    """Stem of the column's file."""

    def __init__(
        self,
        block: bytes | mmap.mmap,
        ends: NDArray[np.int64],
        column: NDArray[Any],
        checks: NDArray[np.uint32] | None = None,
        path: Path | None = None,
    ) -> None:
        self._block, self._ends, self._column = block, ends, column
        self._checks, self._path = checks, path
        column.flags.writeable = False
        self._record = functools.lru_cache(_CACHE_SIZE)(self._decode_line)

    @classmethod
    def pack(cls, entries: Iterable[dict[str, Any]], column: NDArray[Any]) -> Self:
        """Return records in memory."""
        # ASCII: WebShop's files may have lone surrogates, which UTF-8 cannot encode.
        lines = [json.dumps(entry).encode() + b"\n" for entry in entries]
        ends = np.cumsum([len(line) for line in lines], dtype=np.int64)
        return cls(b"".join(lines), ends, column)

    @classmethod
    def open(cls, directory: Path, memory_map: bool) -> Self:
        """Return the records that `save` stored in a folder.

        Raises
        ------
        InvalidOptionError
            If the files do not fit together.  A damaged record is refused when it is
            read.
        OSError, ValueError
            If the files cannot be read.
        """
        path = directory / f"{cls.NAME}.jsonl"
        mode: Any = "r" if memory_map else None
        ends, checks, column = (
            np.load(directory / f"{name}.npy", mmap_mode=mode)
            for name in (cls.NAME, f"{cls.NAME}.crc32", cls.COLUMN)
        )
        check_elements(column)
        block: bytes | mmap.mmap = b""
        with path.open("rb") as file:
            # An empty file cannot be mapped.
            if memory_map and len(ends):
                block = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
            else:
                block = file.read()
        if (int(ends[-1]) if len(ends) else 0) != len(block):
            refuse_damage(path, f"it does not fit {cls.NAME}.npy beside it")
        return cls(block, ends, column, checks, path)

    def save(self, directory: Path) -> None:
        """Write the lines, their ends and checksums, and the column into a folder."""
        checks = self._checks
        if checks is None:
            lines = [self._line(number) for number in range(len(self))]
            checks = np.array([zlib.crc32(line) for line in lines], np.uint32)
        (directory / f"{self.NAME}.jsonl").write_bytes(self._block)
        np.save(directory / f"{self.NAME}.npy", self._ends)
        np.save(directory / f"{self.NAME}.crc32.npy", checks)
        np.save(directory / f"{self.COLUMN}.npy", self._column)

    @cached_property
    def max_length(self) -> int:
        """Bytes of the longest line: an upper bound of the characters in a record."""
        return int(np.diff(self._ends, prepend=0).max(initial=0))

    def __len__(self) -> int:
        return len(self._ends)

    def __getitem__(self, index: Any) -> Any:
        """Return an object, or several.

        Raises
        ------
        IndexError
        InvalidOptionError
            If a record is damaged.
        """
        numbers = range(len(self))[index]
        if isinstance(numbers, range):
            return [self._record(number) for number in numbers]
        return self._record(numbers)

    def _line(self, number: int) -> bytes:
        start = int(self._ends[number - 1]) if number else 0
        return self._block[start : int(self._ends[number])]

    def _decode_line(self, number: int) -> T:
        line = self._line(number)
        if self._checks is not None and zlib.crc32(line) != self._checks[number]:
            problem = f"record {number} has changed since it was stored"
            refuse_damage(Path(str(self._path)), problem)
        with naming_damage(Path(str(self._path)), f"record {number} is malformed: "):
            return self._decode(number, json.loads(line))

    @abstractmethod
    def _decode(self, number: int, entry: dict[str, Any]) -> T:
        """Return an object from its JSON, where tuples have become lists."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Product:
    """One product; read only.

    Parameters
    ----------
    asin : str
        At most 10 characters, unique in its catalogue.
    title, description : str
    bullets : tuple of str
    price_tag : str
        The price on pages: ``$34.0`` or ``$15.5 to $20.0``.
    price : float
        In dollars, compared with the limit of a goal.  For a range it is one value in
        the range, drawn when the catalogue is built.
    options : mapping from str to tuple of str
        Values by the name of their group, in the order of the file, in lower case.
    attributes : tuple of str
        ``("DUMMY_ATTR",)`` if the files have none.
    category, product_category : str
        The department; the path in the shop, with ``›`` between its pieces.
    query : str
        Search words that the product was collected with, in lower case.
    title_nouns : tuple of str
        Nouns of the title in lower case and in order, with repetitions.
    """

    asin: str
    title: str
    description: str
    bullets: tuple[str, ...]
    price_tag: str
    price: float
    options: Mapping[str, tuple[str, ...]]
    attributes: tuple[str, ...]
    category: str
    product_category: str
    query: str
    title_nouns: tuple[str, ...]

    @cached_property
    def group_of_value(self) -> dict[str, str]:
        """The group of each value, in the order of the page.

        A value of several groups belongs to the last group, at the position of the
        first one, as in WebShop.
        """
        return {
            value: name for name, values in self.options.items() for value in values
        }


class Purchase(NamedTuple):
    """An order of one product.

    Parameters
    ----------
    asin : str
    options : mapping from str to str
        The chosen value by group; groups without a choice are absent.
    """

    asin: str
    options: Mapping[str, str] = {}


class Products(Records[Product]):
    """The products of a catalogue, in the order of its file."""

    NAME, COLUMN = "products", "asins"

    @property
    def asins(self) -> NDArray[np.str_]:
        """The asins of all products."""
        return self._column

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {asin: number for number, asin in enumerate(self.asins.tolist())}

    def number_of(self, asin: str) -> int:
        """Return the number of a product.

        Raises
        ------
        KeyError
            If no product has this asin.
        """
        return self._numbers[asin]

    def by_asin(self, asin: str) -> Product:
        """Return the product with an asin; raises as `number_of` does."""
        return self._record(self._numbers[asin])

    def _decode(self, number: int, entry: dict[str, Any]) -> Product:
        del number
        for name in ("bullets", "attributes", "title_nouns"):
            entry[name] = tuple(entry[name])
        entry["options"] = {name: tuple(v) for name, v in entry["options"].items()}
        return Product(**entry)
