"""Trajectories of every id are the same, to the bit, with every set of versions."""

import json

import pytest

from tests.pins.digests import PATH, cases, digest_of

DIGESTS = json.loads(PATH.read_text())


def test_every_case_has_a_digest():
    assert DIGESTS.keys() == cases().keys()


@pytest.mark.parametrize("name", cases())
def test_trajectories_are_the_same_with_every_version(name):
    assert digest_of(*cases()[name]) == DIGESTS[name]
