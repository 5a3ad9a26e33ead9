"""Where a catalogue comes from: the keywords that say so, checked."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Hashable
from pathlib import Path
from typing import Any

from roll_vec.errors import InvalidOptionError
from roll_vec.options import check_bool, check_choice, check_int
from roll_vec.webshop.search import BACKENDS

__all__ = ["EMBEDDED_PRODUCTS", "CatalogueOptions"]

_FILES = ("products", "attributes", "human_instructions", "title_nouns")
# How much of a shop is made where nothing else is said.
EMBEDDED_PRODUCTS = 1000


@dataclasses.dataclass(frozen=True, kw_only=True)
class CatalogueOptions:
    """The keywords of `Catalogue.load`; those of the environment begin with them.

    Parameters
    ----------
    products : path or None
        WebShop's ``items_shuffle*.json``, plain or ``.gz``; or a folder that
        ``roll-vec webshop index`` stored; None: the embedded shop.
    attributes : path or None
        WebShop's ``items_ins_v2*.json``: attributes and instructions of the products.
    human_instructions : path or None
        WebShop's ``items_human_ins.json``.
    title_nouns : path or None
        Nouns of titles by asin; see `roll_vec.webshop.title_nouns`.
    num_products : int or None
        How many items of the file are read, or how many products the embedded shop
        has; None: all, or 1000.
    human_goals : bool
        Whether people's instructions are the goals, or one for each choice of options
        of a product that has an instruction.
    catalog_seed : int
        Of the generator that draws prices and limits.
    search_backend : str
        ``lucene``, equal to WebShop's, or ``tantivy`` for a million products, which
        ranks otherwise.
    memory_map : bool
        Leave a stored catalogue on disk, where processes share what they read of it.

    Raises
    ------
    InvalidOptionError
    """

    products: str | os.PathLike[str] | None = None
    attributes: str | os.PathLike[str] | None = None
    human_instructions: str | os.PathLike[str] | None = None
    title_nouns: str | os.PathLike[str] | None = None
    num_products: int | None = None
    human_goals: bool = False
    catalog_seed: int = 0
    search_backend: str = "lucene"
    memory_map: bool = False

    def __post_init__(self) -> None:
        for name in _FILES:
            self._put(name, _check_path(name, getattr(self, name)))
        if self.num_products is not None:
            self._put("num_products", check_int("num_products", self.num_products, 1))
        self._put("human_goals", check_bool("human_goals", self.human_goals))
        self._put("memory_map", check_bool("memory_map", self.memory_map))
        seed = check_int("catalog_seed", self.catalog_seed, 0, (1 << 64) - 1)
        self._put("catalog_seed", seed)
        check_choice("search_backend", self.search_backend, BACKENDS)
        if self.products is None:
            self._refuse(_FILES[1:], "needs products, the file that it belongs to")
        if self.is_stored:
            self._refuse(
                (*_FILES[1:], "num_products"),
                f"is part of a stored catalogue, such as {self.products}, already",
            )
        elif self.memory_map:
            message = (
                "memory_map: expected products to be the folder of a stored catalogue "
                f"(roll-vec webshop index), got {self.products!r}"
            )
            raise InvalidOptionError(message)

    def _refuse(self, names: tuple[str, ...], why: str) -> None:
        for name in names:
            if getattr(self, name) is not None:
                message = f"{name}: {getattr(self, name)!r} {why}"
                raise InvalidOptionError(message)

    def _put(self, name: str, value: Any) -> None:
        """Replace a field by its validated form, while the options are made."""
        object.__setattr__(self, name, value)

    @property
    def is_stored(self) -> bool:
        """Whether ``products`` is a folder."""
        return self.products is not None and Path(self.products).is_dir()

    def source(self) -> CatalogueOptions:
        """Return the keywords of the catalogue alone."""
        fields = dataclasses.fields(CatalogueOptions)
        return CatalogueOptions(**{f.name: getattr(self, f.name) for f in fields})

    def stamps(self) -> tuple[Hashable, ...]:
        """Return what changes when one of the files does, that of title nouns last.

        Raises
        ------
        InvalidOptionError
            If a file is not there.
        """
        return tuple(_stamp(name, getattr(self, name)) for name in _FILES)


def _check_path(name: str, value: Any) -> str | None:
    if value is None:
        return None
    if not isinstance(value, (str, os.PathLike)):
        message = f"{name}: expected the path of a file or None, got {value!r}"
        raise InvalidOptionError(message)
    return os.fsdecode(value)


def _stamp(name: str, path: str | None) -> Hashable:
    if path is None:
        return None
    found = Path(path).absolute()
    try:
        read = found / "catalogue.json" if found.is_dir() else found
        status = read.stat()
    except FileNotFoundError as error:
        if name == "title_nouns":
            # It is written then.
            return str(found)
        message = f"{name}: {path} cannot be read: {error}"
        raise InvalidOptionError(message) from error
    except (OSError, ValueError) as error:
        message = f"{name}: {path} cannot be read: {error}"
        raise InvalidOptionError(message) from error
    return str(found), status.st_mtime_ns, status.st_size
