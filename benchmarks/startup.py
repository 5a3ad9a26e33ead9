"""Seconds of a new process: its import, and its first call with an empty cache."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import weakref

from benchmarks.processes import ROOT, child_environment
from benchmarks.tasks import Figure, Unavailable

IMPORT = "import time; start = time.perf_counter(); import roll_vec"
# A whole episode: resets within steps are part of a first call.
FIRST_CALL = """
import sys, time
import gymnasium, numpy, roll_vec
start = time.perf_counter()
envs = gymnasium.make_vec(sys.argv[1], num_envs=int(sys.argv[2]))
envs.reset(seed=0)
envs.action_space.seed(0)
for _ in range(int(sys.argv[3])):
    envs.step(envs.action_space.sample())
"""
END = "\nprint(time.perf_counter() - start, flush=True); import os; os._exit(0)"


def import_time() -> Figure:
    """Import the package, which compiles nothing."""
    return _make(IMPORT, [], {"batch": 0}, empty=False)


def first_call(
    id: str, num_envs: int = 16, num_steps: int = 102, empty: bool = True
) -> Figure:
    """Make a batch, reset it, and play an episode; imports are not part of it.

    ``empty``: no kernel is compiled before; otherwise an earlier round compiled them.
    """
    levels = "an empty cache" if empty else "compiled before"
    settings = {"batch": num_envs, "levels": levels}
    return _make(FIRST_CALL, [id, str(num_envs), str(num_steps)], settings, empty)


def _make(
    code: str, words: list[str], settings: dict[str, object], empty: bool
) -> Figure:
    kept = tempfile.mkdtemp()

    def measure(seconds: float) -> float:
        if not seconds and empty:
            return 0.0  # a round takes many seconds
        with tempfile.TemporaryDirectory() as fresh:
            folder = fresh if empty else kept
            process = subprocess.run(
                [sys.executable, "-c", code + END, *words],
                capture_output=True,
                text=True,
                cwd=ROOT,
                env=child_environment(NUMBA_CACHE_DIR=folder),
            )
        if process.returncode:
            lines = process.stderr.strip().splitlines() or ["without a word"]
            raise Unavailable(f"ended with code {process.returncode}: {lines[-1]}")
        return float(process.stdout)

    figure = Figure(measure, "s", settings)
    weakref.finalize(figure, shutil.rmtree, kept, ignore_errors=True)
    return figure
