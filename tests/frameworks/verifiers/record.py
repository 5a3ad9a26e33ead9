"""Turns with pictures through verifiers' own ``vf-eval``.

``python record.py FOLDER`` writes rows.  An endpoint without a model answers, and each
of its requests must be the chat of an episode that `gymnasium.make` plays.
"""

import json
import os
import subprocess
import sys
import tempfile
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import gymnasium
from side_by_side import write

import roll_vec  # noqa: F401 (registers the ids)
from roll_vec.trajectories import to_content

EXAMPLES = Path(__file__).resolve().parents[3] / "docs" / "examples" / "frameworks"
ID, NUM_TASKS, NUM_ROLLOUTS, NUM_TURNS = "roll_vec/Sokoban-v0", 3, 2, 4
KEYWORDS = {"obs_mode": "rgb", "action_mode": "text", "max_episode_steps": NUM_TURNS}
ANSWERS = ("Up", "Left", "I wait.", "Down")
COMMAND = f"""
vf-eval roll_vec_games -m nobody -n {NUM_TASKS} -r {NUM_ROLLOUTS} --no-push
--env.player.harness.id null --env.player.runtime.type subprocess
--client.api-key-var NO_KEY --env.taskset.game {ID} --env.taskset.keywords
"""


def plain(messages):
    """Return a chat as roles, texts and the addresses of pictures."""
    parts = []
    for message in messages:
        content = message["content"]
        if isinstance(content, str):
            content = [{"type": "text", "text": content}]
        for part in content:
            value = part.get("text") or part["image_url"]["url"]
            parts.append(f"{message['role']}: {value}")
    return parts


class Endpoint(BaseHTTPRequestHandler):
    """The chat completions of OpenAI, from a script."""

    chats = ()

    def do_POST(self):
        """Note the chat, and answer by its length."""
        length = int(self.headers["content-length"])
        body = json.loads(self.rfile.read(length))
        self.chats.append(plain(body["messages"]))
        turn = sum(message["role"] == "assistant" for message in body["messages"])
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        reply = {"id": "1", "created": 1, "model": "nobody", "usage": usage}
        message = {"role": "assistant", "content": ANSWERS[turn]}
        choice = {"index": 0, "finish_reason": "stop"}
        if body.get("stream"):
            kind, choice["delta"] = "text/event-stream", message
            reply |= {"object": "chat.completion.chunk", "choices": [choice]}
            text = f"data: {json.dumps(reply)}\n\ndata: [DONE]\n\n"
        else:
            kind, choice["message"] = "application/json", message
            text = json.dumps(
                reply | {"object": "chat.completion", "choices": [choice]}
            )
        self.send_response(200)
        self.send_header("content-type", kind)
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *arguments):
        """Write nothing."""


def expected_chats():
    """Return the chats of all turns, as a single environment plays them."""
    chats = []
    for seed in range(NUM_TASKS):
        env = gymnasium.make(ID, **KEYWORDS)
        observation, info = env.reset(seed=seed)
        content = to_content(info["env_instruction"], observation)
        messages = [{"role": "user", "content": content}]
        for answer in ANSWERS:
            chats += [plain(messages)] * NUM_ROLLOUTS
            observation, *_ = env.step(answer)
            messages += [
                {"role": "assistant", "content": answer},
                {"role": "user", "content": to_content(observation)},
            ]
    return chats


def main():
    """Run the command, and compare."""
    Endpoint.chats = []
    server = ThreadingHTTPServer(("127.0.0.1", 0), Endpoint)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}/v1"
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    variables = {"PATH": path, "PYTHONPATH": str(EXAMPLES), "NO_KEY": "x"}
    command = [*COMMAND.split(), json.dumps(KEYWORDS), "--client.base-url", url]
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(command, cwd=folder, env=os.environ | variables, check=True)
    server.shutdown()
    assert sorted(Endpoint.chats) == sorted(expected_chats())
    what = f"vf-eval, {NUM_TASKS * NUM_ROLLOUTS} rollouts of Sokoban in pictures"
    result = f"{len(Endpoint.chats)} equal chats, of a model's stand-in"
    write("rows", [{"what": what, "result": result}])


if __name__ == "__main__":
    main()
