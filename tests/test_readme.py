"""The README: a program or command in it fails, or an id or keyword is missing."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from roll_vec.descriptions import describe_env
from roll_vec.registration import ENVIRONMENTS

ROOT = Path(__file__).resolve().parent.parent
TEXT = (ROOT / "README.md").read_text("utf-8")
# The keywords of games stand in docs/games.
KEYWORD_PAGES = ("batches", "text_environments", "pool")
GAME_PAGES = [*(ROOT / "docs" / "games").glob("*.md")]
BLOCKS = re.findall(r"^```python\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)


RUN_BLOCKS = """
import json, sys
for number, block in enumerate(json.load(sys.stdin)):
    exec(compile(block, f"<python block {number} of README.md>", "exec"), {})
"""


def test_python_blocks_run(tmp_path):
    subprocess.run(
        [sys.executable, "-c", RUN_BLOCKS],
        input=json.dumps(BLOCKS),
        text=True,
        check=True,
        # They may write files.
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.DEVNULL,
    )


def test_commands_are_one_line_each():
    commands = re.findall(r"^```sh\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
    assert [command.count("\n") for command in commands] == [1, 1]


def test_readme_is_short_and_lists_every_id_with_its_limit():
    for environment in ENVIRONMENTS.values():
        row = re.search(rf"^\| `{environment.id}` .*$", TEXT, re.MULTILINE)
        assert row is not None
        assert row[0].endswith(f"| {environment.max_episode_steps} |")
    assert TEXT.count("\n") <= 200


@pytest.mark.parametrize("id", ENVIRONMENTS)
def test_keywords_are_all_named_in_their_pages(id):
    description = describe_env(id)
    pages = [ROOT / "docs" / f"{name}.md" for name in KEYWORD_PAGES]
    text = "".join(page.read_text("utf-8") for page in [*pages, *GAME_PAGES])
    keywords = [*description.keywords, *description.batch_keywords]
    names = {keyword.name for keyword in keywords} - {"dim_x", "dim_y"}
    assert not [name for name in names if f"`{name}" not in text]
