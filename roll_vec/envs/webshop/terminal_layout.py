"""Layout of a page for a person at a terminal, in colours.

From top to bottom: the instruction, the page, the possible actions.  A name that can be
clicked stands in brackets, or is the number of a product.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator

from roll_vec.envs.webshop.catalogue import Catalogue
from roll_vec.envs.webshop.goals import Goal
from roll_vec.envs.webshop.pages import BUTTON, PREVIOUS_NODE, Page
from roll_vec.envs.webshop.products import Product
from roll_vec.envs.webshop.state import PAGE_SIZE, State
from roll_vec.render.ansi import paint

WIDTH = 88
# Widths in a line of results: number, title, price.
_COLUMN_WIDTHS = (10, 56, 18)

# ANSI codes of colours and styles.
_INSTRUCTION, _HEADING, _FAINT = "1;36", "1", "2"
_BUTTON, _LINK, _VALUE, _PRICE = "33", "36", "36", "32"
_SELECTION = _FULL_SCORE = "1;32"
_LOW_SCORE = "1;31"


def lay_out(catalogue: Catalogue, state: State, page: Page) -> str:
    """Return a page as lines in colours, 88 characters wide.

    The value of an option is never broken, because a person has to type it: it may make
    a longer line.

    Parameters
    ----------
    catalogue : Catalogue
    state : State
    page : Page
        Of the state, from `roll_vec.envs.webshop.pages.page_of`.
    """
    goal: Goal = catalogue.goals[state.goal]
    lines = [*_wrap(goal.instruction_text, _INSTRUCTION), ""]
    if state.page == "index":
        lines.append(paint("The shop's front page", _HEADING))
    elif state.page == "results":
        lines += _results_lines(state, page)
    else:
        product = catalogue.products.by_asin(str(state.asin))
        if state.page == "item":
            lines += _item_lines(state, product)
        elif state.page == "done":
            return "\n".join([*lines, *_order_lines(state, product)])
        else:
            lines += _sub_page_lines(state, product, page)
    lines += ["", *_action_lines(state, page)]
    return "\n".join(lines)


def _results_lines(state: State, page: Page) -> Iterator[str]:
    if not page.total:
        yield paint(
            _printable(f'Nothing was found for "{state.keywords[:60]}"'), _HEADING
        )
        return
    pages = -(-page.total // PAGE_SIZE)
    heading = f"Page {state.page_no} of {pages}, {page.total} products were found"
    yield paint(heading, _HEADING)
    if not page.products:
        yield "There are no more of them."
    for product in page.products:
        yield ""
        first, *more = _break_lines(product.title, _COLUMN_WIDTHS[1]) or [""]
        number = paint(product.asin.lower().ljust(_COLUMN_WIDTHS[0]), _LINK)
        price = paint(product.price_tag.rjust(_COLUMN_WIDTHS[2]), _PRICE)
        yield f"{number}  {first.ljust(_COLUMN_WIDTHS[1])}  {price}"
        for line in more:
            yield " " * (_COLUMN_WIDTHS[0] + 2) + line


def _item_lines(state: State, product: Product) -> Iterator[str]:
    yield from _wrap(product.title, _HEADING)
    yield f"{paint(product.price_tag, _PRICE)} · no ratings"
    for name, values in product.options.items():
        yield ""
        choice = state.options.get(name)
        yield _printable(name) + ("" if choice is None else f": {_printable(choice)}")
        yield from _flow(
            (f"[{value} ✓]", _SELECTION) if value == choice else (f"[{value}]", _VALUE)
            for value in values
        )


def _sub_page_lines(state: State, product: Product, page: Page) -> Iterator[str]:
    yield from _wrap(product.title, _HEADING)
    yield ""
    yield f"{state.page.capitalize()}:"
    lines = []
    for _, text in page.nodes[page.nodes.index(PREVIOUS_NODE) + 1 :]:
        # Entries of a list begin with a space.
        is_entry = text.startswith(" ") and state.page != "description"
        lines += _list_entry(text[1:]) if is_entry else _wrap(text)
    yield from lines or [paint("nothing", _FAINT)]


def _order_lines(state: State, product: Product) -> Iterator[str]:
    yield paint("Your order", _HEADING)
    yield from _wrap(f"{product.asin.lower()}  {product.title}")
    yield paint(product.price_tag, _PRICE)
    for name, value in state.options.items():
        yield from _wrap(f"{name}: {value}")
    yield ""
    colour = _FULL_SCORE if state.reward == 1 else _LOW_SCORE
    yield paint(f"Your score: {state.reward:.4g} of 1", colour)


def _action_lines(state: State, page: Page) -> Iterator[str]:
    buttons = [text.lower() for kind, text in page.nodes if kind == BUTTON]
    if state.page == "index":
        yield paint("search[words] looks for products", _FAINT)
        return
    yield from _flow((f"[{name}]", _BUTTON) for name in buttons)
    yield paint("click[name] of what is shown · search[words]", _FAINT)


def _printable(text: str) -> str:
    """Return a text without characters that move the cursor."""
    return "".join(c if c.isprintable() else " " for c in text)


def _break_lines(text: str, width: int = WIDTH) -> list[str]:
    return textwrap.wrap(_printable(text), width)


def _wrap(text: str, colour: str = "") -> list[str]:
    return [paint(line, colour) for line in _break_lines(text)]


def _list_entry(text: str) -> list[str]:
    """Return a text as the lines of an entry in a list."""
    lines = _break_lines(text, WIDTH - 2)
    return [("- " if i == 0 else "  ") + line for i, line in enumerate(lines)]


def _flow(words: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Yield lines of words, each word with its colour."""
    line, length = "", 0
    for word, colour in words:
        if length and length + 2 + len(word) > WIDTH:
            yield line
            line, length = "", 0
        gap = "  " if length else ""
        line += gap + paint(_printable(word), colour)
        length += len(gap) + len(word)
    if length:
        yield line
