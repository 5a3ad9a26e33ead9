"""Docstrings and names that a newcomer could not understand."""

import ast
import re

import pytest

from tests.conftest import ROOT

# A sentence begins with its subject, unless it is a question.
FIRST_WORDS = r"(What|Which|Who|Whom|Whose|How|Where|Whether)\b"
# A thing has a noun: these tell what happened to it, not what it is.
PARTICIPLES = {
    "begun",
    "bought",
    "brought",
    "built",
    "caught",
    "chosen",
    "done",
    "drawn",
    "found",
    "given",
    "gone",
    "gotten",
    "grown",
    "heard",
    "held",
    "kept",
    "known",
    "lost",
    "made",
    "meant",
    "met",
    "rest",
    "said",
    "seen",
    "sent",
    "shown",
    "sold",
    "sought",
    "spoken",
    "stolen",
    "stood",
    "taken",
    "thought",
    "thrown",
    "told",
    "understood",
    "wanted",
    "won",
    "written",
}
FILES = sorted(
    path
    for folder in ("roll_vec", "kernels", "benchmarks")
    for path in (ROOT / folder).rglob("*.py")
)


def names_of(tree):
    """Yield the functions, classes, arguments, variables and attributes of a file."""
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            yield node.name, node.lineno
        elif isinstance(node, ast.arg):
            yield node.arg, node.lineno
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id, node.lineno
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr, node.lineno


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_plain_words(path):
    tree = ast.parse(path.read_text("utf-8"))
    first_line = (ast.get_docstring(tree) or "").partition("\n")[0]
    assert first_line, "a file says in its first line what is in it"
    assert not re.match(FIRST_WORDS, first_line)
    riddles = [
        f"line {line}: {name}"
        for name, line in names_of(tree)
        if name.strip("_") in PARTICIPLES
    ]
    assert not riddles, "name a thing by a noun"
