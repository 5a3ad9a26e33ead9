"""Where clicks lead, and states that are written and read."""

import copy
import json
import pickle
import types

import pytest

from roll_vec.envs.webshop.env import WebShop
from roll_vec.envs.webshop.state import (
    PAGES,
    SUB_PAGES,
    State,
    clicked_option,
    clicked_product,
    pressed,
    read_state,
    searched,
    write_state,
)
from roll_vec.errors import InvalidOptionError, ResetNeededError
from tests.envs.webshop.shops import write
from tests.envs.webshop.standin import catalogue, product

SHIRT = "b000000001"

ITEM = State(
    3, "item", "red shoes", 2, "A1", {"size": "small"}, frozenset(("A1", "B2"))
)


def test_a_search_forgets_all_but_what_was_opened():
    for page in PAGES[:-1]:
        found = searched(ITEM._replace(page=page), "hats")
        assert found == State(3, "results", "hats", 1, opened=ITEM.opened)


def test_back_to_search_forgets_everything():
    for page in PAGES[1:-1]:
        assert pressed(ITEM._replace(page=page), "back to search") == State(3)


def test_pages_of_results():
    first = State(3, "results", "hats", 1, opened=frozenset(("B2",)))
    second = pressed(first, "next >")
    assert second == first._replace(page_no=2)
    assert pressed(second, "< prev") == first
    assert pressed(first, "< prev") is None
    for page_no in range(2, 9):
        assert pressed(first._replace(page_no=page_no), "next >").page_no == page_no + 1


def test_a_product_and_its_sub_pages():
    results = State(3, "results", "hats", 2, opened=frozenset(("B2",)))
    item = clicked_product(results, "A1", keep_opened=True)
    assert item == State(3, "item", "hats", 2, "A1", {}, frozenset(("A1", "B2")))
    assert clicked_product(results, "A1", keep_opened=False).opened == results.opened
    assert pressed(item, "< prev") == results._replace(opened=item.opened)
    for name in SUB_PAGES:
        below = pressed(ITEM, name)
        assert below == ITEM._replace(page=name)
        assert pressed(below, "< prev") == ITEM
        assert pressed(below, "buy now") is None
        assert pressed(below, "next >") is None
    assert pressed(ITEM, "buy now") == ITEM._replace(page="done")
    assert pressed(ITEM, "next >") is None
    assert pressed(ITEM, "< prev").options == {}


def test_what_is_no_button():
    for page in PAGES[:-1]:
        for text in ("", "search", "small", "a1", "Buy Now"):
            assert pressed(ITEM._replace(page=page), text) is None


def test_options():
    shirt = product(
        options={"size": ("small", "large"), "color": ("red", "one"), "fit": ("one",)}
    )
    start = State(3, "item", "x", 1, "A1")
    red = clicked_option(start, "red", shirt)
    assert red.options == {"color": "red"}
    assert start.options == {}
    both = clicked_option(red, "small", shirt)
    assert list(both.options.items()) == [("color", "red"), ("size", "small")]
    # The same again, and another of the group in the place of the first.
    assert clicked_option(both, "small", shirt) == both
    large = clicked_option(both, "large", shirt)
    assert list(large.options.items()) == [("color", "red"), ("size", "large")]
    # A value of two groups belongs to the later one.
    assert clicked_option(start, "one", shirt).options == {"fit": "one"}


SHOP = catalogue([product(asin="A1", options={"size": ("small", "large")})], 4)


@pytest.mark.parametrize(
    "state",
    [
        State(0),
        State(3, "results", "x", 7, opened=frozenset(("A1", "B2"))),
        State(1, "item", "x", 1, "A1", {"size": "large"}),
        State(1, "reviews", "x", 1, "A1"),
        State(1, "done", "x", 1, "A1", {"size": "large"}, reward=0.25),
    ],
)
def test_states_survive_json(state):
    record = json.loads(json.dumps(write_state(state)))
    assert read_state(record, SHOP) == state


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
        ({"opened": 3}, "state: opened"),
        ({"opened": [3]}, "state: opened"),
        ({"reward": 2}, "state: reward"),
        ({"reward": None}, "state: reward"),
        ({"more": 1}, "state: expected goal, page, keywords"),
    ],
    ids=str,
)
def test_records_that_are_no_state(change, message):
    record = write_state(State(1, "item", "x", 1, "A1", {"size": "large"}))
    assert read_state(record, SHOP)
    with pytest.raises(InvalidOptionError) as raised:
        read_state({**record, **change}, SHOP)
    assert str(raised.value).startswith(message)


def test_what_is_no_record():
    for record in (None, [], {}, types.SimpleNamespace()):
        with pytest.raises(InvalidOptionError, match="state: expected goal"):
            read_state(record, SHOP)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    return write(tmp_path_factory.mktemp("shop"))


def play(env, *texts):
    for text in texts:
        assert env.step(text)[4]["action_is_valid"], text


def on_a_product(files, **keywords):
    """Return an environment where a shirt is looked at."""
    env = WebShop(**files, **keywords)
    env.reset(seed=3)
    env.reset(options={"session": 2, "instruction_text": "Buy!"})
    env.np_random.random()
    play(env, "search[shirt]", "click[next >]", "click[< prev]", f"click[{SHIRT}]")
    return env


def go_on(env):
    """Play on to the end and into another episode; return all that was seen."""
    results = [env.step(text) for text in ("click[small]", "click[next >]", "?")]
    results += [env.step("click[< prev]"), env.step(f"click[{SHIRT}]")]
    results += [env.step("click[buy now]"), env.reset(), env.step("search[<r>]")]
    return [results, env.level_seed, env.get_state(), env.np_random.random()]


DUPLICATES = [
    copy.deepcopy,
    lambda env: pickle.loads(pickle.dumps(env)),
    lambda env: from_state(env, env.get_state()),
    lambda env: from_state(env, json.loads(json.dumps(env.get_state()))),
]


def from_state(env, state):
    other = WebShop(**vars(env.options))
    other.reset(seed=99)
    other.set_state(state)
    return other


@pytest.mark.parametrize("duplicate", DUPLICATES)
def test_a_duplicate_goes_on_alike_and_apart(files, duplicate):
    env = on_a_product(files, observation_mode="text_rich", render_mode="text")
    first, second = duplicate(env), duplicate(env)
    assert first.catalogue is env.catalogue
    assert first.render() == env.render()
    assert first.instruction_text == "Buy!"
    assert first.get_state() == env.get_state()
    expected = go_on(env)
    assert go_on(first) == expected
    assert go_on(second) == expected


def test_states_outside_an_episode(files):
    state = WebShop(**files).get_state()
    env = on_a_product(files)
    play(env, "click[buy now]")
    ended = env.get_state()
    env.set_state(state)
    assert env.state is None
    env.set_state(ended)
    assert env.get_available_actions() == []
    with pytest.raises(ResetNeededError):
        env.step("search[x]")
    before = env.get_state()
    with pytest.raises(InvalidOptionError, match="state: page"):
        env.set_state({**before, "session": {**before["session"], "page": "x"}})
    for key in before:
        with pytest.raises(KeyError):
            env.set_state({k: v for k, v in before.items() if k != key})
        assert env.get_state() == before


def test_instances_are_small(files):
    env = on_a_product(files)
    play(env, "click[small]")
    pickled = pickle.dumps(env)
    assert len(pickled) < 4096
    # The goals are found again: there may be thousands.
    assert b"GoalSelection" not in pickled
