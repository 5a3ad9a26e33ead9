"""ROLL's classes of WebShop and Countdown: configs, arguments of reset, texts."""

import dataclasses
import json
import pickle

import gymnasium
import pytest
from gymnasium.utils.env_checker import check_env

from roll_vec import BaseLanguageBasedEnv
from roll_vec.adapters.roll import (
    CountdownEnv,
    CountdownEnvConfig,
    WebShopEnv,
    WebShopEnvConfig,
)
from roll_vec.adapters.roll.webshop import shop_keywords
from roll_vec.errors import InvalidOptionError, ResetNeededError, UnknownOptionError

# The sum with signs of the first four numbers decides: rows 0, 2 and 3 are played.
ROWS = [
    ([3, 8, 1], 10),
    ([3, 8, 1], 24),
    ([5, 2], -3),
    ([1, 2, 3, 4, 90], 8),
    ([4, 4], 16),
]


@pytest.fixture(scope="module")
def tasks(tmp_path_factory):
    path = tmp_path_factory.mktemp("tasks") / "train.jsonl"
    lines = [json.dumps({"nums": nums, "target": target}) for nums, target in ROWS]
    path.write_text("\n".join(lines), "utf-8")
    return path


# ------------------------------------------------------------------------- WebShop


def test_webshop_takes_rolls_arguments():
    env = WebShopEnv(WebShopEnvConfig(num_products=100))
    twin = gymnasium.make("roll_vec/WebShop-v0", num_products=100).unwrapped
    assert isinstance(env, BaseLanguageBasedEnv)
    assert env.reset(5) == twin.reset(seed=5)
    assert env.reset(seed=5, session=7) == twin.reset(seed=5, options={"session": 7})
    assert env.reset(None, "abc") == twin.reset(options={"session": "abc"})
    assert env.reset(session=3)[0] == env.reset(options={"session": 3})[0]
    page, _ = env.reset(session=7, instruction_text="Buy it.")
    assert env.instruction_text == "Buy it."
    assert page == twin.reset(options={"session": 7})[0]
    with pytest.raises(InvalidOptionError, match="session"):
        env.reset(session=-1)


def test_webshops_texts_are_rolls():
    env = WebShopEnv(num_products=100)
    for method in (env.render, env.get_available_actions):
        with pytest.raises(ResetNeededError):
            method()
    page, _ = env.reset(session=0)
    assert env.observation == page
    assert env.get_available_actions() == ["search[<content>]"]
    instruction = env.get_instruction_text()
    assert env.render() == f"{instruction}\nAvailable actions: search[<content>]"
    page, _, _, _, info = env.step("search[shoes]")
    assert env.observation == page
    actions = env.get_available_actions()
    assert actions[:2] == ["click[back to search]", "click[next >]"]
    assert env.render("text") == f"{page}\nAvailable actions: {', '.join(actions)}"
    assert {"action_is_valid", "action_is_effective", "success"} <= set(info)
    env.step(actions[2])
    _, reward, terminated, _, info = env.step("click[buy now]")
    assert terminated
    assert info["success"] == (reward == 1)
    assert env.get_available_actions() == []


def test_webshops_config(tmp_path):
    config = WebShopEnvConfig(num_products=100, limit_goals=5)
    env = WebShopEnv(config, limit_goals=3)
    assert env.config == dataclasses.replace(config, limit_goals=3)
    assert (env.options.num_products, env.options.limit_goals) == (100, 3)
    assert WebShopEnv({"num_products": 100}).options.limit_goals is None
    twin = pickle.loads(pickle.dumps(env))
    assert twin.reset(4) == env.reset(4)
    assert twin.render() == env.render()
    for field, value in (("server", 3), ("observation_mode", "html")):
        with pytest.raises(InvalidOptionError, match=field):
            WebShopEnvConfig(**{field: value})
    with pytest.raises(InvalidOptionError, match=r"file_path: .*none\.json"):
        WebShopEnv(file_path="none.json")
    with pytest.raises(UnknownOptionError, match="shop"):
        WebShopEnv(shop=1)
    # The file of attributes is that beside the products, if there is one.
    products = tmp_path / "items_shuffle_1000.json"
    assert shop_keywords(products, None, -1)["attributes"] is None
    attributes = tmp_path / "items_ins_v2_1000.json"
    attributes.write_text("{}", "utf-8")
    expected = {"products": products, "attributes": attributes, "limit_goals": 4}
    assert shop_keywords(products, None, 4) == expected
    other = shop_keywords(products, None, 4, attributes="mine.json")
    assert other["attributes"] == "mine.json"


# ----------------------------------------------------------------------- Countdown


def test_countdown_plays_rolls_rows(tasks):
    env = CountdownEnv(CountdownEnvConfig(train_path=tasks))
    played = [ROWS[0], ROWS[2], ROWS[3]]
    for seed in (0, 1, 2, 3, 1000):
        nums, target = played[seed % 3]
        assert env.reset(seed)[0] == f"Target: {target}, nums: {nums}"
    env = CountdownEnv(train_path=tasks, max_instances=2)
    assert [env.reset(seed)[0] for seed in (0, 1)] == [
        "Target: 10, nums: [3, 8, 1]"
    ] * 2
    with pytest.raises(InvalidOptionError, match=r"train_path: .*none\.jsonl"):
        CountdownEnv(train_path=tasks.with_name("none.jsonl"))
    only = tasks.with_name("only.jsonl")
    only.write_text(json.dumps({"nums": [4, 4], "target": 16}), "utf-8")
    with pytest.raises(InvalidOptionError, match="sum of its numbers with signs"):
        CountdownEnv(train_path=only)


@pytest.mark.parametrize(
    ("answer", "points"),
    [("3 + 8 - 1", "1"), ("- 1 + 3 + 8", "1"), ("3 + 8 + 1", "0.1"), ("10", "0")],
)
def test_countdown_tells_rolls_points(tasks, answer, points):
    env = CountdownEnv(train_path=tasks)
    task, info = env.reset(0)
    assert (env.render(), info) == (task, {})
    observation, reward, terminated, truncated, info = env.step(answer)
    assert observation == env.render() == f"Your answer get {points} points."
    assert env.observation_space.contains(observation)
    assert (reward, terminated, truncated) == (float(points), True, False)
    assert info["success"] == (points == "1")
    twin = CountdownEnv(train_path=tasks)
    twin.set_state(env.get_state())
    assert twin.render() == observation


def test_countdowns_config(tasks):
    config = CountdownEnvConfig()
    assert (config.max_instances, config.score, config.format_score) == (20000, 1, 0.1)
    env = CountdownEnv(config)
    assert env.reset(3)[0] == gymnasium.make("roll_vec/Countdown-v0").reset(seed=3)[0]
    assert CountdownEnv(config, score=5).options.score == 5
    twin = pickle.loads(pickle.dumps(CountdownEnv(train_path=tasks)))
    assert twin.reset(2)[0] == "Target: 8, nums: [1, 2, 3, 4, 90]"
    for field, value in (("max_instances", 0), ("render_mode", "rgb"), ("score", "x")):
        with pytest.raises(InvalidOptionError, match=field):
            CountdownEnvConfig(**{field: value})
    with pytest.raises(UnknownOptionError, match="path"):
        CountdownEnv(path=tasks)


@pytest.mark.parametrize(
    ("env_class", "keywords"), [(WebShopEnv, {"num_products": 100}), (CountdownEnv, {})]
)
def test_check_env_passes(env_class, keywords):
    check_env(env_class(**keywords), skip_render_check=True)
