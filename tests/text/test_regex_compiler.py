"""The regex compiler: expressions with and without a program, repetitions."""

import copy
import pickle
import re
import sys

import pytest

from roll_vec.text.regex_compiler import compile_program, has_repetition


def compile_dotall(pattern):
    """Compile an expression as the parser does."""
    return re.compile(pattern, re.DOTALL)


@pytest.mark.parametrize(
    "pattern",
    [
        r"<answer>\s*(\w+)\s*</answer>",
        r"(?i)action:\s*(.+?)$",
        r"```(python)?\n(.*?)```",
        r"\[(up|down|left|right)\]",
        r"^(.*)$",
        "(a+)+b",
        r"(?:x{2,5}y)*?([^z]{3})",
    ],
)
def test_common_expressions_have_a_program(pattern):
    program = compile_program(compile_dotall(pattern))
    assert program is not None
    assert compile_program(compile_dotall(pattern)) is program
    assert pickle.loads(pickle.dumps(program)) is program
    assert copy.deepcopy(program) is program


@pytest.mark.parametrize(
    "pattern",
    [
        r"(a)\1",
        "(?=a)(b)",
        "(?<!a)(b)",
        "(a)?(?(1)b|c)",
        "(?i:a)(b)",
        "(a*)*b",
        "(a|b?)+c",
        r"(a)\B",
        "(a{1000})",
        "((a{30}){30})",
        "(a{0,200})",
        "(" + "".join(map(chr, range(200, 300))) + ")",
        *(["(?>a)(b)", "(a)b*+"] if sys.version_info >= (3, 11) else []),
    ],
)
def test_unsupported_expressions_have_no_program(pattern):
    assert compile_program(compile_dotall(pattern)) is None


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("(a)(?=b)", False),
        ("(a?)(?=b)", False),
        ("(a+)(?=b)", True),
        ("(?=(a|b)*c)", True),
        ("(?!a{3}).(b)", True),
        (r"(a)\1", False),
    ],
)
def test_repetitions_are_noticed_at_any_depth(pattern, expected):
    assert has_repetition(compile_dotall(pattern)) is expected
