"""Pages of the shop: what is on them, as text, and what can be clicked.

A page is a list of nodes, each a kind and a text, in the order of WebShop's HTML
(commit 64fa2a5, `web_agent_site/templates`); both forms of observations are made from
the nodes.  A node of nothing but white space is there or not as an HTML parser would
have it.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from roll_vec.envs.webshop.catalogue.products import Goal, Product
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

__all__ = [
    "BUTTON",
    "LINK",
    "OPTION",
    "PAGE_SIZE",
    "TEXT",
    "Node",
    "Page",
    "as_rich",
    "as_text",
    "found",
    "linked",
    "longest_page",
    "page_of",
]

PAGE_SIZE = 10
# How many products a search for `<r>` draws.
NUM_DRAWN = 50

TEXT, BUTTON, LINK, OPTION = "text", "button", "link", "option"

Node = tuple[str, str]
"""Kind and text."""

_ASCII_SPACE = " \n\t\f\r"
# As Flask writes JSON into a page.
_JSON_ESCAPES = str.maketrans(
    {"<": r"\u003c", ">": r"\u003e", "&": r"\u0026", "'": r"\u0027"}
)


class Page(NamedTuple):
    """What is on a page.

    Parameters
    ----------
    nodes : list of Node
    clickables : tuple of str
        What a click can name, each once: buttons, products, values of options.
    products : tuple of Product
        Those that a results page lists.
    total : int
        How many a results page tells were found.
    """

    nodes: list[Node]
    clickables: tuple[str, ...]
    products: tuple[Product, ...] = ()
    total: int = 0


class _Parts(NamedTuple):
    """What pages show of one product, made once."""

    link: str
    listed: tuple[Node, ...]
    item: tuple[Node, ...]
    values: tuple[str, ...]


def _node(kind: str, text: str) -> tuple[Node, ...]:
    """Return the node of a text, if it has one."""
    if text.strip(_ASCII_SPACE):
        return ((kind, text),)
    return ((kind, " "),) if text and "\n" not in text else ()


def _parts(product: Product) -> _Parts:
    """Return what pages show of a product, made once for each.

    It is kept beside the fields of the product, as a `cached_property` would be, so
    that it lives as long.
    """
    kept: _Parts | None = vars(product).get("_parts")
    if kept is None:
        tag = product.price_tag
        listed = _node(LINK, product.asin), _node(TEXT, product.title), _node(TEXT, tag)
        item: list[Node] = []
        for name, values in product.options.items():
            item += _node(TEXT, name)
            for value in values:
                item += _node(OPTION, value)
        item += _node(TEXT, product.title)
        item += (TEXT, f"Price: {tag}"), (TEXT, "Rating: N.A.")
        kept = _Parts(
            product.asin.lower(),
            sum(listed, ()),
            tuple(item),
            tuple(product.group_of_value),
        )
        vars(product)["_parts"] = kept
    return kept


# ---------------------------------------------------------------------- the pages

_BACK = (BUTTON, "Back to Search")
_PREVIOUS = (BUTTON, "< Prev")
_NEXT = (BUTTON, "Next >")
_BUY = (BUTTON, "Buy Now")
_SUB_BUTTONS = tuple((BUTTON, name.capitalize()) for name in SUB_PAGES)

_DONE_START = tuple(
    (TEXT, text)
    for text in (
        "Thank you for shopping with us!",
        "Your code: ",
        "None",
        " (Paste it in your MTurk interface.)",
        "Purchased",
        "asin",
    )
)
_DONE_MIDDLE = tuple(
    (TEXT, text)
    for text in (
        *("attrs", "None", "category", "None", "query", "None"),
        *("product category", "None", "Target", "asin", "options", "attrs"),
        # Spelt as in WebShop.
        *("price upper", "instuction text", "category", "product category", "query"),
        *("Goal ", "None", "Reward", "Your score (min 0.0, max 1.0)"),
    )
)
_DONE_END = ((TEXT, "Reward Details "), (TEXT, "None"))


def page_of(
    catalogue: Catalogue, state: State, *, level: int = 0, show_attrs: bool = False
) -> Page:
    """Return the page that a session is on.

    Parameters
    ----------
    catalogue : Catalogue
    state : State
    level : int
        What a search for random products draws from.
    show_attrs : bool
        Whether a product's page has a button for its attributes.
    """
    goal: Goal = catalogue.goals[state.goal]
    instruction = _node(TEXT, goal.instruction_text)
    if state.page == "index":
        nodes = [(TEXT, "WebShop"), (TEXT, "Instruction: "), *instruction]
        return Page([*nodes, (BUTTON, "Search")], ("search",))
    head = [(TEXT, "Instruction:"), *instruction, _BACK]
    if state.page == "results":
        return _results(catalogue, state, head, level)
    products = catalogue.products
    product: Product = products[products.number_of(state.asin or "")]
    if state.page == "item":
        return _item(product, head, show_attrs)
    if state.page == "done":
        return Page(_done(product, state), ())
    head.append(_PREVIOUS)
    head += _sub_page(product, state.page)
    return Page(head, (BACK_TO_SEARCH, PREVIOUS))


def _results(catalogue: Catalogue, state: State, nodes: list[Node], level: int) -> Page:
    numbers = found(catalogue, state.keywords, level)
    number = state.page_no
    shown = numbers[(number - 1) * PAGE_SIZE : number * PAGE_SIZE]
    products = tuple([catalogue.products[number] for number in shown])
    nodes.append((TEXT, f"Page {number} (Total results: {len(numbers)})"))
    clickables = [BACK_TO_SEARCH]
    if number > 1:
        nodes.append(_PREVIOUS)
        clickables.append(PREVIOUS)
    nodes.append(_NEXT)
    clickables.append(NEXT_PAGE)
    for product in products:
        parts = _parts(product)
        nodes += parts.listed
        clickables.append(parts.link)
    return Page(nodes, tuple(dict.fromkeys(clickables)), products, len(numbers))


def _item(product: Product, nodes: list[Node], show_attrs: bool) -> Page:
    parts = _parts(product)
    num_buttons = len(SUB_PAGES) if show_attrs else len(SUB_PAGES) - 1
    nodes.append(_PREVIOUS)
    nodes += parts.item
    nodes += _SUB_BUTTONS[:num_buttons]
    nodes.append(_BUY)
    buttons = (BACK_TO_SEARCH, PREVIOUS, *SUB_PAGES[:num_buttons], BUY_NOW)
    return Page(nodes, tuple(dict.fromkeys(buttons + parts.values)))


def _sub_page(product: Product, page: str) -> list[Node]:
    texts: Iterable[str] = ()
    if page == "description":
        texts = (product.description,)
    elif page == "features":
        texts = [f" {bullet}" for bullet in product.bullets]
    elif page == "attributes":
        texts = [f" {attribute}" for attribute in product.attributes]
        texts += product.category, product.query, product.product_category
    return [node for text in texts for node in _node(TEXT, text)]


def _done(product: Product, state: State) -> list[Node]:
    options = json.dumps(dict(state.options), sort_keys=True).translate(_JSON_ESCAPES)
    return [
        *_DONE_START,
        *_node(TEXT, product.asin),
        (TEXT, "options"),
        (TEXT, options),
        *_DONE_MIDDLE,
        (TEXT, str(state.reward)),
        *_DONE_END,
    ]


def linked(catalogue: Catalogue, link: str, page: Callable[[], Page]) -> str:
    """Return the asin that a link on a results page leads to.

    Parameters
    ----------
    catalogue : Catalogue
    link : str
        The asin in lower case.
    page : function
        Returns the page that the link is on.
    """
    asin = link.upper()
    try:
        catalogue.products.number_of(asin)
    except KeyError:
        # In WebShop no asin has a letter in lower case.
        return next(p.asin for p in page().products if p.asin.lower() == link)
    return asin


def found(catalogue: Catalogue, query: str, level: int = 0) -> Sequence[int]:
    """Return the numbers of the products that a query lists, the first one first.

    Parameters
    ----------
    catalogue : Catalogue
    query : str
        Words to search for; or ``<r>`` for 50 products drawn at random, ``<c>`` and a
        category, ``<q>`` and what products were found by, ``<a>`` and an attribute,
        each for all products that have it.
    level : int
        From which, and from the query, ``<r>`` draws.

    Notes
    -----
    In WebShop every page of ``<r>`` is another draw, and a missing word an error.
    """
    kind, *words = query.split(" ") if query.startswith("<") else ("",)
    if kind == "<r>":
        seed = f"{level} {query}".encode("utf-8", "surrogatepass")
        every = range(len(catalogue.products))
        return random.Random(seed).sample(every, min(NUM_DRAWN, len(every)))
    if kind == "<c>":
        return catalogue.having("category", words[0] if words else "")
    if kind == "<q>":
        return catalogue.having("query", " ".join(words).strip())
    if kind == "<a>":
        return catalogue.having("attributes", " ".join(words).strip())
    return catalogue.hits(query)


# ------------------------------------------------------------------- observations


def as_text(nodes: Sequence[Node]) -> str:
    """Return the observation of WebShop's mode ``text``."""
    return " [SEP] ".join([text.strip() for _, text in nodes])


def longest_page(catalogue: Catalogue) -> int:
    """Return an upper bound of the length of any observation.

    A product is a line of JSON, where a text takes 4 characters at least besides its
    own.  On a product's page a label of n characters takes up to 2 n + 60 as a clicked
    option, and n + 9 more in the list of available actions: less than 16 (n + 4).  A
    page of results has of each of its 10 products the title, the price and a link, and
    an order's JSON has 6 characters for one.  The rest is the instruction and less than
    2048 characters of headings.
    """
    return 2048 + catalogue.goals.longest + 16 * catalogue.products.longest


def as_rich(
    nodes: Sequence[Node],
    options: Mapping[str, str],
    opened: frozenset[str],
) -> str:
    """Return the observation of WebShop's mode ``text_rich``.

    Parameters
    ----------
    nodes : sequence of Node
    options : mapping from str to str
        The chosen values.  As in WebShop a label is clicked if it stands in quotes in
        the options' JSON: the name of a group is, a value with a quote or a character
        beyond ASCII is not.
    opened : frozenset of str
        The asins that are shown as clicked.
    """
    address = json.dumps(dict(options)) if options else ""
    chosen: list[str] = []
    lines: list[str] = []
    for kind, text in nodes:
        if kind == TEXT:
            line = text
        elif kind == BUTTON:
            line = f"[button] {text} [button_]"
        elif kind == LINK:
            state = "clicked button" if text in opened else "button"
            line = f"\n[{state}] {text} [{state}_]"
        elif f'"{text}"' in address:
            line = f"  [clicked button] {text} [clicked button_]"
            chosen.append(f"You have clicked {text}.\n")
        else:
            line = f"  [button] {text} [button_]"
        lines.append(line)
    return "".join(reversed(chosen)) + "\n".join(lines) + "\n"
