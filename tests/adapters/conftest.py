"""Settings for adapters."""

import gymnasium
import pytest

from roll_vec.registration import ENVIRONMENTS
from tests.adapters.stand_ins import installed


@pytest.fixture
def stand_ins():
    """Let adapters be imported over stand-ins for their packages."""
    with installed():
        yield


@pytest.fixture(autouse=True)
def _registered_ids():
    """Leave the ids that a test registers to no other tests."""
    before = [(table, set(table)) for table in (ENVIRONMENTS, gymnasium.registry)]
    yield
    for table, ids in before:
        for id in set(table) - ids:
            del table[id]
