"""Values change on their way, or merged results differ from those of one engine."""

import functools
import itertools
import sys
import zlib
from typing import Any, NamedTuple

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.vector.utils import batch_space, concatenate, create_empty_array, iterate
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

import roll_vec
from roll_vec.distributed.merging import list_infos, merge_infos, merge_observations
from roll_vec.distributed.wire import COMPRESSED_SIZE, pack, unpack
from tests.contract.cases import assert_same
from tests.distributed.local_actors import assert_equal_in_order


class Result(NamedTuple):
    """A message."""

    value: Any
    texts: tuple[str, ...] = ()


@st.composite
def any_array(draw):
    """Draw an array of any dtype, order and flags."""
    dtype = draw(st.sampled_from(["?", "i1", "u1", "i4", "i8", "f4", "f8", "U3"]))
    shape = arrays.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4)
    array = draw(arrays.arrays(dtype, shape))
    form = draw(st.sampled_from(["as it is", "fortran", "every other"]))
    if form == "fortran":
        array = np.asfortranarray(array)
    elif form == "every other" and array.ndim:
        array = array[::2]
    array.flags.writeable = draw(st.booleans())
    return array


@st.composite
def object_array(draw):
    """Draw an array of objects, as ``final_obs``."""
    values = draw(st.lists(st.one_of(st.none(), any_array(), st.text(max_size=3))))
    array = np.full(len(values), None, object)
    for i, value in enumerate(values):
        array[i] = value
    return array


LEAVES = st.one_of(
    any_array(),
    object_array(),
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False),
    st.text(max_size=5),
    st.floats(-9, 9, width=32).map(np.float32),
    st.integers(-9, 9).map(np.int64),
)
TREES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.lists(inner, max_size=3).map(tuple),
        st.dictionaries(st.text(max_size=3), inner, max_size=3),
    ),
    max_leaves=8,
)


def arrays_of(value):
    """Yield all arrays of a value, in order; of dicts the keys as well."""
    if isinstance(value, np.ndarray):
        yield value
        value = value.tolist() if value.dtype == object else []
    if isinstance(value, dict):
        yield from map(np.array, value)
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        for part in value:
            yield from arrays_of(part)


@given(TREES, st.booleans())
def test_values_arrive_as_they_were_sent(value, compress):
    arrived = unpack(pack(value, compress=compress))
    assert_same(arrived, value)
    for one, other in zip(arrays_of(arrived), arrays_of(value), strict=True):
        assert_same(one, other)
        assert one.flags.f_contiguous >= other.flags.f_contiguous
        if other.flags.c_contiguous or other.flags.f_contiguous:
            assert one.flags.writeable == other.flags.writeable


@pytest.mark.parametrize("compress", [False, True])
def test_receivers_share_nothing(compress):
    data = pack({"a": np.zeros(COMPRESSED_SIZE)}, compress=compress)
    first = unpack(data)["a"]
    first[:] = 1
    assert not unpack(data)["a"].any()


def test_long_texts_are_compressed_if_the_caller_says_so():
    texts = tuple(f"page {i} of the same shop\n" * 40 for i in range(100))
    data = pack(Result(1, texts), compress=True)
    assert len(data) < len(pack(Result(1, texts))) / 5
    assert unpack(data) == Result(1, texts)
    assert zlib.decompress(data) == pack(Result(1, texts))
    short = Result(1, texts[:1])
    assert pack(short, compress=True) == pack(short)


def test_classes_of_the_main_module_travel(monkeypatch):
    # A shard has another main module.
    body = "class Item:\n    def __init__(self, value):\n        self.value = value\n"
    module = sys.modules["__main__"]
    exec(body, {"__name__": "__main__"}, names := {})
    monkeypatch.setattr(module, "Item", names["Item"], raising=False)
    data = pack(names["Item"](5))
    monkeypatch.delattr(module, "Item")
    assert unpack(data).value == 5


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
    space.seed(seed)
    empty = create_empty_array(space, count)
    return concatenate(space, [space.sample() for _ in range(count)], empty)


def arrays_in(batch):
    if isinstance(batch, np.ndarray):
        return [batch]
    values = batch.values() if isinstance(batch, dict) else batch
    return [a for v in values if not isinstance(v, str) for a in arrays_in(v)]


def freeze(batch):
    """Make the arrays of a batch read-only, as those of Ray's object store are."""
    for array in arrays_in(batch):
        array.flags.writeable = False


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
    assert all(array.flags.writeable for array in arrays_in(merged))
    # Without a copy the arrays of the call before are filled.
    out = create_empty_array(space, NUM_ENVS)
    again = merge_observations(space, parts, out)
    assert_equal_in_order(again, expected)
    for one, other in zip(arrays_in(again), arrays_in(out), strict=True):
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


INFOS = st.lists(INFO, min_size=NUM_ENVS, max_size=NUM_ENVS)


@given(INFOS)
def test_infos_of_pools_come_as_lists(infos):
    merged = merge_infos([infos[:1], infos[1:5], infos[5:]], SIZES)
    assert_equal_in_order(tuple(merged), tuple(infos))


def layout_of(values, mask):
    """Return the infos of a batch whose masked environments have all keys."""
    names = values if mask.any() else ()
    return {key: part for k in names for key, part in ((k, values[k]), (f"_{k}", mask))}


@given(st.lists(st.booleans(), min_size=NUM_ENVS, max_size=NUM_ENVS))
def test_layouts_of_arrays_with_and_without_environments(mask):
    has_step = np.array(mask)
    texts = [f"t{i}" if has else None for i, has in enumerate(mask)]
    values = {
        "number": np.where(has_step, np.arange(NUM_ENVS) + 0.5, 0),
        "text": np.array(texts, object),
        "rows": has_step[:, None] * np.ones((1, 2), np.int8),
    }
    parts = []
    for start, stop in itertools.pairwise(np.cumsum([0, *SIZES])):
        own = {key: value[start:stop].copy() for key, value in values.items()}
        parts.append(layout_of(own, has_step[start:stop]))
        freeze(parts[-1])
    merged = merge_infos(parts, SIZES)
    assert_equal_in_order(merged, layout_of(values, has_step))
    assert all(array.flags.writeable for array in arrays_in(merged))


def test_nested_layouts_and_rows():
    one = {"a": {"b": np.array([1]), "_b": np.array([True])}, "_a": np.array([True])}
    merged = merge_infos([{}, one], [2, 1])
    assert merged["a"]["b"].tolist() == [0, 0, 1]
    assert merged["a"]["_b"].tolist() == merged["_a"].tolist() == [False, False, True]
    rows = [{"d": {"x": np.array([1, 2])}}, {"d": {"x": np.array([3])}}]
    assert merge_infos(rows, [2, 1])["d"]["x"].tolist() == [1, 2, 3]


class Informed(gymnasium.Env):
    """Returns an info from its reset."""

    observation_space = action_space = spaces.Discrete(1)

    def __init__(self, info):
        self.info = info

    def reset(self, *, seed=None, options=None):
        return 0, self.info


def infos_of_batch(infos):
    """Return the layout of a batch whose environments have these infos."""
    fns = [functools.partial(Informed, info) for info in infos]
    return roll_vec.PoolVectorEnv(fns).reset()[1]


@given(INFOS)
def test_listed_infos_make_the_same_arrays(infos):
    # No game of stacked arrays has a key that looks like a mask.
    infos = [{k: v for k, v in info.items() if k != "_a"} for info in infos]
    stacked = infos_of_batch(infos)
    assert_same(infos_of_batch(list_infos(stacked, NUM_ENVS)), stacked)
