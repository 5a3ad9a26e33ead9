"""Settings for mixed batches."""

import pytest

from tests.contract.cases import register_custom_ids, unregister_custom_ids


@pytest.fixture(scope="package", autouse=True)
def _custom_ids():
    """Leave the ids of a user's own to no other tests."""
    register_custom_ids()
    yield
    unregister_custom_ids()
