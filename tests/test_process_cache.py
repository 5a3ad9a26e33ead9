"""Objects that are built once a process: built twice, or lost in a forked child."""

import gc
import multiprocessing
import sys

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
