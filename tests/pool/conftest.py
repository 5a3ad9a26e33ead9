"""Fixtures of the tests of the pool: no thread hangs on, nothing is left behind."""

import multiprocessing
from contextlib import suppress
from pathlib import Path

import pytest

from tests.pool.cases import threads, wait_until
from tests.pool.envs import RELEASE


class Leftovers:
    """What was not there before a test; pools of earlier tests may still live."""

    def __init__(self):
        # The first process of all starts a helper that stays, and is not the pool's.
        multiprocessing.get_context("fork").Pipe()[0].close()
        self._threads = threads()
        self._children = set(multiprocessing.active_children())
        self._num_files = count_files()

    def threads(self):
        """Return the new threads of pools."""
        return threads() - self._threads

    def children(self):
        return set(multiprocessing.active_children()) - self._children

    def num_files(self):
        """Return how many more files are open."""
        return count_files() - self._num_files


def count_files():
    """Return how many files of this process are open, but for those of the kernels.

    The first kernel opens their folder and its locks, for as long as the process runs.
    """
    count = 0
    for link in Path("/proc/self/fd").glob("*"):
        # Others close files meanwhile.
        with suppress(OSError):
            name = link.readlink().name
            count += name != "lock" and not name.startswith("kernels-")
    return count


@pytest.fixture(autouse=True)
def leftovers():
    """Fail if a test leaves a thread or a process; let threads that hang go on."""
    RELEASE.clear()
    leftovers = Leftovers()
    yield leftovers
    RELEASE.set()
    wait_until(lambda: not leftovers.threads())
    assert not leftovers.children()


@pytest.fixture
def _leaves_no_file(leftovers):
    """Fail if a test leaves an open file as well."""
    yield
    RELEASE.set()
    wait_until(lambda: not leftovers.threads() and leftovers.num_files() <= 0)
