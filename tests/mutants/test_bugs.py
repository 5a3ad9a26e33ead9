"""The planted bugs of `make test-mutants` have a place in the code."""

from tests.mutants.__main__ import ROOT, read_bugs


def test_every_bug_has_its_place():
    bugs = read_bugs()
    assert len({bug.name for bug in bugs}) == len(bugs) == 45
    assert [bug.tests for bug in bugs if not (ROOT / bug.tests).exists()] == []
    for bug in bugs:
        compile(bug.plant(), bug.file, "exec")
