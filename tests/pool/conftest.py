"""Fixtures of the tests of the pool: no thread hangs on, nothing is left behind."""

import multiprocessing
import os
from pathlib import Path

import pytest

from tests.pool.cases import threads, wait_until
from tests.pool.envs import RELEASE


@pytest.fixture(autouse=True)
def _release():
    """Let threads that hang go on after the test."""
    RELEASE.clear()
    yield
    RELEASE.set()


def open_files():
    """Return the number of open files of this process."""
    return len(os.listdir("/proc/self/fd"))  # noqa: PTH208


@pytest.fixture
def _leaves_nothing():
    """Fail if a test leaves a thread, a process or an open file."""
    if not Path("/proc/self/fd").is_dir():
        pytest.skip("no /proc")
    # The first process of all starts a helper that stays, and is not the pool's.
    multiprocessing.get_context("fork").Pipe()[0].close()
    before = threads(), open_files()
    yield
    RELEASE.set()
    wait_until(lambda: not threads() - before[0])
    assert not multiprocessing.active_children()
    assert open_files() <= before[1]
