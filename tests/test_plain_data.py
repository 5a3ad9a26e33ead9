"""Plain data is read back equal in types and bits; nothing else is written or read."""

import enum
import json
import struct

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from roll_vec.plain_data import MAX_DEPTH, decode, encode

PAYLOAD = struct.unpack(">d", bytes.fromhex("fff8000000abc123"))[0]
# What hypothesis does not draw below.
VALUES = [
    {"$tuple": [1]},
    {"$tuple": [1], "a": 2},
    {1: 2, None: 3, (1, b"x"): [4]},
    {"a": {"$int": "5"}},
    PAYLOAD,
    -(1 << 20_000),
    "\ud83d\ude00",  # two lone surrogates, not one emoji
    *(np.float32(1.5), np.int64(-3), np.bool_(True), np.complex64(1 + 2j)),
    *(np.str_("a\0"), np.str_("\udc80"), np.bytes_(b"a\0")),
    *(np.datetime64("2020-01-01T00:00:01.5"), np.timedelta64(3, "h")),
    np.asfortranarray(np.arange(6).reshape(2, 3)),
    np.arange(6)[::-2],
    np.array(["a", "\N{GRINNING FACE}b"]),
    np.array([1, 2], ">i4"),
    np.random.PCG64(5).state,
    np.random.MT19937(5).state,
]


def assert_equal(one, other):
    """Fail unless two values have the same types and bits."""
    assert type(one) is type(other)
    if isinstance(one, (np.ndarray, np.generic)):
        assert one.dtype == other.dtype
        assert one.dtype.byteorder == other.dtype.byteorder
        assert one.shape == other.shape
        assert one.tobytes() == other.tobytes()
    elif isinstance(one, float):
        assert struct.pack("d", one) == struct.pack("d", other)
    elif isinstance(one, dict):
        assert_equal(list(one), list(other))
        assert_equal(list(one.values()), list(other.values()))
    elif isinstance(one, (list, tuple)):
        assert len(one) == len(other)
        for part, same in zip(one, other, strict=True):
            assert_equal(part, same)
    else:
        assert one == other


def test_a_value_is_read_back():
    for value in VALUES:
        for each in (value, [value, 1], (value,), {"a": value, "b": [value]}):
            assert_equal(decode(encode(each)), each)


ATOMS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text()
    | st.text(st.characters(categories=["Cs", "L"]))
    | st.binary()
    | npst.arrays(npst.scalar_dtypes(), npst.array_shapes(min_dims=0, min_side=0))
)
KEYS = st.none() | st.integers() | st.text() | st.just("$dict") | st.binary()
PLAIN = st.recursive(
    ATOMS,
    lambda inner: (
        st.lists(inner)
        | st.lists(inner).map(tuple)
        | st.dictionaries(st.text(), inner)
        | st.dictionaries(KEYS | st.tuples(KEYS), inner)
    ),
    max_leaves=12,
)


@settings(max_examples=60)
@given(PLAIN)
@example(())
@example([])
@example({})
@example(np.zeros((2, 0, 3), np.float16))
def test_any_plain_value_is_read_back(value):
    assert_equal(decode(encode(value)), value)


def test_most_states_are_simple_json_and_what_is_read_is_new():
    state = {"nums": [1, 2, -3], "open": True, "hint": "√", "reward": 0.5, "a": None}
    assert json.loads(encode(state)) == state
    assert encode([]) == b"[]"
    data = encode({"a": np.zeros(3), "b": []})
    one = decode(data)
    one["a"][:] = 1
    one["b"].append(1)
    assert_equal(decode(data), {"a": np.zeros(3), "b": []})


class Colour(enum.IntEnum):
    RED = 1


Dict, Text = type("Dict", (dict,), {}), type("Text", (str,), {})


LOOP = []
LOOP.append(LOOP)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ({1, 2}, "builtins.set is no plain data"),
        ({"a": [1, {"b": object}]}, r"\['a'\]\[1\]\['b'\]: builtins.type"),
        ([Colour.RED], r"\[0\]: .*Colour"),
        (Dict(), "Dict"),
        ({"a": Text("b")}, r"\['a'\]: .*Text"),
        ({Text("b"): 1}, "a key of it: .*Text"),
        (np.array([None]), "numpy's object"),
        (np.zeros(2, [("a", "i4")]), "numpy's .*'a'"),
        (np.array([1], np.longlong), "numpy's int64"),
        (np.ma.masked_array([1]), "MaskedArray"),
        (1j, "builtins.complex"),
        (LOOP, "nested deeper than 100"),
    ],
    ids=str,
)
def test_anything_else_is_refused_with_its_place(value, words):
    with pytest.raises(TypeError, match=words):
        encode(value)


def nested(depth):
    value = 1
    for _ in range(depth):
        value = [value]
    return value


def test_the_depth_is_bounded():
    for value in (nested(MAX_DEPTH), {"a": (nested(MAX_DEPTH - 2),)}):
        assert_equal(decode(encode(value)), value)
    for value in (nested(MAX_DEPTH + 1), {"a": (nested(MAX_DEPTH - 1),)}):
        with pytest.raises(TypeError, match="nested deeper"):
            encode(value)
    with pytest.raises(ValueError, match="nested deeper"):
        decode(b"[" * (MAX_DEPTH + 1) + b"]" * (MAX_DEPTH + 1))
    for bracket in (b"[", b'{"a":', b'{"$tuple":['):
        with pytest.raises(ValueError, match="no plain data"):
            decode(bracket * 100_000)
    # Many containers beside each other are not deep.
    wide = [[{}] for _ in range(1000)]
    assert decode(encode(wide)) == wide


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "NaN",
        "[1,]",
        '{"$code": "1"}',
        '{"$tuple": 1}',
        '{"$dict": [1]}',
        '{"$dict": [[1]]}',
        '{"$dict": [[[], 1]]}',
        '{"$bytes": "eA"}',
        '{"$bytes": "eA==!"}',
        '{"$bytes": "ü"}',
        '{"$str": "/w=="}',
        '{"$int": "ff"}',
        '{"$int": "0x0f"}',
        '{"$float": "00"}',
        '{"$float": "zz"}',
        '{"$array": ["|O", [1], "C", "AAAAAAAAAAA="]}',
        '{"$array": ["<i8,<i8", [1], "C", ""]}',
        '{"$array": ["<i9", [1], "C", ""]}',
        '{"$array": ["<U0", [1], "C", ""]}',
        '{"$array": ["<i8", [-1], "C", ""]}',
        '{"$array": ["<i8", [1.0], "C", "AAAAAAAAAAA="]}',
        '{"$array": ["<i8", [2], "C", "AAAAAAAAAAA="]}',
        '{"$array": ["<i8", [4294967296, 4294967296], "C", ""]}',
        '{"$array": ["<i8", [0, 100000000000000000000], "C", ""]}',
        '{"$array": ["<i8", [1], "K", "AAAAAAAAAAA="]}',
        '{"$array": ["<i8", [1], "C", 5]}',
        '{"$array": ["|b1", [1], "C", "Bw=="]}',
        '{"$array": ["<U1", [1], "C", "/////w=="]}',
        '{"$array": ["<M8[no]", [0], "C", ""]}',
        '{"$array": [1]}',
        '{"$scalar": ["<i8", ""]}',
        '{"$np.str": 1}',
    ],
)
def test_other_bytes_are_refused(text):
    with pytest.raises(ValueError, match="no plain data"):
        decode(text.encode())


def test_changed_bytes_are_refused_or_plain():
    """Never a crash, and never anything but the types of plain data."""
    rng = np.random.default_rng(0)
    data = encode(VALUES[:-2])
    num_refused = 0
    for _ in range(1000):
        changed = bytearray(data)
        for place in rng.integers(len(data), size=rng.integers(1, 4)):
            changed[place] = rng.integers(256)
        try:
            value = decode(bytes(changed))
        except ValueError as error:
            assert str(error).startswith("no plain data")  # noqa: PT017
            num_refused += 1
            continue
        encode(value)
    assert 150 < num_refused < 1000
