"""Objects that are built once a process: built twice, or lost in a forked child."""

import gc
import multiprocessing
import sys
import threading

import pytest

from roll_vec.storage.process_cache import ProcessCache


class Thing:
    """An object that can be referred to weakly."""


def test_an_object_is_built_once_while_it_is_used_and_the_last_one_stays():
    cache = ProcessCache()
    first = cache.get("a", Thing)
    assert cache.get("a", pytest.fail) is first
    other = cache.get("b", Thing)
    assert cache.get("a", pytest.fail) is first
    assert other is not first
    name = id(first)
    del first, other
    gc.collect()
    assert id(cache.get("a", pytest.fail)) == name
    gc.collect()
    things = []
    cache.get("b", lambda: things.append(Thing()) or things[0])
    assert len(things) == 1
    # After an error the next call builds.
    with pytest.raises(ZeroDivisionError):
        cache.get("c", lambda: 1 / 0)
    assert isinstance(cache.get("c", Thing), Thing)


def test_threads_wait_for_the_one_that_builds():
    cache, things, results = ProcessCache(), [], []
    begun, may_end = threading.Event(), threading.Event()

    def build():
        begun.set()
        assert may_end.wait(60)
        things.append(Thing())
        return things[-1]

    threads = [
        threading.Thread(target=lambda: results.append(cache.get("a", build)))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    assert begun.wait(60)
    may_end.set()
    for thread in threads:
        thread.join(60)
    assert len(things) == 1
    assert results == things * 4


@pytest.mark.skipif(sys.platform == "win32", reason="there is no fork")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_child_builds_although_its_parent_was_building():
    context, cache, children = multiprocessing.get_context("fork"), ProcessCache(), []
    ours, theirs = context.Pipe()

    def build():
        child = context.Process(
            target=lambda: theirs.send(type(cache.get("a", Thing)).__name__)
        )
        child.start()
        children.append(child)
        return Thing()

    cache.get("b", build)
    assert ours.poll(20), "no message"
    assert ours.recv() == "Thing"
    children[0].join(20)
