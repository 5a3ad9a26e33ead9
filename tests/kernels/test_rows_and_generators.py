"""Rules see rows and generators alike, compiled and as Python."""

from collections import namedtuple
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numba import njit

from roll_vec.kernels import families
from roll_vec.kernels._jit import Rule
from roll_vec.kernels.rng.generator import PlainGenerator
from roll_vec.kernels.rng.pcg64 import pcg_seed
from roll_vec.kernels.rows import Row
from tests.conftest import JIT_OFF
from tests.kernels.test_rng import BOUNDS, SEEDS64

Variables = namedtuple("Variables", "small flag real board")
Options = namedtuple("Options", "length rate table")
Part = namedtuple("Part", "board")


def make_state(n=3):
    rng = np.random.default_rng(1)
    variables = Variables(
        rng.integers(-9, 9, n).astype(np.int8),
        rng.integers(0, 2, n).astype(np.bool_),
        rng.random(n).astype(np.float32),
        rng.integers(0, 250, (n, 2, 3)).astype(np.uint8),
    )
    return variables, Options(7, 0.5, np.arange(4.0))


def work(env, value, at):
    """Read and write variables of each kind; return numbers that show their types."""
    env.small += value
    env.flag = env.small > 0
    env.real = env.real / 3 + env.table[-1]
    env.board[at, -1] += value
    env.board[1][0] = env.board[0, 0] - env.board[0, 1]
    env.board[1][1:] = 7
    env.board[-1:] = env.small > 0
    half = env.small / 2 + env.rate
    for row in env.board[:1]:
        for code in row:
            half += code
    return half, env.board[0, 0] - env.board[0, 1], len(env.board) * env.board.size


_work = njit(work)


@njit
def work_in_row(variables, options, i, value, at, out):
    env = families.row_of(Variables(*variables), Options(*options), i)
    out[0], out[1], out[2] = _work(env, value, at)


@given(st.integers(-(2**40), 2**40), st.integers(-2, 1))
def test_numbers_are_pythons_and_writes_wrap(value, at):
    (variables, options), (others, _) = make_state(), make_state()
    out = np.zeros(3)
    work_in_row(tuple(variables), tuple(options), 1, value, at, out)
    expected = work(Row(others, options, 1), value, at)
    assert out.tolist() == list(expected)
    for array, other in zip(variables, others, strict=True):
        assert array.tobytes() == other.tobytes()


@Rule
def turn(row, last, first=0):
    """Write the numbers of a line in another order to the line behind it."""
    a, b, c = row[first, last : last + 3]
    row[first + 1, 4:] = c, a, b
    row[2] = row[1]


@Rule
def move_parts(env, kind, at):
    """Write a part of an array to one that it overlaps."""
    if kind == 0:
        env.board[at:] = env.board[: 5 - at]
    elif kind == 1:
        env.board[: 5 - at] = env.board[at:]
    elif kind == 2:
        env.board[1, at:] = env.board[1, :-at]
    elif kind == 3:
        env.board[1, :-at] = env.board[1, at:]
    elif kind == 4:
        part = env.board[1:4]
        part[0], part[1] = part[1], part[2]
        turn(last=at, row=env.board[2:])
    elif kind == 5:
        env.board[...] = env.board[-99:99]
    elif kind == 6:
        env.board[0] = env.board[0, at:]
    elif kind == 7:
        env.board[0, 0], env.board[0, 1] = env.board[0]
    else:
        env.board[0, :at] = 7, 8, 9


@njit
def move_in_row(variables, i, kind, at):
    move_parts(families.row_of(Part(*variables), (), i), kind, at)


@pytest.mark.parametrize("at", [1, 2])
@pytest.mark.parametrize("kind", range(9))
def test_parts_of_arrays_are_written_as_numpys(kind, at):
    first = np.arange(3 * 5 * 7, dtype=np.uint8).reshape(3, 5, 7)
    boards = [first.copy() for _ in range(3)]
    errors = []
    own = [
        lambda: move_in_row((boards[0],), 1, kind, at),
        lambda: move_parts.py_func(Row(Part(boards[1]), (), 1), kind, at),
        lambda: move_parts.py_func(SimpleNamespace(board=boards[2][1]), kind, at),
    ]
    for call in own[: 3 if kind < 6 else 2]:
        try:
            call()
            errors.append(None)
        except ValueError as error:
            errors.append(type(error))
    if kind < 6:
        assert errors == [None] * 3
        assert all(np.array_equal(boards[0], board) for board in boards)
    else:
        assert errors == [ValueError] * 2
    assert np.array_equal(boards[0], first) == (kind >= 5)
    for board in boards:
        assert np.array_equal(board[[0, 2]], first[[0, 2]])


@pytest.mark.parametrize("at", [2, -3])
def test_an_index_outside_of_an_array_is_an_error_and_touches_no_other_row(at):
    variables, options = make_state()
    with pytest.raises(IndexError, match="outside of an array"):
        work_in_row(tuple(variables), tuple(options), 1, 1, at, np.zeros(3))
    with pytest.raises(IndexError, match="outside of an array"):
        work(Row(*make_state(), 1), 1, at)
    for before, after in zip(make_state()[0], variables, strict=True):
        assert np.array_equal(before[[0, 2]], after[[0, 2]])


@njit
def clear_and_copy(variables, i, parts, j):
    families.copy_row(Variables(*variables), i, Part(*parts), j)
    families.clear_rows(Variables(*variables), i, i + 1)


def test_rows_are_copied_and_cleared():
    (variables, _), (others, _) = make_state(), make_state()
    parts = (np.zeros((4, 2, 3), np.uint8),)
    clear_and_copy(tuple(variables), 2, parts, 1)
    assert np.array_equal(parts[0][1], others.board[2])
    assert not parts[0][[0, 2, 3]].any()
    for array, other in zip(variables, others, strict=True):
        assert not array[2].any()
        assert np.array_equal(array[:2], other[:2])


@njit
def draw(rng_states, i, kind, low, high, numbers, p, out):
    rng = families.generator_of(rng_states, i)
    own, chances = families.items_of(numbers, 0), families.items_of(p, 0)
    for k in range(out.shape[0]):
        if kind == 0:
            out[k] = rng.random() + rng.standard_normal()
        elif kind == 1:
            out[k] = rng.integers(low, high)
        elif kind == 2:
            out[k] = rng.integers(high) + rng.choice(5) + rng.choice(4, p=chances)
        elif kind == 3:
            out[k] = rng.normal(1.5, 2.5) + rng.uniform(-2.0, high=0.5)
        else:
            rng.shuffle(own)
            out[k] = rng.choice(own) + rng.choice(own, p=chances)


def draw_with_numpy(rng, kind, low, high, own, p):
    if kind == 0:
        return rng.random() + rng.standard_normal()
    if kind == 1:
        return rng.integers(low, high)
    if kind == 2:
        return rng.integers(high) + rng.choice(5) + rng.choice(4, p=p)
    if kind == 3:
        return rng.normal(1.5, 2.5) + rng.uniform(-2.0, high=0.5)
    rng.shuffle(own)
    return rng.choice(own) + rng.choice(own, p=p)


NAN, INF = float("nan"), float("inf")


@njit
def draw_refused(rng_states, method, low, high, count, p):
    rng = families.generator_of(rng_states, 0)
    if method == 0:
        rng.integers(low, high)
    elif method == 1:
        rng.uniform(low, high)
    elif method == 2:
        rng.normal(low, high)
    elif method == 3:
        rng.integers(count)
    elif method == 4:
        rng.choice(count)
    elif method == 5:
        rng.choice(count, p=families.items_of(p, 0))
    else:
        rng.choice(families.items_of(p, 0))


REFUSED = [
    *[(0, pair) for pair in ((5, 5), (3, -1), (0.2, 0.9), (0, NAN), (0, 1e300))],
    *[(1, pair) for pair in ((1, 0.5), (0, INF), (NAN, 1), (0.5, 0.5 - 1e-9))],
    *[(2, (0, deviation)) for deviation in (-1, -0.0, -INF)],
    *[(method, (count,)) for method in (3, 4) for count in (0, -3)],
    *[(5, p) for p in ((0.5, 0.4), (1.5, -0.5), (NAN, 1), (0.5, 0.5, 0), (1,))],
    (6, ()),
]


@pytest.mark.parametrize(("method", "values"), REFUSED)
def test_what_numpy_refuses_is_refused_before_a_draw(method, values):
    low, high, *_ = (*values, 0.0, 0.0)
    count = values[0] if method in (3, 4) else 2
    p, states = np.array([values], np.float64), np.zeros((6, 1), np.uint64)
    with np.errstate(over="ignore"):
        pcg_seed(states, 0, np.uint64(3))
    before, rng = states.copy(), np.random.default_rng(3)
    numpys = [
        lambda: rng.integers(low, high),
        lambda: rng.uniform(low, high),
        lambda: rng.normal(low, high),
        lambda: rng.integers(count),
        lambda: rng.choice(count),
        lambda: rng.choice(count, p=p[0]),
        lambda: rng.choice(p[0]),
    ][method]
    with pytest.raises((ValueError, OverflowError)) as refused:
        numpys()
    with pytest.raises(refused.type, match=r"rng\.\w+: expected"):
        draw_refused(states, method, float(low), float(high), count, p)
    assert np.array_equal(states, before)


# Ranges of 32 and of 64 bits, and those at which numpy's method changes.
HIGHS = [*BOUNDS, 2**31, 2**31 + 1, 3 * 2**30 + 1, 2**32 - 3, 2**32 - 2, 2**32 - 1]
HIGHS += [2**32, 2**40 + 1, 2**62]


@pytest.mark.parametrize("kind", range(5))
@pytest.mark.parametrize("high", HIGHS)
def test_generators_draw_as_numpys(kind, high):
    # Enough normal numbers to meet the tail of the distribution.
    steps = 3000 if kind in (0, 3) and high == 1 else 20
    states, p = np.zeros((6, 3), np.uint64), np.array([[0.1, 0.2, 0.3, 0.4]])
    numbers = np.array([[3, 1, 4, 1]])
    own, out = numbers[0].copy(), np.zeros(steps)
    for seed in SEEDS64[: 2 if JIT_OFF else None]:
        rng = np.random.Generator(np.random.PCG64(seed))
        with np.errstate(over="ignore"):
            pcg_seed(states, 1, np.uint64(seed))
            draw(states, 1, kind, -2, high, numbers, p, out)
        drawn = [draw_with_numpy(rng, kind, -2, high, own, p[0]) for _ in out]
        assert out.tolist() == [float(number) for number in drawn]
        assert numbers[0].tolist() == own.tolist()
        # The next draw is the same, too: also of a half word that is left over.
        plain = PlainGenerator(states, 1)
        assert plain.integers(1000) == rng.integers(1000)
        assert not states[:, [0, 2]].any()
