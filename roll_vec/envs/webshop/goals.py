"""Goals: one goal, all goals of a catalogue, the goals that an environment plays."""

from __future__ import annotations

import functools
import hashlib
import operator
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from roll_vec.envs.webshop.products import Product
from roll_vec.envs.webshop.records import Records
from roll_vec.errors import InvalidOptionError

# From WebShop, commit 64fa2a5.
SHUFFLE_SEED = 233
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


class Goals(Sequence[Goal]):
    """The goals of a catalogue, in WebShop's order.

    Parameters
    ----------
    records : Records of Goal
    weights : (n,) float64
        See `Goal`.
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
        """Return the goals of `roll_vec.envs.webshop.catalogue.goal_builder`."""
        decode = functools.partial(_decode_goal, products, weights)
        return cls(Records.pack(entries, decode), weights)

    @classmethod
    def open(
        cls, directory: Path, products: Sequence[Product], memory_map: bool
    ) -> Goals:
        """Return the goals that `save` stored in a folder."""
        mode: Any = "r" if memory_map else None
        weights = np.load(directory / "goal_weights.npy", mmap_mode=mode)
        decode = functools.partial(_decode_goal, products, weights)
        return cls(Records.open(directory / "goals.jsonl", decode, memory_map), weights)

    def save(self, directory: Path) -> None:
        """Store the goals in a folder."""
        self._records.save(directory / "goals.jsonl")
        np.save(directory / "goal_weights.npy", self.weights)

    @property
    def max_length(self) -> int:
        """An upper bound of the characters in the strings of any goal."""
        return self._records.max_length

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
        self._cumulative = np.concatenate([np.zeros(1), np.cumsum(weights)])

    def __len__(self) -> int:
        return len(self._numbers)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return self._numbers[index].tolist()
        return int(self._numbers[index])

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
            return int(self[random.Random(level).randint(0, len(self) - 1)])
        if isinstance(session, str):
            digest = hashlib.sha256(session.encode("utf-8", "surrogatepass")).digest()
            return int(
                self[self.draw_position(random.Random(int.from_bytes(digest, "big")))]
            )
        try:
            position = -1 if isinstance(session, bool) else operator.index(session)
        except TypeError:
            position = -1
        if not 0 <= position < len(self):
            integer = f"an integer from 0 to {len(self) - 1}, the position of a goal"
            raise InvalidOptionError.expected(
                "session", f"{integer}, or a str or None", session
            )
        return int(self[position])


def _decode_goal(
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
