"""The guides in docs/: a program in one of them fails."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

from tests.test_readme import ROOT

# `make test-clients` runs the programs of clients.md, each with its library, and
# `make test-ray` those of cluster.md.
ELSEWHERE = {ROOT / "docs" / "clients.md", ROOT / "docs" / "cluster.md"}
PAGES = sorted(set((ROOT / "docs").glob("*.md")) - ELSEWHERE)


def blocks_of(page: Path) -> list[str]:
    """Return the Python programs of a page."""
    text = page.read_text("utf-8")
    return re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


# A folder for each page: programs may write files.
RUN_PAGES = """
import json, os, sys
for page, blocks in json.load(sys.stdin).items():
    os.makedirs(page)
    os.chdir(page)
    for number, block in enumerate(blocks):
        exec(compile(block, f"<python block {number} of {page}.md>", "exec"), {})
    os.chdir("..")
"""


def test_python_blocks_run(tmp_path):
    # In one process, which imports everything once.
    subprocess.run(
        [sys.executable, "-c", RUN_PAGES],
        input=json.dumps({page.stem: blocks_of(page) for page in PAGES}),
        text=True,
        check=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.DEVNULL,
    )
