"""OpenEnv's adapter: the replies to recorded messages, sessions that come and go."""

import asyncio
import gc
import importlib
import json
import sys
from pathlib import Path

import numpy as np
import pytest

from roll_vec.errors import (
    InvalidOptionError,
    MissingExtraError,
    SessionsFullError,
    UnknownOptionError,
)
from tests.adapters import openenv_stub

RECORD = Path(__file__).parent / "data" / "openenv.json"
KEYWORDS = {
    "max_concurrent_envs": 2,
    "dim_room": (5, 5),
    "num_boxes": 1,
    "env_instruction": "Push.",
    "max_episode_steps": 6,
    "action_mask": True,
}


@pytest.fixture
def adapter(monkeypatch):
    openenv_stub.install(monkeypatch)
    yield importlib.import_module("roll_vec.adapters.openenv")
    sys.modules.pop("roll_vec.adapters.openenv", None)


def test_replies_are_those_of_the_recorded_server(adapter):
    app = adapter.create_app("roll_vec/Sokoban-v0", **KEYWORDS)
    assert app.options == {"max_concurrent_envs": 2}

    async def talk(messages):
        environment = app.env()
        return [
            await openenv_stub.reply(environment, app.action_cls, message)
            for message in messages
        ]

    async def talk_twice(messages):
        return await asyncio.gather(talk(messages), talk(messages))

    pairs = json.loads(RECORD.read_text("utf-8"))["messages"]
    for replies in asyncio.run(talk_twice([message for message, _ in pairs])):
        for (message, recorded), reply in zip(pairs, replies, strict=True):
            assert reply == recorded, message


@pytest.mark.parametrize("way", ["close", "garbage"])
def test_a_connection_has_an_environment_from_its_reset_to_its_end(
    adapter, monkeypatch, way
):
    monkeypatch.setattr(adapter, "_SECONDS_TO_WAIT", 0)
    app = adapter.create_app("roll_vec/FrozenLake-v1", max_concurrent_envs=1)
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


def test_a_coroutine_waits_for_a_connection_that_ends(adapter):
    app = adapter.create_app("roll_vec/FrozenLake-v1", max_concurrent_envs=1)
    first, second = app.env(), app.env()
    first.reset()

    async def wait():
        task = asyncio.ensure_future(second.reset_async(seed=0))
        await asyncio.sleep(0)
        assert not task.done()
        first.close()
        return await task

    assert asyncio.run(wait()).observation.startswith("P")


def test_integers_and_options_reach_the_environment(adapter):
    app = adapter.create_app(
        "roll_vec/Sokoban-v0", action_mode="discrete", action_start=1, obs_mode="grid"
    )
    environment = app.env()
    room = environment.reset(seed=1).observation
    assert {type(cell) for line in room for cell in line} == {int}
    result = environment.step(app.action_cls(action=0))
    assert not result.info["action_is_effective"]
    assert environment.state.step_count == 1


def test_keywords_that_the_server_sets_itself_are_refused(adapter):
    with pytest.raises(InvalidOptionError, match="autoreset_mode: expected 'Disab"):
        adapter.create_app("roll_vec/Sokoban-v0", autoreset_mode="SameStep")
    with pytest.raises(UnknownOptionError, match="did you mean max_concurrent_envs"):
        adapter.create_app("roll_vec/Sokoban-v0", num_envs=2)


def test_the_client_reads_replies_and_writes_answers(adapter):
    client = adapter.RollVecClient()
    action = adapter.RollVecAction(action="Up")
    assert client._step_payload(action) == client._step_payload("Up")
    observation = {"observation": "x", "info": {}, "terminated": True}
    payload = {"observation": observation, "reward": 1.0, "done": True}
    result = client._parse_result(payload)
    assert (result.reward, result.done) == (1.0, True)
    assert result.observation.terminated
    assert client._parse_state({"step_count": 3}).step_count == 3


def test_values_become_json(adapter):
    value = {
        "a": np.float64(0.5),
        1: (np.array([[True]]), np.array(3)),
        "names": np.array(["x", None], object),
        "text": "half \ud83d",
        "other": 1j,
    }
    assert adapter.to_json(value) == {
        "a": 0.5,
        "1": [[[True]], 3],
        "names": ["x", None],
        "text": "half ?",
        "other": "1j",
    }


def test_without_openenv_the_error_names_the_extra(monkeypatch):
    openenv_stub.install(monkeypatch)
    monkeypatch.setitem(sys.modules, "openenv.core", None)
    with pytest.raises(MissingExtraError, match="openenv"):
        importlib.import_module("roll_vec.adapters.openenv")
