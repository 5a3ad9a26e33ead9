"""Pages of the shop: their nodes, the names that a click accepts, observations.

A page is a list of nodes, each a kind and a text, in the order of WebShop's HTML
(commit 64fa2a5, `web_agent_site/templates`).  A text of white space makes a node or not
as in an HTML parser.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from roll_vec.envs.webshop.catalogue import Catalogue
from roll_vec.envs.webshop.goals import Goal
from roll_vec.envs.webshop.products import Product
from roll_vec.envs.webshop.state import (
    BACK_TO_SEARCH,
    BUY_NOW,
    NEXT_PAGE,
    PAGE_SIZE,
    PREVIOUS,
    SUB_PAGES,
    State,
)
from roll_vec.render.ansi import paint

TEXT, BUTTON, LINK, OPTION = "text", "button", "link", "option"

# ANSI codes of the names that can be clicked.
_COLOURS = {BUTTON: "33", LINK: "36", OPTION: "36"}
_CHOICE_COLOUR = "1;32"

Node = tuple[str, str]
"""Kind and text."""

_ASCII_SPACE = " \n\t\f\r"
# As Flask writes JSON into a page.
_JSON_ESCAPES = str.maketrans(
    {"<": r"\u003c", ">": r"\u003e", "&": r"\u0026", "'": r"\u0027"}
)


class Page(NamedTuple):
    """The content of a page.

    Parameters
    ----------
    nodes : list of Node
    clickables : tuple of str
        Names that a click accepts, each once: buttons, products, values of options.
    """

    nodes: list[Node]
    clickables: tuple[str, ...]


class _ProductNodes(NamedTuple):
    """Nodes and names of one product, computed once."""

    link: str
    results_nodes: tuple[Node, ...]
    item_nodes: tuple[Node, ...]
    values: tuple[str, ...]


def _make_nodes(kind: str, text: str) -> tuple[Node, ...]:
    """Return the node of a text, or nothing."""
    if text.strip(_ASCII_SPACE):
        return ((kind, text),)
    return ((kind, " "),) if text and "\n" not in text else ()


def _product_nodes(product: Product) -> _ProductNodes:
    """Return the nodes of a product.

    They are cached beside the fields of the product, as a `cached_property` would be,
    so that they live as long as the product.
    """
    nodes: _ProductNodes | None = vars(product).get("_nodes")
    if nodes is None:
        tag = product.price_tag
        results_nodes = (
            *_make_nodes(LINK, product.asin),
            *_make_nodes(TEXT, product.title),
            *_make_nodes(TEXT, tag),
        )
        item_nodes: list[Node] = []
        for name, values in product.options.items():
            item_nodes += _make_nodes(TEXT, name)
            for value in values:
                item_nodes += _make_nodes(OPTION, value)
        item_nodes += _make_nodes(TEXT, product.title)
        item_nodes += (TEXT, f"Price: {tag}"), (TEXT, "Rating: N.A.")
        link, clickable_values = product.asin.lower(), tuple(product.group_of_value)
        nodes = _ProductNodes(link, results_nodes, tuple(item_nodes), clickable_values)
        vars(product)["_nodes"] = nodes
    return nodes


_BACK = (BUTTON, "Back to Search")
_PREVIOUS = (BUTTON, "< Prev")
_NEXT = (BUTTON, "Next >")
_BUY = (BUTTON, "Buy Now")
_SUB_BUTTONS = tuple((BUTTON, name.capitalize()) for name in SUB_PAGES)

# The page after a purchase, before, between and after asin, options and reward.
_DONE_START = (
    *("Thank you for shopping with us!", "Your code: ", "None"),
    *(" (Paste it in your MTurk interface.)", "Purchased", "asin"),
)
_DONE_MIDDLE = (
    *("attrs", "None", "category", "None", "query", "None"),
    *("product category", "None", "Target", "asin", "options", "attrs"),
    # The spelling is WebShop's.
    *("price upper", "instuction text", "category", "product category", "query"),
    *("Goal ", "None", "Reward", "Your score (min 0.0, max 1.0)"),
)
_DONE_END = ("Reward Details ", "None")


def page_of(
    catalogue: Catalogue, state: State, *, level: int = 0, show_attrs: bool = False
) -> Page:
    """Return the page that a session is on.

    Parameters
    ----------
    catalogue : Catalogue
    state : State
    level : int
        Seed of a search for random products.
    show_attrs : bool
        Whether a product's page has a button for its attributes.
    """
    goal: Goal = catalogue.goals[state.goal]
    instruction = _make_nodes(TEXT, goal.instruction_text)
    if state.page == "index":
        nodes = [(TEXT, "WebShop"), (TEXT, "Instruction: "), *instruction]
        return Page([*nodes, (BUTTON, "Search")], ("search",))
    head = [(TEXT, "Instruction:"), *instruction, _BACK]
    if state.page == "results":
        return _results_page(catalogue, state, head, level)
    product = catalogue.products.by_asin(state.asin or "")
    if state.page == "item":
        return _item_page(product, head, show_attrs)
    if state.page == "done":
        return Page(_done_nodes(product, state), ())
    nodes = [*head, _PREVIOUS, *_sub_page_nodes(product, state.page)]
    return Page(nodes, (BACK_TO_SEARCH, PREVIOUS))


def _results_page(
    catalogue: Catalogue, state: State, nodes: list[Node], level: int
) -> Page:
    numbers = catalogue.search_results(state.keywords, level)
    page_no = state.page_no
    on_page = numbers[(page_no - 1) * PAGE_SIZE : page_no * PAGE_SIZE]
    nodes.append((TEXT, f"Page {page_no} (Total results: {len(numbers)})"))
    clickables = [BACK_TO_SEARCH]
    if page_no > 1:
        nodes.append(_PREVIOUS)
        clickables.append(PREVIOUS)
    nodes.append(_NEXT)
    clickables.append(NEXT_PAGE)
    for number in on_page:
        product_nodes = _product_nodes(catalogue.products[number])
        nodes += product_nodes.results_nodes
        clickables.append(product_nodes.link)
    return Page(nodes, tuple(dict.fromkeys(clickables)))


def _item_page(product: Product, nodes: list[Node], show_attrs: bool) -> Page:
    product_nodes = _product_nodes(product)
    num_buttons = len(SUB_PAGES) if show_attrs else len(SUB_PAGES) - 1
    nodes.append(_PREVIOUS)
    nodes += product_nodes.item_nodes
    nodes += _SUB_BUTTONS[:num_buttons]
    nodes.append(_BUY)
    buttons = (BACK_TO_SEARCH, PREVIOUS, *SUB_PAGES[:num_buttons], BUY_NOW)
    return Page(nodes, tuple(dict.fromkeys(buttons + product_nodes.values)))


def _sub_page_nodes(product: Product, page: str) -> list[Node]:
    texts: Iterable[str] = ()
    if page == "description":
        texts = (product.description,)
    elif page == "features":
        texts = [f" {bullet}" for bullet in product.bullets]
    elif page == "attributes":
        texts = [f" {attribute}" for attribute in product.attributes]
        texts += product.category, product.query, product.product_category
    return [node for text in texts for node in _make_nodes(TEXT, text)]


def _done_nodes(product: Product, state: State) -> list[Node]:
    options = json.dumps(dict(state.options), sort_keys=True).translate(_JSON_ESCAPES)
    texts = ["options", options, *_DONE_MIDDLE, str(state.reward), *_DONE_END]
    return [
        *((TEXT, text) for text in _DONE_START),
        *_make_nodes(TEXT, product.asin),
        *((TEXT, text) for text in texts),
    ]


# ------------------------------------------------------------------------ observations


def as_text(nodes: Sequence[Node]) -> str:
    """Return the observation of WebShop's mode ``text``."""
    return " [SEP] ".join([text.strip() for _, text in nodes])


def as_rich_text(
    nodes: Sequence[Node],
    options: Mapping[str, str],
    opened_asins: frozenset[str],
) -> str:
    """Return the observation of WebShop's mode ``text_rich``.

    Parameters
    ----------
    nodes : sequence of Node
    options : mapping from str to str
        The chosen values.  As in WebShop a label is marked as clicked if it stands in
        quotes in the JSON of the options: so is the name of a group, but not a value
        with a quote or a character outside ASCII.
    opened_asins : frozenset of str
        Products that are marked as clicked.
    """
    options_json = json.dumps(dict(options)) if options else ""
    click_reports: list[str] = []
    lines: list[str] = []
    for kind, text in nodes:
        if kind == TEXT:
            line = text
        elif kind == BUTTON:
            line = f"[button] {text} [button_]"
        elif kind == LINK:
            mark = "clicked button" if text in opened_asins else "button"
            line = f"\n[{mark}] {text} [{mark}_]"
        elif f'"{text}"' in options_json:
            line = f"  [clicked button] {text} [clicked button_]"
            click_reports.append(f"You have clicked {text}.\n")
        else:
            line = f"  [button] {text} [button_]"
        lines.append(line)
    return "".join(reversed(click_reports)) + "\n".join(lines) + "\n"


def as_ansi(nodes: Sequence[Node], options: Mapping[str, str]) -> str:
    """Return a page for a person at a terminal, in colours.

    Names that can be clicked stand in brackets.  Neighbours share a line; all else has
    a line of its own.

    Parameters
    ----------
    nodes : sequence of Node
    options : mapping from str to str
        The chosen values.
    """
    lines: list[str] = []
    last = TEXT
    for kind, text in nodes:
        # No character moves the cursor.
        line = "".join(c if c.isprintable() else " " for c in text)
        if kind != TEXT:
            is_choice = kind == OPTION and text in options.values()
            colour = _CHOICE_COLOUR if is_choice else _COLOURS[kind]
            line = paint(f"[{line.lower()}]", colour)
        if kind == last != TEXT:
            lines[-1] += f"  {line}"
        else:
            lines.append(f"\n{line}" if kind == LINK else line)
        last = kind
    return "\n".join(lines)


def max_observation_length(catalogue: Catalogue) -> int:
    """Return an upper bound of the length of any observation.

    A product is a line of JSON, where a text has at least 4 more characters.  On a
    product's page a label of n characters takes at most 2 n + 60 as a clicked option,
    and n + 9 more in the list of available actions: less than 16 (n + 4).  A page of
    results has title, price and a link of each of its 10 products.  The JSON of an
    order has at most 6 characters for one.  The rest is the instruction and less than
    2048 characters of headings.
    """
    return 2048 + catalogue.goals.max_length + 16 * catalogue.products.max_length
