"""Programs of regular expressions find what `re` finds, in linear time."""

import re
import warnings

import numpy as np
import pytest

from roll_vec.text import regex_compiler
from tests.conftest import JIT_OFF

ATOMS = (
    *("a", "b", "c", ".", r"\s", r"\w", r"\d", "[a-c]", "[^b]", r"[^\s<]", r"\n", "<"),
    *("É", r"\.", " ", r"[\w-]", "$", "^", r"\b", r"\A", r"\Z"),
)
REPEATS = ("*", "+", "?", "*?", "+?", "??", "{2}", "{1,3}", "{0,2}?", "{2,}")
LETTERS = (*"aabbcx <.\n1_", "É", "é", "\ud800", "😀", "\u2028", "ß", "\u212a")
FLAGS = (0, re.IGNORECASE, re.MULTILINE, re.IGNORECASE | re.MULTILINE, re.ASCII)


def write_pattern(rng, depth=4):
    kind = rng.integers(10)
    if not depth or kind < 3:
        return str(rng.choice(ATOMS))
    first, second = (write_pattern(rng, depth - 1) for _ in range(2))
    if kind < 5:
        return first + second
    if kind == 5:
        return f"(?:{first}|{second})"
    if kind == 6:
        return f"({first})"
    return f"(?:{first}){rng.choice(REPEATS)}"


def spans(pattern, text, last):
    """Return the spans of the match of `re`, as `PatternProgram.search` does."""
    matches = list(pattern.finditer(text))
    if not matches:
        return None
    match = matches[-1 if last else 0]
    second = match.span(2) if pattern.groups > 1 else (-1, -1)
    return [*match.span(1), *second]


def test_programs_find_what_re_finds():
    rng = np.random.default_rng(12)
    num_patterns = num_matches = 0
    while num_patterns < (20 if JIT_OFF else 80):
        flags = re.DOTALL | FLAGS[int(rng.integers(len(FLAGS)))]
        with warnings.catch_warnings():
            # Some of the brackets look like sets of a later syntax.
            warnings.simplefilter("ignore", FutureWarning)
            pattern = re.compile(f"({write_pattern(rng)}){write_pattern(rng)}", flags)
        program = regex_compiler.compile_program(pattern)
        if program is None:
            continue
        num_patterns += 1
        for _ in range(8):
            text = "".join(rng.choice(LETTERS, rng.integers(12)))
            for last in (False, True):
                expected = spans(pattern, text, last)
                assert program.search(text, last=last) == expected, (pattern, text)
                num_matches += expected is not None
    assert num_matches > num_patterns


LENGTH = 300 if JIT_OFF else 3000


@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("(a+)+b", "a" * LENGTH),
        (r"(\w+\s*)+:", "a" * LENGTH),
        ("(?:a|a|aa)+(b)", "a" * LENGTH),
        ("<a>(.*?)</a>x?", "<a>" * (LENGTH // 3)),
        (".*.*.*(=).*.*", "x" * (LENGTH // 2)),
        ("(a.*b|a)", "a" * (LENGTH // 2)),
    ],
)
def test_no_state_is_entered_twice(pattern, text, last, monkeypatch):
    program = regex_compiler.compile_program(re.compile(pattern, re.DOTALL))
    states = []
    search = regex_compiler.kernels.search

    def record(rows, masks, last, visited, *buffers):
        is_match = search(rows, masks, last, visited, *buffers)
        states.append((len(rows), len(masks), visited))
        return is_match

    monkeypatch.setattr(regex_compiler.kernels, "search", record)
    program.search(text, last=last)
    ((size, length, visited),) = states
    assert length == len(text)
    assert len(visited) == -(-size * (length + 1) // 64)
    assert size < 40
