"""Values change on their way to a shard and back."""

import sys

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from roll_vec.joined.actors import pack, unpack
from tests.contract.cases import assert_same


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


@given(TREES)
def test_values_arrive_as_they_were_sent(value):
    arrived = unpack(pack(value))
    assert_same(arrived, value)
    for one, other in zip(arrays_of(arrived), arrays_of(value), strict=True):
        assert_same(one, other)
        assert one.flags.f_contiguous >= other.flags.f_contiguous
        if other.flags.c_contiguous or other.flags.f_contiguous:
            assert one.flags.writeable == other.flags.writeable


def test_classes_of_the_main_module_travel(monkeypatch):
    # A shard has another main module.
    body = "class Item:\n    def __init__(self, value):\n        self.value = value\n"
    module = sys.modules["__main__"]
    exec(body, {"__name__": "__main__"}, names := {})
    monkeypatch.setattr(module, "Item", names["Item"], raising=False)
    data = pack(names["Item"](5))
    monkeypatch.delattr(module, "Item")
    assert unpack(data).value == 5
