"""Damaged files of a shop: the contents are unchanged, or an error names the file."""

import json
import os
import re
import sys
import zlib

import numpy as np
import pytest

from roll_vec.envs.webshop import Catalogue, WebShop, manifest
from roll_vec.envs.webshop.catalogue.catalogue import load_catalogue
from roll_vec.envs.webshop.catalogue.options import CatalogueOptions
from roll_vec.errors import InvalidOptionError
from tests.envs.webshop.shops import ATTRIBUTES, HUMAN, ITEMS, NOUNS, write
from tests.mutations import mutate_bytes, mutate_json

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
        for _ in range(3):
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
    assert num_refused > 30


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


def test_a_header_that_asks_for_memory_is_refused(shop_folder):
    for path in shop_folder.rglob("*.npy"):
        good = path.read_bytes()
        bad = re.sub(rb"'shape': \((\d+),\), \}( *)", _claim, good)
        assert bad != good
        assert len(bad) == len(good)
        path.write_bytes(bad)
        with pytest.raises(InvalidOptionError, match=rf"{path.name} cannot be read"):
            Catalogue.load(products=shop_folder)
        path.write_bytes(good)


def _claim(match):
    """Return a header of the same length with a giant shape."""
    claim = b"'shape': (999999999999,), }"
    return claim + b" " * (len(match[0]) - len(claim))


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


@pytest.mark.skipif(sys.platform == "win32", reason="it has no pipes in folders")
@pytest.mark.parametrize("name", ["catalogue.json", "goals.jsonl", "lucene/forms.txt"])
def test_pipes_in_a_stored_shop_are_refused(shop_folder, name):
    rewrite_manifest(shop_folder, lambda fields: fields["files"].pop(name, None))
    (shop_folder / name).unlink()
    os.mkfifo(shop_folder / name)
    with pytest.raises(InvalidOptionError, match=f"{name} cannot be read: it is a pip"):
        Catalogue.load(products=shop_folder)


@pytest.mark.parametrize("name", ["products", "goals"])
@pytest.mark.parametrize("record", [b"{}", b"[]", b"[" * 50_000, b"x"])
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
    for number in range(60):
        name = list(CONTENTS)[number % 4]
        paths = write(tmp_path, **{name: mutate_json(CONTENTS[name], rng)})
        try:
            visit(load_catalogue(CatalogueOptions(**paths)))
        except InvalidOptionError as error:
            num_refused += 1
            assert paths[name] in str(error)  # noqa: PT017
    assert 10 < num_refused < 50


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
