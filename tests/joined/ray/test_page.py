"""The programs of docs/cluster.md run."""

import pytest

from tests.test_docs import DOCS, run_programs

pytestmark = pytest.mark.ray


def test_python_blocks_run(tmp_path):
    pytest.importorskip("ray")
    run_programs([DOCS / "cluster.md"], tmp_path)
