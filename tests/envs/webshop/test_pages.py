"""Pages and states: what a page shows, what buttons do, how actions are read."""

import itertools
import random
import re
from pathlib import Path

import pytest

from roll_vec.envs.webshop.pages import as_ansi, as_rich_text, as_text, page_of
from roll_vec.envs.webshop.state import (
    PAGES,
    SUB_PAGES,
    State,
    parse_action,
    press_button,
)
from tests.envs.webshop.shops import SmallShop, make_goal, make_product
from tests.golden import assert_golden


def one_product(**fields):
    """Return a product with short texts."""
    values = {
        "asin": "A1",
        "title": "A Title",
        "description": "A description.",
        "bullets": ("one", "two"),
        "price": 5.0,
        "attributes": ("soft", "long sleeve"),
        "product_category": "Clothing › Shirts",
        **fields,
    }
    return make_product(**values)


def shop_of(*products, instruction="Find me a shirt"):
    """Return a shop with one goal, in which every search finds every product."""
    goal = make_goal(make_product(), instruction_text=instruction)
    return SmallShop(products, [goal], lambda query: list(range(len(products))))


LONG_TITLE = "A title of some twenty words or so that go on and on for a line or more"
SPACES = ("", " \r\n\t", "  ", "\xa0", " a & <b> ")
COLOURS = tuple(f"colour {number}" for number in range(9))
# The name of a group stands in the address, the value in another form.
LABELS = {
    "size": ('5"', "größe", "back\\slash", "plain"),
    "plain": ("size", "other"),
    "first": ("x",),
    "second": ("x",),
}
PLAIN = shop_of(one_product(bullets=("one", "", "word " * 20)))
MANY = shop_of(*(one_product(asin=f"A{n}", title=LONG_TITLE) for n in range(13)))
OPTIONS = shop_of(one_product(options={"size": ("s", "l"), "color": COLOURS}))
ODD_SPACES = shop_of(
    one_product(
        title=" ",
        bullets=("one", "", " two ", "\n", "a\nb"),
        options={"": ("", "a"), " ": ("\n",)},
    ),
    instruction="",
)
ON_LABELS = [{"size": "back\\slash"}, {"plain": "other"}, {"second": "x"}]
ORDER = {"size": "l", "color": '<r&d>\'s "é"'}
# Shop, page, and more of its state.  After the last product there are more pages.
SHOWN = [
    *((MANY, "results", {"page_no": number}) for number in (2, 4)),
    (shop_of(), "results", {}),
    (PLAIN, "index", {}),
    *((PLAIN, page, {}) for page in ("item", *SUB_PAGES)),
    *((shop_of(one_product(description=d)), "description", {}) for d in SPACES),
    *((ODD_SPACES, page, {}) for page in ("item", "features")),
    *((OPTIONS, "item", {"options": chosen}) for chosen in ({}, {"size": "l"})),
    *(
        (shop_of(one_product(options=LABELS)), "item", {"options": chosen})
        for chosen in ON_LABELS
    ),
    (PLAIN, "done", {"options": ORDER, "reward": 1 / 3}),
    (PLAIN, "done", {"reward": 1.0}),
    (MANY, "results", {"page_no": 2, "opened_asins": frozenset(("A11",))}),
]


def on(page, **fields):
    """Return the state on a page; that of a product if it is a product's."""
    if page not in ("index", "results"):
        fields = {"asin": "A1", **fields}
    return State(0, page, **{"keywords": "red shoes", **fields})


def test_pages_are_those_of_the_golden_file():
    lines, last = [], None
    for (shop, page, fields), show_attrs in itertools.product(SHOWN, (False, True)):
        if show_attrs and (shop, page) not in ((PLAIN, "item"), (PLAIN, "attributes")):
            continue
        state = on(page, **fields)
        shown = page_of(shop, state, show_attrs=show_attrs)
        rich = as_rich_text(shown.nodes, state.options, state.opened_asins)
        lines += [f"{page} {fields} {show_attrs=}: {shown.clickables}"]
        lines += [f"text     {as_text(shown.nodes)!r}", f"rich     {rich!r}"]
        if page != last:
            lines += [f"terminal {as_ansi(shown.nodes, state.options)!r}"]
        last = page
    text = "\n".join([*lines, ""])
    assert_golden(Path(__file__).parent / "data" / "pages.txt", text.encode())


@pytest.mark.parametrize("page", PAGES)
def test_lines_at_a_terminal_have_no_control_characters(page):
    text = "a\x1b[2Jb\rc\x07d\ud800e\u2028f " * 30
    texts = {"title": text, "description": text, "attributes": (text,)}
    odd = one_product(**texts, bullets=(text,), options={"\x1b[1m": ("\x1b[2J", "\r")})
    shop = shop_of(odd, instruction=text)
    state = on(page)
    if state.asin:
        state = state._replace(options={"\x1b[1m": "\r"})
    ansi = as_ansi(page_of(shop, state).nodes, state.options)
    for line in re.sub(r"\x1b\[[\d;]*m", "", ansi).split("\n"):
        assert line.isprintable()


ITEM = State(
    3, "item", "red shoes", 2, "A1", {"size": "small"}, frozenset(("A1", "B2"))
)
RESULTS = State(3, "results", "red shoes", 2, opened_asins=ITEM.opened_asins)
BUTTONS = ("back to search", "next >", "< prev", "buy now", *SUB_PAGES)


def state_on(page):
    """Return a state on a page, with all that it can have in it."""
    return RESULTS if page == "results" else ITEM._replace(page=page)


def press_by_the_rules(page, button):
    """Return the state after a button; None: the page has no such button."""
    if button == "back to search":
        return State(3)
    moves = {
        "results": {"next >": {"page_no": 3}, "< prev": {"page_no": 1}},
        "item": {"buy now": {"page": "done"}, "< prev": RESULTS._asdict()},
    }
    moves["item"] |= {sub_page: {"page": sub_page} for sub_page in SUB_PAGES}
    moves |= {sub_page: {"< prev": {"page": "item"}} for sub_page in SUB_PAGES}
    changes = moves.get(page, {}).get(button)
    return changes and state_on(page)._replace(**changes)


def test_buttons_follow_the_rules():
    others = ("", "search", "small", "a1", "Buy Now")
    for page, button in itertools.product(PAGES[:-1], (*BUTTONS, *others)):
        expected = press_by_the_rules(page, button)
        assert press_button(state_on(page), button) == expected, (page, button)
    assert press_button(RESULTS._replace(page_no=1), "< prev") is None
    assert press_button(RESULTS._replace(page_no=8), "next >").page_no == 9


def by_pattern(text):
    """Return the action by WebShop's own pattern."""
    match = re.match(r"(.+)\[(.+)\]", text)
    return (text, None) if match is None else (match[1], match[2].lower())


def test_every_short_text_is_read_as_by_the_pattern():
    texts = ("search[Red Shoes]", "click[next >]", "search[a]\nclick[b]", "a[\ud800]")
    for text in texts:
        assert parse_action(text) == by_pattern(text)
    assert parse_action("search[Red Shoes] and so on") == ("search", "red shoes")
    rng = random.Random(0)
    for _ in range(10_000):
        size = rng.randrange(12)
        text = "".join(
            rng.choices("[]aB\n\r\u2028\u0130 ", (4, 4, 3, 2, 1, 1, 1, 1, 1), k=size)
        )
        assert parse_action(text) == by_pattern(text), text


def test_long_texts_take_linear_time():
    # The pattern would take minutes for any of these.
    for text in ("[" * (1 << 18), "a[" * (1 << 17), "a" * (1 << 18)):
        assert parse_action(text) == (text, None)
    text = "a[]" * 100_000
    assert parse_action(text) == (text[:-5], "]a[")
