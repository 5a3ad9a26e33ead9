"""Replies of an OpenEnv server to messages: those that tests/adapters reads.

``python compare.py FILE`` writes rows.
"""

import json
from pathlib import Path

from side_by_side import write
from starlette.testclient import TestClient

from roll_vec.adapters.openenv import create_app

DATA = Path(__file__).resolve().parents[2] / "adapters" / "data" / "openenv.json"
# Those of tests/adapters/test_packages.py.
KEYWORDS = {
    "max_concurrent_envs": 2,
    "dim_room": (5, 5),
    "num_boxes": 1,
    "env_instruction": "Push.",
    "max_episode_steps": 6,
    "action_mask": True,
}


def main():
    """Send the messages, and compare the replies."""
    app = create_app("roll_vec/Sokoban-v0", **KEYWORDS)
    pairs = json.loads(DATA.read_text("utf-8"))["messages"]
    with TestClient(app).websocket_connect("/ws") as socket:
        for message, reply in pairs:
            socket.send_text(json.dumps(message))
            assert json.loads(socket.receive_text()) == reply
    app.state.sessions.close()
    what = "messages of one connection, as tests/adapters reads them"
    write([{"what": what, "result": f"{len(pairs)} equal replies"}])


if __name__ == "__main__":
    main()
