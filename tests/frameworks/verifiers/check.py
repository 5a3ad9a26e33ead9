"""verifiers' own `vf-eval` plays the recipe; every conversation is replayed.

Needs uv, which runs the programs of verifiers' harnesses.  A server on 127.0.0.1 stands
for the model: its answers depend on the conversation alone.
"""

import itertools
import json
import os
import random
import subprocess
import sys
import tempfile
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import gymnasium
from recipes import load_recipe

MOVES = ("Up", "Down", "Left", "Right")
TASKS, ROLLOUTS, TURNS = 4, 2, 6
GRID = {"obs_mode": "text", "action_mode": "text", "format_penalty": -0.5}
PATTERN = {"action_pattern": "<answer>(.*?)</answer>"}
GAMES = {
    "Sokoban": (
        "roll_vec/Sokoban-v0",
        {**GRID, **PATTERN, "num_boxes": 1, "max_episode_steps": 3},
    ),
    "Countdown": ("roll_vec/Countdown-v0", {**PATTERN, "max_steps": 2}),
    "WebShop": ("roll_vec/WebShop-v0", {"num_products": 100}),
}


def draw_answer(texts):
    """Return an answer that depends on the texts of a conversation alone."""
    rng = random.Random("\n".join(texts))
    if "WebShop" in texts[0]:
        return rng.choice(["search[red shoes]", "click[next >]", "I am lost."])
    if rng.randrange(4) == 0:
        return rng.choice(["I am lost.", "<answer>jump</answer>"])
    return f"I go. <answer>{rng.choice(MOVES)}</answer>"


class Model(BaseHTTPRequestHandler):
    """The chat completions of the model, as a stream."""

    def do_POST(self):
        size = int(self.headers["Content-Length"])
        messages = json.loads(self.rfile.read(size))["messages"]
        answer = draw_answer([message["content"] for message in messages])
        delta = {"role": "assistant", "content": answer}
        chunk = {
            "id": "one",
            "object": "chat.completion.chunk",
            "created": 0,
            "model": "scripted",
            "choices": [{"index": 0, "delta": delta, "finish_reason": "stop"}],
        }
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        self.wfile.write(f"data: {json.dumps(chunk)}\n\ndata: [DONE]\n\n".encode())

    def log_message(self, *_):
        pass


def evaluate(url, folder, id, keywords):
    """Run `vf-eval`; return its episodes."""
    binaries = Path(sys.executable).parent
    config = {
        "model": "scripted",
        "client": {"base_url": url, "api_key_var": "NO_KEY"},
        "output_dir": str(folder / "output"),
        "env": {
            "taskset": {"id": "roll_vec_games", "game": id, "keywords": keywords},
            "player": {
                "harness": {"id": "null"},
                "runtime": {"type": "subprocess"},
                "max_turns": TURNS,
            },
        },
    }
    file = folder / "config.json"
    file.write_text(json.dumps(config))
    paths = [str(folder), os.environ.get("PYTHONPATH", "")]
    variables = {
        **os.environ,
        "NO_KEY": "none",
        "PYTHONPATH": os.pathsep.join(paths),
        "PATH": os.pathsep.join([str(binaries), os.environ["PATH"]]),
    }
    counts = ["-n", str(TASKS), "-r", str(ROLLOUTS)]
    command = [binaries / "vf-eval", "@", file, *counts, "--no-rich", "--no-push"]
    result = subprocess.run(
        command, env=variables, cwd=folder, capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stdout[-2000:] + result.stderr[-2000:]
    [traces] = (folder / "output").rglob("traces.jsonl")
    return [json.loads(line) for line in traces.read_text("utf-8").splitlines()]


def replay(episode, id, keywords):
    """Play the conversation of an episode again; return its seed and its steps."""
    assert episode["ok"], episode["errors"]
    [trace] = episode["traces"]
    data = trace["task"]["data"]
    assert (data["game"], data["keywords"]) == (id, keywords)
    env = gymnasium.make(id, **keywords)
    observation, info = env.reset(seed=data["seed"])
    messages = [node["message"] for node in trace["nodes"]]
    texts = [message["content"] for message in messages]
    assert texts[0] == f"{info['env_instruction']}\n\n{observation}" == data["prompt"]
    total, is_over, truncated = 0.0, False, False
    for number in range(1, len(texts), 2):
        assert not is_over
        assert texts[number] == draw_answer(texts[:number])
        result = env.step(texts[number])
        observation, reward, terminated, truncated, info = result
        total, is_over = total + float(reward), terminated or truncated
        assert texts[number + 1 : number + 2] == [observation] * (
            number + 1 < len(texts)
        )
    steps = len(texts) // 2
    assert is_over or steps == TURNS
    assert trace["rewards"] == {"return": {"score": total, "weight": 1.0}}
    truth = {"success": float(info["success"]), "truncated": float(truncated)}
    assert trace["metrics"] == truth
    return data["seed"], steps


def check(name, url):
    """Evaluate one game; return the row of the table."""
    id, keywords = GAMES[name]
    with tempfile.TemporaryDirectory() as folder:
        load_recipe("verifiers", folder, "roll_vec_games")
        episodes = evaluate(url, Path(folder), id, keywords)
    plays = [replay(episode, id, keywords) for episode in episodes]
    seeds = sorted(seed for seed, _ in plays)
    assert seeds == sorted([*range(TASKS)] * ROLLOUTS)
    steps = sum(steps for _, steps in plays)
    return {
        "what": f"{name}, {len(plays)} rollouts by vf-eval, a scripted model",
        "result": f"equal transcripts and rewards in {steps} steps",
        "lines_changed": 1,
    }


def main():
    """Run all checks; write the rows of the table."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Model)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}/v1"
    with tempfile.TemporaryDirectory() as folder:
        recipe = load_recipe("verifiers", folder, "roll_vec_games")
    config = recipe.GamesConfig(id="roll_vec_games", first_seed=5)
    names = [
        t.data.name for t in itertools.islice(recipe.GamesTaskset(config).load(), 2)
    ]
    assert names == ["roll_vec/Sokoban-v0#5", "roll_vec/Sokoban-v0#6"]
    rows = []
    for name in GAMES:
        rows.append(check(name, url))
        sys.stdout.write(f"{rows[-1]}\n")
    Path(sys.argv[1]).write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
