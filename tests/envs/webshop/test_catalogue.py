"""The catalogue: contents, sharing by threads and processes, storing, its keywords."""

import copy
import gc
import inspect
import mmap
import multiprocessing
import os
import pickle
import sys
import tempfile
import threading
import weakref
from pathlib import Path

import numpy as np
import pytest

import roll_vec
from roll_vec.envs.webshop import Catalogue, Goal, Product
from roll_vec.envs.webshop import catalogue as catalogue_module
from roll_vec.envs.webshop.options import CatalogueOptions, WebShopOptions
from roll_vec.envs.webshop.storage import (
    ENVIRONMENT_VARIABLE,
    share_catalogues,
)
from roll_vec.errors import InvalidOptionError, UnknownOptionError
from tests.contract.cases import assert_same
from tests.envs.webshop.shops import ITEMS, write


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
    calls = []
    shop = Catalogue.load(**paths, progress=lambda *call: calls.append(call))
    assert len(shop.products) == 3
    last = {task: (count, total) for task, count, total in calls}
    assert last["files"] == last["goals"] == last["search index"] == (3, 3)


# -------------------------------------------------------------------------- storing


@pytest.mark.parametrize("memory_map", [False, True])
def test_a_stored_catalogue_has_equal_contents(small, tmp_path, memory_map):
    demo_shop = Catalogue.load(num_products=40, human_goals=True)
    for name, catalogue in (("small", small), ("demo", demo_shop)):
        folder = tmp_path / name
        catalogue.save(folder)
        human_goals = {"human_goals": True} if name == "demo" else {}
        keywords = {"memory_map": memory_map, **human_goals}
        reopened = Catalogue.load(products=folder, **keywords)
        assert reopened is not catalogue
        expected = contents(catalogue)
        assert contents(reopened) == expected
        # Elsewhere, and in the folder that it is read from.
        for target in (tmp_path / f"{name}-again", folder):
            reopened.save(target)
            again = Catalogue.load(products=target, **human_goals)
            assert contents(again) == contents(reopened) == expected


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
    assert [path.name for path in tmp_path.iterdir() if path.is_dir()] == ["other"]


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


# ------------------------------------------------------------------------- keywords


def test_keywords_of_catalogues_are_those_of_environments_too(tmp_path):
    of_catalogue = list(inspect.signature(CatalogueOptions).parameters)
    assert {*of_catalogue} < {*inspect.signature(WebShopOptions).parameters}
    loads = list(inspect.signature(Catalogue.load).parameters)
    assert loads == [*of_catalogue, "progress"]
    for keywords in ({"split": "train"}, {"file": "x"}):
        with pytest.raises(UnknownOptionError, match=next(iter(keywords))):
            Catalogue.load(**keywords)
    options = WebShopOptions(products=tmp_path / "items.json", num_levels=np.int8(5))
    assert hash(options) == hash(WebShopOptions(**vars(options)))
    assert WebShopOptions(products=tmp_path, memory_map=True).is_stored


# ---------------------------------------------------------------- sharing by processes

shares = pytest.mark.skipif(sys.platform == "win32", reason="there is no flock")


@pytest.fixture
def folders(tmp_path, monkeypatch):
    """Share catalogues; return a function that lists those that are stored."""
    place = tmp_path / "temporary"
    place.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    monkeypatch.setenv(ENVIRONMENT_VARIABLE, "0")
    forget()
    share_catalogues()
    yield lambda: [path for path in place.glob("*/*") if path.is_dir()]
    forget()


def forget():
    """Forget the catalogues of this process."""
    # Not the cache itself: a callback for forks keeps every cache for ever.
    cache = catalogue_module._process_cache
    cache._objects, cache._last = weakref.WeakValueDictionary(), None
    gc.collect()


def is_mapped(catalogue):
    """Return whether products are read from a file, not from memory."""
    return isinstance(catalogue.products._block, mmap.mmap)


def play(**keywords):
    """Return a batch, its catalogue, and the results and snapshots of some steps."""
    env = roll_vec.make_vec("roll_vec/WebShop-v0", 3, seed_info=True, **keywords)
    results = [env.reset(seed=5)]
    snapshots = [env.get_state()]
    results += play_on(env)
    (catalogue,) = set(env.get_attr("catalogue"))
    return env, catalogue, results, [*snapshots, env.get_state()]


def play_on(env):
    """Return the results of some steps."""
    actions = [["search[<r>]", "search[red shirts]", "click[back to search]"]]
    results = [env.step(texts) for texts in actions * 2]
    for _ in range(12):
        results.append(env.step(list(env.call("oracle_action"))))
    return results


@shares
def test_results_and_snapshots_are_those_of_a_catalogue_in_memory(
    folders, files, monkeypatch
):
    shared, catalogue, results, snapshots = play(**files)
    assert is_mapped(catalogue)
    assert len(folders()) == 1
    monkeypatch.setenv(ENVIRONMENT_VARIABLE, "0")
    forget()
    local, catalogue, local_results, local_snapshots = play(**files)
    assert not is_mapped(catalogue)
    assert_same(results, local_results)
    for snapshot, other in zip(snapshots, local_snapshots, strict=True):
        assert snapshot.configuration == other.configuration
        assert snapshot == other
    for env, snapshot in ((local, snapshots[0]), (shared, local_snapshots[0])):
        env.set_state(snapshot)
        assert_same(play_on(env), results[1:])


def load_in_child(pipe, keywords):
    """Load a catalogue; report how often it was built, its contents, the mapping."""
    built = []
    build = catalogue_module.build
    catalogue_module.build = lambda *args: built.append(1) or build(*args)
    catalogue = Catalogue.load(**keywords)
    pipe.send((len(built), contents(catalogue), is_mapped(catalogue)))
    pipe.recv()


# Python 3.12 and newer warn of a fork beside threads; here none holds a lock.
@shares
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_one_of_several_processes_builds(folders, files):
    context = multiprocessing.get_context("fork")
    children = []
    for _ in range(2):
        pipe, theirs = context.Pipe()
        process = context.Process(target=load_in_child, args=(theirs, files))
        process.start()
        theirs.close()
        children.append((process, pipe))
    assert all(pipe.poll(30) for _, pipe in children), "no message"
    (built, first, mapped), (more, second, also) = (p.recv() for _, p in children)
    assert (built + more, mapped, also, len(folders())) == (1, True, True, 1)
    assert first == second
    for process, pipe in children:
        pipe.send("end")
        process.join(30)


@shares
def test_other_content_is_another_catalogue(folders, tmp_path):
    paths = write(tmp_path)
    first = Catalogue.load(**paths)
    write(tmp_path, products=ITEMS[:2], title_nouns={})
    Path(paths.pop("title_nouns")).unlink()
    second = Catalogue.load(**paths)
    third = Catalogue.load(**paths, catalog_seed=1)
    assert [len(one.products) for one in (first, second, third)] == [3, 2, 2]
    assert len(folders()) == 3
    # The same content elsewhere is the same catalogue.
    (tmp_path / "copy").mkdir()
    copies = write(tmp_path / "copy", products=ITEMS[:2])
    del copies["title_nouns"]
    fourth = Catalogue.load(**copies)
    assert fourth is not second
    assert len(folders()) == 3
    (tmp_path / "bad.json").write_text("{")
    with pytest.raises(InvalidOptionError, match=r"products: .*bad\.json"):
        Catalogue.load(products=tmp_path / "bad.json")
    del first, second, third, fourth


@shares
def test_a_folder_of_the_users_is_mapped_where_it_is(folders, files, tmp_path):
    Catalogue.load(**files).save(tmp_path / "stored")
    mapped = Catalogue.load(products=tmp_path / "stored")
    assert is_mapped(mapped)
    assert not mapped.options.memory_map
    assert len(folders()) == 1  # that of the files


@shares
def test_files_that_a_cleaner_has_deleted_are_not_missed(folders):
    first = Catalogue.load(num_products=30)
    (folders()[0] / "catalogue.json").unlink()
    forget()
    second = Catalogue.load(num_products=30)
    assert first is not second
    assert contents(first) == contents(second)
    assert is_mapped(second)


@shares
def test_a_catalogue_that_nobody_has_opened_for_long_is_deleted(folders):
    first = Catalogue.load(num_products=30)
    (old,) = folders()
    os.utime(old, (0, 0))
    Catalogue.load(num_products=31)
    assert old not in folders()
    # A process that maps it keeps its files.
    assert len(contents(first)) > 0


@shares
@pytest.mark.parametrize("kind", ["open to all", "link", "file"])
def test_a_folder_that_others_could_change_is_refused(folders, tmp_path, kind):
    place = tmp_path / "temporary" / f"roll_vec-{os.getuid()}-shared-webshop"
    if kind == "link":
        place.symlink_to(tmp_path)
    elif kind == "file":
        place.touch()
    else:
        place.mkdir()
        place.chmod(0o777)
    with pytest.raises(InvalidOptionError, match="not a folder that is this user's"):
        Catalogue.load(num_products=2)


def test_another_value_of_the_variable_is_refused(monkeypatch):
    monkeypatch.setenv(ENVIRONMENT_VARIABLE, "yes")
    with pytest.raises(InvalidOptionError, match=f"{ENVIRONMENT_VARIABLE}: .* got 'y"):
        Catalogue.load(num_products=2)
    assert os.environ[ENVIRONMENT_VARIABLE] == "yes"
