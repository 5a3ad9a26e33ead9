"""Keywords of a catalogue: its files, seed and search backend, validated."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Hashable
from pathlib import Path
from typing import Any

from roll_vec.envs.webshop.manifest import MANIFEST
from roll_vec.envs.webshop.search.backends import BACKENDS
from roll_vec.errors import InvalidOptionError
from roll_vec.options import check_bool, check_choice, check_fields, check_int, option
from roll_vec.storage.data_files import (
    check_path,
    fingerprint,
    folder_status,
    refuse_unreadable,
)

DATA_FILES = {
    "products": MANIFEST,
    "attributes": "",
    "human_instructions": "",
    "title_nouns": "",
}
"""The keywords that are paths, with the manifest of a folder; see `pin_files`.

The manifest stands for a whole stored catalogue: it has digests of all other files.
"""

_FILES = tuple(DATA_FILES)
# A thousand products take up to half a second: so many take minutes.
_MAX_DEMO_PRODUCTS = 1 << 20


def check_count(name: str, value: Any) -> int | None:
    """Return an option that is None or at least 1."""
    return None if value is None else check_int(name, value, 1)


@dataclasses.dataclass(frozen=True, kw_only=True)
class CatalogueOptions:
    """The keywords of `Catalogue.load`; those of the environment begin with them.

    Parameters
    ----------
    products : str, PathLike or None
        WebShop's ``items_shuffle*.json``, or the folder of a stored shop; None: the
        demo shop.  The file may be plain or ``.gz``.  ``roll-vec webshop index`` stores
        a shop.
    attributes : str, PathLike or None
        WebShop's ``items_ins_v2*.json``: attributes and instructions of the products.
    human_instructions : str, PathLike or None
        WebShop's ``items_human_ins.json``: instructions that people wrote.
    title_nouns : str, PathLike or None
        A file of the nouns in titles, on which rewards depend.  Without a file spaCy's
        ``en_core_web_sm`` finds the nouns, or a simple rule where spaCy is not
        installed.  ``infos["title_nouns"]`` names the source; see
        `roll_vec.envs.webshop.catalogue.title_nouns`.
    num_products : int or None
        Products to read from the file, or of the demo shop; None: all, or 1000.  The
        demo shop has at most 2**20.
    human_goals : bool
        True: people's instructions are the goals.  False: one goal for each combination
        of options of a product that has an instruction.
    catalog_seed : int
        Seed of random prices and price limits.  The original has no seed for them.
    search_backend : str
        ``lucene``, ranked as in WebShop, or ``tantivy``, for a million products.
        ``tantivy`` (extra ``tantivy``) has another ranking.
    memory_map : bool
        True: a stored shop stays on disk, where processes share it.

    Raises
    ------
    InvalidOptionError
    """

    products: str | os.PathLike[str] | None = option(None, check_path)
    attributes: str | os.PathLike[str] | None = option(None, check_path)
    human_instructions: str | os.PathLike[str] | None = option(None, check_path)
    title_nouns: str | os.PathLike[str] | None = option(None, check_path)
    num_products: int | None = option(None, check_count)
    human_goals: bool = option(False, check_bool)
    catalog_seed: int = option(0, check_int, 0, (1 << 64) - 1)
    search_backend: str = option("lucene", check_choice, BACKENDS)
    memory_map: bool = option(False, check_bool)

    def __post_init__(self) -> None:
        check_fields(self)
        if self.products is None:
            if (self.num_products or 0) > _MAX_DEMO_PRODUCTS:
                limit = f"at most {_MAX_DEMO_PRODUCTS} products in the demo shop"
                raise InvalidOptionError.expected(
                    "num_products", limit, self.num_products
                )
            self._forbid(_FILES[1:], "needs products, the file that it belongs to")
        if self.is_stored:
            self._forbid(
                (*_FILES[1:], "num_products"),
                f"is part of a stored catalogue, such as {self.products}, already",
            )
        elif self.memory_map:
            message = (
                "memory_map: expected products to be the folder of a stored catalogue "
                f"(roll-vec webshop index), got {self.products!r}"
            )
            raise InvalidOptionError(message)

    def _forbid(self, names: tuple[str, ...], reason: str) -> None:
        """Raise an error if one of some keywords has a value."""
        for name in names:
            if getattr(self, name) is not None:
                message = f"{name}: {getattr(self, name)!r} {reason}"
                raise InvalidOptionError(message)

    @property
    def is_stored(self) -> bool:
        """True if ``products`` is a folder."""
        return self.products is not None and Path(self.products).is_dir()

    def catalogue_options(self) -> CatalogueOptions:
        """Return the keywords of the catalogue alone."""
        fields = dataclasses.fields(CatalogueOptions)
        return CatalogueOptions(**{f.name: getattr(self, f.name) for f in fields})

    def fingerprints(self) -> tuple[str | None, ...]:
        """Return digests of the contents of the files, that of title nouns last.

        None for a file that is not used, and for title nouns that do not exist yet.

        Raises
        ------
        InvalidOptionError
            If a file cannot be read.
        """
        paths = [getattr(self, name) for name in _FILES]
        if self.title_nouns is not None and not Path(self.title_nouns).exists():
            paths[-1] = None
        return tuple(
            None if path is None else fingerprint(name, path, DATA_FILES[name])
            for name, path in zip(_FILES, paths, strict=True)
        )

    def stored_status(self) -> Hashable:
        """Return the status of all files of a stored catalogue, else None.

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
