"""Pages of frameworks: programs that can be read; their results in a file."""

import re

import pytest

from tests.frameworks.environment import HERE
from tests.frameworks.frameworks import FRAMEWORKS
from tests.frameworks.programs import (
    OTHERS,
    PAGE_FOLDER,
    blocks_of,
    program_of,
    text_of,
)

RECIPES = ("verifiers", "vagen")


@pytest.mark.parametrize("name", FRAMEWORKS)
def test_page_has_a_change_an_installation_and_a_program(name):
    text = text_of(name)
    program = program_of(text)
    compile(program, name, "exec")
    # The program of some is a file of their checkout, which compare.py changes.
    assert "roll_vec" in program or (HERE / name / "compare.py").is_file()
    assert "\n+" in blocks_of(text, "diff")[0]
    installs = " ".join(re.findall(r"pip install (.*)", "".join(blocks_of(text, "sh"))))
    names = {re.split(r"[^\w.-]", p.strip('"'))[0] for p in installs.split()}
    packages = {re.split(r"[^\w.-]", p)[0] for p in FRAMEWORKS[name].packages}
    assert names - {"."} <= packages, "tests/frameworks/frameworks.py installs the rest"
    if name in RECIPES:
        recipe = program.partition("\n\ndef main():")[0].strip()
        assert sum(line != "" for line in recipe.splitlines()) <= 50


def test_every_page_and_every_comparison_is_of_a_framework():
    assert {path.parent.name for path in HERE.glob("*/compare.py")} <= set(FRAMEWORKS)
    pages = {path.stem for path in PAGE_FOLDER.glob("*.md")} - {"README", OTHERS.stem}
    assert pages <= set(FRAMEWORKS)
    titles = re.findall("^## (.*)$", OTHERS.read_text("utf-8"), re.MULTILINE)
    assert {*titles} == {FRAMEWORKS[name].title for name in set(FRAMEWORKS) - pages}
    folder = PAGE_FOLDER.parent / "examples" / "frameworks"
    files = {path.name for path in folder.glob("*.py")}
    assert files == {*re.findall(r"examples/frameworks/(\w+\.py)", OTHERS.read_text())}
