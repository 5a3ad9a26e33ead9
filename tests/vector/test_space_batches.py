"""Batches of a user's space, and arrays to write into that do not fit."""

import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.vector.utils import concatenate, create_empty_array

from roll_vec.errors import InvalidOptionError
from roll_vec.vector.rollout import Rollout, check_out
from roll_vec.vector.space_batches import (
    join_batches,
    stack_batches,
)


class Bag(spaces.Space):
    """A space whose batch is a list, as a user can register it."""


@concatenate.register(Bag)
def _concatenate_bags(space, items, out):
    return list(items)


def test_a_batch_of_a_users_own_space():
    assert join_batches(Bag(), [[1], [2, 3]]) == [1, 2, 3]


def test_arrays_to_write_into_that_do_not_fit_are_named():
    pair = spaces.Tuple([spaces.Discrete(3), spaces.Text(4)])
    space = spaces.Dict(a=spaces.Box(0, 1, (2,)), b=pair)
    batch = create_empty_array(space, 3)
    first = stack_batches(space, [batch] * 2)
    again = stack_batches(space, [batch] * 2, first)
    assert again["a"] is first["a"]
    assert again["b"][0] is first["b"][0]
    a, (b, texts) = first["a"], first["b"]
    out = Rollout(first, np.zeros((2, 3)), *np.zeros((2, 2, 3), np.bool_), {})
    check_out(out, space, 3, 2)
    for bad, told in (
        (None, r"float32 of shape \(2, 3, 2\), got None"),
        ({"a": 1}, "the form of a batch of Dict"),
        ({"a": a[1:], "b": (b, texts)}, r"got 'float32 of shape \(1, 3, 2\)'"),
        ({"a": a, "b": (5, texts)}, r"int64 of shape \(2, 3\), got 5"),
    ):
        with pytest.raises(InvalidOptionError, match=f"^out.observations: .*{told}"):
            check_out(out._replace(observations=bad), space, 3, 2)
