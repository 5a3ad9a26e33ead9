"""What processes of a node share, and what they leave behind."""

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

import roll_vec
from roll_vec.envs.webshop import Catalogue
from roll_vec.joined import make_shards
from tests.conftest import ROOT
from tests.contract.cases import assert_same
from tests.frameworks.programs import blocks_of
from tests.joined.local_actors import pids_of

pytestmark = [pytest.mark.ray, pytest.mark.filterwarnings("ignore")]


def test_shards_map_one_stored_shop(cluster, tmp_path):
    path = str(tmp_path / "shop")
    Catalogue.load(num_products=37).save(path)
    keywords = {"products": path, "seed_info": True}
    envs = make_shards("roll_vec/WebShop-v0", 6, 3, snapshot_interval=4, **keywords)
    local = roll_vec.make_vec("roll_vec/WebShop-v0", 6, **keywords)
    assert_same(envs.reset(seed=3), local.reset(seed=3))
    for pid in pids_of(envs):
        assert path in Path(f"/proc/{pid}/maps").read_text()
    for t in range(9):
        actions = [action or "" for action in local.call("oracle_action")]
        if t == 6:
            os.kill(pids_of(envs)[1], signal.SIGKILL)
        assert_same(envs.step(actions), local.step(actions))
    # A snapshot does not name the shards.
    assert envs.get_state() == local.get_state()
    envs.close()


def test_the_program_of_the_page_runs_and_its_cluster_ends_with_it(tmp_path):
    pytest.importorskip("ray")
    blocks = blocks_of(ROOT / "docs" / "joined.md")
    (program,) = (each for each in blocks if each.startswith("# with ray"))
    # Not the folder of the test: the paths of Ray's sockets must be short.
    with tempfile.TemporaryDirectory(prefix="rv-", dir="/tmp") as place:
        variables = {"RAY_TMPDIR": place, "TMPDIR": place, "PYTHONPATH": str(ROOT)}
        result = subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, **variables},
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert result.returncode == 0, result.stderr
        for entry in Path("/proc").glob("[0-9]*/cmdline"):
            try:
                words = entry.read_text()
            except OSError:
                continue  # it has ended
            assert place not in words
