"""Ids of a user's own are taken back: other tests list all ids."""

import pytest

from tests.contract.cases import unregister_custom_ids


@pytest.fixture(autouse=True, scope="module")
def _without_custom_ids():
    yield
    unregister_custom_ids()
