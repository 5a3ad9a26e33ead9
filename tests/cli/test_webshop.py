"""`roll-vec webshop index`: store, replace and check catalogues; the oracle."""

import json
import re

import pytest

from roll_vec.envs.webshop import Catalogue
from tests.envs.webshop.shops import ITEMS, write

SHOP = "roll_vec/WebShop-v0"
FEW = ("-o", "num_products=20")


def rows(text):
    """Return the rows of a table, by name."""
    cells = re.findall(r"│ (.*?) *│ (.*?) *│", text)
    return {name: value.strip() for name, value in cells if name}


@pytest.fixture
def files(tmp_path):
    """Write WebShop's files under WebShop's names; return their paths."""
    names = {
        "products": "items_shuffle_3.json",
        "attributes": "items_ins_v2_3.json",
        "human_instructions": "items_human_ins.json",
        "title_nouns": "my_nouns.json",
    }
    paths = []
    for keyword, path in write(tmp_path).items():
        target = tmp_path / names[keyword]
        target.write_bytes((tmp_path / path).read_bytes())
        paths.append(target.name)
    return paths


def test_a_catalogue_is_stored_and_replaced_only_by_force(run, fails, files, tmp_path):
    outcome = run("webshop", "index", *files, "--out", "shop")
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out == "3 products and 5 goals in shop; title nouns: file\n"
    assert len(Catalogue.load(products="shop").goals) == 5
    few = ("webshop", "index", "--num-products", 20, "--out", "shop")
    assert "--out: shop is not empty; --force replaces it" in fails(*few)
    line = fails("webshop", "index", "shop", "--out", "other")
    assert "argument --out: shop is a stored catalogue already" in line
    assert len(Catalogue.load(products="shop").products) == 3
    assert run(*few, "--force").code == 0
    assert len(Catalogue.load(products="shop").products) == 20
    # An empty folder is no catalogue.
    (tmp_path / "new").mkdir()
    assert run(*few[:-1], "new").code == 0


def test_a_report_says_what_is_in_a_catalogue(run, files, tmp_path):
    outcome = run(
        "webshop", "index", *files, "--out", "shop", "--check", "--human-goals"
    )
    table = rows(outcome.out)
    assert table["products"] == "3"
    assert table["categories"] == "garden 2, fashion 1"
    assert table["goals"] == "1 by people"
    # A long path is continued on the next line.
    assert str(tmp_path / "items_shuffle_3.json").startswith(table["products file"])
    assert table["title nouns"] == "file"
    assert table["goals that cannot earn 1.0"] == "1 of 1"
    assert "'brown'" in outcome.out
    assert table["on disk"].endswith("all files as stored")
    # A folder is reported as it was stored.
    again = rows(run("webshop", "index", "shop", "--check").out)
    for name in ("products", "goals", "title nouns", "goals that cannot earn 1.0"):
        assert again[name] == table[name]
    assert str(tmp_path / "shop").startswith(again["products file"])


def test_a_check_alone_stores_nothing(run, tmp_path):
    table = rows(run("webshop", "index", "--num-products", "12", "--check").out)
    assert table["products"] == "12"
    assert table["title nouns"] == "embedded"
    assert table["goals that cannot earn 1.0"].startswith("0 of ")
    assert list(tmp_path.iterdir()) == []


def test_a_damaged_folder_is_named(run, fails, files, tmp_path):
    run("webshop", "index", *files, "--out", "shop")
    path = tmp_path / "shop" / "products.jsonl"
    path.write_bytes(path.read_bytes().replace(b"Oak", b"Elm"))
    message = fails("webshop", "index", "shop", "--check")
    assert "products.jsonl cannot be read: record 1 has changed" in message


def test_a_malformed_item_is_one_line(fails, tmp_path):
    items = [ITEMS[0], {**ITEMS[1], "pricing": "free"}]
    (tmp_path / "items.json").write_text(json.dumps(items))
    message = fails("webshop", "index", "items.json", "--check")
    assert "items.json, item 1 (B000000002), pricing: expected a price" in message


def test_the_oracle_says_what_is_out_of_reach(run, files):
    names = ("products", "attributes", "human_instructions", "title_nouns")
    options = [f"-o{name}={path}" for name, path in zip(names, files, strict=True)]
    arguments = ("--num-envs", 2, "--steps", 9, "--policy", "oracle")
    outcome = run("rollout", SHOP, *arguments, *options, "-o", "human_goals=True")
    assert rows(outcome.out)["success rate"] == "0.00%"
    lines = outcome.out.splitlines()
    place = lines.index("episodes are out of the oracle's reach, for 1 reason:")
    assert lines[place + 1].startswith("goal 0: no purchase earns more than 0.667")


def test_a_person_reads_the_page_as_it_is_laid_out(play):
    output = play("search[chair]\n:hint\nclick[buy now]\n:quit\n", SHOP, *FEW)
    assert "The shop's front page" in output
    assert re.search(r"Page 1 of \d, \d+ products were found", output)
    assert "[back to search]" in output
    # A hint is the oracle's next action; a page of results has no button to buy.
    assert re.search(r"> :hint\n(click|search)\[.*\]\n", output)
    assert "no valid action" in output
