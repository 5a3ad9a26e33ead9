"""Observations of grids, scores of a search, patterns: equal to plain Python."""

import re
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from roll_vec.kernels import grids as kernels
from roll_vec.kernels import regex_search
from roll_vec.kernels.webshop import bm25
from roll_vec.text.regex_compiler import compile_program
from tests.conftest import JIT_OFF

# --------------------------------------------------------------------- grids

SHAPES = [(1, 1, 1), (3, 6, 6), (5, 3, 8), (4, 1, 7)]
# So many that planes are written in blocks, which run over the ends of planes.
MANY = [(40, 6, 6), (150, 2, 3), (200, 1, 1), (25, 9, 10), (13, 12, 11)]
NUM_CODES = 7


def grids_of(shape, seed=0):
    """Random grids that hold every code if there is room for it."""
    grids = np.random.default_rng(seed).integers(0, NUM_CODES, shape, np.uint8)
    grids.ravel()[: min(grids.size, NUM_CODES)] = range(min(grids.size, NUM_CODES))
    return grids


def write(name, grids, *tables, shape, dtype=np.uint8):
    """Return what a kernel writes, in three ranges, each its rows alone."""
    n = len(grids)
    cuts = [0, n // 3, n // 2, n]
    out = np.full(shape, 99, dtype)
    for start, stop in [(cuts[1], cuts[2]), (cuts[2], cuts[3]), (cuts[0], cuts[1])]:
        before = out.copy()
        getattr(kernels, f"write_{name}")(start, stop, grids, *tables, out)
        np.testing.assert_array_equal(out[:start], before[:start])
        np.testing.assert_array_equal(out[stop:], before[stop:])
    return out


@pytest.mark.parametrize("shape", SHAPES + MANY)
@pytest.mark.parametrize("num_codes", [6, NUM_CODES])
def test_planes_are_one_hot(shape, num_codes):
    grids = np.minimum(grids_of(shape), num_codes - 1)
    n, height, width = shape
    planes = write("planes", grids, shape=(n, num_codes, height, width))
    expected = grids[:, None] == np.arange(num_codes)[:, None, None]
    np.testing.assert_array_equal(planes, expected.astype(np.uint8))


@pytest.mark.parametrize("shape", SHAPES)
def test_pixels_and_tiles_are_looked_up(shape):
    grids, (n, height, width) = grids_of(shape), shape
    rng = np.random.default_rng(1)
    colours = rng.integers(0, 256, (NUM_CODES, 3), np.uint8)
    pixels = write("pixels", grids, colours, shape=(*shape, 3))
    np.testing.assert_array_equal(pixels, colours[grids])
    for size in (1, 2, 16):
        tiles = rng.integers(0, 256, (NUM_CODES, size, size, 3), np.uint8)
        shown = write("tiles", grids, tiles, shape=(n, size * height, size * width, 3))
        expected = tiles[grids].transpose(0, 1, 3, 2, 4, 5).reshape(shown.shape)
        np.testing.assert_array_equal(shown, expected)


@given(
    seed=st.integers(0, 2**32 - 1),
    shape=st.tuples(st.integers(1, 4), st.integers(1, 6), st.integers(1, 6)),
    strings=st.lists(
        st.text(st.characters(exclude_characters="\0"), min_size=1, max_size=4),
        min_size=NUM_CODES,
        max_size=NUM_CODES,
    ),
)
def test_code_points_are_the_strings_row_by_row(seed, shape, strings):
    n, height, width = shape
    grids, length = grids_of(shape, seed), max(map(len, strings))
    table = np.zeros((NUM_CODES, length), np.uint32)
    for code, string in enumerate(strings):
        table[code, : len(string)] = [ord(c) for c in string]
    size = height * (width * length + 1) - 1
    newline = np.uint32(ord("\n"))
    out = write("code_points", grids, table, newline, shape=(n, size), dtype=np.uint32)
    for grid, points in zip(grids.tolist(), out.tolist(), strict=True):
        # Padding stands at the end of each cell.
        padded = [[strings[code].ljust(length, "\0") for code in row] for row in grid]
        assert points == [ord(c) for c in "\n".join("".join(row) for row in padded)]


# ---------------------------------------------------------------------- BM25


def random_index(rng, num_documents, num_terms):
    """Return the arrays of an index in which each term has some documents or none."""
    postings = [
        np.sort(rng.permutation(num_documents)[: rng.integers(num_documents + 1)])
        for _ in range(num_terms)
    ]
    starts = np.cumsum([0, *map(len, postings)]).astype(np.int64)
    documents = np.concatenate([*postings, []]).astype(np.int32)
    saturations = (1 + rng.random(len(documents))).astype(np.float32)
    for array in (starts, documents, saturations):
        # As an index has them: another signature would be compiled otherwise.
        array.flags.writeable = False
    return starts, documents, saturations


@pytest.mark.parametrize("num_terms", [0, 1, 5])
def test_scores_are_sums_over_postings(num_terms):
    for seed in range(3 if JIT_OFF else 20):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(1, 40))
        starts, documents, saturations = random_index(rng, n, 8)
        terms = rng.permutation(8)[:num_terms].astype(np.int64)
        weights = rng.random(num_terms).astype(np.float32) * 9
        scores = np.full(n, 7.0)
        bm25.add_scores(terms, weights, starts, documents, saturations, scores)
        expected = [0.0] * n
        for term, weight in zip(terms, weights, strict=True):
            for place in range(starts[term], starts[term + 1]):
                part = weight - weight / saturations[place]
                assert part.dtype == np.float32
                expected[documents[place]] += float(part)
        assert scores.tolist() == expected, f"seed {seed}"


@pytest.mark.parametrize("k", [0, 1, 2, 7, 50, 200])
@pytest.mark.parametrize("levels", [1, 3, 1000])
def test_the_best_are_those_of_a_sorted_list(k, levels):
    """With few levels most scores are equal, and the earlier document is better."""
    for seed in range(2 if JIT_OFF else 20):
        rng = np.random.default_rng(seed)
        scores = rng.integers(0, levels + 1, int(rng.integers(0, 120))) / 3
        if seed % 2:
            # Scores that differ only in float64 are equal as well.
            scores += (scores > 0) * rng.random(len(scores)) * 1e-12
        best, best_scores = np.full(k, -1, np.int64), np.zeros(k, np.float32)
        size = bm25.find_best(scores, best, best_scores)
        rounded = scores.astype(np.float32)
        expected = sorted(
            np.flatnonzero(scores).tolist(), key=lambda i: (-rounded[i], i)
        )[:k]
        assert best[:size].tolist() == expected, f"seed {seed}"
        assert best_scores[:size].tolist() == rounded[expected].tolist()


# ------------------------------------------------------------------ patterns

ATOMS = (
    *("a", "b", "c", ".", r"\s", r"\w", r"\d", "[a-c]", "[^b]", r"[^\s<]", r"\n", "<"),
    *("É", r"\.", " ", r"[\w-]", "$", "^", r"\b", r"\A", r"\Z"),
)
REPEATS = ("*", "+", "?", "*?", "+?", "??", "{2}", "{1,3}", "{0,2}?", "{2,}")
LETTERS = (*"aabbcx <.\n1_", "É", "é", "\ud800", "😀", "\u2028", "ß", "\u212a")
FLAGS = (0, re.IGNORECASE, re.MULTILINE, re.IGNORECASE | re.MULTILINE, re.ASCII)


def write_pattern(rng, depth=4):
    """Return a random expression."""
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
        program = compile_program(pattern)
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
    program = compile_program(re.compile(pattern, re.DOTALL))
    states = []
    search = regex_search.search

    def record(rows, masks, last, visited, *buffers):
        is_match = search(rows, masks, last, visited, *buffers)
        states.append((len(rows), len(masks), visited))
        return is_match

    monkeypatch.setattr(regex_search, "search", record)
    program.search(text, last=last)
    ((size, length, visited),) = states
    assert length == len(text)
    assert len(visited) == -(-size * (length + 1) // 64)
    assert size < 40
