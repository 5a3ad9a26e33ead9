"""Catalogue of a shop: everything that its environments share, loaded once.

It is built from WebShop's files or of the demo shop, or opened from a stored file.
"""

from __future__ import annotations

import functools
import random
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from roll_vec.envs.webshop.files import (
    Listing,
    Shop,
    read_json,
    read_listings,
    read_nouns,
)
from roll_vec.envs.webshop.goals import Goal, Goals, build_goals
from roll_vec.envs.webshop.options import DATA_FILES, SHOP_FILES, CatalogueOptions
from roll_vec.envs.webshop.products import Product, Products, Purchase
from roll_vec.envs.webshop.reward import RewardTerms, compute_reward
from roll_vec.envs.webshop.search.english_analyzer import STOP_WORDS
from roll_vec.envs.webshop.search.lucene_ranking import LuceneIndex
from roll_vec.envs.webshop.search.search_bar import NUM_HITS, SearchBar, document_of
from roll_vec.envs.webshop.solver import Solution, Solver
from roll_vec.envs.webshop.storage import (
    FIXED_OPTIONS,
    CatalogueData,
    open_stored,
    save,
)
from roll_vec.errors import InvalidOptionError, shorten
from roll_vec.options import accepts_keywords_of, parse_options
from roll_vec.progress import report
from roll_vec.storage.data_files import refuse_change
from roll_vec.storage.process_cache import ProcessCache

# The files of the demo shop: 1000 products, in the form of WebShop's files.
DEMO_SHOP = Path(__file__).parent / "demo_shop"
_LETTERS = re.compile(r"[^\W\d_]{2,}")


class Catalogue:
    """Products, goals, search and rewards of one shop; nothing in it changes.

    `load` makes it; all environments of a process with equal keywords share one.

    Attributes
    ----------
    products : sequence of Product
    goals : sequence of Goal
    search_bar : SearchBar
    search_results : function
        See `SearchBar.search_results`.
    next_action : function
        See `Solver.next_action`.
    options : CatalogueOptions
    title_nouns_source : str
        Source of the title nouns, on which rewards depend: ``file``, ``rule`` or, for
        the demo shop, ``embedded``.
    """

    def __init__(
        self,
        options: CatalogueOptions,
        data: CatalogueData,
        digests: tuple[str | None, ...] = (),
    ) -> None:
        self.options, self._data, self._digests = options, data, digests
        self.products, self.goals = data.products, data.goals
        self.goals.products = self.products
        self.title_nouns_source: str = data.fields["title_nouns"]
        self.search_bar = SearchBar(data.products, data.search_index)
        self.search_results = self.search_bar.search_results
        self._solver = Solver(data.products, self.search_results)
        self.next_action = self._solver.next_action
        self._cached_solution = functools.lru_cache(maxsize=8192)(
            lambda number: self._solver.solve(self._get_goal(number))
        )

    @classmethod
    @accepts_keywords_of(CatalogueOptions)
    def load(cls, **keywords: Any) -> Catalogue:
        """Return the catalogue for some keywords, the same one for equal keywords.

        Parameters
        ----------
        **keywords
            Those of `CatalogueOptions`.

        Raises
        ------
        UnknownOptionError, InvalidOptionError
        MissingExtraError
            If the extra ``webshop`` is not installed.
        """
        return load_catalogue(parse_options(CatalogueOptions, keywords))

    def save(self, path: str | Path) -> None:
        """Store the catalogue in a file, for ``products=`` of `load`.

        A stored catalogue at the path is replaced as a whole.

        Raises
        ------
        InvalidOptionError
            If something else is at the path, or it cannot be written.
        """
        save(self._data, Path(path))

    def search(self, query: str, k: int = NUM_HITS) -> list[tuple[str, float]]:
        """Return the best products for a query, (asin, score), best first.

        Products that share no word with the query are omitted; equal scores are in the
        order of the asins.
        """
        numbers, scores = self._data.search_index.search(query, k)
        asins = [str(self.products.asins[number]) for number in numbers]
        return list(zip(asins, scores.tolist(), strict=True))

    def reward(
        self, goal: int | Goal, purchase: Purchase | tuple[str, Any]
    ) -> RewardTerms:
        """Return the reward of a purchase for a goal, with its terms.

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
        goal = self._get_goal(goal)
        asin, options = purchase
        try:
            product = self.products.by_asin(asin)
        except (KeyError, TypeError):
            message = f"purchase: there is no product {shorten(asin)}"
            raise InvalidOptionError(message) from None
        for name, value in options.items():
            if value not in product.options.get(name, ()):
                message = (
                    f"purchase: {asin} has no {shorten(name)} {shorten(value)}; "
                    f"it has {shorten(dict(product.options))}"
                )
                raise InvalidOptionError(message)
        nouns = self.products.by_asin(goal.asin).title_nouns
        return compute_reward(goal, nouns, product, options)

    def solve(self, goal: int | Goal) -> Solution:
        """Return the purchase with the highest reward for a goal, and a search for it.

        Raises
        ------
        InvalidOptionError
            If there is no goal with this number.
        """
        if isinstance(goal, Goal):
            return self._solver.solve(goal)
        return self._cached_solution(goal)

    def _get_goal(self, goal: int | Goal) -> Goal:
        if isinstance(goal, Goal):
            return goal
        if not 0 <= goal < len(self.goals):
            numbers = f"a number below {len(self.goals)}"
            raise InvalidOptionError.expected("goal", numbers, goal)
        record: Goal = self.goals[goal]
        return record

    def __reduce__(self) -> tuple[Any, ...]:
        return load_catalogue, (self.options, self._digests)

    def __deepcopy__(self, memo: dict[int, Any]) -> Catalogue:
        return self


_process_cache: ProcessCache[Catalogue] = ProcessCache()


def load_catalogue(
    options: CatalogueOptions, digests: Sequence[str | None] | None = None
) -> Catalogue:
    """Return the catalogue for some options, the same until a file's content changes.

    Parameters
    ----------
    options : CatalogueOptions
        Or an extension of them.
    digests : sequence of str or None, or None
        Those that the files must have, as `CatalogueOptions.fingerprints` returns them;
        None: any.

    Raises
    ------
    InvalidOptionError, MissingExtraError
    """
    options = options.catalogue_options()
    current = options.fingerprints()
    if digests is not None:
        _refuse_changes(options, digests, current, "the catalogue was pickled")

    def make() -> Catalogue:
        data = _open(options) if options.is_stored else build(options)
        now = options.fingerprints()
        _refuse_changes(options, current, now, "reading it began")
        return Catalogue(options, data, current)

    return _process_cache.get((options, *current), make)


def _refuse_changes(
    options: CatalogueOptions,
    before: Sequence[str | None],
    now: Sequence[str | None],
    since: str,
) -> None:
    for name, old_digest, digest in zip(DATA_FILES, before, now, strict=True):
        if old_digest != digest:
            refuse_change(name, getattr(options, name), since)


# ----------------------------------------------------------------------------- building


def _open(options: CatalogueOptions) -> CatalogueData:
    """Return the contents of the stored file ``options.products``."""
    data = open_stored(str(options.products))
    for name in FIXED_OPTIONS:
        value, stored_value = getattr(options, name), data.fields[name]
        if value != stored_value:
            message = (
                f"{name}: {options.products} was stored with {stored_value!r}, got "
                f"{value!r}; give {name}={stored_value!r}"
            )
            raise InvalidOptionError(message)
    return data


def build(options: CatalogueOptions) -> CatalogueData:
    """Return the contents of a new catalogue.

    One generator, ``random.Random(catalog_seed)``, draws the prices of ranges and then
    the limits of goals, both in the order of the products.  WebShop has the same order,
    but its generator has no seed.

    Raises
    ------
    InvalidOptionError, MissingExtraError
    """
    paths = {name: getattr(options, name) for name in DATA_FILES}
    source = "rule" if options.title_nouns is None else "file"
    if options.products is None:
        source = "embedded"
        paths = {name: str(DEMO_SHOP / f"{name}.json.gz") for name in DATA_FILES}
    contents: list[Any] = []
    for name, path in zip(SHOP_FILES, paths.values(), strict=False):
        kind = dict if contents else list
        contents.append(kind() if path is None else read_json(name, path, kind))
        report("files", len(contents), len(SHOP_FILES))
    shop = Shop(*contents, *(paths[name] or "(none)" for name in SHOP_FILES))
    listings = read_listings(shop, options.num_products)
    titles = {one.fields["asin"]: one.fields["title"] for one in listings}
    if source == "rule":
        nouns = {asin: nouns_by_rule(title) for asin, title in titles.items()}
    else:
        nouns = read_nouns(paths["title_nouns"], titles)
    rng = random.Random(options.catalog_seed)
    records = draw_products(listings, nouns, rng)
    asins = [product.asin for product in records]
    products = Products.pack(map(vars, records), np.array(asins))
    goals = Goals.pack(*build_goals(listings, records, options.human_goals, rng))
    index = LuceneIndex.build(map(document_of, records), asins)
    fields = {name: getattr(options, name) for name in FIXED_OPTIONS}
    return CatalogueData(products, goals, index, {**fields, "title_nouns": source})


def nouns_by_rule(title: str) -> tuple[str, ...]:
    """Return the nouns of a title, in lower case: its words but for those of a search.

    WebShop asks spaCy's model ``en_core_web_sm`` at every purchase.  The factor
    ``r_type`` of the reward is the same with this rule for 19 of 20 purchases.
    """
    return tuple(
        word for word in _LETTERS.findall(title.lower()) if word not in STOP_WORDS
    )


def draw_products(
    listings: Sequence[Listing],
    nouns: Mapping[str, tuple[str, ...]],
    rng: random.Random,
) -> list[Product]:
    """Return the products of listings; draws a price where a listing has a range."""
    products = []
    for fields, (low, *high), *_ in listings:
        price = rng.uniform(low, high[0]) if high else low
        title_nouns = nouns[fields["asin"]]
        products.append(Product(**fields, price=price, title_nouns=title_nouns))
    return products
