"""512 connections to a server of a batch, beside a server with an object for each.

`tests.frameworks` runs this file where OpenEnv is installed.
"""

import asyncio
import contextlib
import json
import multiprocessing
import resource
import statistics
import sys
import time
from pathlib import Path

import gymnasium
import numpy as np
import uvicorn
from openenv.core.env_server.http_server import create_app as create_openenv_app
from openenv.core.env_server.interfaces import Environment
from openenv.core.env_server.types import State
from websockets.asyncio.client import connect

from roll_vec.adapters.openenv import (
    RollVecAction,
    RollVecObservation,
    create_app,
    to_json,
)

NUM_SESSIONS, NUM_STEPS, NUM_ROUNDS = 512, 15, 4
SOKOBAN = "roll_vec/Sokoban-v0"
TEXT = {"action_mode": "text", "obs_mode": "text", "max_episode_steps": 12}
MOVES = ("Up", "Down", "Left", "Right")
PORTS = {"theirs": 8341, "ours": 8342}


class OwnObject(Environment):
    """A single environment for each connection, as OpenEnv's own examples have it."""

    SUPPORTS_CONCURRENT_SESSIONS = True
    state = State()

    def __init__(self):
        super().__init__()
        self.env = gymnasium.make(SOKOBAN, **TEXT)

    def reset(self, seed=None, episode_id=None, **options):
        observation, info = self.env.reset(seed=seed)
        return RollVecObservation(observation=observation, info=to_json(info))

    def step(self, action, timeout_s=None, **options):
        observation, reward, terminated, truncated, info = self.env.step(action.action)
        return RollVecObservation(
            observation=observation,
            info=to_json(info),
            reward=reward,
            done=terminated or truncated,
            terminated=terminated,
            truncated=truncated,
        )


def serve(name):
    """Serve until this process is killed."""
    options = {"max_concurrent_envs": NUM_SESSIONS}
    if name == "ours":
        app = create_app(SOKOBAN, **options, **TEXT)
    else:
        models = RollVecAction, RollVecObservation
        app = create_openenv_app(OwnObject, *models, **options)
    uvicorn.run(app, host="127.0.0.1", port=PORTS[name], log_level="error")


@contextlib.contextmanager
def servers():
    """Start both servers; yield their processes."""
    context = multiprocessing.get_context("spawn")
    processes = {name: context.Process(target=serve, args=(name,)) for name in PORTS}
    for process in processes.values():
        process.start()
    try:
        yield processes
    finally:
        for process in processes.values():
            process.kill()
            process.join()


async def open_sockets(name, process):
    """Return connections to a server, as soon as it listens."""
    sockets, url = [], f"ws://127.0.0.1:{PORTS[name]}/ws"
    while len(sockets) < NUM_SESSIONS:
        assert process.is_alive(), "the server has ended"
        try:
            sockets.append(await connect(url, open_timeout=120, ping_interval=None))
        except ConnectionRefusedError:
            await asyncio.sleep(0.1)
    return sockets


async def play(socket, seed, seconds):
    """Take some steps, each as soon as the result of the one before is there."""

    async def call(kind, data):
        start = time.perf_counter()
        await socket.send(json.dumps({"type": kind, "data": data}))
        reply = json.loads(await socket.recv())
        if kind == "step":
            seconds.append(time.perf_counter() - start)
        assert reply["type"] == "observation", reply
        return reply["data"]

    replies = [await call("reset", {"seed": seed})]
    for i in np.random.default_rng(seed).integers(4, size=NUM_STEPS).tolist():
        replies.append(await call("step", {"action": MOVES[i]}))
        if replies[-1]["done"]:
            replies.append(await call("reset", {"seed": seed}))
    return replies


async def measure(processes):
    """Return the median 95th percentiles (ms) and rates of both, in turns."""
    sockets = {name: await open_sockets(name, one) for name, one in processes.items()}
    latencies, rates = {name: [] for name in PORTS}, {name: [] for name in PORTS}
    for number in range(NUM_ROUNDS + 1):
        replies = {}
        for name, connections in sockets.items():
            seconds, start = [], time.perf_counter()
            games = (play(one, i, seconds) for i, one in enumerate(connections))
            replies[name] = await asyncio.gather(*games)
            duration = time.perf_counter() - start
            if number:  # the first round fills caches
                latencies[name].append(1000 * np.percentile(seconds, 95))
                rates[name].append(len(seconds) / duration)
        assert replies["ours"] == replies["theirs"]
    return latencies, rates


def status_of(process):
    """Return the resident megabytes and the threads of a process."""
    status = Path(f"/proc/{process.pid}/status").read_text("utf-8")
    values = dict(line.split(":", 1) for line in status.splitlines())
    return int(values["VmRSS"].split()[0]) / 1024, int(values["Threads"])


def main(out):
    """Compare, measure, and write the rows."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(4 * NUM_SESSIONS, hard), hard))
    with servers() as processes:
        latencies, rates = asyncio.run(measure(processes))
        status = {name: [status_of(one)] for name, one in processes.items()}
    what = f"Sokoban, {NUM_SESSIONS} sessions"
    rows = [{"what": what, "result": "results equal those of an object for each"}]
    sizes, threads = ({n: [s[0][i]] for n, s in status.items()} for i in (0, 1))
    for what, figures, unit in (
        ("steps, p95", latencies, "ms"),
        ("steps of all sessions", rates, "steps/s"),
        ("memory of the server", sizes, "MB"),
        ("threads of the server", threads, "threads"),
    ):
        row = {"what": what, "result": f"{NUM_SESSIONS} sessions", "unit": unit}
        for name, values in figures.items():
            row[name] = float(f"{statistics.median(values):.4g}")
        rows.append(row)
    Path(out).write_text(json.dumps(rows), "utf-8")


if __name__ == "__main__":
    main(sys.argv[1])
