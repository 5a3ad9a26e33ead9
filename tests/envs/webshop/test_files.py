"""WebShop's files, title nouns and stored shops: read as WebShop does, or refused.

Malformed files and records, damaged, foreign and forged shops are named.
"""

import gzip
import importlib.util
import json
import mmap
import os
import random
import sys
import zlib
from pathlib import Path

import numpy as np
import pytest

from roll_vec.envs.webshop import Catalogue, WebShop, manifest, title_nouns
from roll_vec.envs.webshop.catalogue import load_catalogue
from roll_vec.envs.webshop.files import Shop, read_json, read_listings
from roll_vec.envs.webshop.options import CatalogueOptions
from roll_vec.envs.webshop.products import Records
from roll_vec.envs.webshop.title_nouns import load_title_nouns
from roll_vec.errors import InvalidFileError, InvalidOptionError
from tests.envs.webshop.shops import (
    ATTRIBUTES,
    CONTENTS,
    HUMAN,
    ITEMS,
    TABLE,
    everything_in,
    original,
    write,
)
from tests.golden import assert_golden
from tests.mutations import change_each, mutate_bytes, mutate_json


def listings(items=ITEMS, attributes=ATTRIBUTES, human=HUMAN, **keywords):
    """Return the listings of a shop's contents."""
    shop = Shop(items, attributes, human, "P.json", "A.json", "H.json")
    return read_listings(shop, **keywords)


# In the place of every value of the files: of other kinds, odd prices, odd asins.
VALUES = (None, 1.5, "", "a\nb", "nan", [], {}, [3], [{}], 10 * "x")
VALUES += ("$1,299.00", "$5.99 to $12.5 each", "$1$2$3", "USD $7", "$...")
FILES = {
    "items": ITEMS[:1],
    "attributes": {TABLE: ATTRIBUTES[TABLE]},
    "human": {TABLE: HUMAN[TABLE][:1]},
}


def fields_of(**contents):
    """Return the fields of a shop's listings by their place."""
    return {
        f"{listing.fields['asin']}.{name}": value
        for listing in listings(**contents)
        for name, value in {**listing._asdict(), **listing.fields}.items()
        if name != "fields"
    }


def test_listings_and_errors_of_every_change_are_those_of_the_golden_file():
    plain = fields_of()
    lines = [f"{place}: {value!r}" for place, value in plain.items()]
    for name, content in FILES.items():
        unchanged = fields_of(**{name: content})
        for place, changed in change_each(content, VALUES):
            try:
                fields = fields_of(**{name: changed})
            except InvalidOptionError as error:
                lines.append(f"{name}{place}: {error}")
                continue
            more = [f"{k}={v!r}" for k, v in fields.items() if unchanged.get(k) != v]
            less = [f"no {place}" for place in unchanged.keys() - fields.keys()]
            lines.append(f"{name}{place}: {', '.join(more + sorted(less))}")
    text = "\n".join([*lines, ""])
    assert_golden(Path(__file__).parent / "data" / "listings.txt", text.encode())


def write_json(path, content):
    """Write text, bytes or JSON, plain or gzipped; return the path."""
    if not isinstance(content, (str, bytes)):
        content = json.dumps(content)
    block = content if isinstance(content, bytes) else content.encode()
    path.write_bytes(gzip.compress(block) if path.suffix == ".gz" else block)
    return str(path)


def load_json(path):
    """Return the content of a JSON file, plain or gzipped."""
    open_file = gzip.open if path.suffix == ".gz" else open
    with open_file(path, "rt", encoding="utf-8") as file:
        return json.load(file)


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


@pytest.mark.parametrize("name", ["a.json", "a.json.gz"])
def test_a_byte_order_mark_is_left_out(tmp_path, name):
    path, text = tmp_path / name, b"\xef\xbb\xbf[1]"
    path.write_bytes(gzip.compress(text) if name.endswith("gz") else text)
    assert read_json("products", str(path)) == [1]


def test_files_of_malformed_entries_are_read_or_refused(tmp_path):
    rng = np.random.default_rng(12)
    num_refused = 0
    for number in range(32):
        name = list(CONTENTS)[number % 4]
        paths = write(tmp_path, **{name: mutate_json(CONTENTS[name], rng)})
        try:
            everything_in(load_catalogue(CatalogueOptions(**paths)))
        except InvalidOptionError as error:
            num_refused += 1
            assert paths[name] in str(error)  # noqa: PT017
    assert 5 < num_refused < 28


# ---------------------------------------------------------------------- title nouns

TITLES = {"B1": "Red Shoes for the Party, 2 Pack", "B2": "Oak Table", "B3": ""}
NOUNS = {"B1": ["shoes", "party", "shoes"], "B2": ["oak", "table"], "B3": []}
FAKE = "spacy:en_core_web_sm-0"
MODEL = "spacy:en_core_web_sm-3.8.0"


@pytest.fixture
def _no_spacy(monkeypatch):
    find = importlib.util.find_spec
    hide = {"spacy": None}
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: hide.get(name, name) and find(name)
    )


@pytest.fixture
def fake_spacy(monkeypatch):
    """Replace spaCy: every word is a noun; returns the list of the titles it gets."""
    titles_for_spacy = []

    def ask(package, titles):
        assert package == "fake"
        for title in titles:
            if title == "error":
                raise RuntimeError("no more")
            titles_for_spacy.append(title)
            yield tuple(title.lower().split())

    monkeypatch.setattr(title_nouns, "_installed_models", lambda: {FAKE: "fake"})
    monkeypatch.setattr(title_nouns, "_ask_spacy", ask)
    return titles_for_spacy


@pytest.mark.parametrize(
    ("name", "source"),
    [
        ("nouns.json", None),
        ("nouns.json.gz", "rule"),
        ("nouns.json", "spacy:en_core_web_lg-1"),
    ],
)
def test_a_complete_file_is_all_that_is_asked(tmp_path, fake_spacy, name, source):
    content = {**NOUNS, "B9": ["more"]}
    if source is not None:
        content = {"source": source, "title_nouns": content}
    path = write_json(tmp_path / name, content)
    nouns = {asin: tuple(of_title) for asin, of_title in NOUNS.items()}
    assert load_title_nouns(TITLES, path) == (nouns, source or "file")
    assert not fake_spacy
    assert load_json(tmp_path / name) == content


@pytest.mark.usefixtures("_no_spacy")
def test_without_a_file_and_spacy_the_rule_is_used(tmp_path):
    titles = {
        **TITLES,
        # Runs of letters that are no stop words.
        "B4": "The 12V LED-Lamp (4 x 10W)",
        "B5": "Women's shoes SHOES",
        "B6": "caf\xe9_cr\xe8me \u8336\u8336 \u2605",
        "B7": "\ud800x y\x00zz" + " a" * 100_000,
    }
    nouns = {
        "B1": ("red", "shoes", "party", "pack"),
        "B2": ("oak", "table"),
        "B3": (),
        "B4": ("led", "lamp"),
        "B5": ("women", "shoes", "shoes"),
        "B6": ("caf\xe9", "cr\xe8me", "\u8336\u8336"),
        "B7": ("zz",),
    }
    assert load_title_nouns(titles) == (nouns, "rule")
    path = tmp_path / "nouns.json"
    with pytest.raises(InvalidOptionError, match=r"nouns\.json: it is not there, and"):
        load_title_nouns(TITLES, path)
    assert not path.exists()


@pytest.mark.parametrize("name", ["nouns.json", "nouns.json.gz"])
def test_nouns_of_spacy_are_written_to_the_file(tmp_path, fake_spacy, name):
    path = tmp_path / name
    first = load_title_nouns({"B2": TITLES["B2"]}, path)
    assert first == ({"B2": ("oak", "table")}, FAKE)
    content = {"source": FAKE, "title_nouns": {"B2": ["oak", "table"]}}
    assert load_json(path) == content
    with pytest.raises(RuntimeError, match="no more"):
        load_title_nouns({**TITLES, "B5": "error"}, path)
    assert load_json(path) == content
    fake_spacy.clear()
    counts = []
    nouns, source = load_title_nouns(TITLES, path, counts.append)
    assert list(nouns) == list(TITLES)
    assert counts == [2, 3]
    assert fake_spacy == [TITLES["B1"], TITLES["B3"]]
    assert load_title_nouns(TITLES, path) == (nouns, source)
    assert len(fake_spacy) == 2
    # Others may need what these titles do not.
    load_title_nouns({"B4": "Tea"}, path)
    assert set(load_json(path)["title_nouns"]) == {*TITLES, "B4"}
    assert [p.name for p in tmp_path.iterdir()] == [name]
    # Without a file all titles are asked for.
    assert load_title_nouns(TITLES) == (nouns, FAKE)
    assert fake_spacy[-3:] == list(TITLES.values())


@pytest.mark.parametrize(
    ("source", "says"),
    [
        (None, "it does not say where it is from"),
        ("rule", "it is from rule"),
        ("spacy:en_core_web_sm-9", "it is from spacy:en_core_web_sm-9"),
    ],
)
@pytest.mark.parametrize("installed", [True, False])
def test_sources_are_never_mixed(tmp_path, monkeypatch, source, says, installed):
    models = {FAKE: "fake"} if installed else {}
    monkeypatch.setattr(title_nouns, "_installed_models", lambda: models)
    content = {"B2": ["oak"]}
    if source:
        content = {"source": source, "title_nouns": content}
    path = write_json(tmp_path / "nouns.json", content)
    with pytest.raises(InvalidOptionError) as raised:
        load_title_nouns(TITLES, path)
    message = str(raised.value)
    assert f"title_nouns: {path}: lacks 2 products, such as B1; {says}" in message
    assert (FAKE if installed else "no en_core_web_sm") in message
    assert "give a complete file, or a new path" in message
    assert load_json(tmp_path / "nouns.json") == content


@pytest.mark.usefixtures("_no_spacy")
def test_malformed_files_of_nouns_are_those_of_the_golden_file(tmp_path):
    path, lines = tmp_path / "nouns.json", []
    for content in ({"B1": ["a"], "B7": []}, {"source": "x", "title_nouns": NOUNS}):
        for place, changed in change_each(content, (None, 1, "", "x", [], [1], {})):
            path.write_text(json.dumps(changed))
            try:
                found = load_title_nouns({}, path)
            except InvalidOptionError as error:
                found = str(error).replace(str(path), "nouns.json")
            lines.append(f"{place}: {found}")
    text = "\n".join([*lines, ""])
    assert_golden(Path(__file__).parent / "data" / "nouns.txt", text.encode())


def test_a_file_that_cannot_be_written_is_named(tmp_path, fake_spacy):
    path = tmp_path / "none" / "nouns.json"
    with pytest.raises(InvalidOptionError, match=r"nouns\.json.*cannot be written"):
        load_title_nouns(TITLES, path)
    assert not fake_spacy, "it is noticed before the work"
    path = tmp_path / "nouns.json"

    def occupy(counts):
        if counts == 1:
            (path / "x").mkdir(parents=True)

    with pytest.raises(InvalidFileError, match=r"nouns\.json.*cannot be written"):
        load_title_nouns(TITLES, path, occupy)
    assert [p.name for p in tmp_path.iterdir()] == ["nouns.json"]


def test_nouns_of_spacy_equal_the_originals(shared, tmp_path):
    pytest.importorskip("spacy")
    if MODEL not in title_nouns._installed_models():
        pytest.skip(f"{MODEL} is not installed")
    files = original(shared)
    state = random.getstate()
    golden = read_json("title_nouns", files["title_nouns"])
    items = read_json("products", files["products"])
    titles = {item["asin"]: item["name"] for item in items[::8]}
    expected = {asin: tuple(golden[asin]) for asin in titles}
    path = tmp_path / "nouns.json.gz"
    for _ in range(2):
        assert load_title_nouns(titles, path) == (expected, MODEL)
    odd, _ = load_title_nouns({"B1": "", "B2": "a \ud800 table", "B3": "\x00 \n\t"})
    assert odd["B1"] == ()
    assert "table" in odd["B2"]
    assert random.getstate() == state


# ------------------------------------------------------------------------- stored shops


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
        lambda fields: fields.update(files=[]),
        lambda fields: fields["files"].update({"asins.npy": {}}),
        lambda fields: fields["files"]["asins.npy"].update(bytes="x"),
        lambda fields: fields["files"].update(
            {"/dev/zero": {"bytes": 0, "crc32": 0, "sha256": ""}}
        ),
        lambda fields: fields.update(format=99),
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


ENTRIES = [{"a": "é\n√"}, {}, {"a": "\ud800", "b": [1, 2.5, None]}]


class Entries(Records):
    """The entries themselves, with their numbers."""

    NAME, COLUMN = "r", "column"

    def _decode(self, number, entry):
        return number, entry


@pytest.mark.parametrize("memory_map", [None, False, True])
def test_records_are_read_by_number(memory_map, tmp_path):
    records = packed = Entries.pack(ENTRIES, np.arange(3))
    if memory_map is not None:
        packed.save(tmp_path)
        records = Entries.open(tmp_path, memory_map)
        assert isinstance(records._block, mmap.mmap) == memory_map
        assert isinstance(records._ends, np.memmap) == memory_map
    assert len(records) == 3
    assert list(records) == list(enumerate(ENTRIES))
    assert records[-1] == (2, ENTRIES[2])
    assert records[1:] == [(1, {}), (2, ENTRIES[2])]
    assert records[1] is records[1]
    for index in (3, -4):
        with pytest.raises(IndexError):
            records[index]
    block = json.dumps([1] * 9).encode() + b"\nx"
    malformed = Entries(block, np.array([5, len(block)]), np.arange(2))
    for number in (0, 1):
        with pytest.raises(InvalidOptionError, match=f"record {number} is malformed"):
            malformed[number]
    if memory_map is not None:
        Entries.pack([], np.arange(0)).save(tmp_path)
        assert list(Entries.open(tmp_path, memory_map)) == []
        packed.save(tmp_path)
        path = tmp_path / "r.jsonl"
        replace(path, path.read_bytes()[:-1])
        with pytest.raises(
            InvalidOptionError, match=r"r\.jsonl .* does not fit r\.npy"
        ):
            Entries.open(tmp_path, memory_map)
