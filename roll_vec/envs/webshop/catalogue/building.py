"""How a catalogue is made from a shop's files, or from the embedded shop."""

from __future__ import annotations

import functools
import random
from collections.abc import Callable
from typing import Any

from roll_vec.envs.webshop.catalogue.files import (
    Listing,
    Shop,
    read_json,
    read_listings,
)
from roll_vec.envs.webshop.catalogue.parts import Parts
from roll_vec.envs.webshop.catalogue.products import Product, Products
from roll_vec.envs.webshop.catalogue.sources import EMBEDDED_PRODUCTS, CatalogueOptions
from roll_vec.envs.webshop.catalogue.title_nouns import load_title_nouns
from roll_vec.envs.webshop.goals import Goals, make_goals
from roll_vec.envs.webshop.search.backends import backend_class, document_of

__all__ = ["Progress", "build"]

Progress = Callable[[str, int, int], None]
"""From what is being done, how much of it is done and how much there is."""

Nouns = dict[str, tuple[str, ...]]


def build(options: CatalogueOptions, progress: Progress | None = None) -> Parts:
    """Return the parts of a new catalogue.

    Prices of ranges and then the limits of goals are drawn from one generator,
    ``random.Random(catalog_seed)``, in the order of the products: WebShop draws them
    likewise, from a generator that nobody has seeded.

    Raises
    ------
    InvalidOptionError, MissingExtraError
    """
    say = progress or _say_nothing
    if options.products is None:
        count = options.num_products or EMBEDDED_PRODUCTS
        shop, nouns = _embedded(count, say)
        source = "embedded"
        listings = read_listings(shop)
    else:
        shop = _read(options, say)
        listings = read_listings(shop, options.num_products)
        nouns, source = load_title_nouns(
            {listing.asin: listing.title for listing in listings},
            options.title_nouns,
            functools.partial(_say_done, say, "title nouns", len(listings)),
        )
    rng = random.Random(options.catalog_seed)
    sold = [_product(listing, nouns[listing.asin], rng) for listing in listings]
    products = Products.pack(sold)
    say("goals", 0, len(sold))
    entries, weights = make_goals(listings, sold, options.human_goals, rng)
    goals = Goals.pack(entries, weights, products)
    say("goals", len(sold), len(sold))
    index = backend_class(options.search_backend).build(
        map(document_of, sold),
        [product.asin for product in sold],
        functools.partial(_say_done, say, "search index", len(sold)),
    )
    num_skipped = len(shop.items[: options.num_products]) - len(listings)
    return Parts(products, goals, index, source, num_skipped)


def _say_nothing(what: str, done: int, total: int) -> None:
    """Show no progress."""


def _say_done(say: Progress, what: str, total: int, done: int) -> None:
    say(what, done, total)


def _embedded(count: int, say: Progress) -> tuple[Shop, Nouns]:
    """Return a shop of our own making, in the form of WebShop's files."""
    from roll_vec.envs.webshop.demo_shop.products import generate_product

    items: list[dict[str, Any]] = []
    attributes: dict[str, Any] = {}
    human: dict[str, Any] = {}
    nouns = {}
    for number in range(count):
        made = generate_product(number)
        asin = made.item["asin"]
        items.append(made.item)
        attributes[asin], human[asin] = made.attributes, made.human
        nouns[asin] = tuple(made.title_nouns)
        if number % 1000 == 999:
            say("products", number + 1, count)
    return Shop(items, attributes, human), nouns


def _read(options: CatalogueOptions, say: Progress) -> Shop:
    names = ("products", "attributes", "human_instructions")
    paths = [getattr(options, name) for name in names]
    contents: list[Any] = []
    for name, path in zip(names, paths, strict=True):
        say("files", len(contents), len(names))
        contents.append({} if path is None else read_json(name, path))
    say("files", len(names), len(names))
    items, attributes, human = contents
    return Shop(items, attributes, human, *(path or "(none)" for path in paths))


def _product(listing: Listing, nouns: tuple[str, ...], rng: random.Random) -> Product:
    """Return a product with its price; of a range it is drawn."""
    low, *high = listing.pricing
    return Product(
        asin=listing.asin,
        title=listing.title,
        description=listing.description,
        bullets=listing.bullets,
        price_tag=listing.price_tag,
        price=rng.uniform(low, high[0]) if high else low,
        options=listing.options,
        attributes=listing.attributes,
        category=listing.category,
        product_category=listing.product_category,
        query=listing.query,
        title_nouns=nouns,
    )
