"""New processes: first calls, with an empty cache of kernels, and memory."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from benchmarks.conftest import HERE, OURS, Versus

ROOT = HERE.parent
# The first call of a new process, its processor time and its memory.
PROGRAM = r"""
import json, re, resource, sys, time
import gymnasium, roll_vec
from benchmarks.batches import make_sync
id, side, size = sys.argv[1:]
start = time.perf_counter()
make = make_sync if side == "SyncVectorEnv" else gymnasium.make_vec
envs = make(id, num_envs=int(size))
envs.reset(seed=0)
for _ in range(3):
    envs.step(envs.action_space.sample())
seconds = time.perf_counter() - start
both = [resource.getrusage(x) for x in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
processor = sum(x.ru_utime + x.ru_stime for x in both)
# ru_maxrss begins with the memory of the process that started this one.
peak = re.search(r"VmHWM: *\t *([0-9]+)", open("/proc/self/status").read())[1]
bytes = int(peak) * 1024
print(json.dumps({"seconds": seconds, "processor": processor, "bytes": bytes}))
"""
GAMES = {
    "FrozenLake-v1": "roll_vec/FrozenLake-v1",
    "Sokoban-v0": "roll_vec/Sokoban-v0",
    "a user's Snake": "benchmarks.user_games:bench/Snake-v0",
}


def run(id: str, side: str, size: int, cache: str | None = None) -> dict[str, float]:
    """Return what the program prints in a process of its own."""
    folder = cache or os.environ.get("NUMBA_CACHE_DIR", "")
    variables = {**os.environ, "PYTHONPATH": str(ROOT), "NUMBA_CACHE_DIR": folder}
    command = [sys.executable, "-c", PROGRAM, id, side, str(size)]
    result = subprocess.run(
        command, stdout=subprocess.PIPE, text=True, cwd=ROOT, env=variables, check=True
    )
    facts: dict[str, float] = json.loads(result.stdout)
    return facts


@pytest.mark.benchmark(group="first call: {game}", min_rounds=3)
@pytest.mark.parametrize("side", ["empty cache", "compiled before"])
@pytest.mark.parametrize("game", GAMES)
def test_first_call(versus: Versus, game: str, side: str, tmp_path: Path) -> None:
    facts = versus.benchmark.extra_info

    def seconds() -> float:
        with tempfile.TemporaryDirectory() as empty:
            cache = empty if side == "empty cache" else str(tmp_path)
            result = run(GAMES[game], OURS, 4096, cache)
        processor = round(result["processor"], 1)
        facts["processor"] = min(processor, facts.get("processor", processor))
        return result["seconds"]

    if side != "empty cache":
        seconds()
    versus.by_itself(seconds, "call")


@pytest.mark.benchmark(group="memory of {game}", min_rounds=1)
@pytest.mark.parametrize(("side", "size"), [(OURS, 65536), ("SyncVectorEnv", 1024)])
@pytest.mark.parametrize("game", ["FrozenLake-v1", "Sokoban-v0"])
def test_memory(versus: Versus, game: str, side: str, size: int) -> None:
    def seconds() -> float:
        # The first runs compile kernels, and the first environments load libraries.
        runs = [run(f"roll_vec/{game}", side, n) for n in (16, size, 16, size)]
        few, many = runs[2:]
        bytes = round((many["bytes"] - few["bytes"]) / (size - 16))
        versus.benchmark.extra_info["bytes"] = bytes
        return many["seconds"]

    versus.by_itself(seconds, "call")
