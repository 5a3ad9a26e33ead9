import gc
import multiprocessing
import sys
import threading

import pytest

from roll_vec.process_cache import ProcessCache


class Made:
    pass


def test_a_key_is_made_once_while_it_is_used_and_the_last_one_stays():
    cache = ProcessCache()
    first = cache.get("a", Made)
    assert cache.get("a", pytest.fail) is first
    other = cache.get("b", Made)
    assert cache.get("a", pytest.fail) is first
    assert other is not first
    names = [id(first), id(other)]
    del first, other
    gc.collect()
    assert id(cache.get("a", pytest.fail)) == names[0]
    gc.collect()
    made = []
    cache.get("b", lambda: made.append(Made()) or made[0])
    assert len(made) == 1


def test_threads_wait_for_the_one_that_makes():
    cache, made = ProcessCache(), []
    begun, finish = threading.Event(), threading.Event()

    def make():
        begun.set()
        assert finish.wait(60)
        made.append(Made())
        return made[-1]

    found = []
    threads = [
        threading.Thread(target=lambda: found.append(cache.get("a", make)))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    assert begun.wait(60)
    finish.set()
    for thread in threads:
        thread.join(60)
    assert len(made) == 1
    assert found == made * 4


def test_what_could_not_be_made_is_made_by_the_next_one():
    cache = ProcessCache()
    with pytest.raises(ZeroDivisionError):
        cache.get("a", lambda: 1 / 0)
    assert isinstance(cache.get("a", Made), Made)


def _make_in_child(cache, queue):
    queue.put(type(cache.get("a", Made)).__name__)


@pytest.mark.skipif(sys.platform == "win32", reason="there is no fork")
# Python 3.12 and newer warn of a fork beside threads; here none holds a lock.
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_child_makes_although_its_parent_was_making():
    cache = ProcessCache()
    context = multiprocessing.get_context("fork")
    queue = context.SimpleQueue()

    def fork():
        child = context.Process(target=_make_in_child, args=(cache, queue))
        child.start()
        return child

    children = []
    cache.get("b", lambda: children.append(fork()) or Made())
    children[0].join(60)
    assert children[0].exitcode == 0
    assert queue.get() == "Made"
