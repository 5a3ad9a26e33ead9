"""The best purchase for a goal, exactly, and a search that shows the product."""

from __future__ import annotations

import weakref
from array import array
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from roll_vec.envs.webshop.actions import MAX_QUERY, parse
from roll_vec.envs.webshop.catalogue.products import Goal, Product, Purchase
from roll_vec.envs.webshop.pages import PAGE_SIZE, found
from roll_vec.envs.webshop.reward import (
    RewardTerms,
    combine,
    count_attributes,
    find_color,
    has_attribute,
    is_alike,
    judge_type,
    wanted_options,
)
from roll_vec.envs.webshop.state import State, pressed

if TYPE_CHECKING:
    from roll_vec.envs.webshop.catalogue.catalogue import Catalogue

__all__ = ["Solution", "best_options", "can_be_chosen", "solve"]

# Brackets would end an action; a first word in angle brackets is a listing.
_NOT_IN_QUERIES = str.maketrans("[]<>", "    ")


class Solution(NamedTuple):
    """The best purchase for a goal, and the way to it.

    Parameters
    ----------
    purchase : Purchase
        The chosen values are in the order of the page.
    terms : RewardTerms
        What it earns.
    query : str
        A search that shows the product; empty where none does.
    page : int
        Of the results, from 1; 0 where no search shows it.
    why : str or None
        None if the purchase earns 1, else what stands in the way, in one line.
    """

    purchase: Purchase
    terms: RewardTerms
    query: str
    page: int
    why: str | None


def solve(catalogue: Catalogue, goal: Goal) -> Solution:
    """Return the purchase of a catalogue that earns most for a goal.

    Of equal ones that of the goal's own product, then of the product that has most of
    the nouns of its title, then of the first one in the catalogue.

    Raises
    ------
    KeyError
        If the catalogue does not have the goal's product.
    MissingExtraError
    """
    products = catalogue.products
    own = products.number_of(goal.asin)
    nouns: tuple[str, ...] = products[own].title_nouns
    number, (options, terms) = own, best_options(goal, nouns, products[own])
    if terms.reward < 1.0:
        for other, most in _shortlist(catalogue).rivals(goal, nouns):
            if most <= terms.reward:
                continue
            rival = products[other]
            if _limit(goal, nouns, rival) > terms.reward:
                better = best_options(goal, nouns, rival)
                if better[1].reward > terms.reward:
                    number, (options, terms) = other, better
    product = products[number]
    query, page = _find_search(catalogue, number, product)
    why = None
    if terms.reward < 1.0:
        why = _explain(goal, product, options, terms)
    elif not page:
        why = f"no search shows {product.asin}, which earns 1"
    return Solution(Purchase(product.asin, options), terms, query, page, why)


def best_options(
    goal: Goal, goal_nouns: Sequence[str], product: Product
) -> tuple[dict[str, str], RewardTerms]:
    """Return what to choose on a product's page for the highest reward.

    At most one value of each group is chosen, and only values that a click can choose.
    Of equal rewards the fewest choices win, then those that come first on the page.

    Parameters
    ----------
    goal : Goal
    goal_nouns : sequence of str
        Title nouns of the product that the goal was made from.
    product : Product

    Returns
    -------
    options : dict of str to str
        Value by group, in the order of the page.
    terms : RewardTerms
    """
    type_terms = judge_type(goal, goal_nouns, product)
    options, count = _cover(goal, product) if type_terms.r_type else ({}, 0)
    attributes = count_attributes(goal, product)
    r_price = product.price <= goal.price_upper
    return options, combine(goal, type_terms, attributes, count, r_price)


def _limit(goal: Goal, goal_nouns: Sequence[str], product: Product) -> float:
    """Return what a product would earn if all wanted options could be chosen."""
    return combine(
        goal,
        judge_type(goal, goal_nouns, product),
        count_attributes(goal, product),
        len(goal.goal_options),
        product.price <= goal.price_upper,
    ).reward


def _cover(goal: Goal, product: Product) -> tuple[dict[str, str], int]:
    """Return the choices that match most wanted options, and how many they match.

    Each value is the set of wanted options that it matches, as bits.  Group by group,
    the best choices for every set that can be reached are kept.
    """
    wanted = wanted_options(goal)
    values = list(product.group_of_value.items())
    first_places: dict[str, dict[int, int]] = defaultdict(dict)
    for place, (value, name) in enumerate(values):
        color = find_color(value)
        matched = sum(is_alike(color, text) << i for i, text in enumerate(wanted))
        if matched and can_be_chosen(value):
            first_places[name].setdefault(matched, place)
    # Choices are the places of their values, sorted: among equally many for the same
    # set, those that are less stay so with whatever is chosen in further groups.
    best: dict[int, tuple[int, ...]] = {0: ()}
    for places in first_places.values():
        extended = dict(best)
        for covered, chosen in best.items():
            for matched, place in places.items():
                both = covered | matched
                longer = tuple(sorted((*chosen, place)))
                known = extended.get(both)
                if known is None or (len(longer), longer) < (len(known), known):
                    extended[both] = longer
        best = extended
    covered, chosen = min(
        best.items(), key=lambda item: (-item[0].bit_count(), len(item[1]), item[1])
    )
    return {values[i][1]: values[i][0] for i in chosen}, covered.bit_count()


def can_be_chosen(value: str) -> bool:
    """Return whether a click can choose a value on the page of its product.

    It cannot where an action cannot name it, or where a button has the name.
    """
    return (
        parse(f"click[{value}]") == ("click", value)
        and value != "search"
        and pressed(State(0, "item"), value) is None
    )


class _Shortlist:
    """What can be told of all products without looking at one of them.

    Parameters
    ----------
    products : sequence of Product
    """

    def __init__(self, products: Sequence[Product]) -> None:
        self.prices = array("d")
        self.with_noun: dict[str, array[int]] = {}
        for number, product in enumerate(products):
            self.prices.append(product.price)
            for noun in dict.fromkeys(product.title_nouns):
                self.with_noun.setdefault(noun, array("i")).append(number)

    def rivals(
        self, goal: Goal, goal_nouns: Sequence[str]
    ) -> Iterator[tuple[int, float]]:
        """Give products, the nearest in kind first, with the most that each can earn.

        Left out are those that earn nothing.
        """
        shared: Mapping[int, int] = Counter(
            number
            for noun in set(goal_nouns)
            for number in self.with_noun.get(noun, ())
        )
        if not goal_nouns:
            # Any title will do.
            shared = dict.fromkeys(range(len(self.prices)), 1)
        pieces = len(goal.attributes) + len(goal.goal_options)
        for number in sorted(shared, key=lambda number: (-shared[number], number)):
            r_price = self.prices[number] <= goal.price_upper
            most = (pieces + r_price) / (pieces + 1)
            if shared[number] / max(1, len(goal_nouns)) < 0.1:
                most *= 0.1
            yield number, most


_shortlists: weakref.WeakKeyDictionary[Catalogue, _Shortlist] = (
    weakref.WeakKeyDictionary()
)


def _shortlist(catalogue: Catalogue) -> _Shortlist:
    """Return the shortlist of a catalogue, made when it is first needed."""
    shortlist = _shortlists.get(catalogue)
    if shortlist is None:
        shortlist = _shortlists[catalogue] = _Shortlist(catalogue.products)
    return shortlist


def _find_search(
    catalogue: Catalogue, number: int, product: Product
) -> tuple[str, int]:
    """Return a query that shows a product, and on which page; see `Solution`."""
    for text in _queries(product):
        query = text.lower()
        if parse(f"search[{query}]") == ("search", query) and len(query) <= MAX_QUERY:
            shown = found(catalogue, query)
            if number in shown:
                return query, shown.index(number) // PAGE_SIZE + 1
    return "", 0


def _queries(product: Product) -> Iterator[str]:
    """Give queries for a product, the likeliest first; the last list all of a kind."""
    title = " ".join(product.title.translate(_NOT_IN_QUERIES).split())
    yield title
    bullet = product.bullets[0] if product.bullets else ""
    more = f"{title} {product.description} {bullet}"
    yield " ".join(more.translate(_NOT_IN_QUERIES).split())
    yield f"<q> {product.query}"
    yield f"<c> {product.category}"


def _explain(
    goal: Goal, product: Product, options: Mapping[str, str], terms: RewardTerms
) -> str:
    """Return in one line why the best purchase does not earn 1."""
    reasons = []
    if terms.r_type < 1.0:
        reasons.append(
            f"r_type is {terms.r_type}, as the title has {terms.title_score:.0%} of "
            "the nouns of the wanted title"
        )
    if terms.r_att < 1.0:
        missing = [text for text in goal.attributes if not has_attribute(product, text)]
        reasons.append(f"r_att is {terms.r_att:.3g} without {_quote(missing)}")
    if terms.r_option is not None and terms.r_option < 1.0:
        chosen = [find_color(value) for value in options.values()]
        names: Sequence[str] = list(goal.goal_options)
        if isinstance(goal.goal_options, Mapping):
            names = [f"{name}: {value}" for name, value in goal.goal_options.items()]
        missing = [
            name
            for name, text in zip(names, wanted_options(goal), strict=True)
            if not any(is_alike(value, text) for value in chosen)
        ]
        reasons.append(
            f"r_option is {terms.r_option:.3g}, as no choice of {product.asin} counts "
            f"for {_quote(missing)} besides"
        )
    if not terms.r_price:
        reasons.append(
            f"r_price is false: ${product.price} is above ${goal.price_upper}"
        )
    return f"no purchase earns more than {terms.reward:.3g}: {'; '.join(reasons)}"


def _quote(texts: Sequence[str]) -> str:
    """Return texts in one line."""
    return ", ".join(map(repr, texts))
