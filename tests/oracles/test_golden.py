"""The sample of golden tables, and the oracles of solvers.

Kernels equal both the other oracles and the tables, so that these need no tests.
"""

import numpy as np
import pytest

from tests.data.make_golden_sample import make_sample
from tests.oracles import golden_path, load_golden
from tests.oracles.frozen_lake import lake_is_solvable
from tests.oracles.sokoban import solve


def needs_full(name):
    """Mark what reads a full table."""
    path = golden_path(name, full=True)
    reason = f"full golden table not found: shared/golden/{path.name}"
    return pytest.mark.skipif(not path.exists(), reason=reason)


def test_solvers_tell_the_unsolvable_and_the_solved():
    assert lake_is_solvable(["SFH", "HFG"])
    assert not lake_is_solvable(["SFH", "FHG"])
    wall = [0] * 5
    assert solve([wall, [0, 5, 4, 2, 0], wall]) == ([3], 1)
    assert solve([wall, [0, 4, 5, 2, 0], wall]) is None
    assert solve([wall, [0, 1, 5, 3, 0], wall]) == ([], 0)


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=needs_full(n)) for n in ("sokoban", "frozen_lake")]
)
def test_sample_comes_from_the_full_table(name):
    expected, stored = make_sample(name), load_golden(name)
    assert list(stored) == list(expected)
    for tag, fields in expected.items():
        assert list(stored[tag]) == list(fields)
        for field, values in fields.items():
            assert stored[tag][field].dtype == values.dtype
            np.testing.assert_array_equal(stored[tag][field], values)
