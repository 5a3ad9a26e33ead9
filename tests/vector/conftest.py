"""Settings for the vector contract."""

import pytest

from roll_vec.threads import ENVIRONMENT_VARIABLE
from tests.conftest import JIT_OFF


@pytest.fixture(autouse=True)
def _one_thread_where_integers_warn(monkeypatch):
    """With the JIT off, keep to the thread in which wrap-around is silenced."""
    if JIT_OFF:
        monkeypatch.setenv(ENVIRONMENT_VARIABLE, "1")
