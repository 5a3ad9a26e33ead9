"""Session states: the page after each click; saved states are restored or refused."""

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
    choose_option,
    open_product,
    press_button,
    read_state,
    show_results,
    write_state,
)
from roll_vec.errors import InvalidOptionError, InvalidStateError, ResetNeededError
from tests.envs.webshop.shops import play
from tests.envs.webshop.small_shop import page_product, page_shop

SHIRT = "b000000001"

# Each makes a state of `on_a_product` after a purchase one that cannot be set.
BAD_ENTRIES = (
    {"instruction_text": 1},
    {"num_env_steps": -1},
    {"num_env_steps": None},
    {"level": 1 << 32},
    {"session": []},
    {"session": {}},
    {"level_options": 1},
    {"level_options": {"foo": 1}},
    {"level_options": {"split": "train"}},
    {"level_options": {"limit_goals": "1"}},
)
BAD_SESSION_ENTRIES = (
    {"goal": 10**30},
    {"page": []},
    {"asin": {}},
    {"keywords": 1},
    {"options": [1]},
    {"options": {"size": {}}},
    {"options": {"size": ["small"]}},
    {"opened_asins": "A1"},
    {"page_no": 0},
    {"reward": "one"},
)

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
    for page_no in range(2, 9):
        assert (
            press_button(first._replace(page_no=page_no), "next >").page_no
            == page_no + 1
        )


def test_a_product_and_its_sub_pages():
    results = State(3, "results", "hats", 2, opened_asins=frozenset(("B2",)))
    item = open_product(results, "A1", track_opened=True)
    assert item == State(3, "item", "hats", 2, "A1", {}, frozenset(("A1", "B2")))
    assert (
        open_product(results, "A1", track_opened=False).opened_asins
        == results.opened_asins
    )
    assert press_button(item, "< prev") == results._replace(
        opened_asins=item.opened_asins
    )
    for name in SUB_PAGES:
        below = press_button(ITEM, name)
        assert below == ITEM._replace(page=name)
        assert press_button(below, "< prev") == ITEM
        assert press_button(below, "buy now") is None
        assert press_button(below, "next >") is None
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
    ],
    ids=str,
)
def test_records_that_are_no_state(change, message):
    record = write_state(State(1, "item", "x", 1, "A1", {"size": "large"}))
    assert read_record(record)
    with pytest.raises(InvalidOptionError) as raised:
        read_record({**record, **change})
    assert str(raised.value).startswith(message)


def test_other_objects_are_no_records():
    for record in (None, [], {}, types.SimpleNamespace()):
        with pytest.raises(InvalidOptionError, match="state: expected goal"):
            read_record(record)


def on_a_product(files, **keywords):
    """Return an environment on the page of a shirt, with several streams advanced."""
    env = WebShop(**files, **keywords)
    env.reset(seed=3)
    env.reset(options={"session": 2, "instruction_text": "Buy!"})
    env.np_random.random()
    play(env, "search[shirt]", "click[next >]", "click[< prev]", f"click[{SHIRT}]")
    return env


def play_on(env):
    """Play to the end and into another episode; return all results."""
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
    """Return a new environment that restores a state."""
    other = WebShop(**vars(env.options))
    other.reset(seed=99)
    other.set_state(state)
    return other


@pytest.mark.parametrize("duplicate", DUPLICATES)
def test_copies_continue_equally_and_separately(files, duplicate):
    env = on_a_product(files, observation_mode="text_rich", render_mode="text")
    first, second = duplicate(env), duplicate(env)
    assert first.catalogue is env.catalogue
    assert first.render() == env.render()
    assert first.instruction_text == "Buy!"
    assert first.get_state() == env.get_state()
    expected = play_on(env)
    assert play_on(first) == expected
    assert play_on(second) == expected


def test_states_outside_an_episode(files):
    state = WebShop(**files).get_state()
    env = on_a_product(files)
    play(env, "click[buy now]")
    final_state = env.get_state()
    env.set_state(state)
    assert env.state is None
    env.set_state(final_state)
    assert env.get_available_actions() == []
    with pytest.raises(ResetNeededError):
        env.step("search[x]")
    before = env.get_state()
    with pytest.raises(InvalidStateError, match="state: page"):
        env.set_state({**before, "session": {**before["session"], "page": "x"}})
    stream = {**before["stream"], "stream": -1}
    states = [{k: v for k, v in before.items() if k != key} for key in before]
    states += [{**before, **entry} for entry in BAD_ENTRIES]
    states += [
        {**before, "session": {**before["session"], **entry}}
        for entry in BAD_SESSION_ENTRIES
    ]
    states += [{}, None, [before], {**before, "stream": stream}]
    for state in states:
        for method in (env.check_state, env.set_state):
            with pytest.raises(InvalidStateError, match="state: "):
                method(state)
        assert env.get_state() == before


def test_instances_are_small(files):
    env = on_a_product(files)
    play(env, "click[small]")
    pickled = pickle.dumps(env)
    assert len(pickled) < 4096
    # The goals are found again: there may be thousands.
    assert b"GoalSelection" not in pickled
