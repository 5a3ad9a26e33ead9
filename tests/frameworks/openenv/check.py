"""512 connections to an OpenEnv server play as local single environments do.

Then the same server with an environment object for each connection, side by side.
`tests.frameworks` runs this file where OpenEnv is installed::

    python check.py OUT.json         the check
    python check.py serve KIND PORT  a server, which the check starts
"""

import asyncio
import contextlib
import json
import resource
import statistics
import subprocess
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
    RollVecClient,
    RollVecObservation,
    create_app,
    to_json,
)

NUM_SESSIONS = 512
SOKOBAN = "roll_vec/Sokoban-v0"
TEXT = {"action_mode": "text", "obs_mode": "text", "max_episode_steps": 12}
# Some cannot be read: no such action, nothing at all, half of a surrogate pair.
ANSWERS = ("Up", "Down", "Left", "Right", "I do not know", None, 7, "\ud83d", ["Up"])
ROUNDS, STEPS = 4, 15
FIRST_PORT = 8341


# ------------------------------------------------------------------ servers


class OwnObject(Environment):
    """A single environment for each connection, as OpenEnv's own examples have it."""

    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(self):
        super().__init__()
        self.env = gymnasium.make(SOKOBAN, **TEXT)
        self._state = State()

    def reset(self, seed=None, episode_id=None, **options):
        observation, info = self.env.reset(seed=seed)
        self._state = State(episode_id=episode_id, step_count=0)
        return RollVecObservation(observation=to_json(observation), info=to_json(info))

    def step(self, action, timeout_s=None, **options):
        observation, reward, terminated, truncated, info = self.env.step(action.action)
        self._state.step_count += 1
        return RollVecObservation(
            observation=to_json(observation),
            info=to_json(info),
            reward=reward,
            done=terminated or truncated,
            terminated=terminated,
            truncated=truncated,
        )

    @property
    def state(self):
        return self._state


class OwnObjectInLoop(OwnObject):
    """The same, stepped in the event loop and not in a thread of its own."""

    async def reset_async(self, seed=None, episode_id=None, **options):
        return self.reset(seed, episode_id, **options)

    async def step_async(self, action, timeout_s=None, **options):
        return self.step(action)


KINDS = {"roll_vec": None, "object": OwnObject, "object in loop": OwnObjectInLoop}


def serve(kind, port):
    if KINDS[kind] is None:
        app = create_app(SOKOBAN, max_concurrent_envs=NUM_SESSIONS, **TEXT)
    else:
        app = create_openenv_app(
            KINDS[kind],
            RollVecAction,
            RollVecObservation,
            max_concurrent_envs=NUM_SESSIONS,
        )
    uvicorn.run(app, host="127.0.0.1", port=port, log_level="error")


@contextlib.asynccontextmanager
async def servers():
    """Start a server of each kind; yield their ports and processes."""
    ports = {kind: FIRST_PORT + i for i, kind in enumerate(KINDS)}
    processes = {
        kind: subprocess.Popen([sys.executable, __file__, "serve", kind, str(port)])
        for kind, port in ports.items()
    }
    try:
        for kind, port in ports.items():
            for _ in range(1200):
                assert processes[kind].poll() is None, f"the server {kind} has ended"
                try:
                    _, writer = await asyncio.open_connection("127.0.0.1", port)
                except OSError:
                    await asyncio.sleep(0.1)
                    continue
                writer.close()
                break
        yield ports, processes
    finally:
        for process in processes.values():
            process.kill()
            process.wait()


# ------------------------------------------------------------------ equality


def local_episodes(seed, answers):
    """Return two episodes of a local single environment, the second without a seed."""
    env, results, answers = gymnasium.make(SOKOBAN, **TEXT), [], iter(answers)
    for episode_seed in (seed, None):
        observation, info = env.reset(seed=episode_seed)
        results.append((observation, info, None, False, False))
        terminated = truncated = False
        while not (terminated or truncated):
            answer = next(answers)
            text = answer if isinstance(answer, str) else str(answer)
            step = env.step("" if answer is None else text)
            observation, reward, terminated, truncated, info = step
            results.append((observation, to_json(info), reward, terminated, truncated))
    return results


async def remote_episodes(client, seed, answers):
    """Return the same from a server."""
    results, answers = [], iter(answers)
    for keywords in ({"seed": seed, "episode_id": f"number {seed}"}, {}):
        result, length = await client.reset(**keywords), 0
        while True:
            one = result.observation
            results.append(
                (one.observation, one.info, one.reward, one.terminated, one.truncated)
            )
            state = await client.state()
            assert state.step_count == length
            assert state.episode_id == keywords.get("episode_id", state.episode_id)
            assert result.done == (one.terminated or one.truncated)
            if result.done:
                break
            result, length = await client.step(next(answers)), length + 1
    return results


def answers_of(seed):
    rng = np.random.default_rng(seed)
    return [ANSWERS[i] for i in rng.integers(len(ANSWERS), size=2 * 12).tolist()]


async def check_equal(port):
    """Compare 512 connections; then a quarter is dropped, and others take its place."""
    url = f"http://127.0.0.1:{port}"
    clients = [
        RollVecClient(base_url=url, connect_timeout_s=120) for _ in range(NUM_SESSIONS)
    ]
    for client in clients:
        await client.connect()
    for first in (0, 10_000):
        seeds = range(first, first + NUM_SESSIONS)
        results = await asyncio.gather(
            *(
                remote_episodes(client, seed, answers_of(seed))
                for client, seed in zip(clients, seeds, strict=True)
            )
        )
        for seed, result in zip(seeds, results, strict=True):
            assert result == local_episodes(seed, answers_of(seed)), f"seed {seed}"
        for i in range(0, NUM_SESSIONS, 4):
            # No message of farewell: the connection is cut.
            clients[i]._ws.transport.abort()
            clients[i] = RollVecClient(base_url=url, connect_timeout_s=120)
            await clients[i].connect()
    await asyncio.gather(*(client.close() for client in clients))


# ------------------------------------------------------------------ latency


async def call(socket, kind, data):
    await socket.send(json.dumps({"type": kind, "data": data}))
    reply = json.loads(await socket.recv())
    assert reply["type"] == "observation", reply
    return reply["data"]


async def play(socket, seed, seconds):
    """Take some steps, each as soon as the result of the one before is there."""
    rng = np.random.default_rng(seed)
    await call(socket, "reset", {"seed": seed})
    for i in rng.integers(4, size=STEPS).tolist():
        start = time.perf_counter()
        data = await call(socket, "step", {"action": ANSWERS[i]})
        seconds.append(time.perf_counter() - start)
        if data["done"]:
            await call(socket, "reset", {})


async def measure(ports):
    """Return the median 95th percentiles (ms) and rates of each kind, in turns."""
    sockets = {}
    for kind, port in ports.items():
        url = f"ws://127.0.0.1:{port}/ws"
        sockets[kind] = [
            await connect(url, open_timeout=120, ping_interval=None)
            for _ in range(NUM_SESSIONS)
        ]
    figures = {kind: {"p95": [], "rate": []} for kind in ports}
    for number in range(ROUNDS + 1):
        for kind in ports:
            seconds, start = [], time.perf_counter()
            await asyncio.gather(
                *(play(one, i, seconds) for i, one in enumerate(sockets[kind]))
            )
            duration = time.perf_counter() - start
            if number:  # the first round fills caches
                figures[kind]["p95"].append(1000 * np.percentile(seconds, 95))
                figures[kind]["rate"].append(len(seconds) / duration)
    return {
        kind: {name: statistics.median(values) for name, values in of_kind.items()}
        for kind, of_kind in figures.items()
    }


def memory_and_threads(process):
    """Return the resident megabytes and the threads of a process."""
    status = Path(f"/proc/{process.pid}/status").read_text("utf-8")
    values = dict(line.split(":", 1) for line in status.splitlines())
    return int(values["VmRSS"].split()[0]) / 1024, int(values["Threads"])


async def main(out):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 4 * NUM_SESSIONS
    if soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(wanted, hard), hard))
    async with servers() as (ports, processes):
        await check_equal(ports["roll_vec"])
        figures = await measure(ports)
        sizes = {kind: memory_and_threads(one) for kind, one in processes.items()}
    ours, theirs = figures["roll_vec"], figures["object"]
    in_loop = figures["object in loop"]
    rows = [
        {
            "what": f"Sokoban, {NUM_SESSIONS} sessions, two episodes each",
            "result": "equal to local environments, also after dropped connections",
            "lines_changed": 1,
        },
        row("steps, p95", theirs["p95"], ours["p95"], "ms"),
        row("steps of all sessions", theirs["rate"], ours["rate"], "steps/s"),
        row("p95, objects in the event loop", in_loop["p95"], ours["p95"], "ms"),
        row("memory of the server", sizes["object"][0], sizes["roll_vec"][0], "MB"),
        {
            "what": "threads of the server",
            "result": f"{sizes['roll_vec'][1]} beside {sizes['object'][1]}",
        },
    ]
    Path(out).write_text(json.dumps(rows, indent=1), "utf-8")


def row(what, theirs, ours, unit):
    figures = {"theirs": float(f"{theirs:.4g}"), "ours": float(f"{ours:.4g}")}
    return {"what": what, "result": f"{NUM_SESSIONS} sessions", **figures, "unit": unit}


if __name__ == "__main__":
    if sys.argv[1] == "serve":
        serve(sys.argv[2], int(sys.argv[3]))
    else:
        asyncio.run(main(sys.argv[1]))
