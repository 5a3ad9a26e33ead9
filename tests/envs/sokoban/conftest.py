"""Fixtures for tests of levels from files."""

import pytest

from tests.envs.sokoban.user_levels import COLLECTION


@pytest.fixture
def path(tmp_path):
    """A file of given levels."""
    file = tmp_path / "levels.txt"
    file.write_text(COLLECTION)
    return file
