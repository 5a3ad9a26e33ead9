"""Files of arrays and a header: read back equal, refused where they are damaged."""

import io
import json
import tracemalloc
import zipfile

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


def test_a_file_is_read_back_equal(path):
    header, arrays = read_npz(path, "snapshot", 1)
    assert header == HEADER
    assert list(arrays) == list(ARRAYS)
    for name, array in ARRAYS.items():
        assert arrays[name].dtype == array.dtype
        np.testing.assert_array_equal(arrays[name], array)
        with np.load(path) as archive:
            np.testing.assert_array_equal(archive[name], array)
    assert [file.name for file in path.parent.iterdir()] == ["state.npz"]


@pytest.mark.parametrize(
    ("kind", "version", "message"),
    [
        ("run", 1, "state.npz cannot be read: it is a snapshot, not a run"),
        ("snapshot", 2, "it has version 1 of the format, and this version.*version 2"),
    ],
)
def test_another_kind_or_version_is_refused(path, kind, version, message):
    with pytest.raises(InvalidFileError, match=message):
        read_npz(path, kind, version)


def test_every_change_of_a_byte_is_refused_or_harmless(path):
    original = path.read_bytes()
    refused = 0
    for position in range(len(original)):
        data = bytearray(original)
        data[position] ^= (0x01, 0x80, 0xFF)[position % 3]
        path.write_bytes(data)
        try:
            header, arrays = read_npz(path, "snapshot", 1)
        except InvalidFileError as error:
            refused += "state.npz" in str(error)
            continue
        assert header == HEADER
        assert arrays.keys() == ARRAYS.keys()
        for name, array in ARRAYS.items():
            np.testing.assert_array_equal(arrays[name], array)
    assert refused > len(original) / 2


def test_a_truncated_file_is_refused(path):
    original = path.read_bytes()
    for size in range(0, len(original), 7):
        path.write_bytes(original[:size])
        with pytest.raises(InvalidFileError, match=r"state\.npz"):
            read_npz(path, "snapshot", 1)


def rewrite(path, method=zipfile.ZIP_STORED, **entries):
    """Replace entries of a file, with a new and correct checksum of the archive."""
    with zipfile.ZipFile(path) as archive:
        contents = {name: archive.read(name) for name in archive.namelist()}
    contents |= {f"{name}.npy": data for name, data in entries.items()}
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, data in contents.items():
            archive.writestr(name, data)


def test_an_array_of_another_size_is_refused_before_it_is_allocated(path):
    with zipfile.ZipFile(path) as archive:
        data = archive.read("numbers.npy")
    huge = data.replace(b"(3, 4)", b"(3, 4000000000000)")
    rewrite(path, numbers=huge.replace(b" " * 12 + b"\n", b"\n"))
    with pytest.raises(InvalidFileError, match="numbers has a wrong size"):
        read_npz(path, "snapshot", 1)


def make_entry(array):
    """Return an array as the bytes of its entry."""
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


ZEROS = make_entry(np.zeros(70 << 20, np.uint8))


@pytest.mark.parametrize(
    ("entry", "method", "message"),
    [
        ("header", zipfile.ZIP_DEFLATED, "its header has 73400448 bytes"),
        (
            "sha256",
            zipfile.ZIP_DEFLATED,
            "sha256 is uint8 of shape .73400320,., expected .u1 of shape .32,.",
        ),
        ("numbers", zipfile.ZIP_DEFLATED, "numbers is uint8 of shape .73400320,."),
        ("other", zipfile.ZIP_BZIP2, "larger than 1032 times its size"),
    ],
)
def test_a_bomb_is_refused_before_it_is_inflated(entry, method, message, path):
    rewrite(path, method, **{entry: ZEROS})
    tracemalloc.start()
    try:
        with pytest.raises(InvalidFileError, match=message):
            read_npz(path, "snapshot", 1)
        assert tracemalloc.get_traced_memory()[1] < 1 << 22
    finally:
        tracemalloc.stop()


def test_methods_that_numpy_does_not_write_are_refused(path):
    rewrite(path, zipfile.ZIP_LZMA)
    with pytest.raises(InvalidFileError, match="by another method than numpy's"):
        read_npz(path, "snapshot", 1)


def test_an_array_takes_its_own_size_once(tmp_path):
    array = np.zeros(20 << 20, np.uint8)
    write_npz(tmp_path / "large.npz", "snapshot", 1, {}, {"array": array})
    tracemalloc.start()
    read_npz(tmp_path / "large.npz", "snapshot", 1)
    assert tracemalloc.get_traced_memory()[1] < 25 << 20
    tracemalloc.stop()


def test_bytes_that_are_no_bool_are_refused(path):
    flags = np.array([2, 1], np.uint8).view(np.bool_)
    write_npz(path, "snapshot", 1, HEADER, {"flags": flags})
    with pytest.raises(InvalidFileError, match="wrong bool"):
        read_npz(path, "snapshot", 1)


def test_a_changed_array_or_header_is_refused_by_its_digest(path):
    with zipfile.ZipFile(path) as archive:
        numbers = bytearray(archive.read("numbers.npy"))
        head = archive.read("header.npy")
    numbers[-1] ^= 1
    rewrite(path, numbers=bytes(numbers))
    with pytest.raises(InvalidFileError, match="the array numbers is damaged"):
        read_npz(path, "snapshot", 1)
    rewrite(path, header=head.replace(b"1.5", b"2.5"))
    with pytest.raises(InvalidFileError, match="its header is damaged"):
        read_npz(path, "snapshot", 1)


def test_a_file_that_is_missing_is_an_ordinary_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        read_npz(tmp_path / "none.npz", "snapshot", 1)


def test_what_is_compressed_is_stored_as_it_is(path):
    write_npz(path, "snapshot", 1, HEADER, ARRAYS, ["numbers"])
    with zipfile.ZipFile(path) as archive:
        methods = {entry.filename: entry.compress_type for entry in archive.infolist()}
    stored = [name for name, method in methods.items() if method == zipfile.ZIP_STORED]
    assert stored == ["numbers.npy"]
    np.testing.assert_array_equal(
        read_npz(path, "snapshot", 1)[1]["numbers"], ARRAYS["numbers"]
    )


def test_an_interrupted_write_leaves_the_old_file(path):
    with pytest.raises(TypeError):
        write_npz(path, "snapshot", 1, {"a": object()}, ARRAYS)
    assert read_npz(path, "snapshot", 1)[0] == json.loads(json.dumps(HEADER))
