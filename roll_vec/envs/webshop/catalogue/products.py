"""What is sold, and what is wanted: the records of a catalogue."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from roll_vec.envs.webshop.catalogue.records import Records

__all__ = ["Goal", "Product", "Products", "Purchase"]


@dataclass(frozen=True, eq=False, kw_only=True)
class Product:
    """One product, not to be written.

    Parameters
    ----------
    asin : str
        At most 10 characters, unique in its catalogue.
    title, description : str
    bullets : tuple of str
    price_tag : str
        As pages show it: ``$34.0`` or ``$15.5 to $20.0``.
    price : float
        In dollars, what a goal's limit is compared with; of a range one value in it,
        drawn once a catalogue.
    options : mapping from str to tuple of str
        Values by the name of their group, in the file's order, all in lower case.
    attributes : tuple of str
        What it is known for; ``("DUMMY_ATTR",)`` where nothing is.
    category, product_category : str
        One of few words; the path in the shop, its pieces separated by ``›``.
    query : str
        What it was found by, in lower case.
    title_nouns : tuple of str
        Lower-case nouns of the title in their order, with repetitions.
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
        """The group that a click on a value chooses in.

        In the order of the page.  Of groups that share a value the last one has it, in
        the place of the first, as in WebShop.
        """
        return {
            value: name for name, values in self.options.items() for value in values
        }


@dataclass(frozen=True, eq=False, kw_only=True)
class Goal:
    """What a shopper wants, not to be written.

    Parameters
    ----------
    asin, category, query, name, product_category
        Of the product that it was made from; ``name`` is the title.
    instruction_text : str
    attributes : tuple of str
        At least one.
    price_upper : float
        Most that may be paid, in dollars; 1,000,000 where nothing was said.
    goal_options : mapping from str to str, or tuple of str
        Values by group of a synthetic goal; texts of a person's.
    weight : float
        By which goals are drawn for named sessions.
    """

    asin: str
    category: str
    query: str
    name: str
    product_category: str
    instruction_text: str
    attributes: tuple[str, ...]
    price_upper: float
    goal_options: Mapping[str, str] | tuple[str, ...]
    weight: float


class Purchase(NamedTuple):
    """An order.

    Parameters
    ----------
    asin : str
    options : mapping from str to str
        The chosen value by group; a group may be missing.
    """

    asin: str
    options: Mapping[str, str] = {}


_FIELDS = tuple(field.name for field in dataclasses.fields(Product))


def _decode(number: int, entry: dict[str, Any]) -> Product:
    """Return a product from its JSON, where tuples have become lists."""
    del number
    for name in ("bullets", "attributes", "title_nouns"):
        entry[name] = tuple(entry[name])
    entry["options"] = {name: tuple(v) for name, v in entry["options"].items()}
    return Product(**entry)


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

        def entries() -> Iterator[dict[str, Any]]:
            for product in products:
                asins.append(product.asin)
                yield {name: getattr(product, name) for name in _FIELDS}

        return cls(Records.pack(entries(), _decode), np.array(asins))

    @classmethod
    def open(cls, directory: Path, memory_map: bool) -> Products:
        """Return the products that `save` stored in a folder."""
        mode: Any = "r" if memory_map else None
        records = Records.open(directory / "products.jsonl", _decode, memory_map)
        return cls(records, np.load(directory / "asins.npy", mmap_mode=mode))

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
    def longest(self) -> int:
        """An upper bound of the characters in the strings of any product."""
        return self._records.longest

    def number_of(self, asin: str) -> int:
        """Return the number of a product.

        Raises
        ------
        KeyError
            If there is none.
        """
        return self._numbers[asin]
