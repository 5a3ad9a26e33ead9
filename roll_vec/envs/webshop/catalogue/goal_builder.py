"""Builder of goals: instructions, price limits and weights by WebShop's rules.

The rules are those of WebShop, commit 64fa2a5.  There the price limits come from a
generator without a seed.
"""

from __future__ import annotations

import itertools
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from roll_vec.envs.webshop.catalogue.files import Listing
from roll_vec.envs.webshop.goals import SHUFFLE_SEED
from roll_vec.envs.webshop.products import Product
from roll_vec.errors import InvalidOptionError

# From WebShop: limits are drawn from this grid.
PRICE_GRID = tuple(10.0 * step for step in range(1, 100))
NO_LIMIT = 1_000_000.0


def build_goals(
    listings: Sequence[Listing],
    products: Sequence[Product],
    human: bool,
    rng: random.Random,
) -> tuple[list[dict[str, Any]], NDArray[np.float64]]:
    """Return entries for `Goals.pack` in the order of the shop, and their weights.

    Parameters
    ----------
    listings : sequence of Listing
    products : sequence of Product
        Of the listings, with their prices.
    human : bool
        True: people's instructions.  False: one goal for each combination of options.
    rng : random.Random
        Draws a limit for each instruction.

    Raises
    ------
    InvalidOptionError
        If there is no goal.
    """
    build = _human_entries if human else _synthetic_entries
    entries = list(build(listings, products, rng))
    if not entries:
        kind = "instruction by a person" if human else "instruction"
        keyword = "human_instructions" if human else "attributes"
        message = (
            f"human_goals: {human} makes no goals, the products have no {kind}; "
            f"{keyword} takes a file of them"
        )
        raise InvalidOptionError(message)
    random.Random(SHUFFLE_SEED).shuffle(entries)
    if human:
        return entries, np.ones(len(entries))
    counts = Counter(name for entry in entries for name in entry["attributes"])
    weights = np.zeros(len(entries))
    for i, entry in enumerate(entries):
        # Not `sum`: it rounds otherwise from Python 3.12 on.
        for name in entry["attributes"]:
            weights[i] += 1.0 / counts[name]
        weights[i] /= len(entry["attributes"])
    return entries, weights


def _draw_limit(price: float, rng: random.Random) -> tuple[float, str]:
    """Return a limit above a price, and the end of the instruction that names it."""
    candidates = [limit for limit in PRICE_GRID if limit > price][:4]
    if len(candidates) < 2:
        return NO_LIMIT, ""
    limit = max(rng.sample(candidates, 2))
    return limit, f", and price lower than {limit:.2f} dollars"


def _human_entries(
    listings: Sequence[Listing], products: Sequence[Product], rng: random.Random
) -> Iterator[dict[str, Any]]:
    for number, listing in enumerate(listings):
        for human in listing.human:
            limit, words = _draw_limit(products[number].price, rng)
            yield {
                "product": number,
                "instruction_text": human.instruction.strip(".") + words,
                "attributes": human.attributes,
                "price_upper": limit,
                "goal_options": human.options,
            }


def _synthetic_entries(
    listings: Sequence[Listing], products: Sequence[Product], rng: random.Random
) -> Iterator[dict[str, Any]]:
    for number, listing in enumerate(listings):
        if listing.instruction is None:
            continue
        limit, words = _draw_limit(products[number].price, rng)
        names = sorted(listing.options)
        for values in itertools.product(*(listing.options[name] for name in names)):
            pairs = list(zip(names, values, strict=True))
            options = ", and ".join(f"{name}: {value}" for name, value in pairs)
            with_options = f" with {options}" if options else ""
            yield {
                "product": number,
                "instruction_text": f"{listing.instruction}{with_options}{words}",
                "attributes": listing.instruction_attributes,
                "price_upper": limit,
                "goal_options": dict(pairs),
            }
