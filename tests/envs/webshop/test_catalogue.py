"""The catalogue: contents, sharing by threads, storing, its keywords."""

import copy
import inspect
import pickle
import threading
from contextlib import closing

import numpy as np
import pytest

import roll_vec
from roll_vec.envs.webshop import Catalogue, Goal, Product
from roll_vec.envs.webshop.options import CatalogueOptions, WebShopOptions
from roll_vec.errors import InvalidOptionError, UnknownOptionError
from roll_vec.progress import listen
from tests.contract.cases import assert_same
from tests.envs.webshop.shops import ITEMS, write

PROCESSES = {"workers": 1, "executor": "process"}


def contents(catalogue):
    records = [
        [
            {name: getattr(one, name) for name in kind.__dataclass_fields__}
            for one in all
        ]
        for kind, all in ((Product, catalogue.products), (Goal, catalogue.goals))
    ]
    queries = ("red shirt", "table", "solid oak tables", "nothing of it", "wash the")
    searches = list(map(catalogue.search, queries))
    return records, searches, catalogue.title_nouns_source


def test_equal_keywords_share_one_catalogue(tmp_path):
    paths = write(tmp_path)
    loaded = []
    threads = [
        threading.Thread(target=lambda: loaded.append(Catalogue.load(**paths)))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(loaded) == 4
    first = loaded[0]
    copies = copy.deepcopy(first), pickle.loads(pickle.dumps(first))
    for other in (*loaded, *copies, Catalogue.load(**paths, num_products=None)):
        assert other is first
    assert len(pickle.dumps(first)) < 2000
    # Prices depend on the seed.
    other = Catalogue.load(**paths, catalog_seed=1)
    prices = {catalogue.products[1].price for catalogue in (first, other)}
    assert len(prices) == 2
    assert all(100.0 <= price <= 150.5 for price in prices)


def test_a_failed_load_leaves_no_catalogue_behind(tmp_path):
    paths = write(tmp_path)
    write(tmp_path, products=[*ITEMS[:2], {**ITEMS[2], "name": None}])
    with pytest.raises(InvalidOptionError, match=r"item 2 \(A000000003\), name"):
        Catalogue.load(**paths)
    write(tmp_path)
    last = {}
    with listen(lambda unit, *counts: last.update({unit: counts})):
        assert len(Catalogue.load(**paths).products) == 3
    assert last == dict.fromkeys(("files", "products in the search index"), (3, 3))


def test_a_stored_catalogue_has_equal_contents(small, tmp_path):
    demo_shop = Catalogue.load(num_products=40, human_goals=True)
    for name, catalogue in (("small", small), ("demo", demo_shop)):
        keywords = {"human_goals": True} if name == "demo" else {}
        path, again = tmp_path / name, tmp_path / "folder" / f"{name}-again"
        catalogue.save(path)
        expected, block = contents(catalogue), path.read_bytes()
        # Elsewhere, and in the file that it is read from.
        for target in (again, path):
            stored = Catalogue.load(products=path, **keywords)
            assert stored is not catalogue
            assert contents(stored) == expected
            stored.save(target)
            assert target.read_bytes() == block


def test_batches_of_a_stored_shop_play_as_those_of_its_files(files, tmp_path):
    path = tmp_path / "shop"
    Catalogue.load(**files).save(path)
    results = []
    for keywords in (files, {"products": path}, {"products": path, **PROCESSES}):
        with closing(roll_vec.make_vec("roll_vec/WebShop-v0", 3, **keywords)) as env:
            parts = [env.reset(seed=5)]
            parts += [env.step(["search[<r>]", "search[red shirts]", "x"])]
            for _ in range(9):
                parts.append(env.step(list(env.call("oracle_action"))))
            results.append(parts)
    for other in results[1:]:
        assert_same(results[0], other)


def test_saving_replaces_stored_shops_alone(small, tmp_path):
    folder, file = tmp_path / "folder", tmp_path / "file"
    folder.mkdir()
    file.write_text("mine")
    for path in (folder, file):
        with pytest.raises(InvalidOptionError, match=f"path: {path} is there and is"):
            small.save(path)
    assert file.read_text() == "mine"
    with pytest.raises(InvalidOptionError, match=r"path: .* cannot be written"):
        small.save(file / "shop")
    link, shop = tmp_path / "link", tmp_path / "shop"
    small.save(shop)
    link.symlink_to(shop)
    small.save(link)
    assert link.is_symlink()
    assert contents(Catalogue.load(products=shop)) == contents(small)


def test_keywords_of_catalogues_are_those_of_environments_too(tmp_path):
    of_catalogue = list(inspect.signature(CatalogueOptions).parameters)
    assert {*of_catalogue} < {*inspect.signature(WebShopOptions).parameters}
    loads = list(inspect.signature(Catalogue.load).parameters)
    assert loads == of_catalogue
    for keywords in ({"split": "train"}, {"file": "x"}):
        with pytest.raises(UnknownOptionError, match=next(iter(keywords))):
            Catalogue.load(**keywords)
    options = WebShopOptions(products=tmp_path / "items.json", num_levels=np.int8(5))
    assert hash(options) == hash(WebShopOptions(**vars(options)))
