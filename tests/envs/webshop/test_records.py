"""Records: read by number in memory, from a file and mapped; damage is named."""

import mmap

import numpy as np
import pytest

from roll_vec.envs.webshop.records import Records
from roll_vec.errors import InvalidOptionError

ENTRIES = [{"a": "é\n√"}, {}, {"a": "\ud800", "b": [1, 2.5, None]}]


def decode(number, entry):
    """Return the record of a line."""
    return (number, entry)


@pytest.fixture(params=["packed", "opened", "mapped"])
def records(request, tmp_path):
    """Return the records in memory, or stored and opened."""
    in_memory = Records.pack(ENTRIES, decode)
    if request.param == "packed":
        return in_memory
    in_memory.save(tmp_path / "r.jsonl")
    return Records.open(tmp_path / "r.jsonl", decode, request.param == "mapped")


def test_records_are_read_by_number(records):
    assert len(records) == 3
    assert list(records) == list(enumerate(ENTRIES))
    assert records[-1] == (2, ENTRIES[2])
    assert records[1:] == [(1, {}), (2, ENTRIES[2])]
    assert records[1] is records[1]
    for index in (3, -4):
        with pytest.raises(IndexError, match=f"below 3, got {3 if index > 0 else -1}"):
            records[index]


def test_mapped_records_stay_on_disk(tmp_path):
    Records.pack(ENTRIES, decode).save(tmp_path / "r.jsonl")
    mapped = Records.open(tmp_path / "r.jsonl", decode, True)
    assert isinstance(mapped._block, mmap.mmap)
    assert isinstance(mapped._ends, np.memmap)


def test_none_at_all_can_be_stored(tmp_path):
    Records.pack([], decode).save(tmp_path / "r.jsonl")
    for memory_map in (False, True):
        assert list(Records.open(tmp_path / "r.jsonl", decode, memory_map)) == []


def test_files_that_do_not_fit_are_named(tmp_path):
    path = tmp_path / "r.jsonl"
    Records.pack(ENTRIES, decode).save(path)
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(InvalidOptionError, match=r"r\.jsonl .* does not fit r\.npy"):
        Records.open(path, decode, False)
