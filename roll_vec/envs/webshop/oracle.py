"""The scripted shopper: from wherever a session is to the best purchase."""

from __future__ import annotations

from typing import TYPE_CHECKING

from roll_vec.envs.webshop.pages import PAGE_SIZE, found
from roll_vec.envs.webshop.solver import Solution
from roll_vec.envs.webshop.state import (
    BACK_TO_SEARCH,
    BUY_NOW,
    NEXT_PAGE,
    PREVIOUS,
    SUB_PAGES,
    State,
)

if TYPE_CHECKING:
    from roll_vec.envs.webshop.catalogue.catalogue import Catalogue

__all__ = ["next_action"]


def next_action(catalogue: Catalogue, solution: Solution, state: State) -> str | None:
    """Return the next action on the shortest way to a purchase.

    Only what the page offers is used: searches begin on the index page, though
    WebShop takes them everywhere.

    Parameters
    ----------
    catalogue : Catalogue
    solution : Solution
        For the goal of the session.
    state : State

    Returns
    -------
    str or None
        None after a purchase, and where no search shows the product.
    """
    if state.page == "done" or not solution.page:
        return None
    if state.page == "index":
        return f"search[{solution.query}]"
    if state.page == "results":
        return f"click[{_on_results(catalogue, solution, state)}]"
    return f"click[{_on_product(catalogue, solution, state)}]"


def _on_results(catalogue: Catalogue, solution: Solution, state: State) -> str:
    page = _page_of(catalogue, solution, state)
    if page is None:
        return BACK_TO_SEARCH
    if page == state.page_no:
        return solution.purchase.asin.lower()
    return NEXT_PAGE if page > state.page_no else PREVIOUS


def _on_product(catalogue: Catalogue, solution: Solution, state: State) -> str:
    """Return what to click on the page of a product, or below it."""
    wanted, chosen = solution.purchase.options, state.options
    if state.asin == solution.purchase.asin and chosen.keys() <= wanted.keys():
        if state.page in SUB_PAGES:
            return PREVIOUS
        for name, value in wanted.items():
            if chosen.get(name) != value:
                return value
        return BUY_NOW
    # A choice cannot be taken back, but the product has none when it is opened again.
    page = _page_of(catalogue, solution, state)
    return BACK_TO_SEARCH if page is None else PREVIOUS


def _page_of(catalogue: Catalogue, solution: Solution, state: State) -> int | None:
    """Return on which page of the results the product is.

    None if it is not there, or if a new search is nearer.
    """
    # What was drawn at random is not to be known from the query.
    if state.keywords.startswith("<r>"):
        return None
    shown = found(catalogue, state.keywords)
    number = catalogue.products.number_of(solution.purchase.asin)
    if number not in shown:
        return None
    page = shown.index(number) // PAGE_SIZE + 1
    clicks = abs(page - state.page_no)
    if state.page != "results":
        clicks += 2 if state.page in SUB_PAGES else 1
    # Back, the search and its pages.
    return page if clicks <= 1 + solution.page else None
