"""`solve`, and the infos and level options of resets."""

import json
import math
import random

import pytest

import roll_vec
from roll_vec.envs.webshop import WebShop
from roll_vec.envs.webshop.solver import Solution
from roll_vec.errors import (
    ClosedError,
    InvalidOptionError,
    InvalidStateError,
    ResetNeededError,
    UnknownOptionError,
)
from tests.envs.webshop.shops import play, shirt_goal

INFOS = {"seed_info": True, "level_info": True, "oracle_return_info": True}


def demo_shop(**keywords):
    """Return an environment in a small demo shop."""
    return WebShop(num_products=60, **keywords)


def wander(env, rng, steps):
    """Take random actions without a purchase."""
    for _ in range(steps):
        actions = [a for a in env.get_available_actions() if a != "click[buy now]"]
        action = rng.choice([*actions, "search[red shoes]", "search[<r>]"])
        env.step(action.replace("<content>", "warm coat"))


@pytest.mark.parametrize("mode", ["text", "text_rich"])
def test_solutions_earn_the_oracles_return_from_every_page(mode):
    env = demo_shop(observation_mode=mode, **INFOS)
    rng = random.Random(1)
    lengths = set()
    for seed in range(25):
        expected = env.reset(seed=seed)[1]["oracle_return"]
        wander(env, rng, seed % 7)
        state = env.get_state()
        solution = env.solve()
        assert env.get_state() == state, "solving moves nothing"
        assert solution[0] == env.oracle_action
        *_, reward, terminated, _, info = play(env, *solution)
        assert terminated
        assert reward == expected
        assert info["success"] == (reward == 1)
        lengths.add(len(solution))
        assert env.solve() is None
    assert len(lengths) > 3


def test_there_is_a_solution_only_within_an_episode(shop):
    with pytest.raises(ResetNeededError):
        demo_shop().solve()
    env = shop()
    env.reset(options={"session": shirt_goal(env)})
    assert env.solve()[-1] == "click[buy now]"
    assert "click[navy blue]" in env.solve()
    env.close()
    with pytest.raises(ClosedError):
        env.solve()


def test_a_product_that_no_search_shows(shop, monkeypatch):
    env = shop(oracle_return_info=True)
    _, info = env.reset(seed=1)
    assert 0 < info["oracle_return"] <= 1
    hidden: Solution = env.catalogue.solve(info["goal"])._replace(query="", page=0)
    monkeypatch.setattr(env.catalogue, "solve", lambda goal: hidden)
    assert math.isnan(env.reset(seed=1)[1]["oracle_return"])
    assert env.solve() is None


def test_solutions_of_a_pool_are_texts_that_it_accepts():
    envs = roll_vec.make_vec(
        "roll_vec/WebShop-v0",
        3,
        num_products=60,
        action_pattern="<answer>(.*?)</answer>",
        oracle_return_info=True,
    )
    returns = envs.reset(seed=4)[1]["oracle_return"]
    solutions = envs.solve()
    rewards = [0.0] * 3
    for step in range(max(map(len, solutions))):
        texts = [s[step] if step < len(s) else "" for s in solutions]
        result = envs.step(texts)
        for env_id, solution in enumerate(solutions):
            if step == len(solution) - 1:
                assert result[2][env_id]
                rewards[env_id] = result[1][env_id]
    assert rewards == returns.tolist()
    envs.close()


def test_infos_are_off_by_default_and_say_the_level():
    assert not {"seed", "level", "oracle_return"} & demo_shop().reset(seed=1)[1].keys()
    env = demo_shop(num_levels=3, start_level=7, **INFOS)
    for seed in (0, 5, 3**40):
        info = env.reset(seed=seed)[1]
        assert info["seed"] == env.level_seed
        assert info["level"] == 7 + env.level_seed % 3
    with pytest.raises(InvalidOptionError, match="seed_info: expected True or False"):
        demo_shop(seed_info="yes")


def test_level_options_begin_with_the_next_episode():
    env = demo_shop()
    env.reset(seed=12)
    play(env, "search[<r>]")
    page = env.step("search[<r>]")[0]
    env.set_level_options(num_levels=2, start_level=30, limit_goals=5)
    # Random lists depend on the level.
    assert env.step("search[<r>]")[0] == page
    twin = demo_shop(num_levels=2, start_level=30, limit_goals=5)
    for seed in range(6):
        assert env.reset(seed=seed) == twin.reset(seed=seed)
        assert env.step("search[<r>]") == twin.step("search[<r>]")
    env.set_level_options(limit_goals=None, num_levels=0, start_level=0)
    assert env.reset(seed=9) == demo_shop().reset(seed=9)


def test_bad_level_options_change_nothing():
    env = demo_shop()
    env.reset(seed=1)
    env.set_level_options(num_levels=3)
    state = env.get_state()
    for name, value, error, message in (
        ("num_products", 20, UnknownOptionError, "exist: limit_goals, .*new environm"),
        ("start_levels", 20, UnknownOptionError, "did you mean start_level"),
        ("split", "train", InvalidOptionError, "split: 'train' begins at goal 1500"),
        ("split", "dev", InvalidOptionError, "split: expected one of 'all'"),
        ("num_levels", -1, InvalidOptionError, "num_levels"),
    ):
        for method in (env.set_level_options, env.check_level_options):
            with pytest.raises(error, match=message):
                method(**{name: value})
        assert env.get_state() == state


def test_states_have_level_and_level_options():
    env = demo_shop()
    env.reset(seed=12)
    play(env, "search[<r>]")
    env.set_level_options(num_levels=2, limit_goals=5)
    state = json.loads(json.dumps(env.get_state()))
    other = demo_shop()
    other.set_state(state)
    untouched = demo_shop().get_state()
    results = [
        (one.step("click[next >]"), one.reset(), one.reset(), one.get_state())
        for one in (env, other)
    ]
    assert results[0] == results[1]
    other.set_state(untouched)
    assert other.get_state() == untouched
    assert other.reset(seed=3) == demo_shop().reset(seed=3)
    before = other.get_state()
    for key, value in (("level", -1), ("level_options", {"split": "train"})):
        with pytest.raises(InvalidStateError):
            other.set_state({**state, key: value})
        assert other.get_state() == before
