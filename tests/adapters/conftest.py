"""Settings for adapters."""

import pytest

from tests.adapters.stand_ins import installed


@pytest.fixture(autouse=True)
def _registered_ids(forgets_ids):
    """Leave the ids that a test registers to no other tests."""


@pytest.fixture
def stand_ins():
    """Let adapters be imported over stand-ins for their packages."""
    with installed():
        yield
