"""Goals: one goal, all goals of a catalogue, the goals that an environment plays.

The instructions, price limits and weights of new goals follow WebShop's rules (commit
64fa2a5).  There the price limits come from a generator without a seed.
"""

from __future__ import annotations

import functools
import hashlib
import itertools
import operator
import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from roll_vec.envs.webshop.files import Listing
from roll_vec.envs.webshop.products import Product, Products, Records
from roll_vec.errors import InvalidOptionError

# From WebShop, commit 64fa2a5.
SHUFFLE_SEED = 233
# Limits are drawn from this grid.
PRICE_GRID = tuple(10.0 * step for step in range(1, 100))
NO_LIMIT = 1_000_000.0
# Goals by their position, as WebShop's baselines and RAGEN divide them.
SPLITS = {
    "all": slice(None),
    "test": slice(0, 500),
    "eval": slice(500, 1500),
    "train": slice(1500, None),
}


@dataclass(frozen=True, eq=False, kw_only=True)
class Goal:
    """A shopping task: an instruction and the purchase that it asks for; read only.

    Parameters
    ----------
    asin, category, query, name, product_category
        Of the product that the goal was made from; ``name`` is the title.
    instruction_text : str
    attributes : tuple of str
        At least one.
    price_upper : float
        Highest price, in dollars; 1,000,000 without a limit.
    goal_options : mapping from str to str, or tuple of str
        Synthetic goals: values by group.  People's goals: texts.
    weight : float
        Relative frequency among the draws for named sessions.
    """

    asin: str
    category: str
    query: str
    name: str
    product_category: str
    instruction_text: str
    attributes: tuple[str, ...]
    price_upper: float
    goal_options: Mapping[str, str] | tuple[str, ...]
    weight: float


GoalFilter = Callable[[int, Goal], bool]


class Goals(Records[Goal]):
    """The goals of a catalogue, in WebShop's order.

    Attributes
    ----------
    products : Products
        Set by the owner of both.
    """

    products: Products

    @property
    def weights(self) -> NDArray[np.float64]:
        """Frequency of each goal among the draws for named sessions; see `Goal`."""
        return self.column

    def _decode(self, number: int, entry: dict[str, Any]) -> Goal:
        product = self.products[entry.pop("product")]
        entry["attributes"] = tuple(entry["attributes"])
        if isinstance(entry["goal_options"], list):
            entry["goal_options"] = tuple(entry["goal_options"])
        return Goal(
            asin=product.asin,
            category=product.category,
            query=product.query,
            name=product.title,
            product_category=product.product_category,
            weight=float(self.weights[number]),
            **entry,
        )

    @cached_property
    def select(self) -> Callable[..., GoalSelection]:
        """`_select` with a cache: environments share their selections."""
        return functools.lru_cache(maxsize=32)(self._select)

    def _select(
        self,
        filter_goals: GoalFilter | None = None,
        limit_goals: int | None = None,
        split: str = "all",
    ) -> GoalSelection:
        """Return the goals that remain after a filter, a limit and a split.

        Parameters
        ----------
        filter_goals : function of (int, Goal), or None
            Returns whether a goal remains.
        limit_goals : int or None
            Number of distinct goals that are then drawn by weight.
        split : str
            A key of `SPLITS`.

        Raises
        ------
        InvalidOptionError
            If no goal remains.
        """
        numbers = np.arange(len(self))
        if filter_goals is not None:
            mask = [bool(filter_goals(i, goal)) for i, goal in enumerate(self)]
            numbers = numbers[mask]
            if not len(numbers):
                message = f"filter_goals: none of the {len(self)} goals is left"
                raise InvalidOptionError(message)
        if limit_goals is not None and limit_goals < len(numbers):
            numbers = numbers[self._draw_positions(numbers, limit_goals)]
        selection = numbers[SPLITS[split]]
        if not len(selection):
            message = (
                f"split: {split!r} begins at goal {SPLITS[split].start}, but there are "
                f"{len(numbers)} goals"
            )
            raise InvalidOptionError(message)
        return GoalSelection(selection, self.weights[selection])

    def _draw_positions(self, numbers: NDArray[np.int64], count: int) -> list[int]:
        """Return distinct positions among some goals, drawn as WebShop draws them."""
        rng = random.Random(SHUFFLE_SEED)
        # WebShop draws from the generator that has shuffled the goals before.
        rng.shuffle(list(range(len(self))))
        selection = GoalSelection(numbers, self.weights[numbers])
        positions: dict[int, None] = {}
        while len(positions) < count:
            positions[selection.draw_position(rng)] = None
        return list(positions)


class GoalSelection:
    """Numbers of the goals that an environment plays.

    Parameters
    ----------
    numbers : (n,) int64
    weights : (n,) float64
    """

    def __init__(
        self, numbers: NDArray[np.int64], weights: NDArray[np.float64]
    ) -> None:
        self.numbers = numbers
        self._cumulative = np.concatenate([np.zeros(1), np.cumsum(weights)])

    def __len__(self) -> int:
        return len(self.numbers)

    def draw_position(self, rng: random.Random) -> int:
        """Return a position in the selection, drawn by weight.

        The search is off by one, as in WebShop: the first goal is never drawn, every
        other goal has the weight of its predecessor, the last one its own weight too.
        """
        value = rng.uniform(0, float(self._cumulative[-1]))
        position = int(np.searchsorted(self._cumulative, value, side="right"))
        return min(position, len(self) - 1)

    def goal_of(self, session: Any, level: int) -> int:
        """Return the number of the goal of an episode.

        Parameters
        ----------
        session : int, str or None
            An int is a position in the selection.  A str draws a goal by weight, from
            a generator that is seeded with the str.  None: the level decides, as ROLL
            draws its goals.
        level : int

        Raises
        ------
        InvalidOptionError
            If the session is none of these.
        """
        if session is None:
            return int(self.numbers[random.Random(level).randint(0, len(self) - 1)])
        if isinstance(session, str):
            digest = hashlib.sha256(session.encode("utf-8", "surrogatepass")).digest()
            rng = random.Random(int.from_bytes(digest, "big"))
            return int(self.numbers[self.draw_position(rng)])
        try:
            position = -1 if isinstance(session, bool) else operator.index(session)
        except TypeError:
            position = -1
        if not 0 <= position < len(self):
            integer = f"an integer from 0 to {len(self) - 1}, the position of a goal"
            raise InvalidOptionError.expected(
                "session", f"{integer}, or a str or None", session
            )
        return int(self.numbers[position])


def build_goals(
    listings: Sequence[Listing],
    products: Sequence[Product],
    human: bool,
    rng: random.Random,
) -> tuple[list[dict[str, Any]], NDArray[np.float64]]:
    """Return entries for `Goals.pack` in a random order, WebShop's, and their weights.

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
    entries = []
    for number, listing in enumerate(listings):
        for attributes, texts in _instructions(listing, human):
            limit, words = _draw_limit(products[number].price, rng)
            entries += [
                {
                    "product": number,
                    "instruction_text": text + words,
                    "attributes": attributes,
                    "price_upper": limit,
                    "goal_options": options,
                }
                for text, options in texts
            ]
    if not entries:
        kind = "instruction by a person" if human else "instruction"
        keyword = "human_instructions" if human else "attributes"
        message = (
            f"human_goals: {human} makes no goals, the products have no {kind}; "
            f"{keyword} reads a file of them"
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


def _instructions(
    listing: Listing, human: bool
) -> Iterator[tuple[tuple[str, ...], Iterator[tuple[str, Any]]]]:
    """Yield instructions: the attributes, and texts with their options."""
    if human:
        for one in listing.human:
            yield one.attributes, iter([(one.instruction.strip("."), one.options)])
    elif listing.instruction is not None:
        yield listing.instruction_attributes, _combinations(listing)


def _combinations(listing: Listing) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield a text for each combination of options."""
    groups = listing.fields["options"]
    names = sorted(groups)
    for values in itertools.product(*(groups[name] for name in names)):
        pairs = list(zip(names, values, strict=True))
        options = ", and ".join(f"{name}: {value}" for name, value in pairs)
        with_options = f" with {options}" if options else ""
        yield f"{listing.instruction}{with_options}", dict(pairs)
