"""Replies of an OpenEnv server to messages: ``python record.py FOLDER``."""

import importlib.metadata
import json

from side_by_side import write
from starlette.testclient import TestClient

from roll_vec.adapters.openenv import create_app

# Those of tests/adapters/test_packages.py.
KEYWORDS = {
    "max_concurrent_envs": 2,
    "dim_room": (5, 5),
    "num_boxes": 1,
    "env_instruction": "Push.",
    "max_episode_steps": 6,
    "action_mask": True,
}
# Actions, keywords of resets, and None, which asks for the state.
CALLS = (
    *("Up", {"seed": 3, "episode_id": "three"}, "Up"),
    # Some cannot be read: no such action, nothing at all, half of a surrogate pair.
    *("I pass", [None], 7, "\ud83d", None, "Left", "Up"),
    *({"seed": -1}, {"seed": 4}, "Down"),
)


def message_of(call):
    """Return the message of a call."""
    if call is None:
        return {"type": "state"}
    if isinstance(call, dict):
        return {"type": "reset", "data": call}
    return {"type": "step", "data": {"action": None if call == [None] else call}}


def main():
    """Write the messages and the replies."""
    app, pairs = create_app("roll_vec/Sokoban-v0", **KEYWORDS), []
    with TestClient(app).websocket_connect("/ws") as socket:
        for message in map(message_of, CALLS):
            socket.send_text(json.dumps(message))
            pairs.append([message, json.loads(socket.receive_text())])
    app.state.sessions.close()
    version = importlib.metadata.version("openenv")
    how = f"messages to /ws of openenv {version} with the application of "
    how += "tests/adapters/test_packages.py, and its replies"
    write("openenv", {"how": how, "messages": pairs})


if __name__ == "__main__":
    main()
