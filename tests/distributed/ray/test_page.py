"""The programs of docs/cluster.md run."""

import json
import os
import subprocess
import sys

import pytest

from tests.test_docs import blocks_of
from tests.test_readme import ROOT, RUN_BLOCKS

pytestmark = pytest.mark.ray


def test_python_blocks_run(tmp_path):
    pytest.importorskip("ray")
    page = ROOT / "docs" / "cluster.md"
    subprocess.run(
        [sys.executable, "-c", RUN_BLOCKS.replace("README.md", page.name)],
        input=json.dumps(blocks_of(page)),
        text=True,
        check=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.DEVNULL,
    )
