"""Pages of frameworks: programs that can be read; their results in a file."""

import re

import pytest

from tests.frameworks import __main__ as command
from tests.frameworks.environment import (
    HERE,
    Environment,
    FailureError,
    NotRunError,
)
from tests.frameworks.frameworks import FRAMEWORKS, Checkout, Framework
from tests.frameworks.programs import (
    OTHERS,
    PAGE_FOLDER,
    blocks_of,
    program_of,
    text_of,
)
from tests.frameworks.results import (
    lines_changed,
    read_results,
    record,
    write_results,
)

RECIPES = ("verifiers", "vagen")
PASSED = {"status": "passed", "reason": "", "rows": []}
NOT_RUN = {"status": "not run", "reason": "r"}


@pytest.mark.parametrize("name", FRAMEWORKS)
def test_page_has_a_change_an_installation_and_a_program(name):
    text = text_of(name)
    program = program_of(text)
    compile(program, name, "exec")
    # The program of some is a file of their checkout, which compare.py changes.
    assert "roll_vec" in program or (HERE / name / "compare.py").is_file()
    assert lines_changed(text)
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


def test_a_framework_that_cannot_be_run_keeps_its_result(tmp_path):
    content = {"sb3": PASSED}
    for name in ("sb3", "trl"):
        record(content, name, NOT_RUN)
    assert content == {"sb3": PASSED, "trl": NOT_RUN}
    record(content, "sb3", {"status": "failed", "reason": "r", "rows": []})
    assert content["sb3"]["status"] == "failed"
    write_results(content, tmp_path / "a.json")
    assert read_results(tmp_path / "a.json") == content


def test_missing_things_are_told(tmp_path, capsys):
    framework = Framework("A", "", checkout=Checkout("own/er", "abc"))
    for checkouts in (None, tmp_path):
        environment = Environment(framework, tmp_path / "env", checkouts)
        with pytest.raises(NotRunError, match=r"git clone .*own/er own\+er .*abc"):
            environment.install(tmp_path / "roll_vec.whl")
    with pytest.raises(FailureError, match="No such file"):
        environment.run(["ls", "no-such-file"])
    with pytest.raises(SystemExit):
        command.main(["sb4"])
    assert "unknown sb4; there are roll, " in capsys.readouterr().err
