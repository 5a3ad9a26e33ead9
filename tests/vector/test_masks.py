"""Rows of masks: compiled code and numpy list the same ones."""

import numpy as np
import pytest

from roll_vec.vector.masks import list_rows


@pytest.mark.parametrize("num_envs", [1, 5, 2047, 2048, 5000])
@pytest.mark.parametrize("share", [0.0, 0.1, 0.7, 1.0])
def test_the_rows_of_a_mask_are_listed_in_order(num_envs, share):
    mask = np.random.default_rng(0).random(num_envs) < share
    rows = list_rows(mask)
    np.testing.assert_array_equal(rows, np.flatnonzero(mask))
    assert rows.dtype == np.int64
