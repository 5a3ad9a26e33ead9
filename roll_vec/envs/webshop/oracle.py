"""Oracle: the next action on the shortest way from a state to the best purchase."""

from __future__ import annotations

from roll_vec.envs.webshop.catalogue.catalogue import Catalogue
from roll_vec.envs.webshop.solver import Solution
from roll_vec.envs.webshop.state import (
    BACK_TO_SEARCH,
    BUY_NOW,
    NEXT_PAGE,
    PAGE_SIZE,
    PREVIOUS,
    SUB_PAGES,
    State,
)


def next_action(catalogue: Catalogue, solution: Solution, state: State) -> str | None:
    """Return the next action on the shortest way to a purchase.

    The oracle uses only what the page offers: it searches on the index page, though
    WebShop accepts a search on every page.

    Parameters
    ----------
    catalogue : Catalogue
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
        return f"click[{_click_on_results(catalogue, solution, state)}]"
    return f"click[{_click_on_product(catalogue, solution, state)}]"


def _click_on_results(catalogue: Catalogue, solution: Solution, state: State) -> str:
    page = _page_of_product(catalogue, solution, state)
    if page is None:
        return BACK_TO_SEARCH
    if page == state.page_no:
        return solution.purchase.asin.lower()
    return NEXT_PAGE if page > state.page_no else PREVIOUS


def _click_on_product(catalogue: Catalogue, solution: Solution, state: State) -> str:
    """Return the next click on the page of a product, or on one of its sub pages."""
    best, choices = solution.purchase.options, state.options
    if state.asin == solution.purchase.asin and choices.keys() <= best.keys():
        if state.page in SUB_PAGES:
            return PREVIOUS
        for name, value in best.items():
            if choices.get(name) != value:
                return value
        return BUY_NOW
    # A choice cannot be undone, but a product that is opened again has no choices.
    page = _page_of_product(catalogue, solution, state)
    return BACK_TO_SEARCH if page is None else PREVIOUS


def _page_of_product(
    catalogue: Catalogue, solution: Solution, state: State
) -> int | None:
    """Return the page of the results that lists the product.

    None if no page does, or if a new search takes fewer clicks.
    """
    # A random list cannot be computed from the query alone.
    if state.keywords.startswith("<r>"):
        return None
    numbers = catalogue.search_results(state.keywords)
    number = catalogue.products.number_of(solution.purchase.asin)
    if number not in numbers:
        return None
    page = numbers.index(number) // PAGE_SIZE + 1
    clicks = abs(page - state.page_no)
    if state.page != "results":
        clicks += 2 if state.page in SUB_PAGES else 1
    # A new search takes one click back, the search itself and its pages.
    return page if clicks <= 1 + solution.page else None
