"""The guides in docs/: a program in one of them fails."""

import json
import os
import re
import subprocess
import sys

import pytest

import roll_vec
from tests.frameworks.programs import blocks_of
from tests.test_readme import ROOT
from website import api_pages
from website.public_names import public_modules, public_names

# `make test-ray` runs the programs of cluster.md, `make test-learning` those of
# torch.md, `make test-adapters` those of docs/frameworks.
# Blocks that begin with "# with", as in data.md, need another package: `make
# test-exports` runs those.
DOCS = ROOT / "docs"
ELSEWHERE = {DOCS / "cluster.md", DOCS / "torch.md"}
PAGES = sorted({*DOCS.glob("*.md"), *(DOCS / "games").glob("*.md")} - ELSEWHERE)


# A folder for each page: programs may write files, and then run over them once more.
RUN_PAGES = """
import json, os, sys
start = os.getcwd()
for page, blocks in json.load(sys.stdin).items():
    os.makedirs(page)
    os.chdir(page)
    for run in range(2):
        for number, block in enumerate(blocks if run == 0 or os.listdir() else ()):
            exec(compile(block, f"<python block {number} of {page}>", "exec"), {})
    os.chdir(start)
"""


def test_python_blocks_run(tmp_path):
    # In one process, which imports everything once.
    subprocess.run(
        [sys.executable, "-c", RUN_PAGES],
        input=json.dumps(
            {
                str(page.relative_to(ROOT)): [
                    block
                    for block in blocks_of(page)
                    if not block.startswith("# with ")
                ]
                for page in PAGES
            }
        ),
        text=True,
        check=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.DEVNULL,
    )


def anchors_of(page):
    """Return the anchors of a page's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.*)$", page.read_text("utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", h.lower()).replace(" ", "-") for h in headings}


@pytest.mark.parametrize(
    "page",
    [*ROOT.glob("*.md"), *DOCS.rglob("*.md")],
    ids=lambda page: str(page.relative_to(ROOT)),
)
def test_links_lead_somewhere(page):
    text = re.sub(r"^```.*?^```$", "", page.read_text("utf-8"), flags=re.M | re.S)
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        if "://" in link:
            continue
        path, _, anchor = link.partition("#")
        target = page.parent / path if path else page
        assert target.exists(), link
        assert not anchor or anchor in anchors_of(target), link


def test_reference_lists_every_public_module():
    """`python -m website.api_pages` writes it."""
    text = api_pages.PAGE.read_text("utf-8")
    assert api_pages.with_table(text) == text


def test_reference_has_every_public_name():
    """The pages of the site; `make docs` then looks for their anchors."""
    modules = public_modules()
    assert {f"roll_vec.{name}" for name in dir(roll_vec)} <= {
        *modules,
        *(f"roll_vec.{name}" for name in roll_vec.__all__),
    }
    entries = {
        entry
        for module in modules
        for entry in re.findall(r"^::: (\S+)$", api_pages.page_text(module), re.M)
    }
    missing = {
        f"{module}.{name}"
        for module in modules
        for name in public_names(module)
        if entries.isdisjoint({f"{module}.{name}", f"roll_vec.{name}"})
    }
    assert not missing


def test_every_page_is_in_the_navigation():
    """mkdocs says it too; the owner of a new page sees it here first."""
    text = (ROOT / "mkdocs.yml").read_text("utf-8")
    entries = re.findall(r"^ +- (?:[^:\n]+: )?(\S+\.md)$", text, re.MULTILINE)
    pages = [path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md")]
    assert sorted(entries) == sorted(pages)


def test_lines_to_move_to_stand_in_programs_that_run():
    page = ROOT / "docs" / "moving.md"
    programs = "\n".join(blocks_of(page)).splitlines()
    ours = {
        line[1:].strip()
        for block in blocks_of(page, "diff")
        for line in block.splitlines()
        if line.startswith("+")
    }
    # Those that need GEM or RAGEN's files; `make test-adapters` runs them.
    elsewhere = {line for line in ours if "gem.make_vec" in line or "Manager" in line}
    missing = ours - {line.strip() for line in programs} - elsewhere
    assert missing == {"env_type: roll_vec/sokoban"}
