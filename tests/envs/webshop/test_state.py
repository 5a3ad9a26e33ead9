"""Actions are parsed, states follow clicks, saved states are restored or refused."""

import json
import random
import re
import types

import pytest

from roll_vec.envs.webshop.actions import parse_action
from roll_vec.envs.webshop.state import (
    PAGES,
    SUB_PAGES,
    State,
    choose_option,
    open_product,
    press_button,
    read_state,
    show_results,
    write_state,
)
from roll_vec.errors import InvalidOptionError
from tests.envs.webshop.small_shop import page_product, page_shop

ITEM = State(
    3, "item", "red shoes", 2, "A1", {"size": "small"}, frozenset(("A1", "B2"))
)


def test_a_search_forgets_all_but_opened_products():
    for page in PAGES[:-1]:
        state = show_results(ITEM._replace(page=page), "hats")
        assert state == State(3, "results", "hats", 1, opened_asins=ITEM.opened_asins)


def test_back_to_search_forgets_everything():
    for page in PAGES[1:-1]:
        assert press_button(ITEM._replace(page=page), "back to search") == State(3)


def test_pages_of_results():
    first = State(3, "results", "hats", 1, opened_asins=frozenset(("B2",)))
    second = press_button(first, "next >")
    assert second == first._replace(page_no=2)
    assert press_button(second, "< prev") == first
    assert press_button(first, "< prev") is None
    eighth = first._replace(page_no=8)
    assert press_button(eighth, "next >").page_no == 9


def test_a_product_and_its_sub_pages():
    results = State(3, "results", "hats", 2, opened_asins=frozenset(("B2",)))
    item = open_product(results, "A1", track_opened=True)
    assert item == State(3, "item", "hats", 2, "A1", {}, frozenset(("A1", "B2")))
    untracked = open_product(results, "A1", track_opened=False)
    assert untracked.opened_asins == results.opened_asins
    opened = results._replace(opened_asins=item.opened_asins)
    assert press_button(item, "< prev") == opened
    for name in SUB_PAGES:
        below = press_button(ITEM, name)
        assert below == ITEM._replace(page=name)
        assert press_button(below, "< prev") == ITEM
        assert press_button(below, "buy now") is press_button(below, "next >") is None
    assert press_button(ITEM, "buy now") == ITEM._replace(page="done")
    assert press_button(ITEM, "next >") is None
    assert press_button(ITEM, "< prev").options == {}


def test_other_texts_are_no_buttons():
    for page in PAGES[:-1]:
        for text in ("", "search", "small", "a1", "Buy Now"):
            assert press_button(ITEM._replace(page=page), text) is None


def test_options():
    shirt = page_product(
        options={"size": ("small", "large"), "color": ("red", "one"), "fit": ("one",)}
    )
    start = State(3, "item", "x", 1, "A1")
    red = choose_option(start, "red", shirt)
    assert red.options == {"color": "red"}
    assert start.options == {}
    both = choose_option(red, "small", shirt)
    assert list(both.options.items()) == [("color", "red"), ("size", "small")]
    # The same again, and another of the group in the place of the first.
    assert choose_option(both, "small", shirt) == both
    large = choose_option(both, "large", shirt)
    assert list(large.options.items()) == [("color", "red"), ("size", "large")]
    # A value of two groups belongs to the later one.
    assert choose_option(start, "one", shirt).options == {"fit": "one"}


PRODUCTS = page_shop([page_product(options={"size": ("small", "large")})]).products


def read_record(record):
    """Read a state of a shop with one product and four goals."""
    return read_state(record, PRODUCTS, 4)


@pytest.mark.parametrize(
    "state",
    [
        State(0),
        State(3, "results", "x", 7, opened_asins=frozenset(("A1", "B2"))),
        State(1, "item", "x", 1, "A1", {"size": "large"}),
        State(1, "reviews", "x", 1, "A1"),
        State(1, "done", "x", 1, "A1", {"size": "large"}, reward=0.25),
    ],
)
def test_states_survive_json(state):
    record = json.loads(json.dumps(write_state(state)))
    assert read_record(record) == state


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"goal": 4}, "state: goal: expected at most 3"),
        ({"goal": "1"}, "state: goal"),
        ({"page": "cart"}, "state: page"),
        ({"page": None}, "state: page"),
        ({"page": "index"}, "state: expected neither asin nor options"),
        ({"page": "results", "asin": None}, "state: expected neither"),
        ({"keywords": 3}, "state: keywords"),
        ({"page_no": 0}, "state: page_no"),
        ({"asin": None}, "state: asin: there is no product None"),
        ({"asin": ["A1"]}, "state: asin"),
        ({"options": {"size": "huge"}}, "state: options: A1 cannot be"),
        ({"options": {"hue": "small"}}, "state: options"),
        ({"options": ["small"]}, "state: options"),
        ({"opened_asins": 3}, "state: opened_asins"),
        ({"opened_asins": [3]}, "state: opened_asins"),
        ({"reward": 2}, "state: reward"),
        ({"reward": None}, "state: reward"),
        ({"more": 1}, "state: expected goal, page, keywords"),
        ({"goal": 10**30}, "state: goal"),
        ({"page": []}, "state: page"),
        ({"asin": {}}, "state: asin"),
        ({"options": [1]}, "state: options"),
        ({"options": {"size": {}}}, "state: options"),
        ({"opened_asins": "A1"}, "state: opened_asins"),
        ({"reward": "one"}, "state: reward"),
    ],
    ids=str,
)
def test_records_that_are_no_state(change, message):
    record = write_state(State(1, "item", "x", 1, "A1", {"size": "large"}))
    assert read_record(record)
    with pytest.raises(InvalidOptionError) as raised:
        read_record({**record, **change})
    assert str(raised.value).startswith(message)
    for other in (None, [], {}, types.SimpleNamespace()):
        with pytest.raises(InvalidOptionError, match="state: expected goal"):
            read_record(other)


PATTERN = re.compile(r"(.+)\[(.+)\]")


def by_pattern(text):
    """Return the action by WebShop's own pattern."""
    match = PATTERN.match(text)
    if match is None:
        return text, None
    return match[1], match[2].lower()


@pytest.mark.parametrize(
    ("text", "action"),
    [
        ("search[Red Shoes]", ("search", "red shoes")),
        ("click[next >]", ("click", "next >")),
        ("Click[X]", ("Click", "x")),
        ("search[a] and so on", ("search", "a")),
        ("a[b][c]", ("a[b]", "c")),
        ("a[b[c]d]", ("a[b", "c]d")),
        ("a[b[]]", ("a[b", "]")),
        ("a[]", ("a[]", None)),
        ("[a]", ("[a]", None)),
        ("", ("", None)),
        ("think", ("think", None)),
        ("search[a\nb]", ("search[a\nb]", None)),
        ("search[a]\nclick[b]", ("search", "a")),
        ("\nclick[b]", ("\nclick[b]", None)),
        ("click[\ud800]", ("click", "\ud800")),
    ],
)
def test_actions(text, action):
    assert parse_action(text) == action == by_pattern(text)


def test_every_short_text_is_read_as_by_the_pattern():
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
