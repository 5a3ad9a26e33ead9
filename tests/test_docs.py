"""The guides in docs/: a program in one of them fails."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.test_readme import ROOT, RUN_BLOCKS

# `make test-clients` runs the programs of clients.md, each with its library, and
# `make test-ray` those of cluster.md.
ELSEWHERE = {ROOT / "docs" / "clients.md", ROOT / "docs" / "cluster.md"}
PAGES = sorted(set((ROOT / "docs").glob("*.md")) - ELSEWHERE)


def blocks_of(page: Path) -> list[str]:
    """Return the Python programs of a page."""
    text = page.read_text("utf-8")
    return re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize(
    "page", [p for p in PAGES if blocks_of(p)], ids=lambda p: p.stem
)
def test_python_blocks_run(page, tmp_path):
    subprocess.run(
        [sys.executable, "-c", RUN_BLOCKS.replace("README.md", page.name)],
        input=json.dumps(blocks_of(page)),
        text=True,
        check=True,
        # They may write files.
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.DEVNULL,
    )
