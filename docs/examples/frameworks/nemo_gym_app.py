"""NeMo Gym: a server of every id of roll_vec for its `gymnasium_agent`.

As resources_servers/roll_vec/app.py its last line is `Games.run_webserver()`.
"""

import gymnasium
from fastapi import Request
from nemo_gym.base_resources_server import BaseResourcesServerConfig
from nemo_gym.server_utils import SESSION_ID_KEY
from resources_servers.gymnasium import GymnasiumServer, extract_text

import roll_vec

KEYS = ("success", "action_is_valid", "action_is_effective")


class GamesConfig(BaseResourcesServerConfig):
    """The id, its keywords, and those that a row may have."""

    id: str = "roll_vec/Sokoban-v0"
    env_config: dict = {
        "num_boxes": 1,
        "search_depth": 100,
        "obs_mode": "text",
        "action_mode": "text",
        "action_pattern": "<action>(.*?)</action>",
    }
    row_keywords: list[str] = ["dim_room", "num_boxes", "search_depth"]


class Games(GymnasiumServer):
    """An environment for each session."""

    ray_enabled = False
    config: GamesConfig

    def setup_webserver(self):
        app = super().setup_webserver()
        app.post("/close")(self._close_endpoint)
        return app

    async def _close_endpoint(self, request: Request) -> dict:
        await self.close_session(request.session.get(SESSION_ID_KEY))
        return {}

    async def reset(self, metadata, session_id=None):
        names = self.config.row_keywords
        keywords = {name: metadata[name] for name in names if name in metadata}
        env = gymnasium.make(self.config.id, **self.config.env_config | keywords)
        observation, info = env.reset(seed=metadata.get("seed"))
        self.session_state[session_id] = env
        text = f"{info['env_instruction']}\n\n{observation}"
        return text, {"supports_explicit_close": True}

    async def step(self, action, metadata, session_id=None):
        env = self.session_state.get(session_id)
        if env is None:
            return "There is no episode: call /reset.", 0.0, False, True, {}
        observation, reward, *ends, info = env.step(extract_text(action))
        info = {key: bool(info[key]) for key in KEYS if key in info}
        return observation, float(reward), *ends, info


def main():
    """Post a row to `/reset` and answers to `/step`, as the agent does."""
    from unittest.mock import MagicMock

    from fastapi.testclient import TestClient
    from nemo_gym.server_utils import ServerClient

    config = GamesConfig(host="", port=0, entrypoint="", name="roll_vec")
    server = Games(config=config, server_client=MagicMock(spec=ServerClient))
    client = TestClient(server.setup_webserver())
    params = {"responses_create_params": {"input": []}}
    row = {"seed": 84810, "dim_room": [5, 5], "num_boxes": 1, **params}
    print(client.post("/reset", json=row).json()["observation"])
    for answer in ("<action>Up</action>", "I am lost."):
        content = {"type": "output_text", "text": answer, "annotations": []}
        message = {
            "type": "message",
            "id": "m",
            "role": "assistant",
            "content": [content],
        }
        response = {"id": "r", "created_at": 0, "model": "m", "object": "response"}
        response |= {"output": [message | {"status": "completed"}], "tools": []}
        response |= {"parallel_tool_calls": True, "tool_choice": "auto"}
        reply = client.post("/step", json=row | {"response": response})
        print(answer, reply.status_code, reply.json()["reward"], reply.json()["info"])


if __name__ == "__main__":
    main()
