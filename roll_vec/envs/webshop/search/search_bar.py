"""Results of a query on the shop's pages: ranked products, or lists such as ``<c>``."""

from __future__ import annotations

import functools
import random
from collections import defaultdict
from collections.abc import Sequence

from roll_vec.envs.webshop.products import Product, Products
from roll_vec.envs.webshop.search.backends import SearchBackend

# Products that a search shows, and that ``<r>`` draws; from WebShop, commit 64fa2a5.
NUM_HITS = 50
# A model may write kilobytes; only queries of a shopper's length are cached.
_MAX_CACHED_QUERY = 512
_FIELDS = ("category", "query", "attributes")


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
        if kind == "<c>":
            return self.filter_by("category", words[0] if words else "")
        if kind == "<q>":
            return self.filter_by("query", " ".join(words).strip())
        if kind == "<a>":
            return self.filter_by("attributes", " ".join(words).strip())
        return self.hits(query)

    def hits(self, query: str) -> tuple[int, ...]:
        """Return the numbers of the 50 best products for some words, best first."""
        if len(query) > _MAX_CACHED_QUERY:
            return self._rank(query)
        return self._cached_hits(query)

    def clear_cache(self) -> None:
        """Forget the hits of earlier queries, for benchmarks."""
        self._cached_hits.cache_clear()

    def _rank(self, query: str) -> tuple[int, ...]:
        return tuple(self._index.search(query, NUM_HITS)[0].tolist())

    def filter_by(self, field: str, value: str) -> tuple[int, ...]:
        """Return the numbers of the products with a value, in their order.

        Parameters
        ----------
        field : {"category", "query", "attributes"}
        value : str
        """
        return self._numbers_by_value[field].get(value, ())

    @functools.cached_property
    def _numbers_by_value(self) -> dict[str, dict[str, tuple[int, ...]]]:
        lists: dict[str, dict[str, list[int]]] = {
            field: defaultdict(list) for field in _FIELDS
        }
        for number, product in enumerate(self._products):
            lists["category"][product.category].append(number)
            lists["query"][product.query].append(number)
            for attribute in dict.fromkeys(product.attributes):
                lists["attributes"][attribute].append(number)
        return {
            field: {value: tuple(numbers) for value, numbers in values.items()}
            for field, values in lists.items()
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
