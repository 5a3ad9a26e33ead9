"""Results of a query on pages: ranked products, or lists such as ``<c>``."""

from __future__ import annotations

import functools
import random
from collections import defaultdict
from collections.abc import Sequence

from roll_vec.envs.webshop.products import Product, Products
from roll_vec.envs.webshop.search.lucene_ranking import LuceneIndex

# Products that a search shows, and that ``<r>`` draws; from WebShop, commit 64fa2a5.
NUM_HITS = 50
# A model may write kilobytes; only queries of a shopper's length are cached.
_MAX_CACHED_QUERY = 512
# Lists of products by category, query and attribute.
_LISTS = ("<c>", "<q>", "<a>")


class SearchBar:
    """The search bar of a shop.

    Parameters
    ----------
    products : Products
    index : LuceneIndex

    Attributes
    ----------
    cached_rank : function
        The numbers of the 50 best products for a query, with a cache.
    """

    def __init__(self, products: Products, index: LuceneIndex) -> None:
        self._products, self._index = products, index
        self.cached_rank = functools.lru_cache(maxsize=8192)(self._rank)

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
        rank = self._rank if len(query) > _MAX_CACHED_QUERY else self.cached_rank
        return rank(query)

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
