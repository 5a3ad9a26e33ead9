"""WebShop's files: read as WebShop does; malformed and damaged ones are named."""

import copy
import gzip
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
from roll_vec.envs.webshop.catalogue.files import (
    HumanInstruction,
    Shop,
    read_json,
    read_listings,
)
from roll_vec.envs.webshop.catalogue.options import CatalogueOptions
from roll_vec.envs.webshop.records import Records
from roll_vec.errors import InvalidOptionError
from tests.envs.webshop.shops import ATTRIBUTES, HUMAN, ITEMS, NOUNS, write
from tests.mutations import mutate_bytes, mutate_json


def listings(items=ITEMS, attributes=ATTRIBUTES, human=HUMAN, **keywords):
    """Return the listings of a shop's contents."""
    return read_listings(
        Shop(items, attributes, human, "P.json", "A.json", "H.json"), **keywords
    )


def test_fields_are_as_the_files_have_them():
    shirt, table, box = listings()
    assert shirt.title == "Red Cotton Shirt for Men"
    assert shirt.bullets == ("Soft cotton", "", "Machine wash")
    assert (shirt.pricing, shirt.price_tag) == ((25.5,), "$25.5")
    # Names in lower case in the file's order; values stripped, slashes apart.
    assert list(shirt.options.items()) == [
        ("size", ("small", "x | large")),
        ("color", ("red", "navy blue")),
    ]
    assert shirt.query == "men's shirts"
    assert shirt.attributes == ("machine wash", "long sleeve")
    assert shirt.instruction_attributes == ("machine wash",)
    assert table.bullets == ("Solid oak.",)
    assert (table.pricing, table.price_tag) == ((100.0, 150.5), "$100.0 to $150.5")
    assert table.human == (
        HumanInstruction("i want a table. ..", ("solid wood",), ("brown",)),
    )
    assert (box.pricing, box.price_tag) == ((100.0,), "$100.0")
    assert box.options == {"pack": ("2",)}
    assert box.attributes == ("DUMMY_ATTR",)
    assert box.instruction is None


@pytest.mark.parametrize(
    ("text", "prices"),
    [
        (None, (100.0,)),
        ("$1,299.00", (1299.0,)),
        ("$5.99 to $12.5 each", (5.99, 12.5)),
        ("$1$2$3", (1.0, 2.0)),
        ("USD $7", (7.0,)),
    ],
)
def test_prices_are_read_as_webshop_reads_them(text, prices):
    item = {**ITEMS[0], "pricing": text}
    assert listings([item])[0].pricing == prices


def test_items_that_are_no_products_are_left_out():
    items = [
        {**ITEMS[0], "asin": "nan"},
        {**ITEMS[0], "asin": "B0000000012"},
        ITEMS[0],
        {**ITEMS[1], "asin": ITEMS[0]["asin"]},
        ITEMS[2],
    ]
    assert [p.asin for p in listings(items)] == ["B000000001", "A000000003"]
    # The number counts items, also those.
    assert [p.asin for p in listings(items, num_products=3)] == ["B000000001"]
    # Those beyond may be malformed.
    assert len(listings([ITEMS[0], None], num_products=1)) == 1


def items_with(field, value):
    """Return two items, the second one with another value of a field."""
    return [ITEMS[0], {**ITEMS[1], field: value}]


def items_without(field):
    """Return two items, the second one without a field."""
    item = copy.deepcopy(ITEMS[1])
    del item[field]
    return [ITEMS[0], item]


SECOND = r"products: P\.json, item 1 \(B000000002\), "
BAD_ITEMS = [
    ([3], r"item 0, the item: expected an object, got 3"),
    ([{}], r"item 0, asin: missing"),
    (items_with("asin", 5), r"item 1, asin: expected a string, got 5"),
    (items_with("asin", ""), r"item 1, asin: expected printable"),
    (items_with("asin", "a\nb"), r"item 1, asin: expected printable"),
    *[
        (items_without(name), SECOND + f"{name}: missing")
        for name in ("name", "full_description", "small_description", "category")
    ],
    *[
        (items_with(name, None), SECOND + f"{name}: expected a string, got None")
        for name in ("name", "full_description", "query", "product_category")
    ],
    (items_with("small_description", ["a", 1]), SECOND + "small_desc.*d a string"),
    (items_with("pricing", "cheap"), SECOND + "pricing: expected a price"),
    (items_with("pricing", "$..."), SECOND + "pricing: expected a price"),
    (items_with("pricing", 3.5), SECOND + "pricing: expected a string"),
    (items_with("customization_options", ["x"]), SECOND + "custom.*expected an object"),
    (items_with("customization_options", {"a": {}}), SECOND + "custom.*ed a list"),
    (items_with("customization_options", {"a": [1]}), SECOND + "custom.*an object"),
    (items_with("customization_options", {"a": [{}]}), SECOND + "value: missing"),
    ([], r"products: P\.json has no product"),
    ({}, r"products: P\.json: expected a list of items"),
]


@pytest.mark.parametrize(("items", "message"), BAD_ITEMS)
def test_a_malformed_item_is_named_with_its_field(items, message):
    with pytest.raises(InvalidOptionError, match=message):
        listings(items)


ASIN = "B000000001"
BAD_ENTRIES = {
    "attributes: A": [
        (3, "the entry: expected an object"),
        ({"attributes": "a"}, "attributes: expected a list"),
        ({"attributes": [1]}, "attributes: expected a string"),
        ({"instruction": 1}, "instruction: expected a string"),
        ({"instruction": "a"}, "instruction_attributes: expected a list, got None"),
        (
            {"instruction": "a", "instruction_attributes": []},
            "instruction_attributes: expected at least one",
        ),
    ],
    "human_instructions: H": [
        (3, "the entry: expected a list"),
        ([3], "the entry: expected an object"),
        ([{}], "instruction_attributes: expected a list"),
        ([{"instruction_attributes": ["a"]}], "instruction: missing"),
        (
            [{"instruction": "a", "instruction_attributes": ["a"]}],
            "instruction_options: expected a list",
        ),
    ],
}


@pytest.mark.parametrize(
    ("file", "entry", "message"),
    [(file, *row) for file, rows in BAD_ENTRIES.items() for row in rows],
)
def test_a_malformed_entry_is_named(file, entry, message):
    name = file[: file.index(":")].removesuffix("_instructions")
    with pytest.raises(InvalidOptionError, match=rf"{file}\.json, {ASIN}, {message}"):
        listings(**{name: {ASIN: entry}})
    # Entries of products that are not there are not looked at.
    assert len(listings(**{name: {"other": entry}})) == 3


def test_json_is_read_plain_and_packed(tmp_path):
    plain, gzipped = tmp_path / "a.json", tmp_path / "a.json.gz"
    plain.write_text(json.dumps(["é"]), encoding="utf-8")
    gzipped.write_bytes(gzip.compress(plain.read_bytes()))
    assert read_json("products", str(plain)) == ["é"]
    assert read_json("products", str(gzipped)) == ["é"]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.json", b"[1, 2", r"is no JSON file"),
        ("a.json", b"\xff\xfe", r"is no JSON file"),
        ("a.json", b"[" * 100_000, r"is no JSON file"),
        ("a.json.gz", b"[1]", r"cannot be read"),
        ("a.json.gz", gzip.compress(b"[1, 2]" * 99, mtime=0)[:-12], r"is no JSON file"),
        ("x.json", None, r"cannot be read"),
    ],
)
def test_a_file_that_is_no_json_is_named(tmp_path, name, content, message):
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(InvalidOptionError, match=rf"products: .*{name} {message}"):
        read_json("products", str(path))


CONTENTS = {
    "products": ITEMS,
    "attributes": ATTRIBUTES,
    "human_instructions": HUMAN,
    "title_nouns": NOUNS,
}


def visit(catalogue):
    """Return everything in a catalogue, as JSON."""
    everything = [vars(record) for record in (*catalogue.products, *catalogue.goals)]
    searches = [catalogue.search(query) for query in ("red shirt", "oak table", "box")]
    return json.dumps([everything, searches, catalogue.title_nouns_source])


@pytest.fixture
def shop_folder(tmp_path):
    """Return the folder of the small shop, stored."""
    Catalogue.load(**write(tmp_path)).save(tmp_path / "stored")
    return tmp_path / "stored"


@pytest.mark.parametrize("memory_map", [False, True])
def test_a_damaged_stored_shop_is_right_or_refused(shop_folder, memory_map):
    rng = np.random.default_rng(10 + memory_map)
    expected = visit(Catalogue.load(products=shop_folder, memory_map=memory_map))
    num_refused = 0
    for path in sorted(path for path in shop_folder.rglob("*") if path.is_file()):
        good = path.read_bytes()
        for _ in range(2):
            # Anew, for what is mapped of the old one must stay.
            path.unlink()
            path.write_bytes(mutate_bytes(good, rng))
            try:
                shop = Catalogue.load(products=shop_folder, memory_map=memory_map)
                assert visit(shop) == expected
            except InvalidOptionError as error:
                num_refused += 1
                assert f"{shop_folder}/" in str(error)  # noqa: PT017
        path.unlink()
        path.write_bytes(good)
    assert num_refused > 20


def test_a_whole_check_reads_every_byte(shop_folder):
    assert manifest.check_everything(shop_folder) > 1000
    for path in sorted(path for path in shop_folder.rglob("*") if path.is_file()):
        name, block = re.escape(path.name), path.read_bytes()
        for damaged, check in (
            (None, lambda folder: Catalogue.load(products=folder)),
            (block[:-7], lambda folder: Catalogue.load(products=folder)),
            (bytes([block[0] ^ 1]) + block[1:], manifest.check_everything),
        ):
            path.unlink()
            if damaged is not None:
                path.write_bytes(damaged)
            with pytest.raises(InvalidOptionError, match=name):
                check(shop_folder)
            path.write_bytes(block)
    assert len(Catalogue.load(products=shop_folder).products) == 3


def test_the_manifest_of_another_shop_is_refused(shop_folder, tmp_path):
    Catalogue.load(num_products=3).save(tmp_path / "other")
    other = (tmp_path / "other" / "catalogue.json").read_bytes()
    (shop_folder / "catalogue.json").write_bytes(other)
    with pytest.raises(InvalidOptionError, match=f"{shop_folder}/asins.npy cannot"):
        Catalogue.load(products=shop_folder)


def test_opening_does_not_read_records_and_postings(shop_folder, monkeypatch):
    names = []

    def read_blocks(path):
        names.append(path.relative_to(shop_folder).as_posix())
        return original_read_blocks(path)

    original_read_blocks = manifest.read_blocks
    monkeypatch.setattr(manifest, "read_blocks", read_blocks)
    load_catalogue(CatalogueOptions(products=shop_folder, memory_map=True))
    everything = {
        path.relative_to(shop_folder).as_posix()
        for path in shop_folder.rglob("*")
        if path.is_file()
    }
    assert everything - set(names) == {
        *("catalogue.json", "goals.jsonl", "products.jsonl"),
        *("lucene/documents.bin", "lucene/saturations.bin"),
    }
    assert len(names) == len(set(names))


def test_a_damaged_record_is_refused_when_it_is_read_and_changes_nothing(shop_folder):
    block = shop_folder / "products.jsonl"
    # Of equal size, still JSON, and another price.
    damaged = block.read_bytes().replace(b'"price": 25.5', b'"price": 15.5')
    block.write_bytes(damaged)
    with pytest.raises(InvalidOptionError, match=r"products\.jsonl .* record 0 has ch"):
        WebShop(products=shop_folder)
    damaged = damaged.replace(b'"price": 15.5', b'"price": 25.5')
    damaged = damaged.replace(b"Oak Table", b"Elm Table")
    block.write_bytes(damaged)
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
        visit(Catalogue.load(products=shop_folder))


def test_files_of_malformed_entries_are_read_or_refused(tmp_path):
    rng = np.random.default_rng(12)
    num_refused = 0
    for number in range(32):
        name = list(CONTENTS)[number % 4]
        paths = write(tmp_path, **{name: mutate_json(CONTENTS[name], rng)})
        try:
            visit(load_catalogue(CatalogueOptions(**paths)))
        except InvalidOptionError as error:
            num_refused += 1
            assert paths[name] in str(error)  # noqa: PT017
    assert 5 < num_refused < 28


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"pricing": f"${'9' * 400}"}, r"item 1 \(B000000002\), pricing: expected"),
        (
            {"customization_options": {k: [{"value": "a"}] * 99 for k in "abcdefgh"}},
            r"item 1 \(B000000002\), customization_options: .*9227446944279201 ways",
        ),
    ],
)
def test_items_beyond_measure_are_refused(tmp_path, change, message):
    paths = write(tmp_path, products=[ITEMS[0], {**ITEMS[1], **change}])
    with pytest.raises(InvalidOptionError, match=message):
        Catalogue.load(**paths)


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


def test_mapped_records_stay_on_disk_and_none_can_be_stored(tmp_path):
    for entries in (ENTRIES, []):
        Records.pack(entries, decode).save(tmp_path / "r.jsonl")
        for memory_map in (False, True):
            opened = Records.open(tmp_path / "r.jsonl", decode, memory_map)
            assert list(opened) == list(enumerate(entries))
            if entries:
                assert isinstance(opened._block, mmap.mmap) == memory_map
                assert isinstance(opened._ends, np.memmap) == memory_map


def test_files_that_do_not_fit_are_named(tmp_path):
    path = tmp_path / "r.jsonl"
    Records.pack(ENTRIES, decode).save(path)
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(InvalidOptionError, match=r"r\.jsonl .* does not fit r\.npy"):
        Records.open(path, decode, False)
