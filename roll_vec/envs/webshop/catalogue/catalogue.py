"""The catalogue: everything about a shop that its environments share."""

from __future__ import annotations

import dataclasses
import functools
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from roll_vec.data_files import refuse_change
from roll_vec.envs.webshop.catalogue.building import Progress, build
from roll_vec.envs.webshop.catalogue.parts import Parts
from roll_vec.envs.webshop.catalogue.products import Goal, Product, Purchase
from roll_vec.envs.webshop.catalogue.sources import DATA_FILES, CatalogueOptions
from roll_vec.envs.webshop.catalogue.storage import open_stored, save
from roll_vec.envs.webshop.goals import SPLITS
from roll_vec.envs.webshop.reward import RewardTerms, score
from roll_vec.envs.webshop.solver import Solution, solve
from roll_vec.errors import InvalidOptionError, shorten
from roll_vec.options import parse_options, takes_keywords_of
from roll_vec.process_cache import ProcessCache

__all__ = ["Catalogue", "load_catalogue"]

# How many hits a search shows, from WebShop, commit 64fa2a5.
NUM_HITS = 50
# A model may write kilobytes; only queries of a shopper's length are kept.
_KEPT_QUERY = 512
# What a search can ask of a product's fields.
FIELDS = ("category", "query", "attributes")


class Catalogue:
    """Products, goals, search and rewards of one shop; nothing in it changes.

    It is made by `load`; all environments of a process with equal keywords share one.

    Attributes
    ----------
    products : sequence of Product
    goals : sequence of Goal
    options : CatalogueOptions
        That it was loaded by.
    title_nouns_source : str
        Who says which words of a title are nouns, on which rewards depend: ``file``,
        ``embedded``, ``rule`` or ``spacy:`` with model and version.
    """

    def __init__(
        self,
        options: CatalogueOptions,
        parts: Parts,
        digests: tuple[str | None, ...] = (),
    ) -> None:
        self.options, self._parts, self._digests = options, parts, digests
        self.products, self.goals = parts.products, parts.goals
        self.title_nouns_source = parts.title_nouns_source
        self._kept_hits = functools.lru_cache(maxsize=8192)(self._find)
        self._kept_solutions = functools.lru_cache(maxsize=8192)(self._solve)

    @classmethod
    @takes_keywords_of(CatalogueOptions)
    def load(cls, *, progress: Progress | None = None, **keywords: Any) -> Catalogue:
        """Return the catalogue for some keywords, the same one for equal keywords.

        Parameters
        ----------
        progress : function or None
            Called with what is being done, how much is done and how much there is.
        **keywords
            Those of `CatalogueOptions`.

        Raises
        ------
        UnknownOptionError, InvalidOptionError
        MissingExtraError
            If the extra ``webshop`` is not installed.
        """
        return load_catalogue(parse_options(CatalogueOptions, keywords), progress)

    def save(self, directory: str | Path) -> None:
        """Store the catalogue in a folder, for ``products=`` of `load`.

        A stored catalogue that is there is replaced as a whole.

        Raises
        ------
        InvalidOptionError
            If there is something else, or it cannot be written.
        """
        save(self._parts, self.options, Path(directory))

    def search(self, query: str, k: int = NUM_HITS) -> list[tuple[str, float]]:
        """Return the best products for a query, (asin, score), best first.

        Products that share no word with it are not among them; equal scores are in
        the order of the asins.
        """
        numbers, scores = self._parts.search_index.search(query, k)
        asins = [str(self.products.asins[number]) for number in numbers]
        return list(zip(asins, scores.tolist(), strict=True))

    def hits(self, query: str) -> tuple[int, ...]:
        """Return the numbers of the products that a search shows, best first."""
        if len(query) > _KEPT_QUERY:
            return self._find(query)
        return self._kept_hits(query)

    def _find(self, query: str) -> tuple[int, ...]:
        return tuple(self._parts.search_index.search(query, NUM_HITS)[0].tolist())

    def having(self, field: str, value: str) -> tuple[int, ...]:
        """Return the numbers of the products that have a value, in their order.

        Parameters
        ----------
        field : {"category", "query", "attributes"}
        value : str
        """
        return self._by_value[field].get(value, ())

    @functools.cached_property
    def _by_value(self) -> dict[str, dict[str, tuple[int, ...]]]:
        found: dict[str, dict[str, list[int]]] = {
            field: defaultdict(list) for field in FIELDS
        }
        for number, product in enumerate(self.products):
            found["category"][product.category].append(number)
            found["query"][product.query].append(number)
            for attribute in dict.fromkeys(product.attributes):
                found["attributes"][attribute].append(number)
        return {
            field: {value: tuple(numbers) for value, numbers in values.items()}
            for field, values in found.items()
        }

    def nouns_of(self, goal: Goal) -> tuple[str, ...]:
        """Return the nouns in the title of a goal's product."""
        product: Product = self.products[self.products.number_of(goal.asin)]
        return product.title_nouns

    def reward(
        self,
        goal: int | Goal,
        purchase: Purchase | tuple[str, Any],
    ) -> RewardTerms:
        """Return what a purchase earns for a goal, with its terms.

        Parameters
        ----------
        goal : int or Goal
            The goal or its number.
        purchase : Purchase
            Or a tuple of asin and chosen values by group.

        Raises
        ------
        InvalidOptionError
            If there is no such goal, product, group or value.
        """
        wanted = self._goal(goal)
        asin, chosen = purchase
        try:
            product = self.products[self.products.number_of(asin)]
        except (KeyError, TypeError):
            message = f"purchase: there is no product {shorten(asin)}"
            raise InvalidOptionError(message) from None
        for name, value in chosen.items():
            if value not in product.options.get(name, ()):
                message = (
                    f"purchase: {asin} has no {shorten(name)} {shorten(value)}; "
                    f"it has {shorten(dict(product.options))}"
                )
                raise InvalidOptionError(message)
        return score(wanted, self.nouns_of(wanted), product, chosen)

    def solve(self, goal: int | Goal) -> Solution:
        """Return the purchase that earns most for a goal, and how to find it."""
        return (
            self._solve(goal) if isinstance(goal, Goal) else self._kept_solutions(goal)
        )

    def _solve(self, goal: int | Goal) -> Solution:
        return solve(self, self._goal(goal))

    def _goal(self, goal: int | Goal) -> Goal:
        if isinstance(goal, Goal):
            return goal
        if not 0 <= goal < len(self.goals):
            message = f"goal: expected a number below {len(self.goals)}, got {goal}"
            raise InvalidOptionError(message)
        found: Goal = self.goals[goal]
        return found

    def describe(self) -> dict[str, Any]:
        """Return what is in the catalogue, by name; see the notes for the names.

        Notes
        -----
        ``products``, ``skipped_items``, ``goals``, ``human_goals``, ``splits``
        (number of goals), ``categories`` (number of products), ``with_options``,
        ``price`` (least, median, greatest), ``title_nouns``, ``search_backend``,
        ``catalog_seed`` and the files that it was made from.
        """
        prices = np.array([product.price for product in self.products])
        categories = Counter(product.category for product in self.products)
        n = len(self.goals)
        files = dataclasses.asdict(self.options)
        return {
            "products": len(self.products),
            "skipped_items": self._parts.num_skipped,
            "categories": dict(categories.most_common()),
            "with_options": sum(bool(product.options) for product in self.products),
            "price": tuple(float(value) for value in np.quantile(prices, (0, 0.5, 1))),
            "goals": n,
            "human_goals": self.options.human_goals,
            "splits": {name: len(range(n)[part]) for name, part in SPLITS.items()},
            "title_nouns": self.title_nouns_source,
            "search_backend": self.options.search_backend,
            "catalog_seed": self.options.catalog_seed,
            "files": {
                name: files[name]
                for name in ("products", "attributes", "human_instructions")
                if files[name] is not None
            },
        }

    def __reduce__(self) -> tuple[Any, ...]:
        facts = (self.options, self._digests, self.title_nouns_source)
        return _load_again, facts

    def __deepcopy__(self, memo: dict[int, Any]) -> Catalogue:
        return self


_loaded: ProcessCache[Catalogue] = ProcessCache()


def load_catalogue(
    options: CatalogueOptions, progress: Progress | None = None
) -> Catalogue:
    """Return the catalogue for some options, the same until a file's content changes.

    Parameters
    ----------
    options : CatalogueOptions
        Or an extension of them.
    progress : function or None

    Raises
    ------
    InvalidOptionError, MissingExtraError
    """
    source = options.source()
    *read, nouns = source.fingerprints()
    status = source.stored_status()

    def make() -> Catalogue:
        parts = open_stored(source) if source.is_stored else build(source, progress)
        # Title nouns may have been written meanwhile.
        digests = source.fingerprints()
        _refuse_changes(source, [*read, digests[-1]], digests, "reading it began")
        return Catalogue(source, parts, digests)

    catalogue = _loaded.get((source, *read, nouns, status), make)
    written = catalogue._digests[-1]
    if written != nouns:
        # The file of title nouns was made; who comes next need not read it.
        _loaded.get((source, *read, written, status), lambda: catalogue)
    return catalogue


def _refuse_changes(
    options: CatalogueOptions,
    before: Sequence[str | None],
    now: Sequence[str | None],
    since: str,
) -> None:
    for name, digest, found in zip(DATA_FILES, before, now, strict=True):
        if digest != found:
            refuse_change(name, getattr(options, name), since)


def _load_again(
    options: CatalogueOptions, digests: Sequence[str | None], nouns_source: str
) -> Catalogue:
    """Return the catalogue that a pickle stands for.

    Raises
    ------
    InvalidOptionError
        If a file has another content, or title nouns have another source.
    """
    since = "the catalogue was pickled"
    _refuse_changes(options, digests, options.fingerprints(), since)
    catalogue = load_catalogue(options)
    if catalogue.title_nouns_source != nouns_source:
        message = (
            f"title_nouns: expected those of {nouns_source}, as {since}, got those of "
            f"{catalogue.title_nouns_source}; rewards depend on them"
        )
        raise InvalidOptionError(message)
    return catalogue
