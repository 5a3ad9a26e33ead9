"""Builder of a catalogue: from WebShop's files, or from the demo shop."""

from __future__ import annotations

import functools
import random
from collections.abc import Callable
from typing import Any

from roll_vec.envs.webshop.catalogue.data import CatalogueData
from roll_vec.envs.webshop.catalogue.files import (
    Listing,
    Shop,
    read_json,
    read_listings,
)
from roll_vec.envs.webshop.catalogue.goal_builder import build_goals
from roll_vec.envs.webshop.catalogue.options import CatalogueOptions
from roll_vec.envs.webshop.catalogue.title_nouns import Nouns, load_title_nouns
from roll_vec.envs.webshop.goals import Goals
from roll_vec.envs.webshop.products import Product, Products
from roll_vec.envs.webshop.search.backends import backend_class
from roll_vec.envs.webshop.search.search_bar import document_of

# Products of the demo shop if the keywords give no number.
DEMO_PRODUCTS = 1000

Progress = Callable[[str, int, int], None]
"""Called with the name of a task, the amount that is done and the total amount."""


def build(options: CatalogueOptions, progress: Progress | None = None) -> CatalogueData:
    """Return the contents of a new catalogue.

    One generator, ``random.Random(catalog_seed)``, draws the prices of ranges and then
    the limits of goals, both in the order of the products.  WebShop has the same order,
    but its generator has no seed.

    Raises
    ------
    InvalidOptionError, MissingExtraError
    """
    report = progress or (lambda *_: None)
    if options.products is None:
        count = options.num_products or DEMO_PRODUCTS
        shop, nouns = _demo_shop(count, report)
        source = "embedded"
        listings = read_listings(shop)
    else:
        shop = _read_shop(options, report)
        listings = read_listings(shop, options.num_products)
        nouns, source = load_title_nouns(
            {listing.asin: listing.title for listing in listings},
            options.title_nouns,
            functools.partial(_report_count, report, "title nouns", len(listings)),
        )
    rng = random.Random(options.catalog_seed)
    records = [make_product(listing, nouns[listing.asin], rng) for listing in listings]
    products = Products.pack(records)
    report("goals", 0, len(records))
    entries, weights = build_goals(listings, records, options.human_goals, rng)
    goals = Goals.pack(entries, weights, products)
    report("goals", len(records), len(records))
    index = backend_class(options.search_backend).build(
        map(document_of, records),
        [product.asin for product in records],
        functools.partial(_report_count, report, "search index", len(records)),
    )
    num_skipped = len(shop.items[: options.num_products]) - len(listings)
    return CatalogueData(products, goals, index, source, num_skipped)


def _report_count(report: Progress, task: str, total: int, count: int) -> None:
    report(task, count, total)


def _demo_shop(count: int, report: Progress) -> tuple[Shop, Nouns]:
    """Return the demo shop in the form of WebShop's files."""
    from roll_vec.envs.webshop.demo_shop.products import generate_product

    items: list[dict[str, Any]] = []
    attributes: dict[str, Any] = {}
    human: dict[str, Any] = {}
    nouns = {}
    for number in range(count):
        product = generate_product(number)
        asin = product.item["asin"]
        items.append(product.item)
        attributes[asin], human[asin] = product.attributes, product.human
        nouns[asin] = tuple(product.title_nouns)
        if number % 1000 == 999:
            report("products", number + 1, count)
    return Shop(items, attributes, human), nouns


def _read_shop(options: CatalogueOptions, report: Progress) -> Shop:
    names = ("products", "attributes", "human_instructions")
    paths = [getattr(options, name) for name in names]
    contents: list[Any] = []
    for name, path in zip(names, paths, strict=True):
        report("files", len(contents), len(names))
        contents.append({} if path is None else read_json(name, path))
    report("files", len(names), len(names))
    items, attributes, human = contents
    return Shop(items, attributes, human, *(path or "(none)" for path in paths))


def make_product(
    listing: Listing, nouns: tuple[str, ...], rng: random.Random
) -> Product:
    """Return the product of a listing; draws its price if the listing has a range."""
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
