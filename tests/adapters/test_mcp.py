"""The server of MCP: the package's own clients, beside a single environment."""

import json
import socket
import sys
import threading
import time
from contextlib import asynccontextmanager, closing, contextmanager

import gymnasium
import pytest

import roll_vec

# The second version of the package has it.
pytest.importorskip("mcp.types.version", reason="needs the extra mcp")

import anyio
import httpx2
import uvicorn
from mcp import Client, ClientSession, MCPError, StdioServerParameters
from mcp.client.sse import sse_client
from mcp.client.stdio import stdio_client

from roll_vec.adapters import mcp
from roll_vec.cli import main
from roll_vec.trajectories import to_json
from tests.pool.cases import FAULTS_ON_PURPOSE

ROOMS, COUNTDOWN = "roll_vec/Sokoban-v0", "roll_vec/Countdown-v0"
SMALL = {"dim_room": (5, 5), "num_boxes": 1, "max_episode_steps": 4}
SECONDS = 60  # only a deadlock takes so long


class Steps(gymnasium.Env):
    """Its actions have no names, and action 2 fails."""

    observation_space = gymnasium.spaces.Discrete(10)
    action_space = gymnasium.spaces.Discrete(3)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return 0, {}

    def step(self, action):
        if action == 2:
            raise RuntimeError("two")
        return action, 1.0, False, False, {}


@contextmanager
def serving(id, num_envs=2, **keywords):
    """Serve in a thread; yield the server and its address."""
    listener = socket.create_server(("127.0.0.1", 0))
    with closing(mcp.McpServer(id, num_envs, **keywords)) as server, listener:
        app = server.make_app()
        config = uvicorn.Config(app, log_level="error", timeout_graceful_shutdown=1)
        http = uvicorn.Server(config)
        thread = threading.Thread(target=http.run, args=([listener],))
        thread.start()
        try:
            yield server, f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            http.should_exit = True
            thread.join()


@asynccontextmanager
async def connected(way, url):
    """Connect a client; `sse_session` is ROLL's way, the versions before 2026."""
    if way == "sse_session":
        async with sse_client(f"{url}/sse") as streams, ClientSession(*streams) as one:
            await one.initialize()
            yield one
        return
    async with Client(
        f"{url}/mcp" if way == "http" else sse_client(f"{url}/sse")
    ) as one:
        yield one


def run(function, *arguments):
    async def with_limit():
        with anyio.fail_after(SECONDS):
            return await function(*arguments)

    return anyio.run(with_limit)


async def call(client, tool, **arguments):
    """Return the reply to a call, or the text of its error."""
    result = await client.call_tool(tool, arguments)
    (content,) = result.content
    return content.text if result.is_error else json.loads(content.text)


def reply_of(observation, reward, terminated, truncated, info):
    return {
        "Observation": observation,
        "Reward": reward,
        "Game End": terminated or truncated,
        "Terminated": terminated,
        "Truncated": truncated,
        "info": to_json(info),
    }


async def compare(client, id, actions, **keywords):
    """Play some episodes, beside a single environment."""
    with closing(gymnasium.make(id, **keywords)) as env:
        for seed in (7, 8, None):
            arguments = {} if seed is None else {"seed": seed}
            observation, info = env.reset(seed=seed)
            expected = reply_of(observation, 0.0, False, False, info)
            assert await call(client, "reset", **arguments) == expected
            for action, code in actions:
                expected = reply_of(*env.step(code))
                assert await call(client, "play", action=action) == expected
                if expected["Game End"]:
                    break
            assert "the episode has ended" in await call(client, "play", action=action)


MOVES = [("Up", 1), (2, 2), ("Left", 3), (4, 4)]


@pytest.mark.parametrize("way", ["sse_session", "sse", "http"])
def test_a_client_plays_as_in_a_single_environment(way):
    async def play(url):
        async with connected(way, url) as client:
            reset, step = (await client.list_tools()).tools
            assert "Push every box" in reset.description
            assert "1 (Up), 2 (Down), 3 (Left), 4 (Right)" in reset.description
            assert reset.input_schema["properties"]["seed"]["minimum"] == 0
            texts, numbers = step.input_schema["properties"]["action"]["anyOf"]
            assert texts["enum"] == ["Up", "Down", "Left", "Right"]
            assert (numbers["minimum"], numbers["maximum"]) == (1, 4)
            await compare(client, ROOMS, MOVES, obs_mode="text", **SMALL)

    with serving(ROOMS, **SMALL) as (_, url):
        run(play, url)


def test_the_command_serves_a_client_on_standard_streams():
    async def play():
        arguments = ["-m", "roll_vec", "serve-mcp", COUNTDOWN, "--stdio"]
        command = StdioServerParameters(command=sys.executable, args=arguments)
        async with Client(stdio_client(command)) as client:
            _, step = (await client.list_tools()).tools
            assert step.input_schema["properties"]["action"]["type"] == "string"
            await compare(client, COUNTDOWN, [("1 + 1", "1 + 1")])

    run(play)


def test_clients_have_environments_of_their_own(monkeypatch):
    async def play(url):
        async with connected("sse", url) as one, connected("http", url) as two:
            first = await call(one, "reset", seed=7)
            assert await call(two, "reset", seed=8) != first
            other = await call(two, "reset", seed=7)
            assert other == first
            moved = await call(one, "play", action="Down")
            for _ in range(3):
                await call(two, "play", action="Up")
            assert await call(one, "reset", seed=7) == first
            assert await call(one, "play", action="Down") == moved

            async with connected("sse_session", url) as three:
                text = await call(three, "reset", seed=7)
                assert "all 2 environments belong to other sessions" in text
                # Others go on, and so does this one.
                assert await call(two, "play", action="Up")

    monkeypatch.setattr(mcp, "_SECONDS_TO_WAIT", 0.1)
    with serving(ROOMS, 2, **SMALL) as (_, url):
        run(play, url)


@pytest.mark.parametrize("way", ["sse_session", "sse", "http", "lost"])
def test_the_environment_of_a_client_that_goes_is_free(way, monkeypatch):
    async def play(server, url):
        async with connected("sse", url) as last:
            async with connected("http" if way == "lost" else way, url) as first:
                assert await call(first, "reset")
                if way == "lost":
                    assert await call(last, "reset")
                    with pytest.raises(MCPError, match="Session terminated"):
                        await call(first, "play", action="Up")
            assert await call(last, "reset")

    if way == "lost":
        monkeypatch.setattr(mcp, "_IDLE_SECONDS", 0.5)
    with serving(ROOMS, 1, **SMALL) as (server, url):
        run(play, server, url)


BAD_CALLS = [
    ("walk", {}, "tool: expected one of 'reset', 'play', got 'walk'"),
    ("reset", {"seed": "x"}, "seed: expected "),
    ("reset", {"seed": -1}, "seed: expected "),
    ("reset", {"sed": 1}, "unexpected keyword argument 'sed'; those that exist: seed;"),
    ("play", {}, "action: expected an integer of "),
    ("play", {"action": 5}, "expected "),
    ("play", {"action": True}, "action: expected an integer of "),
    ("play", {"action": "up!"}, "expected Up or 1, Down or 2, Left or 3, Right or 4"),
    ("play", {"direction": "Up"}, "those that exist: action"),
]


def test_bad_calls_are_errors_of_a_tool():
    async def play(url):
        async with connected("sse_session", url) as client:
            assert await call(client, "play", action=1) == "call reset before play"
            await call(client, "reset", seed=7)
            for tool, arguments, message in BAD_CALLS:
                text = await call(client, tool, **arguments)
                assert isinstance(text, str), arguments
                assert message in text
            # Nothing has moved.
            with closing(gymnasium.make(ROOMS, obs_mode="text", **SMALL)) as env:
                env.reset(seed=7)
                expected = reply_of(*env.step(3))
            assert await call(client, "play", action="Left") == expected

    with serving(ROOMS, **SMALL) as (_, url):
        run(play, url)


PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
ACCEPTED = {"accept": "application/json, text/event-stream"}


def test_requests_that_are_no_session_are_refused(monkeypatch):
    class Counted(mcp._Client):
        def __init__(self, server):
            super().__init__(server)
            clients.add(self)

        def close(self):
            clients.remove(self)

    clients = set()
    monkeypatch.setattr(mcp, "_Client", Counted)
    with serving(ROOMS, **SMALL) as (_, url), httpx2.Client() as client:
        # Clients that try streamable HTTP first take SSE after it.
        assert client.post(f"{url}/sse", json=PING).status_code == 405
        for content in (b"", b"{}", b"\xff", b"[" * 9999):
            headers = {**ACCEPTED, "content-type": "application/json"}
            reply = client.post(f"{url}/mcp", content=content, headers=headers)
            assert reply.status_code == 400
        assert client.get(f"{url}/mcp", headers=ACCEPTED).status_code == 400
        deadline = time.monotonic() + SECONDS
        while clients:  # none of them is held until it is idle for long
            assert time.monotonic() < deadline
            time.sleep(0.01)
        headers = {**ACCEPTED, "mcp-session-id": "unknown"}
        assert client.post(f"{url}/mcp", json=PING, headers=headers).status_code == 404
        # A version of the protocol without sessions.
        headers = {**ACCEPTED, "mcp-protocol-version": "2026-07-28"}
        reply = client.post(f"{url}/mcp", json=PING, headers=headers)
        assert reply.status_code == 400
        assert "2025-11-25" in reply.json()["error"]["data"]["supported"]


@FAULTS_ON_PURPOSE
def test_a_class_of_the_users_that_fails_ends_no_client():
    async def play(url):
        async with connected("sse", url) as client, connected("http", url) as other:
            _, step = (await client.list_tools()).tools
            numbers = {"type": "integer", "minimum": 0, "maximum": 2}
            assert step.input_schema["properties"]["action"] == numbers
            for one in (client, other):
                await call(one, "reset")
            fault = await call(client, "play", action=2)
            assert fault["Truncated"]
            assert "two" in fault["info"]["error"]
            assert (await call(other, "play", action=1))["Observation"] == 1
            await call(client, "reset")
            assert (await call(client, "play", action=0))["Reward"] == 1.0

    roll_vec.register("tests_mcp/Steps-v0", Steps)
    with serving("tests_mcp/Steps-v0") as (_, url):
        run(play, url)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["Sokobann"], "there is no environment Sokobann; did you mean"),
        ([ROOMS, "-o", "num_boxs=1"], "did you mean num_boxes"),
        ([ROOMS, "--port", "70000"], "--port: expected an integer from 0 to 65,535"),
        ([ROOMS, "--stdio", "--port", "1"], "--port: not allowed with --stdio"),
    ],
)
def test_errors_of_the_command_are_one_line(arguments, message, capsys):
    assert main(["serve-mcp", *arguments]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
