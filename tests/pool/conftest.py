"""What every test of the pool needs."""

import pytest

from tests.pool.envs import RELEASE


@pytest.fixture(autouse=True)
def _release():
    """Let threads that hang go on after the test."""
    RELEASE.clear()
    yield
    RELEASE.set()
