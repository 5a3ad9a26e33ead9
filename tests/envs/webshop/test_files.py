"""WebShop's files, title nouns and stored shops: read as WebShop does, or refused.

Malformed files and records, damaged, foreign and forged shops are named.
"""

import gzip
import hashlib
import json
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest

from roll_vec.envs.webshop import Catalogue
from roll_vec.envs.webshop.catalogue import load_catalogue, nouns_by_rule
from roll_vec.envs.webshop.files import Shop, read_json, read_listings, read_nouns
from roll_vec.envs.webshop.options import CatalogueOptions
from roll_vec.errors import InvalidOptionError
from tests.envs.webshop import shops
from tests.golden import assert_golden
from tests.mutations import change_each, mutate_bytes, mutate_json


def listings(
    items=shops.ITEMS, attributes=shops.ATTRIBUTES, human=shops.HUMAN, **keywords
):
    """Return the listings of a shop's contents."""
    shop = Shop(items, attributes, human, "P.json", "A.json", "H.json")
    return read_listings(shop, **keywords)


# In the place of every value of the files: of other kinds, odd prices, odd asins.
VALUES = (None, 1.5, "", "a\nb", "nan", [], {}, [3], [{}], 10 * "x")
VALUES += ("$1,299.00", "$5.99 to $12.5 each", "$1$2$3", "$...")
KEYWORDS = {
    "items": "products",
    "attributes": "attributes",
    "human": "human_instructions",
}
SIZES = {"Size": [{"value": "Small "}, {"value": "X/Large", "image": None}]}
SHORT = {"small_description": ["Soft cotton", ""], "customization_options": SIZES}
FILES = {
    "items": [shops.ITEMS[0] | SHORT],
    "attributes": {shops.TABLE: shops.ATTRIBUTES[shops.TABLE]},
    "human": {shops.TABLE: shops.HUMAN[shops.TABLE][:1]},
}


def fields_of(**contents):
    """Return the fields of a shop's listings by their place."""
    return {
        f"{listing.fields['asin']}.{name}": value
        for listing in listings(**contents)
        for name, value in {**listing._asdict(), **listing.fields}.items()
        if name != "fields"
    }


def test_listings_of_every_change_are_those_of_the_golden_file_or_refused():
    lines = [repr(listing) for listing in listings()]
    # The values of a place that have one outcome share a line.
    values = defaultdict(list)
    for name, content in FILES.items():
        unchanged = fields_of(**{name: content})
        for place, changed in change_each(content, VALUES):
            if type(changed) is not type(content):
                # `read_json` refuses it.
                continue
            key, _, value = place.partition(" = ")
            fields, message = None, ""
            try:
                fields = fields_of(**{name: changed})
            except InvalidOptionError as error:
                message = str(error)
            if fields is None:
                assert message.startswith(KEYWORDS[name])
                continue
            more = [f"{k}={v!r}" for k, v in fields.items() if unchanged.get(k) != v]
            less = [f"no {place}" for place in unchanged.keys() - fields.keys()]
            outcome = ", ".join(more + sorted(less)).replace(value or "\0", "VALUE")
            values[name + key, outcome].append(value)
    lines += [
        f"{place}{' = ' * any(some)}{', '.join(some)}: {outcome}"
        for (place, outcome), some in values.items()
    ]
    text = "\n".join([*lines, ""])
    assert_golden(Path(__file__).parent / "data" / "listings.txt", text.encode())


def write_json(path, content):
    """Write text, bytes or JSON, plain or gzipped; return the path."""
    if not isinstance(content, (str, bytes)):
        content = json.dumps(content)
    block = content if isinstance(content, bytes) else content.encode()
    path.write_bytes(gzip.compress(block) if path.suffix == ".gz" else block)
    return str(path)


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
        read_json("products", str(path), list)


@pytest.mark.parametrize("name", ["a.json", "a.json.gz"])
def test_a_byte_order_mark_is_left_out(tmp_path, name):
    path, text = tmp_path / name, b"\xef\xbb\xbf[1]"
    path.write_bytes(gzip.compress(text) if name.endswith("gz") else text)
    assert read_json("products", str(path), list) == [1]


def test_files_of_malformed_entries_are_read_or_refused(tmp_path):
    rng = np.random.default_rng(12)
    num_refused = 0
    for number in range(32):
        name = list(shops.CONTENTS)[number % 4]
        paths = shops.write(tmp_path, **{name: mutate_json(shops.CONTENTS[name], rng)})
        try:
            shops.everything_in(load_catalogue(CatalogueOptions(**paths)))
        except InvalidOptionError as error:
            num_refused += 1
            assert paths[name] in str(error)  # noqa: PT017
    assert 5 < num_refused < 28


TITLES = {
    "B1": "Red Shoes for the Party, 2 Pack",
    "B2": "Oak Table",
    "B3": "",
    # Runs of letters that are no stop words.
    "B4": "The 12V LED-Lamp (4 x 10W)",
    "B5": "Women's shoes SHOES",
    "B6": "caf\xe9_cr\xe8me \u8336\u8336 \u2605",
    "B7": "\ud800x y\x00zz" + " a" * 100_000,
}
NOUNS = {
    "B1": ("red", "shoes", "party", "pack"),
    "B2": ("oak", "table"),
    "B3": (),
    "B4": ("led", "lamp"),
    "B5": ("women", "shoes", "shoes"),
    "B6": ("caf\xe9", "cr\xe8me", "\u8336\u8336"),
    "B7": ("zz",),
}


def test_the_rule_finds_nouns(tmp_path):
    assert {asin: nouns_by_rule(title) for asin, title in TITLES.items()} == NOUNS
    paths = shops.write(tmp_path)
    del paths["title_nouns"]
    shop = Catalogue.load(**paths)
    assert shop.title_nouns_source == "rule"
    assert shop.products[1].title_nouns == ("oak", "table")


@pytest.mark.parametrize("name", ["nouns.json", "nouns.json.gz"])
def test_nouns_are_those_of_the_file(tmp_path, name):
    path = write_json(tmp_path / name, NOUNS)
    assert read_nouns(path, NOUNS) == NOUNS
    with pytest.raises(InvalidOptionError, match=r"B8, nouns: expected a list, got No"):
        read_nouns(path, ["B1", "B8", "B9"])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ([1], "expected an object, got"),
        ({"B1": "shoes"}, "B1, nouns: expected a list, got 'shoes'"),
        ({"B1": ["shoes", 1]}, "B1, nouns: expected a string, got 1"),
    ],
)
def test_malformed_files_of_nouns_are_named(tmp_path, content, message):
    path = write_json(tmp_path / "nouns.json", content)
    with pytest.raises(InvalidOptionError, match=rf"title_nouns: .*\.json.*{message}"):
        read_nouns(path, ["B1"])


def seal(body):
    """Return the bytes of a file with the digest of its content."""
    return body + hashlib.sha256(body).digest()


def replace(path, block):
    """Write a file anew, for what is mapped of the old one must stay."""
    path.unlink()
    path.write_bytes(block)


def test_a_damaged_stored_shop_is_refused(shop_file):
    rng = np.random.default_rng(10)
    good = shop_file.read_bytes()
    for number in range(60):
        bad = mutate_bytes(good, rng) if number else good[:-1]
        if bad == good:
            continue
        replace(shop_file, bad)
        with pytest.raises(InvalidOptionError, match=f"products: {shop_file} "):
            Catalogue.load(products=shop_file)
    for size in (14, 16, 40):
        replace(shop_file, good[:size])
        with pytest.raises(InvalidOptionError, match=r"version|not whole, or was"):
            Catalogue.load(products=shop_file)


def test_shops_of_other_versions_and_kinds_are_refused(shop_file, tmp_path):
    body = shop_file.read_bytes()[:-32].replace(b"shop 1\n", b"shop 2\n", 1)
    replace(shop_file, seal(body))
    with pytest.raises(
        InvalidOptionError, match=r"has the version '2' .* webshop index"
    ):
        Catalogue.load(products=shop_file)
    with pytest.raises(InvalidOptionError, match=f"products: {tmp_path} cannot be rea"):
        Catalogue.load(products=tmp_path)


@pytest.mark.parametrize(
    "edit",
    [
        lambda header: header.clear(),
        lambda header: header["fields"].pop("human_goals"),
        lambda header: header["fields"].pop("title_nouns"),
        lambda header: header["lengths"].pop("goals"),
        lambda header: header["lengths"].update(goals=1 << 40),
        lambda header: header["lengths"].update(goals=-1 << 40),
        lambda header: header["lengths"].update(goals=3.5),
        lambda header: header["lengths"].update(goals="x"),
        lambda header: header["lengths"].update(starts=0),
    ],
)
def test_false_fields_behind_a_true_digest_are_refused(shop_file, edit):
    first, line, rest = shop_file.read_bytes().split(b"\n", 2)
    header = json.loads(line)
    edit(header)
    forged = json.dumps(header).encode()
    replace(shop_file, seal(b"\n".join([first, forged, rest[:-32]])))
    with pytest.raises(InvalidOptionError, match=r"^products: .* cannot be read: "):
        Catalogue.load(products=shop_file)
