"""The planted bugs of `make test-mutants` have a place in the code."""

from tests.mutants.__main__ import ROOT, plant_all
from tests.mutants.bugs import BUGS


def test_every_bug_has_its_place():
    sources = plant_all(BUGS)
    assert len(sources) == len({bug.name for bug in BUGS})
    assert [bug.tests for bug in BUGS if not (ROOT / bug.tests).exists()] == []
    for source in sources.values():
        compile(source, "planted", "exec")
