"""`-o KEY=VALUE`: the text becomes a value of the type that the keyword has."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import gymnasium
import pytest
from gymnasium.spaces import Discrete

import roll_vec

KEYWORDS = []


class Game(gymnasium.Env):
    observation_space = action_space = Discrete(2)

    def __init__(
        self,
        flag=True,
        count=3,
        name="abc",
        size=(3, 3),
        level: int | None = None,
        rate: float = 1.0,
        is_strict: bool = False,
        mode: str | None = "a",
        scale: int | tuple[int, int] = 1,
        anything=None,
        number: Literal[1, 2] | None = 1,
        table: dict[str, float] | None = None,
        items: list[int] = [],  # noqa: B006
        row: Sequence[bool] = (),
        members: set[int] = frozenset(),
        pair: tuple[int, str] | str = "",
    ):
        KEYWORDS.append(locals())


# Each with the value that the class gets; `anything` says nothing of its type.
TEXTS = [
    ("flag=false", False),
    ("flag=0", False),
    ("is_strict=TRUE", True),
    ("count=7", 7),
    ("count=none", None),
    ("rate=2", 2.0),
    ("level=1e3", 1000),
    ("name=5", "5"),
    ("name=none", "none"),
    ("name='5'", "5"),
    ("mode=None", None),
    ("size=[4, 5]", (4, 5)),
    ("size=4,5", (4, 5)),
    ("scale=2", 2),
    ("scale=2,3", (2, 3)),
    ("anything=false", False),
    ("anything=1 + 1", "1 + 1"),
    ('anything={"a": [null, true]}', {"a": [None, True]}),
    ("number=2", 2),
    ('table={"a": 1}', {"a": 1}),
    ("items=1,2", [1, 2]),
    ("row=[True, 0]", [True, 0]),
    ("members={1, 2}", {1, 2}),
    ("pair=1,'a'", (1, "a")),
    ("pair=one", "one"),
]
REFUSED = [
    ("flag=maybe", "flag: expected bool or None, got 'maybe'"),
    ("level=many", "level: expected int or None, got 'many'"),
    ("rate=fast", "rate: expected float, got 'fast'"),
    ("table=5", "table: expected dict or None, got '5'"),
    (f"rate={10**400}", "rate: expected float, got '1000"),
    ("size=5", "size: expected tuple or None, got '5'"),
]


@pytest.fixture(params=["gymnasium", "roll_vec"], autouse=True)
def id(request, forgets_ids):
    """An id of the class, registered in each way."""
    if request.param == "roll_vec":
        roll_vec.register("mine/Game-v0", Game)
    else:
        gymnasium.register("mine/Game-v0", entry_point=Game)
    return "mine/Game-v0"


def test_texts_become_values_of_the_types_of_keywords(works, id):
    for text, value in TEXTS:
        KEYWORDS.clear()
        works("info", id, "-o", text)
        (keywords,) = KEYWORDS
        got = keywords[text.partition("=")[0]]
        assert (got, type(got)) == (value, type(value)), text


def test_texts_of_other_types_are_refused(fails, id):
    for text, message in REFUSED:
        assert f"argument -o: {message}" in fails("info", id, "-o", text)


def test_a_keyword_stands_once(fails, id):
    for text in ("count=1", "count=2"):
        line = fails("info", id, "-o", "count=1", "-o", "rate=1", "-o", text)
        assert "argument -o: expected each keyword once, got count, rate, count" in line
