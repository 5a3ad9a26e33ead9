"""Branches of episodes of ROLL's environments: get_state, set_state, fork."""

import pickle
import random

import pytest

from roll_vec.adapters.roll import (
    GemFrozenLakeEnv,
    GemSokobanEnv,
    GemSokobanNativeEnv,
    GemSokobanToolCallEnv,
    GemWebShopEnv,
)
from roll_vec.errors import InvalidOptionError, InvalidStateError, ResetNeededError
from tests.contract.cases import assert_same

ROOM = {"dim_room": (6, 6), "num_boxes": 1}
SHOP = {"num_products": 100, "catalog_seed": 233}


def answer(text):
    return f"<answer>{text}</answer>"


def tool_call(direction):
    function = {"name": "move_player", "arguments": {"direction": direction}}
    return {"role": "assistant", "tool_calls": [{"id": "1", "function": function}]}


MOVES = [*map(answer, ("Up", "Left", "Down", "Right")), "no action"]
CALLS = [tool_call(name) for name in ("up", "left", "down", "right", "jump")]
SHOPPING = [*map(answer, ("search[red shoes]", "click[buy now]")), "no action"]
GAMES = {
    "Sokoban": (lambda: GemSokobanEnv(**ROOM, max_steps=6), MOVES),
    "pictures": (lambda: GemSokobanEnv(**ROOM, render_mode="rgb_array"), MOVES),
    "messages": (lambda: GemSokobanNativeEnv(max_steps=6), MOVES),
    "tool": (lambda: GemSokobanToolCallEnv(max_steps=6), CALLS),
    "FrozenLake": (lambda: GemFrozenLakeEnv(size=4, max_steps=6), MOVES),
    "WebShop": (lambda: GemWebShopEnv(**SHOP, max_steps=6), SHOPPING),
}


def play(env, answers):
    """Return the results of answers until an episode ends, and of its next one."""
    results = []
    for text in answers:
        results.append(env.step(text))
        if results[-1][2]:
            break
    return [*results, env.render(), env.reset(seed=None)]


@pytest.mark.parametrize("name", GAMES)
def test_forks_of_rolls_environments_go_on_as_the_first_one(name, stand_ins):
    make, answers = GAMES[name]
    rng, env = random.Random(0), make()
    env.reset(seed=5)
    for length in (0, 1, 3):
        env.reset(seed=5)
        assert not any(env.step(text)[2] for text in rng.choices(answers, k=length))
        state = env.get_state()
        forks, later = env.fork(3), rng.choices(answers, k=8)
        assert all(fork.get_state()["row"] == state["row"] for fork in forks)
        # The others have gone other ways before.
        play(forks[0], rng.choices(answers, k=3))
        other = make()
        other.set_state(pickle.loads(pickle.dumps(state)))
        assert_same(other.render(), env.render())
        expected = play(env, later)
        assert_same(play(forks[1], later), expected)
        assert_same(play(other, later), expected)
        forks[0].set_state(state)
        assert_same(play(forks[0], later), expected)
        env.set_state(forks[2].get_state())
        assert_same(play(env, later), expected)


def test_a_fork_of_an_ended_episode_has_ended():
    env = GemSokobanEnv(**ROOM, max_steps=1)
    env.reset(seed=1)
    env.step(answer("Up"))
    [fork] = env.fork(1)
    assert fork.render() == env.render()
    for one in (env, fork):
        with pytest.raises(ResetNeededError):
            one.step(answer("Up"))
    assert fork.reset(seed=2) == env.reset(seed=2)


def test_states_that_do_not_fit_change_nothing():
    env, other = GemSokobanEnv(**ROOM), GemSokobanEnv(dim_room=(7, 7), num_boxes=1)
    with pytest.raises(ResetNeededError):
        env.get_state()
    with pytest.raises(ResetNeededError):
        env.fork(2)
    env.reset(seed=1), other.reset(seed=1)
    before = env.get_state()
    with pytest.raises(InvalidStateError, match="dim_room"):
        env.set_state(other.get_state())
    lake = GemFrozenLakeEnv()
    lake.reset(seed=1)
    for state in (None, {}, lake.get_state(), {**before, "row": 1}):
        with pytest.raises(InvalidStateError):
            env.set_state(state)
    for k in (0, 1.5):
        with pytest.raises(InvalidOptionError, match="k: expected"):
            env.fork(k)
    after = env.get_state()
    assert after.pop("row") == before.pop("row")
    assert_same(after, before)
