"""GEM, reasoning-gym and OpenEnv: what these packages have recorded, and connections.

See also data/packages.txt.
"""

import asyncio
import gc
import importlib
import pickle
import random
import sys
import threading
import types

import numpy as np
import pytest

from roll_vec.adapters import gem, reasoning_gym
from roll_vec.adapters.own_generators import OwnGenerators, isolate
from roll_vec.errors import MissingExtraError, SessionsFullError
from tests.adapters.stand_ins import read_json


def test_an_episode_is_gems(stand_ins):
    episode = read_json("gem")
    envs = gem.make_vec("game:Number-v0", 2, autoreset_mode="Disabled")
    observations, infos = envs.reset(seed=[5, 6])
    assert observations[0] == episode["reset"][0]
    assert infos["suffix"][0] == episode["reset"][1]["suffix"]
    for text, (observation, reward, terminated, truncated, info) in episode["steps"]:
        result = envs.step([text, "\\boxed{0}"])
        assert (result[0][0], result[1][0]) == (observation, reward)
        assert (result[2][0], result[3][0]) == (terminated, truncated)
        assert result[4]["suffix"][0] == info["suffix"]
    assert envs.successes.tolist() == [True, False]


def test_entries_and_scores_are_those_of_reasoning_gym(stand_ins):
    data = read_json("reasoning_gym")
    envs = reasoning_gym.make_vec("matrix", 3, autoreset_mode="Disabled")
    for column in zip(*data["scores"], strict=True):
        observations, infos = envs.reset(seed=0)
        assert list(observations) == [entry["question"] for entry in data["entries"]]
        assert infos["entry"].tolist() == [0, 1, 2]
        answers, scores = zip(*column, strict=True)
        _, rewards, terminations, truncations, infos = envs.step(answers)
        assert rewards.tolist() == list(scores)
        assert terminations.all()
        assert not truncations.any()
        assert infos["success"].tolist() == [score == 1 for score in scores]


# --------------------------------------------------------------------------- OpenEnv


@pytest.fixture
def openenv(stand_ins):
    return importlib.import_module("roll_vec.adapters.openenv")


async def reply(environment, action_cls, message):
    """Return the reply of OpenEnv's server to a message of a connection."""
    data = message.get("data", {})
    try:
        if message["type"] == "state":
            return {"type": "state", "data": vars(environment.state).copy()}
        if message["type"] == "reset":
            result = await environment.reset_async(**data)
        else:
            result = await environment.step_async(action_cls(**data))
    except Exception as error:
        code = {"message": str(error), "code": "EXECUTION_ERROR"}
        return {"type": "error", "data": code}
    fields = vars(result).copy()
    reward, done = fields.pop("reward"), fields.pop("done")
    data = {"observation": fields, "reward": reward, "done": done}
    return {"type": "observation", "data": data}


def test_replies_are_those_of_the_recorded_server(openenv):
    room = {"dim_room": (5, 5), "num_boxes": 1, "max_episode_steps": 6}
    keywords = {"max_concurrent_envs": 2, "env_instruction": "Push.", **room}
    app = openenv.create_app("roll_vec/Sokoban-v0", action_mask=True, **keywords)
    assert app.options == {"max_concurrent_envs": 2}

    async def talk(messages):
        environment = app.env()
        return [await reply(environment, app.action_cls, one) for one in messages]

    async def talk_twice(messages):
        return await asyncio.gather(talk(messages), talk(messages))

    pairs = read_json("openenv")["messages"]
    for replies in asyncio.run(talk_twice([message for message, _ in pairs])):
        for (message, recorded), actual in zip(pairs, replies, strict=True):
            assert actual == recorded, message


@pytest.mark.parametrize("way", ["close", "garbage"])
def test_a_connection_has_an_environment_from_its_reset_to_its_end(
    openenv, monkeypatch, way
):
    monkeypatch.setattr(openenv, "_SECONDS_TO_WAIT", 0)
    app = openenv.create_app("roll_vec/FrozenLake-v1", max_concurrent_envs=1)
    # Those that OpenEnv makes to read their metadata take none.
    others = [app.env() for _ in range(3)]
    environment = app.env()
    assert environment.reset(seed=0).observation.startswith("P")
    with pytest.raises(SessionsFullError):
        others[0].reset()
    with pytest.raises(SessionsFullError):
        asyncio.run(others[0].reset_async())
    if way == "close":
        environment.close()
    del environment
    gc.collect()
    assert others[0].reset(seed=0).observation.startswith("P")
    for one in others:
        one.close()
    app.state.sessions.close()


def test_a_coroutine_waits_for_a_connection_that_ends(openenv):
    app = openenv.create_app("roll_vec/FrozenLake-v1", max_concurrent_envs=1)
    first, second = app.env(), app.env()
    first.reset()

    async def wait():
        task = asyncio.ensure_future(second.reset_async(seed=0))
        await asyncio.sleep(0)
        assert not task.done()
        first.close()
        return await task

    assert asyncio.run(wait()).observation.startswith("P")


def test_without_openenv_the_error_names_the_extra(stand_ins, monkeypatch):
    monkeypatch.setitem(sys.modules, "openenv.core", None)
    with pytest.raises(MissingExtraError, match="openenv"):
        importlib.import_module("roll_vec.adapters.openenv")


# -------------------------------------- generators of one environment of a package


@pytest.fixture
def foreign(monkeypatch):
    """Return a module of another package, isolated."""
    module = types.ModuleType("foreign_games.dice")
    module.random, module.np = random, np
    monkeypatch.setitem(sys.modules, "foreign_games.dice", module)
    isolate("foreign_games")
    return module


def draw(module):
    return module.random.random(), module.np.random.randint(1 << 30)


def test_draws_are_those_of_a_global_seed(foreign):
    one, other = OwnGenerators(7), OwnGenerators(8)
    random.seed(7)
    np.random.seed(7)
    expected = [(random.random(), np.random.randint(1 << 30)) for _ in range(3)]
    state = random.getstate()
    actual = []
    for _ in range(3):
        with one.active():
            actual.append(draw(foreign))
            with other.active():
                draw(foreign)
        one = pickle.loads(pickle.dumps(one))
    assert actual == expected
    assert np.array_equal(foreign.np.zeros(2), [0, 0])
    assert isinstance(foreign.random.Random(1), random.Random)
    # Seeds of the package seed the own generator; outside it is the global one.
    with one.active():
        foreign.random.seed(7)
        foreign.np.random.seed(7)
        assert draw(foreign) == expected[0]
    assert random.getstate() == state
    random.seed(7)
    np.random.seed(7)
    assert draw(foreign) == expected[0]


def test_threads_do_not_meet(foreign):
    barrier, results = threading.Barrier(2), {}

    def play(seed):
        with OwnGenerators(seed).active():
            barrier.wait()
            results[seed] = [draw(foreign) for _ in range(200)]

    threads = [threading.Thread(target=play, args=(seed,)) for seed in (1, 2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with OwnGenerators(2).active():
        assert results[2] == [draw(foreign) for _ in range(200)]
