"""Files of arrays and plain data: read back equal, refused where they are damaged."""

import enum
import json
import struct
import zipfile

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from roll_vec import VectorState
from roll_vec.errors import InvalidFileError, InvalidStateError
from roll_vec.storage.npz_files import read_npz, write_npz
from roll_vec.storage.plain_data import decode, encode

ARRAYS = {
    "numbers": np.arange(12, dtype=np.int32).reshape(3, 4),
    "columns": np.arange(6, dtype=np.uint64).reshape(3, 2).T,
    "empty": np.zeros((0, 3), np.float64),
    "flags": np.array([True, False]),
}
HEADER = {"id": "mine/Game-v0", "number": 1.5, "list": [1, None, "é"]}


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "state.npz"
    write_npz(path, "snapshot", 1, HEADER, ARRAYS)
    return path


def assert_read(path):
    header, arrays = read_npz(path, "snapshot", 1)
    assert header == HEADER
    assert list(arrays) == list(ARRAYS)
    for name, array in ARRAYS.items():
        assert arrays[name].dtype == array.dtype
        np.testing.assert_array_equal(arrays[name], array)


def test_a_file_is_read_back_equal_also_by_numpy(path):
    assert_read(path)
    with np.load(path) as archive:
        for name, array in ARRAYS.items():
            np.testing.assert_array_equal(archive[name], array)
    # What a caller has compressed is stored as it is.
    write_npz(path, "snapshot", 1, HEADER, ARRAYS, ["numbers"])
    assert_read(path)
    with zipfile.ZipFile(path) as archive:
        methods = {entry.filename: entry.compress_type for entry in archive.infolist()}
    stored = [name for name, method in methods.items() if method == zipfile.ZIP_STORED]
    assert stored == ["numbers.npy"]


def test_an_error_leaves_the_old_file(path):
    with pytest.raises(TypeError):
        write_npz(path, "snapshot", 1, {"a": object()}, ARRAYS)
    assert_read(path)
    assert [file.name for file in path.parent.iterdir()] == ["state.npz"]
    path.unlink()
    with pytest.raises(FileNotFoundError):
        read_npz(path, "snapshot", 1)


@pytest.mark.parametrize("stride", [23, pytest.param(1, marks=pytest.mark.slow)])
def test_every_change_of_a_byte_is_refused_or_harmless(path, stride):
    original = path.read_bytes()
    refused, positions = 0, range(0, len(original), stride)
    for position in positions:
        data = bytearray(original)
        data[position] ^= (0x01, 0x80, 0xFF)[position % 3]
        path.write_bytes(data)
        try:
            assert_read(path)
        except InvalidFileError as error:
            refused += "state.npz" in str(error)
        path.write_bytes(original[:position])
        with pytest.raises(InvalidFileError, match=r"state\.npz"):
            read_npz(path, "snapshot", 1)
    assert refused > len(positions) / 2


def rewrite(path, changes):
    """Change entries of a file, with a new and correct checksum of the archive.

    A change is the new bytes of an entry, or bytes and what stands in their place.
    """
    with zipfile.ZipFile(path) as archive:
        entries = {name: archive.read(name) for name in archive.namelist()}
    for name, change in changes.items():
        is_new = isinstance(change, bytes)
        entries[name] = change if is_new else entries[name].replace(*change)
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in entries.items():
            archive.writestr(name, data)


# A 12 in place of the 11.
ELEVENTH = (b"\x0a\0\0\0\x0b", b"\x0a\0\0\0\x0c")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"numbers.npy": ELEVENTH}, "the array numbers is damaged"),
        ({"flags.npy": (b"(2,)", b"(1,)")}, "the array flags is damaged"),
        ({"header.npy": (b"1.5", b"2.5")}, "its header is damaged"),
        ({"numbers.npy": b"text"}, "it is damaged, or no file that roll_vec wrote"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_damage_with_a_right_checksum_of_the_archive_is_refused(path, changes, message):
    rewrite(path, changes)
    with pytest.raises(InvalidFileError, match=rf"state\.npz.*{message}"):
        read_npz(path, "snapshot", 1)


def test_other_files_are_refused(path):
    def assert_refused(message, kind="snapshot", version=1):
        with pytest.raises(InvalidFileError, match=rf"state\.npz.* {message}"):
            read_npz(path, kind, version)

    assert_refused("cannot be read: it is a snapshot, not a run", kind="run")
    message = "it has version 1 of the format, and this version.*version 2"
    assert_refused(message, version=2)
    np.savez(path, numbers=np.arange(3))
    assert_refused("cannot be read: it is damaged, or no file that roll_vec wrote")


def test_a_snapshot_with_another_header_is_refused(path):
    for header in (None, [], {"id": "a"}, {"id": "a", "configuration": 1}):
        arrays = {"has_ended": np.zeros(3, bool)}
        write_npz(path, "snapshot", 2, header, arrays)
        with pytest.raises(InvalidFileError, match=r"state\.npz"):
            VectorState.load(path)
    for arrays in ({}, {"has_ended": np.array(True)}):
        with pytest.raises(InvalidStateError, match=r"arrays: expected .* among them"):
            VectorState("a", {}, arrays)


# What hypothesis does not draw below.
VALUES = [
    {"$tuple": [1]},
    {"$tuple": [1], "a": 2},
    {1: 2, None: 3, (1, b"x"): [4]},
    {"a": {"$bytes": "5"}},
    *(float("nan"), float("-inf"), -(1 << 2000)),
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
    | st.floats(allow_nan=False)
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


@settings(max_examples=30)
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


NO_PLAIN_DATA = [
    ({1, 2}, "builtins.set is no plain data"),
    ({"a": [1, {"b": object}]}, r"\['a'\]\[1\]\['b'\]: builtins.type"),
    ([Colour.RED], r"\[0\]: .*Colour"),
    (Dict(), "Dict"),
    ({"a": Text("b")}, r"\['a'\]: .*Text"),
    ({Text("b"): 1}, "a key of it: .*Text"),
    (np.array([None]), "numpy.ndarray of object"),
    (np.zeros(2, [("a", "i4")]), "numpy.ndarray of .*'a'"),
    (np.ma.masked_array([1]), "MaskedArray"),
    (1j, "builtins.complex"),
    (LOOP, "it is no plain data: .*recursion"),
    (1 << 20_000, "it is no plain data: .*4300"),
]


def test_anything_else_is_refused_with_its_place():
    for value, words in NO_PLAIN_DATA:
        with pytest.raises(TypeError, match=words):
            encode(value)


def test_what_is_deep_is_read_or_refused():
    deep = []
    for _ in range(100):
        deep = [deep]
    assert decode(encode(deep)) == deep
    for bracket in (b"[", b'{"a":', b'{"$tuple":['):
        with pytest.raises(ValueError, match="no plain data"):
            decode(bracket * 100_000)


# What no writer makes, by the name of the only entry of an object.
OTHER_JSON = {
    "$code": ['"1"'],
    "$dict": ["[1]", "[[1]]", "[[[], 1]]"],
    "$bytes": ['"eA"', '"ü"'],
    "$array": [
        '["|O", [1], "C", "AAAAAAAAAAA="]',
        '["<i9", [1], "C", ""]',
        '["<U0", [1], "C", ""]',
        '["<i8", [1.0], "C", "AAAAAAAAAAA="]',
        '["<i8", [2], "C", "AAAAAAAAAAA="]',
        '["<i8", [4294967296, 4294967296], "C", ""]',
        '["<i8", [1], "K", "AAAAAAAAAAA="]',
        "[1]",
    ],
    "$scalar": ['["<i8", ""]'],
}


def test_other_bytes_are_refused():
    texts = [f'{{"{name}": {one}}}' for name, all in OTHER_JSON.items() for one in all]
    for text in ("", "{", "[1,]", *texts):
        with pytest.raises(ValueError, match="no plain data"):
            decode(text.encode())
