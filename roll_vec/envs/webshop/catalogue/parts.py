"""What a catalogue consists of, made from files or opened from a folder."""

from __future__ import annotations

from typing import NamedTuple

from roll_vec.envs.webshop.catalogue.products import Products
from roll_vec.envs.webshop.goals import Goals
from roll_vec.envs.webshop.search.backends import SearchBackend

__all__ = ["Parts"]


class Parts(NamedTuple):
    """The parts of a catalogue, not to be written.

    ``title_nouns_source`` is that of `Catalogue`, ``num_skipped`` the number of items
    of the file that are no product by WebShop's rule.
    """

    products: Products
    goals: Goals
    search_index: SearchBackend
    title_nouns_source: str
    num_skipped: int = 0
