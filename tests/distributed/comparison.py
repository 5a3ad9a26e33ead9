"""The comparison of a batch over shards with a local one."""

from tests.contract.cases import assert_same


def assert_equal_in_order(actual, expected):
    """Check two results to the bit, and the order of the keys of dicts."""
    assert_same(actual, expected)
    pairs = [(actual, expected)]
    while pairs:
        one, other = pairs.pop()
        if isinstance(one, dict):
            assert list(one) == list(other)
            pairs += zip(one.values(), other.values(), strict=True)
        if isinstance(one, tuple):
            pairs += zip(one, other, strict=True)
