"""Files of arrays and a header: read back equal, refused where they are damaged."""

import io
import tracemalloc
import zipfile
from contextlib import contextmanager

import numpy as np
import pytest

from roll_vec.errors import InvalidFileError
from roll_vec.npz_files import read_npz, write_npz

ARRAYS = {
    "numbers": np.arange(12, dtype=np.int32).reshape(3, 4),
    "columns": np.arange(6, dtype=np.uint64).reshape(3, 2).T,
    "empty": np.zeros((0, 3), np.float64),
    "flags": np.array([True, False]),
}
HEADER = {"id": "mine/Game-v0", "number": 1.5, "list": [1, None, "é"]}


@pytest.fixture
def path(tmp_path):
    """A written file."""
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


@pytest.mark.parametrize("stride", [13, pytest.param(1, marks=pytest.mark.slow)])
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


def rewrite(path, changes, method=zipfile.ZIP_STORED):
    """Change entries of a file, with a new and correct checksum of the archive.

    A change is the new bytes of an entry, or bytes and what stands in their place.
    """
    with zipfile.ZipFile(path) as archive:
        entries = {name: archive.read(name) for name in archive.namelist()}
    for name, change in changes.items():
        is_new = isinstance(change, bytes)
        entries[name] = change if is_new else entries[name].replace(*change)
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, data in entries.items():
            archive.writestr(name, data)


def zeros(mebibytes=8):
    """Return a large entry, which hardly takes space in the file."""
    file = io.BytesIO()
    np.save(file, np.zeros(mebibytes << 20, np.uint8))
    return file.getvalue()


@contextmanager
def at_most(mebibytes):
    """Fail if a block takes more memory."""
    tracemalloc.start()
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] < mebibytes << 20
    finally:
        tracemalloc.stop()


# An array larger than any memory.
HUGE = (b"(3, 4), }" + b" " * 12, b"(3, 4000000000000), }")
DEFLATED = zipfile.ZIP_DEFLATED


@pytest.mark.parametrize(
    ("changes", "method", "message"),
    [
        ({"numbers.npy": HUGE}, zipfile.ZIP_STORED, "numbers has a wrong size"),
        (
            {"numbers.npy": (b"\x0a\0\0\0\x0b", b"\x0a\0\0\0\x0c")},
            zipfile.ZIP_STORED,
            "the array numbers is damaged",
        ),
        (
            {"header.npy": (b"1.5", b"2.5")},
            zipfile.ZIP_STORED,
            "its header is damaged",
        ),
        ({}, zipfile.ZIP_LZMA, "by another method than numpy's"),
        ({"header.npy": zeros(70)}, DEFLATED, "its header has 73400448 bytes"),
        (
            {"sha256.npy": zeros()},
            DEFLATED,
            "sha256 is uint8 of shape .8388608,., expected .u1 of shape .32,.",
        ),
        ({"numbers.npy": zeros()}, DEFLATED, "numbers is uint8 of shape .8388608,."),
        ({"other.npy": zeros()}, zipfile.ZIP_BZIP2, "larger than 1032 times its size"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_damage_is_refused_before_anything_is_inflated(path, changes, method, message):
    rewrite(path, changes, method)
    with at_most(4), pytest.raises(InvalidFileError, match=message):
        read_npz(path, "snapshot", 1)


def test_another_kind_or_version_is_refused(path):
    message = r"state.npz cannot be read: it is a snapshot, not a run"
    with pytest.raises(InvalidFileError, match=message):
        read_npz(path, "run", 1)
    message = r"it has version 1 of the format, and this version.*version 2"
    with pytest.raises(InvalidFileError, match=message):
        read_npz(path, "snapshot", 2)
    flags = np.array([2, 1], np.uint8).view(np.bool_)
    write_npz(path, "snapshot", 1, HEADER, {"flags": flags})
    with pytest.raises(InvalidFileError, match="wrong bool"):
        read_npz(path, "snapshot", 1)


def test_an_array_takes_its_own_size_once(path):
    write_npz(path, "snapshot", 1, {}, {"array": np.zeros(20 << 20, np.uint8)})
    with at_most(25):
        read_npz(path, "snapshot", 1)
