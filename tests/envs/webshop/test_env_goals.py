"""Goals of resets by seed, session and level; bad resets and steps change nothing."""

import random

import numpy as np
import pytest

from roll_vec.envs.webshop.env import WebShop
from roll_vec.envs.webshop.state import State
from roll_vec.errors import InvalidActionError, InvalidOptionError
from tests.envs.webshop.shops import play


def test_goals_of_seeds_sessions_and_names(shop):
    env = shop()
    count = len(env.catalogue.goals)
    assert count == 5
    for seed in (0, 1, 7, 12345):
        expected = random.Random(seed).randint(0, count - 1)
        assert env.reset(seed=seed)[1]["goal"] == expected
        assert env.state == State(expected)
    for position in (0, 4, np.int64(3)):
        assert env.reset(options={"session": position})[1]["goal"] == position
    names = [f"shopper {n}" for n in range(40)]
    goals = [env.reset(options={"session": name})[1]["goal"] for name in names]
    again = [env.reset(options={"session": name})[1]["goal"] for name in names]
    assert goals == again
    # Pinned: other draws would be a new version of the id.
    assert goals[:6] == [2, 3, 4, 2, 4, 2]
    # The first goal is never drawn by weight.
    assert set(goals) == {1, 2, 3, 4}
    env.reset(options={"session": "\ud800"})
    env.reset(options={"session": None, "reset_mask": [True], "other": 3})


def test_goals_of_levels(shop):
    env = shop(num_levels=3, start_level=100)
    goals = [env.reset(seed=seed)[1]["goal"] for seed in range(9)]
    expected = [random.Random(100 + seed % 3).randint(0, 4) for seed in range(9)]
    assert goals == expected
    assert env.level_seed == 8
    env.reset(seed=1)
    page = env.step("search[<r>]")[0]
    env.reset(seed=4)
    assert env.step("search[<r>]")[0] == page


def test_goals_that_are_selected(files):
    env = WebShop(**files, filter_goals=lambda i, goal: goal.asin == "B000000001")
    assert {env.reset(seed=seed)[1]["goal"] for seed in range(40)} == {
        number
        for number, goal in enumerate(env.catalogue.goals)
        if goal.asin == "B000000001"
    }
    with pytest.raises(InvalidOptionError, match=r"session: expected .* 0 to 3"):
        env.reset(options={"session": 4})
    assert (
        WebShop(**files, limit_goals=2)._goals is WebShop(**files, limit_goals=2)._goals
    )
    with pytest.raises(InvalidOptionError, match="filter_goals: none"):
        WebShop(**files, filter_goals=lambda i, goal: False)
    with pytest.raises(InvalidOptionError, match="split"):
        WebShop(**files, split="train")


@pytest.mark.parametrize(
    "options",
    [
        {"session": -1},
        {"session": 5},
        {"session": 1.0},
        {"session": True},
        {"session": [1]},
        {"session": b"name"},
        {"instruction_text": 3},
        {"session": 1, "instruction_text": b"x"},
    ],
    ids=str,
)
def test_bad_reset_options_change_nothing(shop, options):
    env = shop()
    play(env, "search[shirt]", "click[b000000001]", "click[small]")
    before = env.get_state()
    with pytest.raises(InvalidOptionError, match=r"^(session|instruction_text): exp"):
        env.reset(seed=3, options=options)
    assert env.get_state() == before
    assert play(env, "click[buy now]")[2]


@pytest.mark.parametrize("action", [None, 3, b"search[x]", ["search[x]"]])
def test_an_action_that_is_no_text_changes_nothing(shop, action):
    env = shop()
    before = env.get_state()
    with pytest.raises(InvalidActionError, match="action: expected a str, got"):
        env.step(action)
    assert env.get_state() == before
    assert play(env, np.str_("search[shirt]"))
