"""Where a session is, and where a search or a click takes it.

Rules: WebShop, commit 64fa2a5, `web_agent_site/envs/web_agent_text_env.py`.  There a
part of the state lives in the address of the page; here it is a record that is never
written, so that a snapshot is the record itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from roll_vec.envs.webshop.catalogue.products import Product
from roll_vec.errors import InvalidOptionError, shorten
from roll_vec.options import check_choice, check_int, check_number

if TYPE_CHECKING:
    from roll_vec.envs.webshop.catalogue.catalogue import Catalogue

__all__ = [
    "BACK_TO_SEARCH",
    "BUY_NOW",
    "NEXT_PAGE",
    "PAGES",
    "PREVIOUS",
    "SUB_PAGES",
    "State",
    "clicked_option",
    "clicked_product",
    "pressed",
    "read_state",
    "searched",
    "write_state",
]

SUB_PAGES = ("description", "features", "reviews", "attributes")
PAGES = ("index", "results", "item", *SUB_PAGES, "done")

BACK_TO_SEARCH = "back to search"
NEXT_PAGE = "next >"
PREVIOUS = "< prev"
BUY_NOW = "buy now"


class State(NamedTuple):
    """A session, not to be written.

    Parameters
    ----------
    goal : int
        Number in the catalogue.
    page : str
        One of `PAGES`.
    keywords : str
        The last query; empty on the index page.
    page_no : int
        Of the results, from 1.
    asin : str or None
        The product of an item page, of its sub pages and of a purchase.
    options : mapping from str to str
        The chosen value by the name of its group, in the order of the first choices.
    opened : frozenset of str
        The asins of products that were looked at since the index page; kept where
        pages show it alone.
    reward : float
        What the purchase earned; 0 until then.
    """

    goal: int
    page: str = "index"
    keywords: str = ""
    page_no: int = 1
    asin: str | None = None
    options: Mapping[str, str] = {}
    opened: frozenset[str] = frozenset()
    reward: float = 0.0


def searched(state: State, query: str) -> State:
    """Return the state on the first page of a query's results."""
    return State(state.goal, "results", query, opened=state.opened)


def clicked_product(state: State, asin: str, keep_opened: bool) -> State:
    """Return the state on the page of a product.

    Parameters
    ----------
    state : State
    asin : str
    keep_opened : bool
        Whether the product joins those that were opened.
    """
    opened = state.opened | {asin} if keep_opened else state.opened
    return state._replace(page="item", asin=asin, opened=opened)


def clicked_option(state: State, value: str, product: Product) -> State:
    """Return the state with a value chosen; it replaces another of its group."""
    name = product.group_of_value[value]
    return state._replace(options={**state.options, name: value})


def pressed(state: State, button: str) -> State | None:
    """Return the state after a click on a button; None if it is none of the page's.

    Parameters
    ----------
    state : State
        On any page but ``done``.
    button : str
        Any text in lower case.  What a page shows besides its buttons may have the
        name of one: the button comes first, also ``attributes`` where it is not shown.
    """
    page = state.page
    if button == BACK_TO_SEARCH:
        return State(state.goal)
    if page == "results":
        if button == NEXT_PAGE:
            return state._replace(page_no=state.page_no + 1)
        if button == PREVIOUS and state.page_no > 1:
            return state._replace(page_no=state.page_no - 1)
    elif page == "item":
        if button == BUY_NOW:
            return state._replace(page="done")
        if button == PREVIOUS:
            return state._replace(page="results", asin=None, options={})
        if button in SUB_PAGES:
            return state._replace(page=button)
    elif page in SUB_PAGES and button == PREVIOUS:
        return state._replace(page="item")
    return None


def write_state(state: State) -> dict[str, Any]:
    """Return a state as plain data."""
    return {
        **state._asdict(),
        "options": dict(state.options),
        "opened": sorted(state.opened),
    }


def read_state(record: Any, catalogue: Catalogue) -> State:
    """Return the state that `write_state` wrote.

    Raises
    ------
    InvalidOptionError
        If it is none, or none of this catalogue's.
    """
    if not isinstance(record, Mapping) or set(record) != set(State._fields):
        message = f"state: expected {', '.join(State._fields)}, got {shorten(record)}"
        raise InvalidOptionError(message)
    page = check_choice("state: page", record["page"], PAGES)
    keywords, asin, opened = record["keywords"], record["asin"], record["opened"]
    if not isinstance(keywords, str):
        message = f"state: keywords: expected a str, got {shorten(keywords)}"
        raise InvalidOptionError(message)
    if not isinstance(opened, list) or not all(isinstance(a, str) for a in opened):
        message = f"state: opened: expected a list of str, got {shorten(opened)}"
        raise InvalidOptionError(message)
    options: Mapping[Any, Any] = {}
    if page in ("index", "results"):
        if asin is not None or record["options"]:
            message = (
                f"state: expected neither asin nor options on the page {page}, "
                f"got {shorten(asin)} and {shorten(record['options'])}"
            )
            raise InvalidOptionError(message)
    else:
        options = _read_options(record["options"], asin, catalogue)
    return State(
        goal=check_int("state: goal", record["goal"], 0, len(catalogue.goals) - 1),
        page=page,
        keywords=keywords,
        page_no=check_int("state: page_no", record["page_no"], 1),
        asin=asin,
        options=options,
        opened=frozenset(opened),
        reward=check_number("state: reward", record["reward"], 0.0, 1.0),
    )


def _read_options(options: Any, asin: Any, catalogue: Catalogue) -> Mapping[str, str]:
    """Return choices that can be made of a product."""
    try:
        product: Product = catalogue.products[catalogue.products.number_of(asin)]
    except (KeyError, TypeError):
        message = f"state: asin: there is no product {shorten(asin)}"
        raise InvalidOptionError(message) from None
    if not isinstance(options, Mapping) or any(
        value not in product.options.get(name, ()) for name, value in options.items()
    ):
        message = f"state: options: {asin} cannot be chosen as {shorten(options)}"
        raise InvalidOptionError(message)
    return dict(options)
