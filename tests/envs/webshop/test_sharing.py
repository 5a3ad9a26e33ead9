"""A shared catalogue: other results, copies in memory, folders left behind."""

import gc
import mmap
import multiprocessing
import os
import sys
import tempfile
import weakref
from pathlib import Path

import pytest

import roll_vec
from roll_vec.envs.webshop import Catalogue
from roll_vec.envs.webshop.catalogue import catalogue as catalogue_module
from roll_vec.envs.webshop.catalogue.sharing import (
    ENVIRONMENT_VARIABLE,
    share_catalogues,
)
from roll_vec.errors import InvalidOptionError
from tests.contract.cases import assert_same
from tests.envs.webshop.shops import ITEMS, write

pytestmark = [
    pytest.mark.skipif(sys.platform == "win32", reason="there is no flock"),
    # Python 3.12 and newer warn of a fork beside threads; here none holds a lock.
    pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning"),
]


@pytest.fixture
def folders(tmp_path, monkeypatch):
    """Share catalogues; return a function that lists the shared folders."""
    place = tmp_path / "temporary"
    place.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    monkeypatch.setenv(ENVIRONMENT_VARIABLE, "0")
    forget()
    share_catalogues()
    yield lambda: list(place.iterdir())
    forget()
    assert list(place.iterdir()) == [], "left behind"


def forget():
    """Forget the catalogues of this process."""
    # Not the cache itself: a callback for forks keeps every cache for ever.
    cache = catalogue_module._process_cache
    cache._objects, cache._last = weakref.WeakValueDictionary(), None
    gc.collect()


def play(**keywords):
    """Return the results of a batch, and its snapshots before and after them."""
    env = roll_vec.make_vec("roll_vec/WebShop-v0", 3, seed_info=True, **keywords)
    results = [env.reset(seed=5)]
    before = env.get_state()
    results += play_on(env)
    return env, results, before, env.get_state()


def play_on(env):
    """Return the results of some steps."""
    actions = [["search[<r>]", "search[red shirts]", "click[back to search]"]]
    results = [env.step(texts) for texts in actions * 2]
    for _ in range(12):
        results.append(env.step(list(env.call("oracle_action"))))
    return results


def test_results_and_snapshots_are_those_of_a_catalogue_in_memory(
    folders, files, monkeypatch
):
    shared, results, before, after = play(**files)
    (catalogue,) = set(shared.get_attr("catalogue"))
    assert isinstance(catalogue.products._records._block, mmap.mmap)
    assert len(folders()) == 1
    monkeypatch.setenv(ENVIRONMENT_VARIABLE, "0")
    forget()
    local, local_results, local_before, local_after = play(**files)
    (catalogue,) = set(local.get_attr("catalogue"))
    assert isinstance(catalogue.products._records._block, bytes)
    assert_same(results, local_results)
    for snapshot, other in ((before, local_before), (after, local_after)):
        assert snapshot.configuration == other.configuration
        assert snapshot == other
    local.set_state(before)
    assert_same(play_on(local), results[1:])
    shared.set_state(local_before)
    assert_same(play_on(shared), results[1:])


def receive(pipe):
    """Return a message; a hang is an error."""
    assert pipe.poll(30), "no message"
    return pipe.recv()


def play_in_child(pipe, keywords):
    """Play; report how often a catalogue was built, the results, and the mapping."""
    built = []
    build = catalogue_module.build
    catalogue_module.build = lambda *args: built.append(1) or build(*args)
    env, results, _, after = play(**keywords)
    (catalogue,) = set(env.get_attr("catalogue"))
    is_mapped = isinstance(catalogue.products._records._block, mmap.mmap)
    pipe.send((len(built), results, after, is_mapped))
    pipe.recv()


def start(function, *arguments):
    """Run a function in a process."""
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe()
    process = context.Process(target=function, args=(theirs, *arguments))
    process.start()
    theirs.close()
    return process, ours


def test_one_of_several_processes_builds(folders, files):
    children = [start(play_in_child, files) for _ in range(2)]
    builds, results, states, mapped = zip(
        *(receive(pipe) for _, pipe in children), strict=True
    )
    assert sum(builds) == 1
    assert all(mapped)
    assert len(folders()) == 1
    for process, pipe in children:
        pipe.send("end")
        process.join(30)
    assert folders() == []
    assert_same(results[1], results[0])
    assert states[0] == states[1]


def test_other_content_is_another_catalogue(folders, tmp_path):
    paths = write(tmp_path)
    first = Catalogue.load(**paths)
    write(tmp_path, products=ITEMS[:2], title_nouns={})
    Path(paths["title_nouns"]).unlink()
    del paths["title_nouns"]
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


def test_a_folder_of_the_users_is_mapped_where_it_is(folders, files, tmp_path):
    Catalogue.load(**files).save(tmp_path / "stored")
    mapped = Catalogue.load(products=tmp_path / "stored")
    assert isinstance(mapped.products._records._block, mmap.mmap)
    assert not mapped.options.memory_map
    assert len(folders()) == 1  # that of the files


def test_files_that_a_cleaner_has_deleted_are_not_missed(folders):
    first = Catalogue.load(num_products=30)
    (manifest,) = folders()[0].glob("content/catalogue.json")
    manifest.unlink()
    forget()
    second = Catalogue.load(num_products=30)
    assert first is not second
    assert [goal.instruction_text for goal in first.goals] == [
        goal.instruction_text for goal in second.goals
    ]


def test_another_value_of_the_variable_is_refused(monkeypatch):
    monkeypatch.setenv(ENVIRONMENT_VARIABLE, "yes")
    with pytest.raises(InvalidOptionError, match=f"{ENVIRONMENT_VARIABLE}: .* got 'y"):
        Catalogue.load(num_products=2)
    assert os.environ[ENVIRONMENT_VARIABLE] == "yes"
