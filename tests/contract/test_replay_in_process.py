"""Runs that are saved here are identical in a process with other hashes and workers."""

import json
import os
import subprocess
import sys

import pytest

from roll_vec.cli import main
from tests.conftest import JIT_OFF, ROOT

# Arguments of the rollout, and of the replay.
RUNS = {
    "threads": (
        ["roll_vec/Sokoban-v0", "--num-envs", "3000", "--threads", "2"],
        ["--threads", "1"],
    ),
    "lakes": (["roll_vec/RandomFrozenLake-v0", "-o", "obs_mode=planes"], []),
    "processes": (
        ["roll_vec/Countdown-v0", "-o", "workers=2", "-o", "executor=process"],
        ["-o", "workers=0"],
    ),
    "shop": (
        ["roll_vec/WebShop-v0", "-o", "num_products=3", "-o", "human_goals=True"],
        ["-o", "workers=2"],
    ),
    "user": (["tests.cli.small_envs:small/Sum-v0", "--policy", "constant:1+2"], []),
}

REPLAY = """
import json, sys
from roll_vec.cli import main
for path, arguments in json.load(sys.stdin):
    print(main(["replay", path, *arguments]))
"""


@pytest.mark.slow
@pytest.mark.skipif(JIT_OFF, reason="children do not silence integers that wrap")
def test_runs_are_identical_in_a_new_process(tmp_path):
    replays = []
    for name, (arguments, changes) in RUNS.items():
        path = str(tmp_path / f"{name}.npz")
        small = ["--num-envs", "4"] * ("--num-envs" not in arguments)
        flags = [*small, "--steps", "8", "--quiet", "--no-image", "--save", path]
        assert main(["rollout", *arguments, *flags]) == 0
        replays.append((path, changes))
    process = subprocess.run(
        [sys.executable, "-c", REPLAY],
        input=json.dumps(replays),
        cwd=ROOT,
        env={**os.environ, "PYTHONHASHSEED": "1", "ROLL_VEC_NUM_THREADS": "3"},
        stdout=subprocess.PIPE,
        timeout=300,
        check=True,
        text=True,
    )
    lines = process.stdout.splitlines()
    assert lines[1::2] == ["0"] * len(RUNS)
    assert all(line.startswith("identical: ") for line in lines[::2])
