"""Trainers' rewards are the game's, the advantages of actions, or both."""

from itertools import pairwise

import pytest

from roll_vec.adapters.roll import GemFrozenLakeEnv, GemSokobanEnv
from roll_vec.adapters.trl import environment_factory
from roll_vec.adapters.verl_agent import build_sokoban_envs, build_webshop_envs
from roll_vec.errors import InvalidOptionError

ROOM = "#######\n#.    #\n# $@  #\n#     #\n#######"
# An action, its reward and its advantage: the box has to go left, then up.
TURNS = [("Right", -0.1, -2.0), ("Left", -0.1, 0.0), ("Left", -0.1, 0.0)]
LAKE = {"levels": [["SFF", "FHG"]], "is_slippery": False}


def expected(kind, rewards, values):
    parts = {"game": [rewards], "advantage": [values], "both": [rewards, values]}
    return [pytest.approx(sum(each)) for each in zip(*parts[kind], strict=True)]


@pytest.mark.parametrize("kind", ["game", "advantage", "both"])
def test_the_kind_of_a_reward(kind):
    names, rewards, values = zip(*TURNS, strict=True)
    totals = expected(kind, rewards, values)
    room = {"levels": [ROOM], "reward": kind}

    env = environment_factory("roll_vec/Sokoban-v0", **room)()
    env.reset(seed=0)
    gains = [0.0]
    for name in names:
        env.move(name)
        gains.append(env.get_reward())
    assert [b - a for a, b in pairwise(gains)] == totals

    env = GemSokobanEnv(**room)
    env.reset(seed=0)
    results = [env.step(f"<answer>{name}</answer>") for name in names]
    assert [result[1] for result in results] == totals
    metrics = [result[4]["metrics"].get("advantage") for result in results]
    assert metrics == (list(values) if kind != "game" else [None] * 3)

    envs = build_sokoban_envs(0, 1, 2, mode="list", env_kwargs=room)
    envs.reset()
    numbers = [["Up", "Down", "Left", "Right"].index(name) + 1 for name in names]
    results = [envs.step([number, 0]) for number in numbers]
    assert [result[1][0] for result in results] == totals
    # "Still" is no step, and changes nothing.
    idle = expected(kind, [-0.1], [-1.0])[0]
    assert [result[1][1] for result in results] == [idle] * 3
    assert ("advantage" in results[0][3][0]) == (kind != "game")
    envs.step([1, 1])  # nobody is idle


def test_an_answer_of_roll_that_moves_nothing():
    env = GemFrozenLakeEnv(**LAKE, reward="advantage", format_penalty=-0.5)
    env.reset(seed=0)
    assert env.step("?")[1] == -1.5
    assert env.step("<answer>Right</answer>")[1] == 0.0
    assert env.step("<answer>Down</answer>")[1] == -100.0


def test_an_order_in_the_shop_of_verl_agent():
    keywords = {"advantage_info": True}
    envs = build_webshop_envs(0, 1, 1, env_kwargs=keywords)
    envs.reset()
    for action in envs.envs.solve()[0]:
        _, rewards, dones, infos = envs.step([action])
        assert infos[0]["advantage"] == 0.0
    assert dones == [True]
    assert rewards[0] in (0.0, 10.0)


def test_another_kind_is_an_error():
    for make in (
        lambda: environment_factory("roll_vec/Sokoban-v0", reward="credit"),
        lambda: GemSokobanEnv(reward="credit"),
        lambda: build_webshop_envs(0, 1, 1, env_kwargs={"reward": "credit"}),
    ):
        with pytest.raises(InvalidOptionError, match="reward: expected"):
            make()
    with pytest.raises(InvalidOptionError, match="has no solver"):
        environment_factory("roll_vec/Game2048-v0", reward="both")
