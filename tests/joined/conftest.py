"""Settings for shards."""

import pytest


@pytest.fixture(autouse=True, scope="module")
def _without_custom_ids(module_forgets_ids):
    """Take ids of a user's own back: other tests list all ids."""
