"""Contents of a catalogue, as they are built from files or opened from a folder."""

from __future__ import annotations

from typing import NamedTuple

from roll_vec.envs.webshop.goals import Goals
from roll_vec.envs.webshop.products import Products
from roll_vec.envs.webshop.search.backends import SearchBackend


class CatalogueData(NamedTuple):
    """The contents of a catalogue; read only.

    ``title_nouns_source`` is that of `Catalogue`; ``num_skipped`` counts items of the
    file that are no products by WebShop's rule.
    """

    products: Products
    goals: Goals
    search_index: SearchBackend
    title_nouns_source: str
    num_skipped: int = 0
