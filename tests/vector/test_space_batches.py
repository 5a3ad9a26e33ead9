"""Batches of any space, joined and stacked: a value is lost, or an array is shared."""

import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.vector.utils import concatenate, create_empty_array

from roll_vec.errors import InvalidOptionError
from roll_vec.vector.rollout import Rollout, check_out
from roll_vec.vector.space_batches import (
    batch_items,
    item_at,
    join_batches,
    replace_items,
    stack_batches,
)
from tests.contract.cases import assert_same

SIZES = 1, 4, 2
SPACES = {
    "box": spaces.Box(-1, 1, (2, 3), np.float32),
    "discrete": spaces.Discrete(5),
    "bits": spaces.MultiBinary(3),
    "text": spaces.Text(8),
    "sequence": spaces.Sequence(spaces.Discrete(4)),
    "dict": spaces.Dict(
        text=spaces.Text(3),
        pair=spaces.Tuple([spaces.Discrete(3), spaces.Box(0, 9, (2,), np.uint8)]),
    ),
}


def arrays_in(batch):
    if isinstance(batch, np.ndarray):
        return [batch]
    values = batch.values() if isinstance(batch, dict) else batch
    nested = (np.ndarray, dict, tuple)
    return [a for v in values if isinstance(v, nested) for a in arrays_in(v)]


@pytest.mark.parametrize("name", SPACES)
def test_parts_of_a_batch_are_the_batch(name):
    space, total = SPACES[name], sum(SIZES)
    space.seed(1)
    items = [space.sample() for _ in range(total)]
    whole = concatenate(space, items, create_empty_array(space, total))
    ends = np.cumsum(SIZES)
    parts = [
        batch_items(space, items[end - n : end])
        for end, n in zip(ends, SIZES, strict=True)
    ]
    for part in parts:
        for array in arrays_in(part):
            # As those of Ray's object store.
            array.flags.writeable = False
    out = create_empty_array(space, total)
    for joined in (join_batches(space, parts), join_batches(space, parts, out)):
        assert_same(joined, whole)
        assert all(array.flags.writeable for array in arrays_in(joined))
    if name != "sequence":
        pairs = zip(arrays_in(joined), arrays_in(out), strict=True)
        assert all(one is other for one, other in pairs)
    for i in range(total):
        assert_same(
            batch_items(space, [item_at(space, whole, i)]),
            batch_items(space, items[i : i + 1]),
        )
    others = replace_items(space, whole, [0, 5], [items[5], items[0]])
    assert_same(others, batch_items(space, [items[5], *items[1:5], items[0], items[6]]))
    steps = [stack_batches(space, [part, part]) for part in parts]
    assert_same(join_batches(space, steps, axis=1), stack_batches(space, [whole] * 2))


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
