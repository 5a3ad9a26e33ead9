"""A catalogue in one file, which processes share: what is in it, and its options."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from roll_vec.envs.webshop.goals import Goals
from roll_vec.envs.webshop.options import CatalogueOptions
from roll_vec.envs.webshop.products import Products
from roll_vec.envs.webshop.search.lucene_ranking import LuceneIndex
from roll_vec.envs.webshop.stored_file import Values, is_stored, open_shop, write_shop
from roll_vec.errors import InvalidOptionError
from roll_vec.storage.data_files import refuse_unreadable

# Options that a stored catalogue was built with; opening it cannot change them.
_FIXED_OPTIONS = ("human_goals", "catalog_seed")


class CatalogueData(NamedTuple):
    """The contents of a catalogue, as they are built or opened; read only.

    ``title_nouns_source`` is that of `Catalogue`.
    """

    products: Products
    goals: Goals
    search_index: LuceneIndex
    title_nouns_source: str


def save(data: CatalogueData, options: CatalogueOptions, path: Path) -> None:
    """Store a catalogue; a stored one is replaced when the new one is complete.

    Raises
    ------
    InvalidOptionError
        If something else is at the path, or it cannot be written.
    """
    if path.exists() and not is_stored(path):
        message = (
            f"path: {path} is there and is no stored shop; expected a new path, or "
            "that of a stored shop, which is replaced"
        )
        raise InvalidOptionError(message)
    fields: dict[str, Any] = {name: getattr(options, name) for name in _FIXED_OPTIONS}
    fields["title_nouns"] = data.title_nouns_source
    products, goals = data.products, data.goals
    arrays: dict[str, Values] = {
        "products": products.block,
        "product_ends": products.ends,
        "asins": products.column,
        "goals": goals.block,
        "goal_ends": goals.ends,
        "goal_weights": goals.column,
        **data.search_index.pack(),
    }
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_shop(path, fields, arrays)
    except OSError as error:
        message = f"path: {path} cannot be written: {error}"
        raise InvalidOptionError(message) from error


def open_stored(options: CatalogueOptions) -> CatalogueData:
    """Return the catalogue that is stored in the file ``options.products``.

    Raises
    ------
    InvalidOptionError
        If the file is damaged, or was stored with other options.
    """
    path = str(options.products)
    fields, arrays = open_shop(path)
    try:
        for name in _FIXED_OPTIONS:
            value, stored_value = getattr(options, name), fields[name]
            if value != stored_value:
                message = (
                    f"{name}: {path} was stored with {stored_value!r}, got {value!r}; "
                    f"give {name}={stored_value!r}"
                )
                raise InvalidOptionError(message)
        return CatalogueData(
            Products(arrays["products"].data, arrays["product_ends"], arrays["asins"]),
            Goals(arrays["goals"].data, arrays["goal_ends"], arrays["goal_weights"]),
            LuceneIndex.unpack(arrays),
            fields["title_nouns"],
        )
    except (LookupError, TypeError, UnicodeDecodeError) as error:
        refuse_unreadable("products", path, repr(error))
