"""Stored shops and their records: damaged, foreign and forged files are refused."""

import json
import mmap
import os
import re
import sys
import zlib

import numpy as np
import pytest

from roll_vec.envs.webshop import Catalogue, WebShop, manifest
from roll_vec.envs.webshop.catalogue.catalogue import load_catalogue
from roll_vec.envs.webshop.catalogue.options import CatalogueOptions
from roll_vec.envs.webshop.records import Records
from roll_vec.errors import InvalidOptionError
from tests.envs.webshop.shops import everything_in, write
from tests.mutations import mutate_bytes


@pytest.fixture
def shop_folder(tmp_path):
    """Return the folder of the small shop, stored."""
    Catalogue.load(**write(tmp_path)).save(tmp_path / "stored")
    return tmp_path / "stored"


def files_of(folder):
    return sorted(path for path in folder.rglob("*") if path.is_file())


def replace(path, block):
    """Write a file anew, for what is mapped of the old one must stay; None: delete."""
    path.unlink(missing_ok=True)
    if block is not None:
        path.write_bytes(block)


@pytest.mark.parametrize("memory_map", [False, True])
def test_a_damaged_stored_shop_is_right_or_refused(shop_folder, memory_map):
    rng = np.random.default_rng(10 + memory_map)

    def read():
        keywords = {"products": shop_folder, "memory_map": memory_map}
        return everything_in(Catalogue.load(**keywords))

    expected = read()
    num_refused = 0
    for path in files_of(shop_folder):
        good = path.read_bytes()
        for _ in range(2):
            replace(path, mutate_bytes(good, rng))
            try:
                assert read() == expected
            except InvalidOptionError as error:
                num_refused += 1
                assert f"{shop_folder}/" in str(error)  # noqa: PT017
        replace(path, good)
    assert num_refused > 20


def test_a_whole_check_reads_every_byte(shop_folder):
    assert manifest.check_everything(shop_folder) > 1000
    for path in files_of(shop_folder):
        name, block = re.escape(path.name), path.read_bytes()
        for damaged, check in (
            (None, lambda folder: Catalogue.load(products=folder)),
            (block[:-7], lambda folder: Catalogue.load(products=folder)),
            (bytes([block[0] ^ 1]) + block[1:], manifest.check_everything),
        ):
            replace(path, damaged)
            with pytest.raises(InvalidOptionError, match=name):
                check(shop_folder)
            replace(path, block)
    assert len(Catalogue.load(products=shop_folder).products) == 3


def test_the_manifest_of_another_shop_is_refused(shop_folder, tmp_path):
    Catalogue.load(num_products=3).save(tmp_path / "other")
    other = (tmp_path / "other" / "catalogue.json").read_bytes()
    (shop_folder / "catalogue.json").write_bytes(other)
    with pytest.raises(InvalidOptionError, match=f"{shop_folder}/asins.npy cannot"):
        Catalogue.load(products=shop_folder)


def test_opening_does_not_read_records_and_postings(shop_folder, monkeypatch):
    read, read_blocks = [], manifest.read_blocks
    monkeypatch.setattr(
        manifest, "read_blocks", lambda path: read.append(path) or read_blocks(path)
    )
    load_catalogue(CatalogueOptions(products=shop_folder, memory_map=True))
    unread = {"catalogue.json", "goals.jsonl", "products.jsonl"}
    unread |= {"lucene/documents.bin", "lucene/saturations.bin"}
    unread = {shop_folder / name for name in unread}
    assert sorted(read) == [
        each for each in files_of(shop_folder) if each not in unread
    ]


def test_a_damaged_record_is_refused_when_it_is_read_and_changes_nothing(shop_folder):
    block = shop_folder / "products.jsonl"
    good = block.read_bytes()
    # Of equal size, still JSON, and another price.
    block.write_bytes(good.replace(b'"price": 25.5', b'"price": 15.5'))
    with pytest.raises(InvalidOptionError, match=r"products\.jsonl .* record 0 has ch"):
        WebShop(products=shop_folder)
    block.write_bytes(good.replace(b"Oak Table", b"Elm Table"))
    env = WebShop(products=shop_folder)
    shirt = next(n for n, goal in enumerate(env.catalogue.goals) if "1" in goal.asin)
    env.reset(seed=0, options={"session": shirt})
    before = env.get_state()
    with pytest.raises(InvalidOptionError, match="record 1 has changed"):
        env.step("search[table]")
    assert env.get_state() == before
    assert env.step("search[shirt]")[4]["action_is_valid"]


def rewrite_manifest(shop_folder, edit):
    """Edit the fields of a manifest by a function, and make its checksum true."""
    path = shop_folder / "catalogue.json"
    fields = json.loads(path.read_text())
    del fields["check"]
    edit(fields)
    check = zlib.crc32(json.dumps(fields, sort_keys=True).encode())
    path.write_text(json.dumps({**fields, "check": check}))


@pytest.mark.parametrize(
    "edit",
    [
        lambda fields: fields.pop("options"),
        lambda fields: fields["options"].pop("human_goals"),
        lambda fields: fields.pop("num_skipped"),
        lambda fields: fields.update(title_nouns=5),
        lambda fields: fields.update(files=[]),
        lambda fields: fields["files"].update({"asins.npy": {}}),
        lambda fields: fields["files"]["asins.npy"].update(bytes="x"),
        lambda fields: fields["files"].update({"a\0b": fields["files"]["asins.npy"]}),
        lambda fields: fields["files"].update(
            {"/dev/zero": {"bytes": 0, "crc32": 0, "sha256": ""}}
        ),
    ],
)
def test_false_fields_behind_a_true_checksum_are_refused(shop_folder, edit):
    rewrite_manifest(shop_folder, edit)
    with pytest.raises(InvalidOptionError, match=r"^products: .* cannot be read: "):
        Catalogue.load(products=shop_folder)
    rewrite_manifest(shop_folder, lambda fields: fields.update(format=99))
    with pytest.raises(InvalidOptionError, match=r"the format 99.*store the catalogue"):
        Catalogue.load(products=shop_folder)


@pytest.mark.skipif(sys.platform == "win32", reason="it has no pipes in folders")
@pytest.mark.parametrize("name", ["catalogue.json", "goals.jsonl", "lucene/forms.txt"])
def test_pipes_in_a_stored_shop_are_refused(shop_folder, name):
    rewrite_manifest(shop_folder, lambda fields: fields["files"].pop(name, None))
    (shop_folder / name).unlink()
    os.mkfifo(shop_folder / name)
    with pytest.raises(InvalidOptionError, match=f"{name} cannot be read: it is a pip"):
        Catalogue.load(products=shop_folder)


@pytest.mark.parametrize(
    ("name", "record"),
    [
        ("products", b"{}"),
        ("goals", b"[]"),
        ("products", b"[" * 50_000),
        ("goals", b"x"),
    ],
)
def test_malformed_records_behind_true_checksums_are_refused(shop_folder, name, record):
    lines = (shop_folder / f"{name}.jsonl").read_bytes().splitlines(keepends=True)
    lines[0] = record + b"\n"
    (shop_folder / f"{name}.jsonl").write_bytes(b"".join(lines))
    ends = np.cumsum([len(line) for line in lines], dtype=np.int64)
    np.save(shop_folder / f"{name}.npy", ends)
    checks = np.array([zlib.crc32(line) for line in lines], np.uint32)
    np.save(shop_folder / f"{name}.crc32.npy", checks)

    def correct(fields):
        for file, entry in fields["files"].items():
            content = (shop_folder / file).read_bytes()
            entry.update(bytes=len(content), crc32=zlib.crc32(content))

    rewrite_manifest(shop_folder, correct)
    with pytest.raises(InvalidOptionError, match=rf"{name}\.jsonl .* record 0 is malf"):
        everything_in(Catalogue.load(products=shop_folder))


ENTRIES = [{"a": "é\n√"}, {}, {"a": "\ud800", "b": [1, 2.5, None]}]


def decode(number, entry):
    return (number, entry)


@pytest.mark.parametrize("memory_map", [None, False, True])
def test_records_are_read_by_number(memory_map, tmp_path):
    records = packed = Records.pack(ENTRIES, decode)
    path = tmp_path / "r.jsonl"
    if memory_map is not None:
        packed.save(path)
        records = Records.open(path, decode, memory_map)
        assert isinstance(records._block, mmap.mmap) == memory_map
        assert isinstance(records._ends, np.memmap) == memory_map
    assert len(records) == 3
    assert list(records) == list(enumerate(ENTRIES))
    assert records[-1] == (2, ENTRIES[2])
    assert records[1:] == [(1, {}), (2, ENTRIES[2])]
    assert records[1] is records[1]
    for index in (3, -4):
        with pytest.raises(IndexError, match=f"below 3, got {3 if index > 0 else -1}"):
            records[index]
    if memory_map is not None:
        Records.pack([], decode).save(path)
        assert list(Records.open(path, decode, memory_map)) == []
        packed.save(path)
        replace(path, path.read_bytes()[:-1])
        with pytest.raises(
            InvalidOptionError, match=r"r\.jsonl .* does not fit r\.npy"
        ):
            Records.open(path, decode, memory_map)
