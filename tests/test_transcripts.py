"""Calls have the results of their transcripts: `tests.transcripts` writes them."""

import pytest

from tests.transcripts import empty_folder, replay, sections

SECTIONS = sections()


@pytest.mark.usefixtures("forgets_ids")
@pytest.mark.parametrize("lines", SECTIONS.values(), ids=SECTIONS)
def test_results_are_those_of_the_file(lines):
    with empty_folder():
        assert list(replay(lines)) == lines
