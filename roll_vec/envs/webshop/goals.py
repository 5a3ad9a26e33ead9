"""What shoppers want: how goals are made, and which of them are played."""

from __future__ import annotations

import functools
import itertools
import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from roll_vec.envs.webshop.catalogue.files import Listing
from roll_vec.envs.webshop.catalogue.products import Goal, Product
from roll_vec.envs.webshop.catalogue.records import Records
from roll_vec.errors import InvalidOptionError

__all__ = ["SPLITS", "GoalFilter", "GoalSelection", "Goals", "make_goals"]

GoalFilter = Callable[[int, Goal], bool]

# Numbers from WebShop, commit 64fa2a5.
PRICE_GRID = tuple(10.0 * step for step in range(1, 100))
NO_LIMIT = 1_000_000.0
_SHUFFLE_SEED = 233
# Goals by their place in the list, as WebShop's baselines and RAGEN divide them.
SPLITS = {
    "all": slice(None),
    "test": slice(0, 500),
    "eval": slice(500, 1500),
    "train": slice(1500, None),
}


def make_goals(
    listings: Sequence[Listing],
    products: Sequence[Product],
    human: bool,
    rng: random.Random,
) -> tuple[list[dict[str, Any]], NDArray[np.float64]]:
    """Return the goals of a shop in their order, as entries of `Goals`, and weights.

    The rules are WebShop's (commit 64fa2a5), where the limits of prices come from a
    generator that nobody seeded.

    Parameters
    ----------
    listings : sequence of Listing
    products : sequence of Product
        Of the listings, with their prices.
    human : bool
        Whether people's instructions are the goals, or one for each choice of options.
    rng : random.Random
        Draws a limit for each instruction.

    Raises
    ------
    InvalidOptionError
        If there is no goal.
    """
    made = (_human if human else _synthetic)(listings, products, rng)
    entries = list(made)
    if not entries:
        kind = "instruction by a person" if human else "instruction"
        message = (
            f"human_goals: {human} makes no goals, the products have no {kind}; "
            + ("human_instructions" if human else "attributes")
            + " takes a file of them"
        )
        raise InvalidOptionError(message)
    random.Random(_SHUFFLE_SEED).shuffle(entries)
    if human:
        return entries, np.ones(len(entries))
    counts = Counter(name for entry in entries for name in entry["attributes"])
    weights = np.zeros(len(entries))
    for i, entry in enumerate(entries):
        # One after the other: from Python 3.12 on `sum` rounds otherwise.
        for name in entry["attributes"]:
            weights[i] += 1.0 / counts[name]
        weights[i] /= len(entry["attributes"])
    return entries, weights


def _draw_limit(price: float, rng: random.Random) -> tuple[float, str]:
    """Return the most that may be paid for a product and the words that say so."""
    above = [limit for limit in PRICE_GRID if limit > price][:4]
    if len(above) < 2:
        return NO_LIMIT, ""
    limit = max(rng.sample(above, 2))
    return limit, f", and price lower than {limit:.2f} dollars"


def _human(
    listings: Sequence[Listing], products: Sequence[Product], rng: random.Random
) -> Iterator[dict[str, Any]]:
    for number, listing in enumerate(listings):
        for asked in listing.human:
            limit, words = _draw_limit(products[number].price, rng)
            yield {
                "product": number,
                "instruction_text": asked.instruction.strip(".") + words,
                "attributes": asked.attributes,
                "price_upper": limit,
                "goal_options": asked.options,
            }


def _synthetic(
    listings: Sequence[Listing], products: Sequence[Product], rng: random.Random
) -> Iterator[dict[str, Any]]:
    for number, listing in enumerate(listings):
        if listing.instruction is None:
            continue
        limit, words = _draw_limit(products[number].price, rng)
        names = sorted(listing.options)
        for values in itertools.product(*(listing.options[name] for name in names)):
            chosen = dict(zip(names, values, strict=True))
            options = ", and ".join(f"{name}: {chosen[name]}" for name in names)
            with_options = f" with {options}" if options else ""
            yield {
                "product": number,
                "instruction_text": f"{listing.instruction}{with_options}{words}",
                "attributes": listing.instruction_attributes,
                "price_upper": limit,
                "goal_options": chosen,
            }


class Goals(Sequence[Goal]):
    """The goals of a catalogue, in WebShop's order.

    Parameters
    ----------
    records : Records of Goal
    weights : (n,) float64
        By which goals are drawn for named sessions.
    """

    def __init__(self, records: Records[Goal], weights: NDArray[np.float64]) -> None:
        self._records, self.weights = records, weights
        weights.flags.writeable = False
        self.select = functools.lru_cache(maxsize=32)(self._select)

    @classmethod
    def pack(
        cls,
        entries: Sequence[dict[str, Any]],
        weights: NDArray[np.float64],
        products: Sequence[Product],
    ) -> Goals:
        """Return the goals that `make_goals` made."""
        decode = functools.partial(_decode, products, weights)
        return cls(Records.pack(entries, decode), weights)

    @classmethod
    def open(
        cls, directory: Path, products: Sequence[Product], memory_map: bool
    ) -> Goals:
        """Return the goals that `save` stored in a folder."""
        mode: Any = "r" if memory_map else None
        weights = np.load(directory / "goal_weights.npy", mmap_mode=mode)
        decode = functools.partial(_decode, products, weights)
        return cls(Records.open(directory / "goals.jsonl", decode, memory_map), weights)

    def save(self, directory: Path) -> None:
        """Store the goals in a folder."""
        self._records.save(directory / "goals.jsonl")
        np.save(directory / "goal_weights.npy", self.weights)

    @property
    def longest(self) -> int:
        """An upper bound of the characters in the strings of any goal."""
        return self._records.longest

    def __len__(self) -> int:
        return len(self._records)

    def __getitem__(self, index: Any) -> Any:
        return self._records[index]

    def _select(
        self,
        filter_goals: GoalFilter | None = None,
        limit_goals: int | None = None,
        split: str = "all",
    ) -> GoalSelection:
        """Return the goals that are left of a filter, a limit and a split.

        Parameters
        ----------
        filter_goals : function of (int, Goal), or None
            Tells whether a goal stays.
        limit_goals : int or None
            How many distinct ones are then drawn by their weights.
        split : str
            Of these: ``test`` the first 500, ``eval`` the next 1000, ``train`` the
            rest, ``all``.

        Raises
        ------
        InvalidOptionError
            If none is left.
        """
        numbers = np.arange(len(self))
        if filter_goals is not None:
            kept = [bool(filter_goals(i, goal)) for i, goal in enumerate(self)]
            numbers = numbers[kept]
            if not len(numbers):
                message = f"filter_goals: none of the {len(self)} goals is left"
                raise InvalidOptionError(message)
        if limit_goals is not None and limit_goals < len(numbers):
            numbers = numbers[self._draw(numbers, limit_goals)]
        found = numbers[SPLITS[split]]
        if not len(found):
            message = (
                f"split: {split!r} begins at goal {SPLITS[split].start}, but there are "
                f"{len(numbers)} goals"
            )
            raise InvalidOptionError(message)
        return GoalSelection(found, self.weights[found])

    def _draw(self, numbers: NDArray[np.int64], count: int) -> list[int]:
        """Return distinct places among some goals, drawn as WebShop draws them."""
        rng = random.Random(_SHUFFLE_SEED)
        # WebShop goes on with the generator that has shuffled the goals.
        rng.shuffle(list(range(len(self))))
        selection = GoalSelection(numbers, self.weights[numbers])
        drawn: dict[int, None] = {}
        while len(drawn) < count:
            drawn[selection.draw_place(rng)] = None
        return list(drawn)


class GoalSelection(Sequence[int]):
    """Numbers of the goals that an environment plays.

    Parameters
    ----------
    numbers : (n,) int64
    weights : (n,) float64
    """

    def __init__(
        self, numbers: NDArray[np.int64], weights: NDArray[np.float64]
    ) -> None:
        self._numbers = numbers
        self._cumulated = np.concatenate([np.zeros(1), np.cumsum(weights)])

    def __len__(self) -> int:
        return len(self._numbers)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return self._numbers[index].tolist()
        return int(self._numbers[index])

    def draw_place(self, rng: random.Random) -> int:
        """Return a place in the selection, drawn by weight.

        As in WebShop the search is one place off: the first goal is never drawn, the
        others have the weight of the one before them, and the last one its own
        besides.
        """
        position = rng.uniform(0, float(self._cumulated[-1]))
        place = int(np.searchsorted(self._cumulated, position, side="right"))
        return min(place, len(self) - 1)

    def draw(self, rng: random.Random) -> int:
        """Return the number of a goal, drawn by weight; see `draw_place`."""
        return int(self._numbers[self.draw_place(rng)])


def _decode(
    products: Sequence[Product],
    weights: NDArray[np.float64],
    number: int,
    entry: Mapping[str, Any],
) -> Goal:
    product = products[entry["product"]]
    options = entry["goal_options"]
    return Goal(
        asin=product.asin,
        category=product.category,
        query=product.query,
        name=product.title,
        product_category=product.product_category,
        instruction_text=entry["instruction_text"],
        attributes=tuple(entry["attributes"]),
        price_upper=entry["price_upper"],
        goal_options=options if isinstance(options, dict) else tuple(options),
        weight=float(weights[number]),
    )
