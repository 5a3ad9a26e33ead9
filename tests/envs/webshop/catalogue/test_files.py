"""WebShop's files: their fields as WebShop reads them, malformed entries named."""

import copy
import gzip
import json

import pytest

from roll_vec.envs.webshop.catalogue.files import (
    HumanInstruction,
    Shop,
    read_json,
    read_listings,
)
from roll_vec.errors import InvalidOptionError
from tests.envs.webshop.shops import ATTRIBUTES, HUMAN, ITEMS


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


def test_items_beyond_num_products_may_be_malformed():
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
    (
        items_with("small_description", ["a", 1]),
        SECOND + "small_desc.*expected a string",
    ),
    (items_with("pricing", "cheap"), SECOND + "pricing: expected a price"),
    (items_with("pricing", "$..."), SECOND + "pricing: expected a price"),
    (items_with("pricing", 3.5), SECOND + "pricing: expected a string"),
    (items_with("customization_options", ["x"]), SECOND + "custom.*expected an object"),
    (
        items_with("customization_options", {"a": {}}),
        SECOND + "custom.*expected a list",
    ),
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


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        (3, r"the entry: expected an object"),
        ({"attributes": "a"}, r"attributes: expected a list"),
        ({"attributes": [1]}, r"attributes: expected a string"),
        ({"instruction": 1}, r"instruction: expected a string"),
        ({"instruction": "a"}, r"instruction_attributes: expected a list, got None"),
        (
            {"instruction": "a", "instruction_attributes": []},
            r"instruction_attributes: expected at least one",
        ),
    ],
)
def test_a_malformed_entry_of_attributes_is_named(entry, message):
    with pytest.raises(InvalidOptionError, match=rf"attributes: A\.json, {ASIN}, "):
        listings(attributes={ASIN: entry})
    with pytest.raises(InvalidOptionError, match=message):
        listings(attributes={ASIN: entry})


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        (3, r"the entry: expected a list"),
        ([3], r"the entry: expected an object"),
        ([{}], r"instruction_attributes: expected a list"),
        ([{"instruction_attributes": ["a"]}], r"instruction: missing"),
        (
            [{"instruction": "a", "instruction_attributes": ["a"]}],
            r"instruction_options: expected a list",
        ),
    ],
)
def test_a_malformed_entry_of_a_person_is_named(entry, message):
    with pytest.raises(InvalidOptionError, match=rf"H\.json, {ASIN}, {message}"):
        listings(human={ASIN: entry})


def test_entries_of_products_that_are_not_there_are_not_looked_at():
    assert len(listings(attributes={"other": 3}, human={"other": 3})) == 3


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
    ],
)
def test_a_file_that_is_no_json_is_named(tmp_path, name, content, message):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(InvalidOptionError, match=rf"products: .*{name} {message}"):
        read_json("products", str(path))


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(InvalidOptionError, match=r"products: .*x\.json cannot be read"):
        read_json("products", str(tmp_path / "x.json"))
