"""Where a catalogue comes from: the keywords that say so, checked."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Hashable
from pathlib import Path
from typing import Any

from roll_vec.data_files import (
    check_path,
    fingerprint,
    folder_status,
    refuse_unreadable,
)
from roll_vec.envs.webshop.search.backends import BACKENDS
from roll_vec.errors import InvalidOptionError
from roll_vec.options import check_bool, check_choice, check_int

__all__ = ["DATA_FILES", "EMBEDDED_PRODUCTS", "MANIFEST", "CatalogueOptions"]

# The file that stands for a whole stored catalogue: it has digests of the others.
MANIFEST = "catalogue.json"
# The keywords that are paths, those of title nouns last; see `pin_files`.
DATA_FILES = {
    "products": MANIFEST,
    "attributes": "",
    "human_instructions": "",
    "title_nouns": "",
}
_FILES = tuple(DATA_FILES)
# How much of a shop is made where nothing else is said.
EMBEDDED_PRODUCTS = 1000
# A thousand take up to half a second, so that these take minutes.
MAX_EMBEDDED = 1 << 20


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
        Nouns of titles by asin; see `roll_vec.envs.webshop.catalogue.title_nouns`.
    num_products : int or None
        How many items of the file are read, or how many products the embedded shop
        has, 2**20 at most; None: all, or 1000.
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
            self._put(name, check_path(name, getattr(self, name)))
        if self.num_products is not None:
            self._put("num_products", check_int("num_products", self.num_products, 1))
            if self.products is None and self.num_products > MAX_EMBEDDED:
                message = (
                    f"num_products: the embedded shop has at most {MAX_EMBEDDED} "
                    f"products, got {self.num_products}"
                )
                raise InvalidOptionError(message)
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

    def fingerprints(self) -> tuple[str | None, ...]:
        """Return the digests of the files' contents, that of title nouns last.

        None for a file that was not given, and for title nouns that are to be written.

        Raises
        ------
        InvalidOptionError
            If a file cannot be read.
        """
        return tuple(_fingerprint(name, getattr(self, name)) for name in _FILES)

    def stored_status(self) -> Hashable:
        """Return the status of all files of a stored catalogue, of another None.

        Raises
        ------
        InvalidOptionError
            If the folder cannot be read.
        """
        if not self.is_stored:
            return None
        try:
            return folder_status(str(self.products))
        except OSError as error:
            refuse_unreadable("products", str(self.products), error)


def _fingerprint(name: str, path: str | None) -> str | None:
    if path is None or (name == "title_nouns" and not Path(path).exists()):
        return None
    return fingerprint(name, path, DATA_FILES[name])
