"""The recipe beside NeMo Gym's grl_sokoban, and in the hands of its gymnasium_agent.

Needs gym-sokoban for grl_sokoban.  The agent, the recipe's server and a model that
draws its answers from a list are servers on 127.0.0.1.
"""

import asyncio
import contextlib
import json
import os
import random
import sys
import tempfile
from pathlib import Path
from unittest.mock import MagicMock

os.environ.setdefault("NEMO_GYM_CONFIG_DICT", "{}")  # no parser of a command line

import gymnasium
import httpx
import uvicorn
from fastapi import FastAPI, Request
from fastapi.testclient import TestClient
from nemo_gym.config_types import ModelServerRef, ResourcesServerRef
from nemo_gym.global_config import get_global_config_dict
from nemo_gym.openai_utils import NeMoGymResponse
from nemo_gym.server_utils import BaseServerConfig, ServerClient
from omegaconf import OmegaConf
from recipes import load_recipe
from resources_servers.grl_sokoban import app as grl
from responses_api_agents.gymnasium_agent.app import (
    GymnasiumAgent,
    GymnasiumAgentConfig,
)
from side_by_side import measure

MOVES = ("Up", "Down", "Left", "Right")
NAME = {"host": "", "port": 0, "entrypoint": "", "name": "games"}
STEPS = 12


def response_of(text):
    """Return a model's response with one message."""
    content = {"type": "output_text", "text": text, "annotations": []}
    message = {"type": "message", "id": "m", "role": "assistant", "content": [content]}
    return {
        "id": "r",
        "created_at": 0,
        "model": "m",
        "object": "response",
        "output": [message | {"status": "completed"}],
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
    }


def make_theirs(**env_config):
    """Make their server, without HTTP."""
    config = grl.GrlSokobanResourcesServerConfig(**NAME)
    config.env_config |= env_config
    return grl.GrlSokobanResourcesServer(
        config=config, server_client=MagicMock(ServerClient)
    )


def make_ours(recipe, **env_config):
    """Make the recipe's server, without HTTP."""
    config = recipe.GamesConfig(**NAME)
    config.env_config |= env_config
    return recipe.Games(config=config, server_client=MagicMock(ServerClient))


def board_of(text):
    """Return the board in an observation of either server."""
    lines = [line for line in text.splitlines() if line and set(line) <= set("#_O√XPS")]
    return "\n".join(lines)


def draw_actions(seed):
    rng = random.Random(seed)
    return [f"I go. <action>{rng.choice(MOVES)}</action>" for _ in range(STEPS)]


ACTIONS = {
    f"I go. <action>{move}</action>": NeMoGymResponse.model_validate(
        response_of(f"I go. <action>{move}</action>")
    )
    for move in MOVES
}


async def play(server, row, actions):
    """Return what a server answers to a row and actions, until the end."""
    text, _ = await server.reset(row, "one")
    results = [board_of(text)]
    for action in actions:
        text, *others, info = await server.step(ACTIONS[action], row, "one")
        success = bool(info["success"])
        effective = bool(info["action_is_effective"])
        results.append((board_of(text), *others, success, effective))
        if others[1] or others[2]:
            break
    await server.close_session("one")
    return results


def level_of(board):
    """Return a board in the common format of level files."""
    return board.translate(str.maketrans("_O√XPS", "-.*$@+"))


def check_rooms(recipe):
    """Compare 1000 rooms of theirs and the steps in them; return the row of the table.

    Their generator is gym-sokoban's with another order of the search: ours opens the
    same room from the same seed often, and not always.
    """
    theirs, ours = make_theirs(), make_ours(recipe)
    their_rooms = make_ours(recipe)
    their_rooms.config.row_keywords.append("levels")
    for name in ("num_boxes", "search_depth"):
        del their_rooms.config.env_config[name]
    same, count, ends = [], 0, 0
    sizes = [(5, 5), (6, 6), (6, 7), (8, 8)]
    rows = [
        {"seed": seed, "dim_room": sizes[seed % 4], "num_boxes": 1}
        for seed in range(1000)
    ]
    for row in rows:
        actions = draw_actions(row["seed"])
        expected = asyncio.run(play(theirs, row, actions))
        level = {"levels": [level_of(expected[0])]}
        assert asyncio.run(play(their_rooms, level, actions)) == expected, row
        room = asyncio.run(ours.reset(row, "one"))[0]
        same.append(board_of(room) == expected[0])
        count += len(expected) - 1
        ends += expected[-1][2]
    assert ends > 20, "some rooms are solved by chance"
    assert sum(same) > 850
    position = {"theirs": 0, "ours": 0}

    def work(name, server):
        def run():
            row = rows[position[name] % len(rows)]
            position[name] += 1
            actions = draw_actions(row["seed"])
            return len(asyncio.run(play(server, row, actions))) - 1

        return run

    rates = measure(work("theirs", theirs), work("ours", ours))
    return {
        "what": "grl_sokoban's rooms, 1000 seeds",
        "result": f"equal transcripts in {count:,} steps of their rooms; the same room "
        f"from the same seed: {sum(same)}",
        "unit": "steps/s",
        "lines_changed": 1,
        **rates,
    }


def check_weaknesses(recipe):
    """Show theirs over HTTP, and that ours has none of them."""
    params = {"responses_create_params": {"input": []}}
    row = {"seed": 84810, "dim_room": [5, 5], "num_boxes": 1, **params}
    lost = row | {"response": response_of("I am lost.")}
    wall = row | {"response": response_of("<action>Up</action>")}
    replies = {}
    for name, server in (
        ("theirs", make_theirs(max_steps=3)),
        ("ours", make_ours(recipe, max_episode_steps=3)),
    ):
        client = TestClient(server.setup_webserver())
        client.post("/reset", json=row)
        first = client.post("/step", json=lost)
        steps = [client.post("/step", json=wall) for _ in range(2 + (name == "theirs"))]
        replies[name] = [first, *steps, client.post("/step", json=wall)]
    codes = {n: [r.status_code for r in all_] for n, all_ in replies.items()}
    assert codes == {"theirs": [400, 200, 200, 200, 400], "ours": [200] * 4}, codes
    ends = {n: [r.json() for r in all_][-2] for n, all_ in replies.items()}
    flags = {n: (e["terminated"], e["truncated"]) for n, e in ends.items()}
    assert flags == {"theirs": (True, False), "ours": (False, True)}
    first, *_, last = (reply.json() for reply in replies["ours"])
    assert first["reward"] == -0.1
    assert first["info"]["action_is_valid"] is False
    assert (last["reward"], last["truncated"]) == (0.0, True)
    client = TestClient(make_ours(recipe).setup_webserver())
    assert client.post("/step", json=lost).json()["truncated"]
    return {
        "what": "an answer that cannot be read, the limit, a step after the end",
        "result": "a step, truncated, a text (grl_sokoban: HTTP 400, terminated, "
        "HTTP 400)",
        "lines_changed": 1,
    }


class Model:
    """A model that answers at random, and counts its answers of each game."""

    def __init__(self):
        self.app = FastAPI()
        self.app.post("/v1/responses")(self.answer)

    async def answer(self, request: Request) -> dict:
        await asyncio.sleep(random.random() / 100)
        inputs = (await request.json())["input"]
        texts = [self.text_of(message) for message in inputs]
        return response_of(draw_answer("\n".join(texts)))

    @staticmethod
    def text_of(message):
        content = message["content"]
        return content if isinstance(content, str) else content[0]["text"]


def draw_answer(text):
    """Return an answer that depends on the conversation alone."""
    rng = random.Random(text)
    if rng.randrange(6) == 0:
        return rng.choice(["", "I am lost.", "<action>jump</action>"])
    return f"I go. <action>{rng.choice(MOVES)}</action>"


@contextlib.asynccontextmanager
async def serve(app):
    """Serve an application in this event loop; its port."""
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="error"))
    task = asyncio.create_task(server.serve())
    while not server.started:
        await asyncio.sleep(0.01)
    try:
        yield server.servers[0].sockets[0].getsockname()[1]
    finally:
        server.should_exit = True
        await task


def make_agent(port, model_port, max_steps):
    """Make their agent for the servers of two ports."""
    addresses = {
        "games": {"resources_servers": {"games": {"port": port}}},
        "policy": {"responses_api_models": {"policy": {"port": model_port}}},
    }
    for address in addresses.values():
        [[config]] = (kind.values() for kind in address.values())
        config["host"] = "127.0.0.1"
    config = GymnasiumAgentConfig(
        **NAME,
        resources_server=ResourcesServerRef(type="resources_servers", name="games"),
        model_server=ModelServerRef(type="responses_api_models", name="policy"),
        max_steps=max_steps,
    )
    client = ServerClient(
        head_server_config=BaseServerConfig(host="127.0.0.1", port=0),
        global_config_dict=OmegaConf.create(addresses),
    )
    return GymnasiumAgent(config=config, server_client=client)


async def run_agents(server, rows, limits):
    """Return the replies of agents with these limits to all rows at once."""
    replies = {}
    async with (
        serve(server.setup_webserver()) as port,
        serve(Model().app) as model_port,
        httpx.AsyncClient(timeout=120) as client,
    ):
        for limit in limits:
            agent = make_agent(port, model_port, limit)
            async with serve(agent.setup_webserver()) as agent_port:
                url = f"http://127.0.0.1:{agent_port}/run"
                posts = (client.post(url, json=row) for row in rows)
                replies[limit] = await asyncio.gather(*posts)
            for reply in replies[limit]:
                assert reply.status_code == 200, reply.text
    return {limit: [r.json() for r in all_] for limit, all_ in replies.items()}


def check_agent(recipe):
    """Let their agent play 100 rows at once; replay each conversation."""
    server = make_ours(recipe, max_episode_steps=6, format_penalty=-0.5)
    params = {"input": [{"role": "user", "content": "Play."}]}
    rows = [
        {"seed": seed, "dim_room": [6, 6], "responses_create_params": params}
        for seed in range(100)
    ]
    get_global_config_dict()
    limits = (10, 4)  # the environment ends an episode, or the agent does
    replies = asyncio.run(run_agents(server, rows, limits))
    assert not server.session_state, "every session is closed"
    steps = sum(
        replay(row, reply, limit)
        for limit in limits
        for row, reply in zip(rows, replies[limit], strict=True)
    )
    return {
        "what": "200 rollouts by the gymnasium_agent over HTTP, 100 at once",
        "result": f"equal to the environment in {steps:,} steps; all sessions closed",
        "lines_changed": 1,
    }


def replay(row, reply, max_steps):
    """Play the conversation of a rollout again; return its steps."""
    env = gymnasium.make(
        "roll_vec/Sokoban-v0",
        dim_room=(6, 6),
        num_boxes=1,
        search_depth=100,
        obs_mode="text",
        action_mode="text",
        action_pattern="<action>(.*?)</action>",
        format_penalty=-0.5,
        max_episode_steps=6,
    )
    observation, info = env.reset(seed=row["seed"])
    prompt = reply["responses_create_params"]["input"]
    texts = [Model.text_of(message) for message in prompt]
    assert texts == ["Play.", f"{info['env_instruction']}\n\n{observation}"]
    total, steps, is_over = 0.0, 0, False
    messages = [Model.text_of(message) for message in reply["response"]["output"]]
    while messages:
        answer = messages.pop(0)
        assert answer == draw_answer("\n".join(texts))
        observation, reward, terminated, truncated, info = env.step(answer)
        total, steps, is_over = (
            total + float(reward),
            steps + 1,
            terminated or truncated,
        )
        texts += [answer, observation]
        if not is_over:
            assert messages.pop(0) == observation
    assert is_over or steps == max_steps
    assert abs(reply["reward"] - total) < 1e-9
    assert reply["terminated"] == terminated
    assert reply["truncated"] == (truncated or not is_over)
    assert reply["info"]["success"] == info["success"]
    return steps


def main():
    """Run all checks; write the rows of the table."""
    with tempfile.TemporaryDirectory() as folder:
        recipe = load_recipe("nemo_gym", folder, "games_server")
    rows = [
        check_weaknesses(recipe),
        check_agent(recipe),
        check_rooms(recipe),
    ]
    for row in rows:
        sys.stdout.write(f"{row}\n")
    Path(sys.argv[1]).write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
