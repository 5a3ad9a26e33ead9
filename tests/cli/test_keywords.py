"""`-o KEY=VALUE`: the text becomes a value of Python or JSON, or stays a text."""

from __future__ import annotations

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
        level=None,
        rate=1.0,
        anything=None,
    ):
        KEYWORDS.append(locals())


TEXTS = [
    ("flag=false", False),
    ("flag= TRUE ", True),
    ("level=null", None),
    ("count=-7", -7),
    ("rate=2.5", 2.5),
    ("name='5'", "5"),
    ("name=abc", "abc"),
    ("name=1 + 1", "1 + 1"),
    ("size=4,5", (4, 5)),
    ("anything={'a': 1}", {"a": 1}),
    ('anything={"a": [null, true]}', {"a": [None, True]}),
    ("anything=[broken", "[broken"),
]


@pytest.fixture(params=["gymnasium", "roll_vec"], autouse=True)
def id(request, forgets_ids):
    """An id of the class, registered in each way."""
    if request.param == "roll_vec":
        roll_vec.register("mine/Game-v0", Game)
    else:
        gymnasium.register("mine/Game-v0", entry_point=Game)
    return "mine/Game-v0"


def test_texts_become_values(works, id):
    for text, value in TEXTS:
        KEYWORDS.clear()
        works("info", id, "-o", text)
        (keywords,) = KEYWORDS
        got = keywords[text.partition("=")[0]]
        assert (got, type(got)) == (value, type(value)), text


def test_a_keyword_stands_once(fails, id):
    for text in ("count=1", "count=2"):
        line = fails("info", id, "-o", "count=1", "-o", "rate=1", "-o", text)
        assert "argument -o: expected each keyword once, got count, rate, count" in line
