"""Merged results of shards differ from those of one engine."""

import itertools

import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.vector.utils import (
    batch_space,
    concatenate,
    create_empty_array,
    iterate,
)
from hypothesis import given
from hypothesis import strategies as st

from roll_vec.distributed.merging import (
    list_infos,
    merge_infos,
    merge_observations,
)
from roll_vec.vector.infos import masked_infos, stack_infos
from tests.contract.cases import assert_same
from tests.distributed.local_actors import assert_equal_in_order

NUM_ENVS, SIZES = 7, (1, 4, 2)


SPACES = {
    "box": spaces.Box(-1, 1, (2, 3), np.float32),
    "discrete": spaces.Discrete(5),
    "bits": spaces.MultiBinary(3),
    "text": spaces.Text(8),
    "dict": spaces.Dict(
        {
            "text": spaces.Text(3),
            "pair": spaces.Tuple(
                [spaces.Discrete(3), spaces.Box(0, 9, (2,), np.uint8)]
            ),
        }
    ),
    "sequence": spaces.Sequence(spaces.Discrete(4)),
}


def make_batch_of(space, count, seed):
    """Return a batch as a pool makes it."""
    space.seed(seed)
    empty = create_empty_array(space, count)
    return concatenate(space, [space.sample() for _ in range(count)], empty)


def freeze(batch):
    """Make the arrays of a batch read-only, as those of Ray's object store are."""
    if isinstance(batch, np.ndarray):
        batch.flags.writeable = False
    elif isinstance(batch, dict):
        list(map(freeze, batch.values()))
    elif isinstance(batch, tuple):
        list(map(freeze, batch))


def arrays_of(batch):
    """Return all arrays of a batch."""
    if isinstance(batch, np.ndarray):
        return [batch]
    values = batch.values() if isinstance(batch, dict) else batch
    return [a for v in values if not isinstance(v, str) for a in arrays_of(v)]


@pytest.mark.parametrize("name", [name for name in SPACES if name != "sequence"])
def test_observations_of_all_spaces(name):
    space = SPACES[name]
    parts = [make_batch_of(space, size, seed) for seed, size in enumerate(SIZES)]
    items = [
        item
        for part, size in zip(parts, SIZES, strict=True)
        for item in iterate(batch_space(space, size), part)
    ]
    expected = concatenate(space, items, create_empty_array(space, NUM_ENVS))
    freeze(parts)
    merged = merge_observations(space, parts)
    assert_equal_in_order(merged, expected)
    assert all(array.flags.writeable for array in arrays_of(merged))
    # Without a copy the arrays of the call before are filled.
    out = create_empty_array(space, NUM_ENVS)
    again = merge_observations(space, parts, out)
    assert_equal_in_order(again, expected)
    for one, other in zip(arrays_of(again), arrays_of(out), strict=True):
        assert one is other


class Bag(spaces.Space):
    """A space whose batch is a list, as a user can register it."""


@concatenate.register(Bag)
def _concatenate_bags(space, items, out):
    return list(items)


def test_a_batch_of_a_users_own_space():
    space = Bag()
    assert merge_observations(space, [[1], [2, 3]]) == [1, 2, 3]
    texts = (("a", "b"), ("c", "d"))
    assert merge_observations(SPACES["sequence"], [((1,),), ((2,), (3,))]) == (
        *((1,),),
        *((2,), (3,)),
    )
    stacked = merge_observations(SPACES["text"], [texts, (("e",), ("f",))], axis=1)
    assert stacked == (("a", "b", "e"), ("c", "d", "f"))


VALUES = st.one_of(
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.integers(-9, 9).map(np.int64),
    st.floats(allow_nan=False),
    st.floats(-9, 9).map(np.float64),
    st.text(max_size=2),
    st.none(),
    st.lists(st.integers(0, 9), min_size=1, max_size=2).map(np.array),
    st.fixed_dictionaries({}, optional={"b": st.integers(0, 9)}),
)
INFO = st.dictionaries(st.sampled_from(["a", "_a", "b", "c"]), VALUES, max_size=3)


@given(st.lists(INFO, min_size=NUM_ENVS, max_size=NUM_ENVS))
def test_infos_of_pools_are_stacked_together(infos):
    parts = [infos[:1], infos[1:5], infos[5:]]
    merged = merge_infos(parts, SIZES)
    assert_equal_in_order(
        stack_infos(merged, None, NUM_ENVS), stack_infos(infos, None, NUM_ENVS)
    )
    assert merged == infos


@given(st.lists(st.booleans(), min_size=NUM_ENVS, max_size=NUM_ENVS))
def test_layouts_of_arrays_with_and_without_environments(mask):
    has_step = np.array(mask)
    values = {
        "number": np.where(has_step, np.arange(NUM_ENVS) + 0.5, 0),
        "text": np.array(
            [f"t{i}" if mask[i] else None for i in range(NUM_ENVS)], object
        ),
        "rows": has_step[:, None] * np.ones((1, 2), np.int8),
    }
    bounds = np.cumsum([0, *SIZES])
    parts = []
    for start, stop in itertools.pairwise(bounds):
        own = {key: value[start:stop].copy() for key, value in values.items()}
        parts.append(masked_infos(own, has_step[start:stop]))
        freeze(parts[-1])
    merged = merge_infos(parts, SIZES)
    assert_equal_in_order(merged, masked_infos(values, has_step))
    assert all(array.flags.writeable for array in arrays_of(merged))


def test_nested_layouts_and_rows():
    one = {"a": {"b": np.array([1]), "_b": np.array([True])}, "_a": np.array([True])}
    merged = merge_infos([{}, one], [2, 1])
    assert merged["a"]["b"].tolist() == [0, 0, 1]
    assert merged["a"]["_b"].tolist() == merged["_a"].tolist() == [False, False, True]
    rows = [{"d": {"x": np.array([1, 2])}}, {"d": {"x": np.array([3])}}]
    assert merge_infos(rows, [2, 1])["d"]["x"].tolist() == [1, 2, 3]


@given(st.lists(INFO, min_size=NUM_ENVS, max_size=NUM_ENVS))
def test_listed_infos_make_the_same_arrays(infos):
    # No game of stacked arrays has a key that looks like a mask.
    infos = [{k: v for k, v in info.items() if k != "_a"} for info in infos]
    stacked = stack_infos(infos, None, NUM_ENVS)
    again = stack_infos(list_infos(stacked, NUM_ENVS), None, NUM_ENVS)
    for key in stacked:
        assert_same(again[key], stacked[key])
