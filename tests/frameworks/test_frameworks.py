"""Pages of frameworks: programs that can be read, figures of the file alone."""

import re

import pytest

from benchmarks.quotations import PAGES
from tests.frameworks import __main__ as command
from tests.frameworks import page, results
from tests.frameworks.environment import Environment, FailureError, NotRunError
from tests.frameworks.frameworks import FRAMEWORKS, Checkout, Framework
from tests.frameworks.programs import blocks_of, program_of

FILES = [path for path in command.PAGE_FOLDER.glob("*.md") if path.stem != "README"]
RESULTS = results.read_results()
ROW = {"what": "a b", "result": "equal", "theirs": 2.0, "ours": 30.0, "unit": "steps/s"}
PASSED = {"status": "passed", "reason": "", "rows": [ROW]}


def test_every_page_and_every_check_is_of_a_framework():
    checks = {path.parent.name for path in command.HERE.glob("*/check.py")}
    assert checks | {path.stem for path in FILES} <= set(FRAMEWORKS)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_page_has_a_change_an_installation_and_a_program(path):
    program = program_of(path)
    assert "roll_vec" in program
    compile(program, path.name, "exec")
    assert page.lines_changed(path.read_text("utf-8"))
    installs = " ".join(re.findall(r"pip install (.*)", "".join(blocks_of(path, "sh"))))
    names = {re.split(r"[^\w.-]", p.strip('"'))[0] for p in installs.split()}
    packages = {re.split(r"[^\w.-]", p)[0] for p in FRAMEWORKS[path.stem].packages}
    assert names - {"."} <= packages, "tests/frameworks/frameworks.py installs the rest"


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_pages_quote_the_file_alone(path):
    text = path.read_text("utf-8")
    assert page.quote(text, RESULTS) == text


def test_program_keeps_the_lines_of_its_page(tmp_path):
    path = tmp_path / "page.md"
    path.write_text(
        "# a\n```python\nx = 1\n```\ntext\n```sh\nls\n```\n```python\nx\n```\n"
    )
    lines = program_of(path).splitlines()
    assert [n for n, line in enumerate(lines, 1) if line] == [3, 10]
    assert blocks_of(path) == ["x = 1\n", "x\n"]


@pytest.mark.parametrize(
    ("words", "figure"),
    [
        ("sb3 theirs a b", "2.00 steps/s"),
        ("sb3 ours a b", "30.0 steps/s"),
        ("sb3 ratio a b", "15 ×"),
        ("sb3 result a b", "equal"),
        ("trl ratio of no run", page.ABSENT),
    ],
)
def test_figures_are_quoted(words, figure):
    text = f"x <!-- framework {words} -->old<!-- end --> y"
    assert page.quote(text, {"sb3": PASSED}) == text.replace("old", figure)


@pytest.mark.parametrize(
    "words", ["sb4 ratio a b", "sb3 speed a b", "sb3 ratio a", "sb3 lines_changed a b"]
)
def test_unknown_figures_are_errors(words):
    with pytest.raises(ValueError, match=words):
        page.quote(f"<!-- framework {words} --><!-- end -->", {"sb3": PASSED})


def test_less_is_better_in_seconds():
    row = ROW | {"theirs": 30.0, "ours": 2.0, "unit": "s"}
    assert page.show_row(row)["ratio"] == "15 ×"


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.01234, "0.0123"), (9.999, "10.0"), (123.4, "123"), (1234567, "1,230,000")],
)
def test_numbers_have_three_digits(value, text):
    assert page.show_number(value) == text


def test_table_has_every_framework():
    table = page.results_table(
        {"sb3": PASSED, "trl": {"status": "not run", "reason": "r"}}
    )
    assert "| [Stable-Baselines3](sb3.md) | a b | | equal | 2.00 steps/s |" in (
        table.replace("|  |", "| |")
    )
    assert "| [TRL](trl.md) | not run: r |" in table
    assert table.count("no run yet") == len(FRAMEWORKS) - 2


def test_a_framework_that_cannot_be_run_keeps_its_result(tmp_path):
    content = {"sb3": PASSED}
    for name in ("sb3", "trl"):
        results.record(content, name, {"status": "not run", "reason": "r"})
    assert content["sb3"] == PASSED
    assert content["trl"]["reason"] == "r"
    results.record(content, "sb3", {"status": "failed", "reason": "r", "rows": []})
    assert content["sb3"]["status"] == "failed"
    results.write_results(content, tmp_path / "a.json")
    assert results.read_results(tmp_path / "a.json") == content


@pytest.mark.parametrize(
    "rows",
    [
        [],
        {},
        [{"what": "a"}],
        [{"what": "a", "result": "b", "ours": 1.0}],
        [{"what": "a", "result": "b", "speed": 1.0}],
        [ROW | {"unit": "steps"}],
        [ROW, ROW],
    ],
)
def test_rows_are_checked(rows):
    assert results.check_rows([ROW]) == [ROW]
    with pytest.raises(ValueError, match="got"):
        results.check_rows(rows)


def test_a_missing_checkout_is_told_with_its_command(tmp_path):
    framework = Framework("A", (), checkout=Checkout("own/er", "abc"))
    for checkouts in (None, tmp_path):
        with pytest.raises(NotRunError, match=r"git clone .*own/er own\+er .*abc"):
            Environment(framework, tmp_path / "env", checkouts)


def test_a_failing_program_is_told_with_its_last_lines(tmp_path):
    environment = Environment(Framework("A", ()), tmp_path, None)
    with pytest.raises(FailureError, match="No such file"):
        environment.run(["ls", "no-such-file"])


def test_unknown_names_are_refused(capsys):
    with pytest.raises(SystemExit):
        command.main(["sb4"])
    assert "unknown sb4; there are roll, " in capsys.readouterr().err
