"""Settings for shards."""

import pytest


@pytest.fixture(autouse=True, scope="module")
def _without_custom_ids(module_forgets_ids):
    """Forget the ids of these tests: others list all ids."""
