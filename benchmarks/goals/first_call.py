"""Seconds of a first call: a new process, and no compiled kernels on the disk."""

from __future__ import annotations

import subprocess
import sys
import tempfile

from benchmarks.processes import ROOT, child_environment
from benchmarks.tasks import Rate, Unavailable

# A whole episode: resets within steps are part of a first call.
PROGRAM = """
import sys, time
import gymnasium, numpy, roll_vec
start = time.perf_counter()
envs = gymnasium.make_vec(sys.argv[1], num_envs=16)
envs.reset(seed=0)
envs.action_space.seed(0)
for _ in range(int(sys.argv[2])):
    envs.step(envs.action_space.sample())
print(time.perf_counter() - start)
envs.close()
"""


class FirstCall(Rate):
    """The time of a new process for a batch, its reset and a whole episode, in ``s``.

    The imports of Gymnasium and of roll_vec are not part of it.
    """

    def __init__(self, id: str, num_steps: int) -> None:
        settings = {"batch": 16, "observation": "none", "levels": "an empty cache"}
        super().__init__(lambda: 0, "s", settings)
        self._arguments = [id, str(num_steps)]

    def measure(self, seconds: float) -> float:
        """Start one process; without any ``seconds`` none."""
        if not seconds:
            return 0.0
        with tempfile.TemporaryDirectory() as folder:
            process = subprocess.run(
                [sys.executable, "-c", PROGRAM, *self._arguments],
                capture_output=True,
                text=True,
                cwd=ROOT,
                env=child_environment(NUMBA_CACHE_DIR=folder),
            )
        if process.returncode:
            lines = process.stderr.strip().splitlines() or ["without a word"]
            raise Unavailable(f"ended with code {process.returncode}: {lines[-1]}")
        return float(process.stdout)


def first_call(id: str, num_steps: int = 102) -> Rate:
    """Time the first call of an id."""
    return FirstCall(id, num_steps)
