"""Search of a shop: the backends, and the results of a query on pages.

The results are ranked products, or lists such as ``<c>``.
"""

from __future__ import annotations

import functools
import importlib
import random
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from roll_vec.envs.webshop.products import Product, Products
from roll_vec.options import check_choice

if TYPE_CHECKING:
    from typing_extensions import Self

# Products that a search shows, and that ``<r>`` draws; from WebShop, commit 64fa2a5.
NUM_HITS = 50
# A model may write kilobytes; only queries of a shopper's length are cached.
_MAX_CACHED_QUERY = 512
# Lists of products by category, query and attribute.
_LISTS = ("<c>", "<q>", "<a>")

_CLASSES = {
    "lucene": ("roll_vec.envs.webshop.search.lucene_ranking", "LuceneIndex"),
    "tantivy": ("roll_vec.envs.webshop.search.tantivy_ranking", "TantivyIndex"),
}

BACKENDS = tuple(_CLASSES)
"""Names of the backends.

``lucene`` has the order and the scores of WebShop's own search engine.  ``tantivy``, an
extra, is meant for a million products and has another ranking.
"""


class SearchBackend(Protocol):
    """An index of documents, one for each product; read only.

    The same documents and query have the same result in every thread and process.

    Attributes
    ----------
    name : str
        One of `BACKENDS`.
    piecewise_files : tuple of str
        Stored files, relative to the directory, that the index checks piece by piece
        when it reads them; see `roll_vec.envs.webshop.manifest`.
    """

    name: ClassVar[str]
    piecewise_files: ClassVar[tuple[str, ...]]

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
            In the order of the products.
        keys : sequence of str
            One for each product.  Products with equal scores are in ascending order of
            their keys.
        progress : callable or None
            Called with the number of indexed documents.

        Raises
        ------
        MissingExtraError
        """

    @classmethod
    def open(cls, directory: Path, memory_map: bool) -> Self:
        """Return the index that was saved in a directory.

        Parameters
        ----------
        directory : Path
            Its files have been compared with the manifest.
        memory_map : bool
            Whether processes share the files, instead of reading all of them.

        Raises
        ------
        OSError, ValueError
            If the files cannot be read.
        MissingExtraError
        """

    def save(self, directory: Path) -> None:
        """Write the index into an existing directory."""

    def search(
        self, query: str, k: int = 50
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Return the numbers of the best products, best first, and their scores.

        Parameters
        ----------
        query : str
            Any text; it has no syntax.
        k : int
            Maximum number of products.

        Returns
        -------
        numbers : (m,) int64
        scores : (m,) float32
            Above 0, descending.

        Raises
        ------
        InvalidOptionError
            If a stored file is damaged; names it.
        """


def backend_class(name: str) -> type[SearchBackend]:
    """Return the class of a backend; imports its module.

    Raises
    ------
    InvalidOptionError
        If there is no such backend.
    """
    module, attribute = _CLASSES[check_choice("search_backend", name, BACKENDS)]
    backend: type[SearchBackend] = getattr(importlib.import_module(module), attribute)
    return backend


class SearchBar:
    """The search bar of a shop.

    Parameters
    ----------
    products : Products
    index : SearchBackend
    """

    def __init__(self, products: Products, index: SearchBackend) -> None:
        self._products, self._index = products, index
        self._cached_hits = functools.lru_cache(maxsize=8192)(self._rank)

    def search_results(self, query: str, level: int = 0) -> Sequence[int]:
        """Return the numbers of the products that a query lists, in order.

        Parameters
        ----------
        query : str
            Words of a search, or a list of products: ``<r>`` for 50 random products,
            ``<c>`` and a category, ``<q>`` and the query of products, ``<a>`` and an
            attribute.
        level : int
            Seed of ``<r>``, together with the query.

        Notes
        -----
        In WebShop every page of ``<r>`` is another draw, and a missing word an error.
        """
        kind, *words = query.split(" ") if query.startswith("<") else ("",)
        if kind == "<r>":
            seed = f"{level} {query}".encode("utf-8", "surrogatepass")
            numbers = range(len(self._products))
            return random.Random(seed).sample(numbers, min(NUM_HITS, len(numbers)))
        if kind in _LISTS:
            # A category is one word, and is compared as it is.
            is_word = kind == "<c>" and words
            value = words[0] if is_word else " ".join(words).strip()
            return self._numbers_by_value[kind].get(value, ())
        rank = self._rank if len(query) > _MAX_CACHED_QUERY else self._cached_hits
        return rank(query)

    def clear_cache(self) -> None:
        """Forget the hits of earlier queries, for benchmarks."""
        self._cached_hits.cache_clear()

    def _rank(self, query: str) -> tuple[int, ...]:
        """Return the numbers of the 50 best products for some words, best first."""
        return tuple(self._index.search(query, NUM_HITS)[0].tolist())

    @functools.cached_property
    def _numbers_by_value(self) -> dict[str, dict[str, tuple[int, ...]]]:
        lists: dict[str, dict[str, list[int]]] = {
            kind: defaultdict(list) for kind in _LISTS
        }
        for number, product in enumerate(self._products):
            lists["<c>"][product.category].append(number)
            lists["<q>"][product.query].append(number)
            for attribute in dict.fromkeys(product.attributes):
                lists["<a>"][attribute].append(number)
        return {
            kind: {value: tuple(numbers) for value, numbers in values.items()}
            for kind, values in lists.items()
        }


def document_of(product: Product) -> str:
    """Return the indexed text of a product: title, description, a bullet, options.

    The format is that of WebShop, commit 64fa2a5.
    """
    options = ", and ".join(
        f"{name}: {', '.join(values)}" for name, values in product.options.items()
    )
    bullet = product.bullets[0] if product.bullets else ""
    return " ".join([product.title, product.description, bullet, options]).lower()
