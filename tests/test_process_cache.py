"""Process cache: an object is built twice, stays without users, or threads hang."""

import gc
import multiprocessing
import sys
import threading

import pytest

from roll_vec.process_cache import ProcessCache


class Thing:
    """An object that can be referred to weakly."""


def test_an_object_is_built_once_while_it_is_used_and_the_last_one_stays():
    cache = ProcessCache()
    first = cache.get("a", Thing)
    assert cache.get("a", pytest.fail) is first
    other = cache.get("b", Thing)
    assert cache.get("a", pytest.fail) is first
    assert other is not first
    names = [id(first), id(other)]
    del first, other
    gc.collect()
    assert id(cache.get("a", pytest.fail)) == names[0]
    gc.collect()
    things = []
    cache.get("b", lambda: things.append(Thing()) or things[0])
    assert len(things) == 1


def test_threads_wait_for_the_one_that_builds():
    cache, things = ProcessCache(), []
    start, finish = threading.Event(), threading.Event()

    def build():
        start.set()
        assert finish.wait(60)
        things.append(Thing())
        return things[-1]

    results = []
    threads = [
        threading.Thread(target=lambda: results.append(cache.get("a", build)))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    assert start.wait(60)
    finish.set()
    for thread in threads:
        thread.join(60)
    assert len(things) == 1
    assert results == things * 4


def test_after_an_error_the_next_call_builds():
    cache = ProcessCache()
    with pytest.raises(ZeroDivisionError):
        cache.get("a", lambda: 1 / 0)
    assert isinstance(cache.get("a", Thing), Thing)


def build_in_child(cache, queue):
    """Report the class of an object that a child process builds."""
    queue.put(type(cache.get("a", Thing)).__name__)


@pytest.mark.skipif(sys.platform == "win32", reason="there is no fork")
# Python 3.12 and newer warn of a fork beside threads; here none holds a lock.
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_child_builds_although_its_parent_was_building():
    cache = ProcessCache()
    context = multiprocessing.get_context("fork")
    queue = context.SimpleQueue()

    def fork():
        child = context.Process(target=build_in_child, args=(cache, queue))
        child.start()
        return child

    children = []
    cache.get("b", lambda: children.append(fork()) or Thing())
    children[0].join(60)
    assert children[0].exitcode == 0
    assert queue.get() == "Thing"
