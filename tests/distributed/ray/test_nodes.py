"""What processes of a node share, what they leave behind, and the command line."""

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest

import roll_vec
from roll_vec.cli import main
from roll_vec.distributed import RayVectorEnv
from tests.cli.conftest import table_of
from tests.contract.cases import assert_same

pytestmark = [pytest.mark.ray, pytest.mark.filterwarnings("ignore")]

ROOT = Path(__file__).resolve().parents[3]


def mappings(pid):
    """Return the shared files that a process has mapped."""
    lines = Path(f"/proc/{pid}/maps").read_text().splitlines()
    return {line.split()[-1] for line in lines if "-shared-webshop/" in line}


def test_shards_map_one_catalogue(cluster):
    keywords = {"num_products": 37, "seed_info": True}
    envs = RayVectorEnv("roll_vec/WebShop-v0", 6, 3, snapshot_interval=4, **keywords)
    local = roll_vec.make_vec("roll_vec/WebShop-v0", 6, **keywords)
    assert_same(envs.reset(seed=3), local.reset(seed=3))
    files = [mappings(pid) for pid in envs.pids]
    assert len(files[0]) > 3
    assert files[0] == files[1] == files[2]
    for t in range(9):
        actions = [action or "" for action in local.call("oracle_action")]
        if t == 6:
            os.kill(envs.pids[1], signal.SIGKILL)
        assert_same(envs.step(actions), local.step(actions))
    assert mappings(envs.pids[1]) == files[0]
    # A snapshot names neither the folder nor the shards.
    assert envs.get_state() == local.get_state()
    envs.close()


def test_a_command_with_a_cluster_of_its_own_leaves_nothing_behind(
    monkeypatch, tmp_path
):
    monkeypatch.chdir(tmp_path)
    arguments = ["rollout", "roll_vec/Countdown-v0", "--num-envs", "6"]
    arguments += ["--steps", "20", "--seed", "7", "--no-image", "--policy", "oracle"]
    # Not the folder of the test: the paths of Ray's sockets must be short.
    with tempfile.TemporaryDirectory(prefix="rv-", dir="/tmp") as place:
        result = subprocess.run(
            [
                *(sys.executable, "-m", "roll_vec", *arguments),
                *("--shards", "3", "--save", tmp_path / "shards.npz"),
            ],
            env={**os.environ, "RAY_TMPDIR": place, "TMPDIR": place},
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert (result.returncode, result.stderr) == (0, "")
        assert table_of(result.stdout)["shards"] == "3 shards"
        assert list(Path(place).iterdir()) == []
        for entry in Path("/proc").glob("[0-9]*/cmdline"):
            try:
                words = entry.read_text()
            except OSError:
                continue  # it has ended
            assert place not in words
    assert main([*arguments, "--save", "alone.npz"]) == 0
    digests = [np.load(f"{name}.npz")["digests"] for name in ("shards", "alone")]
    assert_same(*digests)
    assert main(["replay", "shards.npz"]) == 0
