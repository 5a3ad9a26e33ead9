"""Solver: the purchase with the highest reward for a goal, and the way to it."""

from __future__ import annotations

import functools
from array import array
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from roll_vec.envs.webshop.goals import Goal
from roll_vec.envs.webshop.products import Product, Products, Purchase
from roll_vec.envs.webshop.reward import (
    RewardTerms,
    combine_terms,
    compute_type_terms,
    find_color,
    fuzzy_match,
    option_texts,
)
from roll_vec.envs.webshop.state import (
    BACK_TO_SEARCH,
    BUY_NOW,
    MAX_QUERY,
    NEXT_PAGE,
    PAGE_SIZE,
    PREVIOUS,
    SUB_PAGES,
    State,
    parse_action,
    press_button,
)

# Brackets end an action; a first word in angle brackets asks for a list of products.
_BRACKETS_TO_SPACES = str.maketrans("[]<>", "    ")


class Solution(NamedTuple):
    """The best purchase for a goal, and a search for its product.

    Parameters
    ----------
    purchase : Purchase
        The chosen values are in the order of the page.
    terms : RewardTerms
        Reward of the purchase; the terms below their most say why it is below 1.
    query : str
        A search that lists the product; empty if there is none.
    page : int
        Page of the results, from 1; 0 if no search lists the product.
    """

    purchase: Purchase
    terms: RewardTerms
    query: str
    page: int


class Solver:
    """The exact solver of a shop.

    Parameters
    ----------
    products : Products
    search_results : function of str
        Returns the numbers of the products that a query lists, in order.
    """

    def __init__(
        self, products: Products, search_results: Callable[[str], Sequence[int]]
    ) -> None:
        self._products, self._search_results = products, search_results

    def solve(self, goal: Goal) -> Solution:
        """Return the purchase with the highest reward for a goal.

        Among equal rewards the goal's own product comes first, then the product that
        shares most title nouns with it, then the first one of the catalogue.

        Raises
        ------
        KeyError
            If the shop does not have the goal's product.
        MissingExtraError
        """
        number = self._products.number_of(goal.asin)
        product: Product = self._products[number]
        nouns = product.title_nouns
        options, terms = best_options(goal, nouns, product)
        if terms.reward < 1.0:
            for other, bound in self._candidates(goal, nouns):
                if bound <= terms.reward:
                    continue
                candidate = self._products[other]
                if _reward_bound(goal, nouns, candidate) > terms.reward:
                    other_options, other_terms = best_options(goal, nouns, candidate)
                    if other_terms.reward > terms.reward:
                        number, product = other, candidate
                        options, terms = other_options, other_terms
        query, page = self._find_query(number, product)
        return Solution(Purchase(product.asin, options), terms, query, page)

    @functools.cached_property
    def _index(self) -> tuple[array[float], dict[str, array[int]]]:
        """The prices of all products, and the numbers of products by title noun."""
        prices = array("d")
        numbers_by_noun: dict[str, array[int]] = {}
        for number, product in enumerate(self._products):
            prices.append(product.price)
            for noun in dict.fromkeys(product.title_nouns):
                numbers_by_noun.setdefault(noun, array("i")).append(number)
        return prices, numbers_by_noun

    def _candidates(
        self, goal: Goal, goal_nouns: Sequence[str]
    ) -> Iterator[tuple[int, float]]:
        """Yield numbers of products with upper bounds of their rewards.

        Products that share most title nouns come first; those without a shared noun
        earn nothing and are omitted.
        """
        prices, numbers_by_noun = self._index
        num_shared: Mapping[int, int] = Counter(
            number
            for noun in set(goal_nouns)
            for number in numbers_by_noun.get(noun, ())
        )
        if not goal_nouns:
            # Without nouns in the goal's title every title has the same score.
            num_shared = dict.fromkeys(range(len(prices)), 1)
        num_terms = len(goal.attributes) + len(goal.goal_options)
        for number in sorted(num_shared, key=lambda n: (-num_shared[n], n)):
            bound = (num_terms + (prices[number] <= goal.price_upper)) / (num_terms + 1)
            if num_shared[number] / max(1, len(goal_nouns)) < 0.1:
                bound *= 0.1
            yield number, bound

    def _find_query(self, number: int, product: Product) -> tuple[str, int]:
        """Return a query that lists a product, and the page; see `Solution`."""
        for text in _candidate_queries(product):
            query = text.lower()
            action = parse_action(f"search[{query}]")
            if action == ("search", query) and len(query) <= MAX_QUERY:
                page = self._find_page(number, query)
                if page:
                    return query, page
        return "", 0

    def _find_page(self, number: int, query: str) -> int:
        """Return the page of the results that lists a product; 0 if none does."""
        numbers = self._search_results(query)
        return numbers.index(number) // PAGE_SIZE + 1 if number in numbers else 0

    def next_action(self, solution: Solution, state: State) -> str | None:
        """Return the next action on the shortest way from a state to a purchase.

        The way uses only what the page offers: it searches on the index page, though
        WebShop accepts a search on every page.

        Parameters
        ----------
        solution : Solution
            Of the session's goal.
        state : State

        Returns
        -------
        str or None
            None after a purchase, and if no search lists the product.
        """
        if state.page == "done" or not solution.page:
            return None
        if state.page == "index":
            return f"search[{solution.query}]"
        if state.page == "results":
            return f"click[{self._click_on_results(solution, state)}]"
        return f"click[{self._click_on_product(solution, state)}]"

    def _click_on_results(self, solution: Solution, state: State) -> str:
        page = self._page_of_product(solution, state)
        if page is None:
            return BACK_TO_SEARCH
        if page == state.page_no:
            return solution.purchase.asin.lower()
        return NEXT_PAGE if page > state.page_no else PREVIOUS

    def _click_on_product(self, solution: Solution, state: State) -> str:
        """Return the next click on the page of a product, or on a sub page."""
        best, choices = solution.purchase.options, state.options
        if state.asin == solution.purchase.asin and choices.keys() <= best.keys():
            if state.page in SUB_PAGES:
                return PREVIOUS
            for name, value in best.items():
                if choices.get(name) != value:
                    return value
            return BUY_NOW
        # A choice cannot be undone, but a product that is opened again has no choices.
        page = self._page_of_product(solution, state)
        return BACK_TO_SEARCH if page is None else PREVIOUS

    def _page_of_product(self, solution: Solution, state: State) -> int | None:
        """Return the page of the results that lists the product.

        None if no page does, or if a new search takes fewer clicks.
        """
        # A random list cannot be computed from the query alone.
        if state.keywords.startswith("<r>"):
            return None
        number = self._products.number_of(solution.purchase.asin)
        page = self._find_page(number, state.keywords)
        clicks = abs(page - state.page_no)
        if state.page != "results":
            clicks += 2 if state.page in SUB_PAGES else 1
        # A new search takes one click back, the search itself and its pages.
        return page if page and clicks <= 1 + solution.page else None


def best_options(
    goal: Goal, goal_nouns: Sequence[str], product: Product
) -> tuple[dict[str, str], RewardTerms]:
    """Return the choices on a product's page with the highest reward.

    A group has at most one choice, and every choice can be clicked.  Among equal
    rewards the fewest choices win, then the first ones on the page.

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
    type_terms = compute_type_terms(goal, goal_nouns, product)
    options, count = _cover_options(goal, product) if type_terms.r_type else ({}, 0)
    return options, combine_terms(goal, product, type_terms, count)


def _reward_bound(goal: Goal, goal_nouns: Sequence[str], product: Product) -> float:
    """Return the reward of a product if all of the goal's options could be chosen."""
    type_terms = compute_type_terms(goal, goal_nouns, product)
    return combine_terms(goal, product, type_terms, len(goal.goal_options)).reward


def _cover_options(goal: Goal, product: Product) -> tuple[dict[str, str], int]:
    """Return the choices that match most of the goal's options, and their number.

    A set of the goal's options is an int with a bit for each.  The groups are visited
    one by one; for every set that can be matched, the best choices so far are stored.
    """
    targets = option_texts(goal)
    values = list(product.group_of_value.items())
    first_positions: dict[str, dict[int, int]] = defaultdict(dict)
    for position, (value, name) in enumerate(values):
        color = find_color(value)
        matches = sum(fuzzy_match(color, text) << i for i, text in enumerate(targets))
        if matches and is_clickable(value):
            first_positions[name].setdefault(matches, position)
    # Choices are sorted positions of values.  The smaller of two tuples of one length
    # stays the smaller one whatever later groups add to both.
    best: dict[int, tuple[int, ...]] = {0: ()}
    for positions in first_positions.values():
        next_best = dict(best)
        for subset, choices in best.items():
            for matches, position in positions.items():
                union = subset | matches
                longer = tuple(sorted((*choices, position)))
                rival = next_best.get(union)
                if rival is None or (len(longer), longer) < (len(rival), rival):
                    next_best[union] = longer
        best = next_best
    subset, choices = min(
        best.items(), key=lambda item: (-item[0].bit_count(), len(item[1]), item[1])
    )
    return {values[i][1]: values[i][0] for i in choices}, subset.bit_count()


def is_clickable(value: str) -> bool:
    """Return whether a click can choose a value on the page of its product.

    A click cannot if no action can name the value, or if a button has the same name.
    """
    return (
        parse_action(f"click[{value}]") == ("click", value)
        and value != "search"
        and press_button(State(0, "item"), value) is None
    )


def _candidate_queries(product: Product) -> Iterator[str]:
    """Yield queries for a product: searches for its texts, then lists of its kind."""
    title = " ".join(product.title.translate(_BRACKETS_TO_SPACES).split())
    yield title
    bullet = product.bullets[0] if product.bullets else ""
    text = f"{title} {product.description} {bullet}"
    yield " ".join(text.translate(_BRACKETS_TO_SPACES).split())
    yield f"<q> {product.query}"
    yield f"<c> {product.category}"
