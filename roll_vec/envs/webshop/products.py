"""Products: one product, a purchase of one, and all products of a catalogue.

Products, and goals in `roll_vec.envs.webshop.goals`, are records: objects that are
decoded from lines of JSON, each at its first use.
"""

from __future__ import annotations

import functools
import json
from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from typing_extensions import Self

T = TypeVar("T")

# Number of cached objects; a product with its strings is some 10 KB.
_CACHE_SIZE = 4096


class Records(Sequence[T]):
    """A sequence of objects that are decoded from JSON when they are read.

    The same object is returned for as long as it is in the cache.

    Parameters
    ----------
    block : bytes or memoryview
        JSON objects, one a line; a memoryview can be of a file that processes share.
    ends : (n,) int64
        End of each line, in bytes.
    column : (n,) array
        A value of each object that is needed without the object.
    """

    def __init__(
        self,
        block: bytes | memoryview,
        ends: NDArray[np.int64],
        column: NDArray[Any],
    ) -> None:
        self.block, self.ends, self.column = block, ends, column
        column.flags.writeable = False
        self._record = functools.lru_cache(_CACHE_SIZE)(self._decode_line)

    @classmethod
    def pack(cls, entries: Iterable[dict[str, Any]], column: NDArray[Any]) -> Self:
        """Return records in memory."""
        # ASCII: WebShop's files may have lone surrogates, which UTF-8 cannot encode.
        lines = [json.dumps(entry).encode() + b"\n" for entry in entries]
        ends = np.cumsum([len(line) for line in lines], dtype=np.int64)
        return cls(b"".join(lines), ends, column)

    @cached_property
    def max_length(self) -> int:
        """Bytes of the longest line: an upper bound of the characters in a record."""
        return int(np.diff(self.ends, prepend=0).max(initial=0))

    def __len__(self) -> int:
        return len(self.ends)

    def __getitem__(self, index: Any) -> Any:
        """Return an object, or several.

        Raises
        ------
        IndexError
        """
        numbers = range(len(self))[index]
        if isinstance(numbers, range):
            return [self._record(number) for number in numbers]
        return self._record(numbers)

    def _decode_line(self, number: int) -> T:
        start = int(self.ends[number - 1]) if number else 0
        line = bytes(self.block[start : int(self.ends[number])])
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

    @property
    def asins(self) -> NDArray[np.str_]:
        """The asins of all products."""
        return self.column

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
