"""One cluster of this machine for all tests here but those that start their own."""

import os

import pytest


def pytest_collection_modifyitems(items):
    """Put tests that start another cluster first: a process has one at a time."""
    items.sort(key=lambda item: "cluster" in item.fixturenames)


@pytest.fixture(scope="session")
def cluster():
    """Start Ray with four processors, and end it after the last test."""
    ray = pytest.importorskip("ray", reason="the extra ray is not installed")
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    ray.init(address="local", num_cpus=4, include_dashboard=False, log_to_driver=False)
    yield ray
    ray.shutdown()
