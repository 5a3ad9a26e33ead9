"""The catalogue: contents, sharing, storing, pickling, its keywords."""

import copy
import inspect
import os
import pickle
import threading
from pathlib import Path

import numpy as np
import pytest

from roll_vec.envs.webshop import Catalogue, Goal, Product, Purchase
from roll_vec.envs.webshop.catalogue.options import CatalogueOptions
from roll_vec.envs.webshop.options import WebShopOptions
from roll_vec.errors import InvalidOptionError, UnknownOptionError
from tests.envs.webshop.shops import ITEMS, NOUNS, original, write

SHIRT, TABLE, BOX = (item["asin"] for item in ITEMS)


@pytest.fixture
def small(tmp_path):
    """Return the catalogue of the small shop."""
    return Catalogue.load(**write(tmp_path))


@pytest.fixture
def shop_folder(small, tmp_path):
    """Return the folder of the small shop, stored."""
    small.save(tmp_path / "stored")
    return tmp_path / "stored"


def contents(catalogue):
    """Return everything in a catalogue."""
    products = [
        {name: getattr(product, name) for name in Product.__dataclass_fields__}
        for product in catalogue.products
    ]
    goals = [
        {name: getattr(goal, name) for name in Goal.__dataclass_fields__}
        for goal in catalogue.goals
    ]
    queries = ("red shirt", "table", "solid oak tables", "nothing of it", "wash the")
    results = [catalogue.search(query) for query in queries]
    return products, goals, results, catalogue.title_nouns_source


def test_products_goals_and_search_are_public(small):
    assert [product.asin for product in small.products] == [SHIRT, TABLE, BOX]
    assert small.products[0].options["color"] == ("red", "navy blue")
    assert small.products.number_of(TABLE) == 1
    assert len(small.goals) == 5
    ((asin, score),) = small.search("SHIRTS")
    assert asin == SHIRT
    assert score > 0
    assert small.search("zebra") == small.search("") == []
    assert [asin for asin, _ in small.search("oak mystery", k=1)] == [TABLE]
    assert small.search_results("oak") == (1,)


@pytest.mark.parametrize(
    ("goal", "purchase", "message"),
    [
        (5, (SHIRT, {}), "goal: expected a number below 5, got 5"),
        (-1, (SHIRT, {}), "goal: expected a number below 5, got -1"),
        (0, ("B1", {}), "purchase: there is no product 'B1'"),
        (0, ([], {}), "purchase: there is no product"),
        (0, (SHIRT, {"color": "blue"}), "has no 'color' 'blue'; it has"),
        (0, (SHIRT, {"scent": "red"}), "has no 'scent' 'red'"),
    ],
)
def test_a_purchase_that_cannot_be_is_an_error(small, goal, purchase, message):
    own = small.goals[0]
    terms = small.reward(0, Purchase(own.asin, own.goal_options))
    assert terms == small.reward(own, (own.asin, own.goal_options))
    assert terms.reward == 1.0
    with pytest.raises(InvalidOptionError, match=message):
        small.reward(goal, purchase)


def test_the_description_of_a_catalogue(small, tmp_path):
    assert small.describe() == {
        "products": 3,
        "skipped_items": 0,
        "categories": {"garden": 2, "fashion": 1},
        "with_options": 2,
        "price": (25.5, 100.0, small.products[1].price),
        "goals": 5,
        "human_goals": False,
        "splits": {"all": 5, "test": 5, "eval": 0, "train": 0},
        "title_nouns": "file",
        "search_backend": "lucene",
        "catalog_seed": 0,
        "files": {
            name: str(tmp_path / f"{name}.json")
            for name in ("products", "attributes", "human_instructions")
        },
    }


def test_equal_keywords_share_one_catalogue(tmp_path):
    paths = write(tmp_path)
    first = Catalogue.load(**paths)
    assert Catalogue.load(**paths, num_products=None) is first
    other = Catalogue.load(**paths, catalog_seed=1)
    assert other is not first
    # Prices depend on the seed.
    tables = [catalogue.products[1].price for catalogue in (first, other)]
    assert tables[0] != tables[1]
    assert all(100.0 <= price <= 150.5 for price in tables)
    assert pickle.loads(pickle.dumps(first)) is first
    assert copy.deepcopy(first) is first
    assert len(pickle.dumps(first)) < 2000


def test_threads_share_one_catalogue(tmp_path):
    paths = write(tmp_path)
    results = []
    threads = [
        threading.Thread(target=lambda: results.append(Catalogue.load(**paths)))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(results) == 4
    assert all(catalogue is results[0] for catalogue in results)


def test_a_changed_file_is_read_again(tmp_path):
    paths = write(tmp_path)
    first = Catalogue.load(**paths)
    pickled = pickle.dumps(first)
    write(tmp_path, products=ITEMS[:2])
    os.utime(paths["products"], ns=(1, 1))
    second = Catalogue.load(**paths)
    assert (len(first.products), len(second.products)) == (3, 2)
    with pytest.raises(InvalidOptionError, match=r"products\.json"):
        pickle.loads(pickled)


def test_a_failed_load_leaves_no_catalogue_behind(tmp_path):
    paths = write(tmp_path)
    write(tmp_path, products=[*ITEMS[:2], {**ITEMS[2], "name": None}])
    with pytest.raises(InvalidOptionError, match=r"item 2 \(A000000003\), name"):
        Catalogue.load(**paths)
    write(tmp_path)
    assert len(Catalogue.load(**paths).products) == 3


@pytest.mark.parametrize("memory_map", [False, True])
def test_a_stored_catalogue_has_equal_contents(small, shop_folder, memory_map):
    reopened = Catalogue.load(products=shop_folder, memory_map=memory_map)
    assert reopened is not small
    assert contents(reopened) == contents(small)
    expected = {**small.describe(), "files": {"products": str(shop_folder)}}
    assert reopened.describe() == expected


def test_a_stored_catalogue_can_be_stored_again(shop_folder, tmp_path):
    reopened = Catalogue.load(products=shop_folder, memory_map=True)
    reopened.save(tmp_path / "again")
    assert contents(Catalogue.load(products=tmp_path / "again")) == contents(reopened)
    # In the folder that it is read from.
    reopened.save(shop_folder)
    assert contents(reopened) == contents(Catalogue.load(products=shop_folder))


def test_saving_never_replaces_other_files(small, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    (other / "file").write_text("mine")
    with pytest.raises(InvalidOptionError, match=r"directory: .*other is there and"):
        small.save(other)
    assert (other / "file").read_text() == "mine"
    (other / "file").unlink()
    small.save(other)
    assert len(Catalogue.load(products=other).products) == 3
    # Beside a catalogue, or a manifest that is none.
    manifest = (other / "catalogue.json").read_text()
    for text in (manifest, "{}", "x"):
        (other / "catalogue.json").write_text(text)
        (other / "lucene" / "notes").write_text("mine")
        with pytest.raises(InvalidOptionError, match="has other files"):
            small.save(other)
        assert (other / "lucene" / "notes").read_text() == "mine"
    (other / "lucene" / "notes").unlink()
    (other / "catalogue.json").write_text(manifest)
    link = tmp_path / "link"
    link.symlink_to(other)
    small.save(link)
    assert link.is_symlink()
    assert len(Catalogue.load(products=other).products) == 3
    link.unlink()
    with pytest.raises(InvalidOptionError, match=r"directory: .* cannot be written"):
        small.save(tmp_path / "products.json" / "folder")
    assert sorted(path.name for path in tmp_path.iterdir() if path.is_dir()) == [
        "other"
    ]


@pytest.mark.parametrize("error", [OSError(28, "No space left"), KeyboardInterrupt()])
def test_a_catalogue_that_cannot_be_replaced_stays(
    small, shop_folder, error, monkeypatch
):
    rename = Path.rename

    def fail(self, target):
        if self.name == "new":
            raise error
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", fail)
    with pytest.raises((InvalidOptionError, KeyboardInterrupt)):
        small.save(shop_folder)
    assert contents(Catalogue.load(products=shop_folder)) == contents(small)
    assert [each.name for each in shop_folder.parent.glob(".stored*")] == []


def test_options_of_a_stored_catalogue_cannot_change(shop_folder):
    for name, value, stored_value in (
        ("human_goals", True, False),
        ("catalog_seed", 7, 0),
        ("search_backend", "tantivy", "'lucene'"),
    ):
        with pytest.raises(
            InvalidOptionError, match=f"{name}: .*give {name}={stored_value}"
        ):
            Catalogue.load(products=shop_folder, **{name: value})


def test_progress_is_reported(tmp_path):
    calls = []
    Catalogue.load(
        **write(tmp_path, title_nouns=NOUNS),
        progress=lambda *call: calls.append(call),
    )
    last = {task: (count, total) for task, count, total in calls}
    assert last["files"] == last["goals"] == last["search index"] == (3, 3)


@pytest.mark.slow
def test_the_originals_catalogue_survives_being_stored(shared, tmp_path):
    catalogue = Catalogue.load(**original(shared))
    catalogue.save(tmp_path / "stored")
    reopened = Catalogue.load(products=tmp_path / "stored", memory_map=True)
    assert contents(reopened) == contents(catalogue)


def test_a_stored_catalogue_has_the_other_files_in_it(tmp_path):
    for name in ("attributes", "human_instructions", "title_nouns"):
        with pytest.raises(InvalidOptionError, match=f"^{name}: .* stored catalogue"):
            WebShopOptions(products=tmp_path, **{name: "x.json"})
    with pytest.raises(InvalidOptionError, match=r"^num_products: 3 .* stored"):
        WebShopOptions(products=tmp_path, num_products=3)
    assert WebShopOptions(products=tmp_path, memory_map=True).is_stored


def test_values_are_kept_in_one_form(tmp_path):
    options = WebShopOptions(
        products=tmp_path / "items.json",
        limit_goals=np.int64(3),
        show_attrs=np.True_,
        num_levels=np.int8(5),
    )
    assert options.products == str(tmp_path / "items.json")
    assert (options.limit_goals, type(options.limit_goals)) == (3, int)
    assert options.show_attrs is True
    assert type(options.num_levels) is int
    assert hash(options) == hash(WebShopOptions(**vars(options)))


def test_the_catalogues_keywords_are_among_them():
    of_catalogue = list(inspect.signature(CatalogueOptions).parameters)
    assert set(of_catalogue) < set(inspect.signature(WebShopOptions).parameters)
    assert [*inspect.signature(Catalogue.load).parameters] == [
        *of_catalogue,
        "progress",
    ]
    for keywords in ({"split": "train"}, {"file": "x"}):
        with pytest.raises(UnknownOptionError, match=next(iter(keywords))):
            Catalogue.load(**keywords)
