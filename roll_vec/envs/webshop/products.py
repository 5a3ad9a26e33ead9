"""Products: one product, a purchase of one, and all products of a catalogue."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from roll_vec.envs.webshop.records import Records
from roll_vec.storage.plain_data import check_elements


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


class Products(Sequence[Product]):
    """The products of a catalogue, in the order of its file.

    Parameters
    ----------
    records : Records of Product
    asins : (n,) str array
    """

    def __init__(self, records: Records[Product], asins: NDArray[np.str_]) -> None:
        self._records, self.asins = records, asins

    @classmethod
    def pack(cls, products: Iterable[Product]) -> Products:
        """Return products in memory."""
        asins = []
        fields = dataclasses.fields(Product)

        def entries() -> Iterator[dict[str, Any]]:
            for product in products:
                asins.append(product.asin)
                yield {field.name: getattr(product, field.name) for field in fields}

        return cls(Records.pack(entries(), _decode_product), np.array(asins))

    @classmethod
    def open(cls, directory: Path, memory_map: bool) -> Products:
        """Return the products that `save` stored in a folder."""
        mode: Any = "r" if memory_map else None
        records = Records.open(
            directory / "products.jsonl", _decode_product, memory_map
        )
        asins = np.load(directory / "asins.npy", mmap_mode=mode)
        check_elements(asins)
        return cls(records, asins)

    def save(self, directory: Path) -> None:
        """Store the products in a folder."""
        self._records.save(directory / "products.jsonl")
        np.save(directory / "asins.npy", self.asins)

    def __len__(self) -> int:
        return len(self._records)

    def __getitem__(self, index: Any) -> Any:
        return self._records[index]

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {asin: number for number, asin in enumerate(self.asins.tolist())}

    @property
    def max_length(self) -> int:
        """An upper bound of the characters in the strings of any product."""
        return self._records.max_length

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
        return self._records[self._numbers[asin]]


def _decode_product(number: int, entry: dict[str, Any]) -> Product:
    """Return a product from its JSON, where tuples have become lists."""
    del number
    for name in ("bullets", "attributes", "title_nouns"):
        entry[name] = tuple(entry[name])
    entry["options"] = {name: tuple(v) for name, v in entry["options"].items()}
    return Product(**entry)
