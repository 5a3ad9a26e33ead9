"""The program of docs/joined.md that needs Ray runs."""

import subprocess
import sys

import pytest

from tests.conftest import ROOT
from tests.frameworks.programs import blocks_of

pytestmark = pytest.mark.ray


def test_the_program_with_shards_runs():
    pytest.importorskip("ray")
    blocks = blocks_of(ROOT / "docs" / "joined.md")
    (block,) = (each for each in blocks if each.startswith("# with ray"))
    subprocess.run([sys.executable, "-c", block], check=True, cwd=ROOT)
