"""`-o KEY=VALUE`: the text becomes a value of the type that the keyword has."""

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
        level: int | None = None,
        rate: float = 1.0,
        is_strict: bool = False,
        mode: str | None = "a",
        scale: int | tuple[int, int] = 1,
        anything=None,
    ):
        KEYWORDS.append(locals())


# Each with the value that the class gets; `anything` says nothing of its type.
TEXTS = [
    ("flag=false", False),
    ("flag=0", False),
    ("flag= True ", True),
    ("is_strict=TRUE", True),
    ("count=7", 7),
    ("count=0.5", 0.5),
    ("count=none", None),
    ("rate=2", 2.0),
    ("level=1e3", 1000),
    ("level=null", None),
    ("name=5", "5"),
    ("name=true", "true"),
    ("name=none", "none"),
    ("name='5'", "5"),
    ("mode=None", None),
    ("size=[4, 5]", (4, 5)),
    ("size=4,5", (4, 5)),
    ("scale=2", 2),
    ("scale=2,3", (2, 3)),
    ("anything=false", False),
    ("anything=-2", -2),
    ("anything=1 + 1", "1 + 1"),
    ("anything={'a': 1}", {"a": 1}),
]
REFUSED = [
    ("flag=maybe", "flag: expected bool or None, got 'maybe'"),
    ("is_strict=2", "is_strict: expected bool, got '2'"),
    ("level=many", "level: expected int or None, got 'many'"),
    ("rate=fast", "rate: expected float, got 'fast'"),
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
