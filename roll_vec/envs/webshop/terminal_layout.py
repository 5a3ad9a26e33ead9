"""A page laid out for a person, in the colours of a terminal.

It shows what the observations show: what is wanted on top, the page, at the bottom
what can be done; whatever can be clicked stands in brackets or is a product's number.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from roll_vec.envs.webshop.catalogue.products import Goal, Product
from roll_vec.envs.webshop.pages import BUTTON, PAGE_SIZE, Page
from roll_vec.envs.webshop.state import State
from roll_vec.render.ansi import paint

if TYPE_CHECKING:
    from roll_vec.envs.webshop.catalogue.catalogue import Catalogue

__all__ = ["WIDTH", "lay_out"]

WIDTH = 88
# Of a line of results: number, title, price.
_COLUMNS = (10, 56, 18)

_WANTED, _HEADING, _FAINT = "1;36", "1", "2"
_BUTTON, _LINK, _VALUE, _PRICE = "33", "36", "36", "32"
_CHOSEN = _EARNED = "1;32"
_MISSED = "1;31"


def lay_out(catalogue: Catalogue, state: State, page: Page) -> str:
    """Return a page as lines in colours, 88 characters wide.

    Only the value of an option that is longer makes a longer line: it has to be typed
    as it is.

    Parameters
    ----------
    catalogue : Catalogue
    state : State
    page : Page
        The state's, from `roll_vec.envs.webshop.pages.page_of`.
    """
    goal: Goal = catalogue.goals[state.goal]
    lines = [*_wrap(goal.instruction_text, _WANTED), ""]
    if state.page == "index":
        lines.append(paint("The shop's front page", _HEADING))
    elif state.page == "results":
        lines += _results(state, page)
    else:
        products = catalogue.products
        product: Product = products[products.number_of(str(state.asin))]
        if state.page == "item":
            lines += _item(state, product)
        elif state.page == "done":
            return "\n".join([*lines, *_order(state, product)])
        else:
            lines += _sub_page(state, product)
    lines += ["", *_what_to_do(state, page)]
    return "\n".join(lines)


def _results(state: State, page: Page) -> Iterator[str]:
    if not page.total:
        yield paint(_plain(f'Nothing was found for "{state.keywords[:60]}"'), _HEADING)
        return
    pages = -(-page.total // PAGE_SIZE)
    heading = f"Page {state.page_no} of {pages}, {page.total} products were found"
    yield paint(heading, _HEADING)
    if not page.products:
        yield "There are no more of them."
    for product in page.products:
        yield ""
        first, *rest = _texts(product.title, _COLUMNS[1]) or [""]
        number = paint(product.asin.lower().ljust(_COLUMNS[0]), _LINK)
        price = paint(product.price_tag.rjust(_COLUMNS[2]), _PRICE)
        yield f"{number}  {first.ljust(_COLUMNS[1])}  {price}"
        for line in rest:
            yield " " * (_COLUMNS[0] + 2) + line


def _item(state: State, product: Product) -> Iterator[str]:
    yield from _wrap(product.title, _HEADING)
    yield f"{paint(product.price_tag, _PRICE)} · no ratings"
    for name, values in product.options.items():
        yield ""
        chosen = state.options.get(name)
        yield _plain(name) + ("" if chosen is None else f": {_plain(chosen)}")
        yield from _flow(
            (f"[{value} ✓]", _CHOSEN) if value == chosen else (f"[{value}]", _VALUE)
            for value in values
        )


def _sub_page(state: State, product: Product) -> Iterator[str]:
    yield from _wrap(product.title, _HEADING)
    yield ""
    yield f"{state.page.capitalize()}:"
    if state.page == "description":
        lines = _wrap(product.description)
    elif state.page == "features":
        lines = [line for bullet in product.bullets for line in _point(bullet)]
    elif state.page == "attributes":
        lines = [line for attribute in product.attributes for line in _point(attribute)]
        for text in (product.category, product.query, product.product_category):
            lines += _wrap(text)
    else:
        lines = []
    yield from lines or [paint("nothing", _FAINT)]


def _order(state: State, product: Product) -> Iterator[str]:
    yield paint("Your order", _HEADING)
    yield from _wrap(f"{product.asin.lower()}  {product.title}")
    yield paint(product.price_tag, _PRICE)
    for name, value in state.options.items():
        yield from _wrap(f"{name}: {value}")
    yield ""
    colour = _EARNED if state.reward == 1 else _MISSED
    yield paint(f"Your score: {state.reward:.4g} of 1", colour)


def _what_to_do(state: State, page: Page) -> Iterator[str]:
    buttons = [text.lower() for kind, text in page.nodes if kind == BUTTON]
    if state.page == "index":
        yield paint("search[words] looks for products", _FAINT)
        return
    yield from _flow((f"[{name}]", _BUTTON) for name in buttons)
    yield paint("click[name] of what is shown · search[words]", _FAINT)


def _plain(text: str) -> str:
    """Return a text in which nothing moves the cursor."""
    return "".join(c if c.isprintable() else " " for c in text)


def _texts(text: str, width: int = WIDTH) -> list[str]:
    return textwrap.wrap(_plain(text), width)


def _wrap(text: str, colour: str = "") -> list[str]:
    return [paint(line, colour) for line in _texts(text)]


def _point(text: str) -> list[str]:
    """Return a text as an entry of a list."""
    lines = _texts(text, WIDTH - 2)
    return [("- " if i == 0 else "  ") + line for i, line in enumerate(lines)]


def _flow(words: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Give words, each with its colour, as many a line as there is room for."""
    line, length = "", 0
    for word, colour in words:
        if length and length + 2 + len(word) > WIDTH:
            yield line
            line, length = "", 0
        gap = "  " if length else ""
        line += gap + paint(_plain(word), colour)
        length += len(gap) + len(word)
    if length:
        yield line
