"""The parser of actions: as WebShop's pattern, in linear time."""

import random
import re

import pytest

from roll_vec.envs.webshop.actions import parse_action

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
    for _ in range(30_000):
        size = rng.randrange(12)
        text = "".join(
            rng.choices("[]aB\n\r\u2028\u0130 ", (4, 4, 3, 2, 1, 1, 1, 1, 1), k=size)
        )
        assert parse_action(text) == by_pattern(text), text


def test_long_texts_take_linear_time():
    # The pattern would take minutes for any of these.
    for text in ("[" * (1 << 20), "a[" * (1 << 19), "a" * (1 << 20)):
        assert parse_action(text) == (text, None)
    text = "a[]" * 300_000
    assert parse_action(text) == (text[:-5], "]a[")
