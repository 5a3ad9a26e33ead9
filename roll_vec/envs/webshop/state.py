"""Sessions: actions, the page that an episode is on, and the effect of each button.

Rules: WebShop, commit 64fa2a5, `web_agent_site/envs/web_agent_text_env.py` and
`web_agent_site/engine/engine.py`.  There the address of the page holds a part of the
state.  Here the state is an immutable record, so the record itself is a snapshot.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from roll_vec.envs.webshop.products import Product, Products
from roll_vec.errors import InvalidOptionError, shorten
from roll_vec.options import check_choice, check_int, check_number, check_str

SUB_PAGES = ("description", "features", "reviews", "attributes")
PAGES = ("index", "results", "item", *SUB_PAGES, "done")

BACK_TO_SEARCH = "back to search"
NEXT_PAGE = "next >"
PREVIOUS = "< prev"
BUY_NOW = "buy now"

# Products on a page of results.
PAGE_SIZE = 10

MAX_QUERY = 10_000
"""Maximum length of a query, in characters; a longer search is an invalid action."""

# A random agent samples these actions.  Together they lead to every page.
EXAMPLES = (
    "search[red shoes]",
    "search[long lasting lipstick, and price lower than 40.00 dollars]",
    "search[<r>]",
    "click[next >]",
    "click[< prev]",
    "click[description]",
    "click[features]",
    "click[reviews]",
    "click[buy now]",
    "click[back to search]",
)

INSTRUCTIONS = """\
You are shopping in a web shop. The instruction says what to buy: what the product \
must be like, which options to choose, and often the most that it may cost.
There are two actions:
search[words] looks for products, from any page;
click[name] clicks something that is on the page: a button such as click[next >], a \
product by its number such as click[b00example], or the value of an option such as \
click[dark blue].
Look at products, choose the options that are asked for, and order with \
click[buy now]. The order ends the session and is judged by how well it fits the \
instruction.
Answer with one action. For example, when blue running shoes are wanted, begin with \
search[blue running shoes]."""


class State(NamedTuple):
    """The state of a session; read only.

    Parameters
    ----------
    goal : int
        Its number in the catalogue.
    page : str
        One of `PAGES`.
    keywords : str
        The last query; empty on the index page.
    page_no : int
        Page of the results, from 1.
    asin : str or None
        The product of an item page, of its sub pages and of a purchase.
    options : mapping from str to str
        The chosen value by group, in the order of the first choices.
    opened_asins : frozenset of str
        Products that were opened since the index page; tracked only for observations
        that mark them.
    reward : float
        Reward of the purchase; 0 before it.
    """

    goal: int
    page: str = "index"
    keywords: str = ""
    page_no: int = 1
    asin: str | None = None
    options: Mapping[str, str] = {}
    opened_asins: frozenset[str] = frozenset()
    reward: float = 0.0


def show_results(state: State, query: str) -> State:
    """Return the state on the first page of a query's results."""
    return State(state.goal, "results", query, opened_asins=state.opened_asins)


def open_product(state: State, asin: str, track_opened: bool) -> State:
    """Return the state on the page of a product.

    Parameters
    ----------
    state : State
    asin : str
    track_opened : bool
        Whether the product is added to ``opened_asins``.
    """
    asins = state.opened_asins | {asin} if track_opened else state.opened_asins
    return state._replace(page="item", asin=asin, opened_asins=asins)


def choose_option(state: State, value: str, product: Product) -> State:
    """Return the state with a value chosen; it replaces another value of its group."""
    name = product.group_of_value[value]
    return state._replace(options={**state.options, name: value})


def press_button(state: State, button: str) -> State | None:
    """Return the state after a click on a button; None if the page has no such button.

    Parameters
    ----------
    state : State
        On any page except ``done``.
    button : str
        Any text in lower case.  A button comes before an option or a product of the
        same name, even ``attributes`` on a page that does not show this button.
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


def list_actions(has_search_bar: bool, clickables: Iterable[str]) -> list[str]:
    """Return the actions that a page offers, in the form of ROLL's prompt."""
    clicks = [f"click[{name}]" for name in clickables if name != "search"]
    return ["search[<content>]", *clicks] if has_search_bar else clicks


def parse_action(text: str) -> tuple[str, str | None]:
    r"""Return the name of an action and its argument.

    Parameters
    ----------
    text : str
        Any text; the action is ``name[argument]`` in its first line.  Text after the
        last bracket of this line, and further lines, are ignored.

    Returns
    -------
    name : str
        In its original case; the whole text if there is no argument.
    argument : str or None
        In lower case; never empty.

    Notes
    -----
    WebShop matches ``(.+)\[(.+)\]``, which can take quadratic time; this takes linear
    time.  Both groups are greedy: the name ends at the last opening bracket that leaves
    an argument before the last closing bracket.
    """
    newline = text.find("\n")
    end = text.rfind("]", 0, newline if newline >= 0 else len(text))
    # At least one character before the opening bracket, and one in the brackets.
    start = text.rfind("[", 1, end - 1) if end >= 3 else -1
    if start < 0:
        return text, None
    return text[:start], text[start + 1 : end].lower()


def write_state(state: State) -> dict[str, Any]:
    """Return a state as plain data."""
    return {
        **state._asdict(),
        "options": dict(state.options),
        "opened_asins": sorted(state.opened_asins),
    }


def read_state(record: Any, products: Products, num_goals: int) -> State:
    """Return the state that `write_state` wrote.

    Raises
    ------
    InvalidOptionError
        If the record is no state, or no state of a shop with these products and goals.
    """
    if not isinstance(record, Mapping) or set(record) != set(State._fields):
        raise InvalidOptionError.expected("state", ", ".join(State._fields), record)
    page = check_choice("state: page", record["page"], PAGES)
    opened_asins = record["opened_asins"]
    is_list = isinstance(opened_asins, list)
    if not (is_list and all(isinstance(asin, str) for asin in opened_asins)):
        name = "state: opened_asins"
        raise InvalidOptionError.expected(name, "a list of str", opened_asins)
    asin, options = record["asin"], record["options"]
    if page in ("index", "results"):
        # These pages have neither.
        asin, options = None, {}
    else:
        options = _read_options(options, asin, products)
    return State(
        goal=check_int("state: goal", record["goal"], 0, num_goals - 1),
        page=page,
        keywords=check_str("state: keywords", record["keywords"]),
        page_no=check_int("state: page_no", record["page_no"], 1),
        asin=asin,
        options=options,
        opened_asins=frozenset(opened_asins),
        reward=check_number("state: reward", record["reward"], 0.0, 1.0),
    )


def _read_options(options: Any, asin: Any, products: Products) -> Mapping[str, str]:
    try:
        product = products.by_asin(asin)
    except (KeyError, TypeError):
        message = f"state: asin: there is no product {shorten(asin)}"
        raise InvalidOptionError(message) from None
    if not isinstance(options, Mapping) or any(
        value not in product.options.get(name, ()) for name, value in options.items()
    ):
        message = f"state: options: {asin} cannot be chosen as {shorten(options)}"
        raise InvalidOptionError(message)
    return dict(options)
