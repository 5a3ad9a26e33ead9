"""What a search backend is, which ones there are, and what of a product they index."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from roll_vec.envs.webshop.catalogue.products import Product
from roll_vec.options import check_choice

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["BACKENDS", "SearchBackend", "backend_class", "document_of"]

_PLACES = {
    "lucene": ("roll_vec.envs.webshop.search.lucene", "LuceneIndex"),
    "tantivy": ("roll_vec.envs.webshop.search.tantivy", "TantivyIndex"),
}

BACKENDS = tuple(_PLACES)
"""Names of the backends.

``lucene`` has the order and the scores of WebShop's own search engine; ``tantivy``,
an extra, is meant for a million products and ranks by rules of its own.
"""


class SearchBackend(Protocol):
    """An index over the documents of products, not to be written.

    The same documents and query have the same result in every thread and process.

    Attributes
    ----------
    name : str
        One of `BACKENDS`.
    """

    name: ClassVar[str]

    @classmethod
    def build(
        cls,
        documents: Iterable[str],
        keys: Sequence[str],
        progress: Callable[[int], object] | None = None,
    ) -> Self:
        """Return an index in memory.

        Parameters
        ----------
        documents : iterable of str
            That of product 0 first.
        keys : sequence of str
            Of each product; products with equal scores come in ascending order of
            them.
        progress : callable or None
            Is called with the number of documents done.

        Raises
        ------
        ValueError
            If there are not as many documents as keys.
        MissingExtraError
        """

    @classmethod
    def open(cls, directory: Path, memory_map: bool) -> Self:
        """Return the index that was saved in a directory.

        Parameters
        ----------
        directory : Path
        memory_map : bool
            Whether processes share what they read of the files, instead of each one
            reading all of it.

        Raises
        ------
        InvalidOptionError
            Names the file that is missing or damaged.
        MissingExtraError
        """

    def save(self, directory: Path) -> None:
        """Write the index into a directory that exists."""

    def search(
        self, query: str, k: int = 50
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Return the numbers of the best products, best first, and their scores.

        Parameters
        ----------
        query : str
            Any text; it has no syntax.
        k : int
            At most so many.

        Returns
        -------
        numbers : (m,) int64
        scores : (m,) float32
            Above 0, descending.
        """


def backend_class(name: str) -> type[SearchBackend]:
    """Return the class of a backend; its packages are imported when it is used.

    Raises
    ------
    InvalidOptionError
        If there is no such backend.
    """
    module, attribute = _PLACES[check_choice("search_backend", name, BACKENDS)]
    found: type[SearchBackend] = getattr(importlib.import_module(module), attribute)
    return found


def document_of(product: Product) -> str:
    """Return the text of a product that is indexed.

    As WebShop, commit 64fa2a5, writes it: title, description, first bullet, options.
    """
    options = ", and ".join(
        f"{name}: {', '.join(values)}" for name, values in product.options.items()
    )
    bullet = product.bullets[0] if product.bullets else ""
    return " ".join([product.title, product.description, bullet, options]).lower()
