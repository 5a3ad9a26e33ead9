"""Adapters of all packages: what their transcripts in data/ leave out.

`tests/frameworks` runs the packages.
"""

import asyncio
import base64
import contextlib
import gc
import importlib
import io
import sys
import types
import weakref
from concurrent.futures import ThreadPoolExecutor

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Discrete
from gymnasium.vector import SyncVectorEnv

from roll_vec import errors
from roll_vec.adapters.roll import GemSokobanEnv, GemWebShopEnv, register_gem_envs
from roll_vec.adapters.roll.gem_env import GEM_IDS
from roll_vec.adapters.verl_agent import build_webshop_envs
from tests.adapters.stand_ins import read_json

LAKE = "roll_vec/RandomFrozenLake-v0"
KEYWORDS = {"max_episode_steps": 5, "is_slippery": False, "seed_info": True}


@pytest.fixture
def sb3(stand_ins):
    return importlib.import_module("roll_vec.adapters.sb3")


# -------------------------------------------------------------- Stable-Baselines3


def step_one(env, action):
    """Step a single environment, and reset it at its end, as DummyVecEnv does."""
    observation, reward, terminated, truncated, info = env.step(action)
    info["TimeLimit.truncated"] = truncated and not terminated
    reset_info = None
    if terminated or truncated:
        info["terminal_observation"] = observation
        info["is_success"] = info["success"]
        observation, reset_info = env.reset()
    return observation, np.float32(reward), terminated or truncated, info, reset_info


def test_sb3_steps_are_those_of_single_environments(sb3):
    envs = sb3.make_vec_env(LAKE, 6, seed=3, env_kwargs=KEYWORDS, action_start=1)
    short = sb3.make_vec_env(LAKE, 6, 3, KEYWORDS, step_infos=False)
    assert envs.action_space == Discrete(4)
    singles = [gymnasium.make(LAKE, action_start=1, **KEYWORDS) for _ in range(6)]
    starts = [env.reset(seed=3 + i) for i, env in enumerate(singles)]
    np.testing.assert_array_equal(envs.reset(), [start[0] for start in starts])
    short.reset()
    assert envs.reset_infos == [start[1] for start in starts]
    rng, limits, lengths = np.random.default_rng(0), set(), np.zeros(6, int)
    for _ in range(40):
        actions = rng.integers(0, 4, 6)
        observations, rewards, dones, infos = envs.step(actions)
        # A list, as some callers pass it; without infos there are those of ends alone.
        *_, short_infos = short.step(actions.tolist())
        lengths += 1
        assert rewards.dtype == np.float32
        for i, (env, action) in enumerate(zip(singles, actions, strict=True)):
            observation, reward, done, info, reset_info = step_one(env, action + 1)
            np.testing.assert_array_equal(observations[i], observation)
            assert (rewards[i], dones[i]) == (reward, done)
            assert short_infos[i].keys() == (infos[i].keys() if done else set())
            if done:
                episode = infos[i].pop("episode")
                assert (episode["r"], episode["l"]) == (reward, lengths[i])
                assert episode["t"] >= 0
                last = infos[i].pop("terminal_observation")
                np.testing.assert_array_equal(last, info.pop("terminal_observation"))
                limits.add(info["TimeLimit.truncated"])
                assert envs.reset_infos[i] == reset_info
                lengths[i] = 0
            assert infos[i] == info
    assert limits == {True, False}


def test_sb3_takes_a_batch_of_gymnasium(sb3):
    def make():
        return gymnasium.make(LAKE, action_start=0, **KEYWORDS)

    envs = sb3.BatchVecEnv(SyncVectorEnv([make] * 3, autoreset_mode="SameStep"))
    ours = sb3.make_vec_env(LAKE, 3, 1, KEYWORDS)
    envs.seed(1)
    np.testing.assert_array_equal(envs.reset(), ours.reset())
    for _ in range(8):
        results = [each.step(np.ones(3, int)) for each in (envs, ours)]
        for *_, infos in results:
            [info["episode"].pop("t") for info in infos if "episode" in info]
        np.testing.assert_equal(*results)


def test_sb3_masks_are_those_of_the_present_states(sb3):
    envs = sb3.make_vec_env(LAKE, 5, 0, KEYWORDS, action_mask=True)
    assert envs.has_attr("action_masks")  # evaluation asks before the reset
    envs.reset()
    for _ in range(12):
        masks = np.stack(envs.env_method("action_masks"))
        assert masks.dtype == np.bool_
        present = envs.batch.engine.begin_infos(np.arange(5))["action_mask"]
        np.testing.assert_array_equal(masks, present)
        [one] = envs.env_method("action_masks", indices=[2])
        np.testing.assert_array_equal(one, masks[2])
        envs.step(np.argmax(masks, 1))
    assert not sb3.make_vec_env(LAKE, 2).has_attr("action_masks")


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
    data, options = read_json("openenv"), {"max_concurrent_envs": 2}
    app = openenv.create_app("roll_vec/Sokoban-v0", **options, **data["keywords"])
    assert app.options == options

    async def talk(messages):
        environment = app.env()
        return [await reply(environment, app.action_cls, one) for one in messages]

    async def talk_twice(messages):
        return await asyncio.gather(talk(messages), talk(messages))

    pairs = data["messages"]
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
    with pytest.raises(errors.SessionsFullError):
        others[0].reset()
    with pytest.raises(errors.SessionsFullError):
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


def test_pictures_of_openenv_are_png_files(openenv):
    Image = pytest.importorskip("PIL.Image", reason="it reads the pictures")
    keywords = {"max_concurrent_envs": 1, "obs_mode": "rgb"}
    pairs = []
    for png in (False, True):
        app = openenv.create_app("roll_vec/FrozenLake-v1", png=png, **keywords)
        one = app.env()
        pairs.append([one.reset(seed=0), one.step(app.action_cls(action="Down"))])
        app.state.sessions.close()
    for plain, picture in zip(*pairs, strict=True):
        kind, content = picture.observation.split(",")
        assert kind == "data:image/png;base64"
        image = Image.open(io.BytesIO(base64.b64decode(content)))
        np.testing.assert_array_equal(np.asarray(image), plain.observation)
        assert picture.info == plain.info


# ---------------------------------------------------------------- ROLL, verl-agent, TRL

ROOM = {"dim_room": (6, 6), "num_boxes": 1, "max_steps": 4}


@pytest.fixture
def broken_shop(monkeypatch):
    """Return a context in which each step of a shop fails."""

    def fail(shop, action):
        raise RuntimeError("broken")

    @contextlib.contextmanager
    def context():
        with monkeypatch.context() as patch:
            patch.setattr("roll_vec.envs.webshop.env.WebShop.step", fail)
            with pytest.warns(errors.EnvironmentFaultWarning):
                yield

    return context


def test_an_environment_of_roll_that_fails_raises(broken_shop):
    env = GemWebShopEnv(num_products=100)
    env.reset(seed=5)
    with broken_shop(), pytest.raises(errors.EnvironmentFaultError, match="broken"):
        env.step("<answer>search[shoes]</answer>")
    env.reset(seed=5)
    env.step("<answer>search[shoes]</answer>")


def test_a_fault_ends_the_episode_of_verl_agent_alone(broken_shop):
    shop = {"num_products": 100, "catalog_seed": 233}
    envs = build_webshop_envs(0, 2, 1, is_train=False, env_kwargs=shop)
    pages, _ = envs.reset()
    with broken_shop():
        after, rewards, dones, infos = envs.step(["search[red]", "search[blue]"])
    assert (after, rewards, dones) == (pages, [0.0] * 2, [True] * 2)
    assert [info["won"] for info in infos] == [False] * 2
    assert envs.reset()[0] != pages
    assert envs.step(["search[red]", "x"])[2] == [False, False]


def play(env, number):
    """Return the results of an episode, that of the reset first."""
    results = [env.reset(seed=number // 4)]
    for turn in range(ROOM["max_steps"]):
        name = ("Up", "Left", "Down", "Right")[(number + turn) % 4]
        results.append(env.step(f"<answer>{name}</answer>"))
        if results[-1][2]:
            break
    return results


def test_environments_of_equal_keywords_share_one_batch():
    envs = [GemSokobanEnv(**ROOM) for _ in range(24)]
    other = GemSokobanEnv(**{**ROOM, "max_steps": 5})
    assert len({id(env._batch) for env in envs}) == 1
    assert other._batch is not envs[0]._batch
    # A group has one seed; ROLL plays each environment in a thread of its own.
    with ThreadPoolExecutor(len(envs)) as threads:
        results = list(threads.map(play, envs, range(len(envs))))
    batch = envs[0]._batch
    assert [sessions.num_envs for sessions in batch.batches] == [24]
    alone = GemSokobanEnv(**ROOM, seed_info=True)
    assert results == [play(alone, number) for number in range(len(envs))]
    # Nothing of it stays behind the last environment.
    is_gone = weakref.ref(batch)
    del batch, envs
    gc.collect()
    assert is_gone() is None


def test_the_names_are_registered_once(monkeypatch):
    registry = {}
    gem = types.ModuleType("gem")
    gem.register = lambda name, entry_point: registry.update({name: entry_point})
    envs = types.ModuleType("gem.envs")
    registration = types.ModuleType("gem.envs.registration")
    registration.ENV_REGISTRY = registry
    for module in (gem, envs, registration):
        monkeypatch.setitem(sys.modules, module.__name__, module)
    register_gem_envs()
    assert registry == GEM_IDS
    registry["roll_vec/sokoban"] = "mine"
    register_gem_envs()
    assert registry["roll_vec/sokoban"] == "mine"
    for entry_point in GEM_IDS.values():
        module, name = entry_point.split(":")
        assert callable(getattr(importlib.import_module(module), name))
