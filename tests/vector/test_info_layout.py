"""Infos: the layout of a batch differs from Gymnasium's, or a value is lost."""

from __future__ import annotations

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import SyncVectorEnv
from hypothesis import given
from hypothesis import strategies as st

from roll_vec.vector.infos import add_infos, cut_final_infos, stack_infos
from roll_vec.vector.rollout import stack_infos_in_time
from tests.contract.cases import assert_same

NUM_ENVS = 4

# One kind of value per key, as in Gymnasium's layout.
KINDS = {
    "bool": st.booleans(),
    "int": st.integers(-(2**40), 2**40),
    "float": st.floats(allow_nan=False),
    "text": st.text(max_size=3),
    "list": st.lists(st.integers(0, 3), max_size=3),
    "none": st.none(),
    "float32": st.floats(-9, 9, width=32).map(np.float32),
    "numpy bool": st.booleans().map(np.bool_),
    "array": st.lists(st.integers(0, 9), min_size=2, max_size=2).map(np.array),
    "dict": st.fixed_dictionaries({}, optional={"a": st.integers(0, 9)}),
}
INFOS = st.lists(
    st.fixed_dictionaries({}, optional=KINDS), min_size=NUM_ENVS, max_size=NUM_ENVS
)


class Empty(gymnasium.Env):
    """An environment that is never stepped."""

    observation_space = action_space = gymnasium.spaces.Discrete(1)


def gymnasium_layout(infos):
    """Return the layout that Gymnasium's vector environments build."""
    env = SyncVectorEnv([Empty] * NUM_ENVS)
    layout = {}
    for i, info in enumerate(infos):
        layout = env._add_info(layout, info, i)
    return layout


@given(INFOS)
def test_the_layout_isgymnasium_layout(infos):
    assert_same(stack_infos(infos, None, NUM_ENVS), gymnasium_layout(infos))


@given(INFOS, st.sets(st.integers(0, NUM_ENVS - 1)))
def test_infos_of_some_environments_have_their_places(infos, env_ids):
    all_infos = [info if i in env_ids else {} for i, info in enumerate(infos)]
    ids = sorted(env_ids)
    stacked = stack_infos([infos[i] for i in ids], ids, NUM_ENVS)
    assert_same(stacked, gymnasium_layout(all_infos))


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([1, 0.75], np.array([1.0, 0.75])),
        ([True, 2], np.array([True, 2], object)),
        ([2**70, 1], np.array([2**70, 1], object)),
        ([1, float("nan")], np.array([1.0, np.nan])),
        ([10**400, 0.5], np.array([10**400, 0.5], object)),
        ([2**53 + 1, 0.5], np.array([2**53 + 1, 0.5], object)),
        (["a", 1], np.array(["a", 1], object)),
        ([np.float32(1), 1.0], np.array([np.float32(1), 1.0], object)),
    ],
)
def test_no_value_is_lost_if_kinds_differ(values, expected):
    layout = stack_infos([{"k": value} for value in values], None, 2)
    assert_same(layout, {"k": expected, "_k": np.array([True, True])})


def test_arrays_of_different_shapes_are_kept_as_objects():
    one, two = np.zeros(2), np.zeros(3)
    stacked = stack_infos([{"k": one}, {"k": two}], None, 2)["k"]
    assert stacked.dtype == object
    assert stacked[0] is one
    assert stacked[1] is two
    mixed = stack_infos([{"k": one}, {"k": {"a": 1}}], None, 2)["k"]
    assert mixed[1] == {"a": 1}


def test_no_infos_make_an_empty_layout():
    assert stack_infos([{}, {}], None, 2) == {}
    assert stack_infos([], [], 2) == {}


def test_lists_are_cut_and_merged_by_environment():
    infos = [{"a": 1}, {"a": 2}, {}]
    finals = cut_final_infos(infos, np.array([False, True, False]))
    assert_same(
        finals, {"a": np.array([0, 2, 0]), "_a": np.array([False, True, False])}
    )
    assert infos == [{"a": 1}, {}, {}]
    result = add_infos(infos, np.array([1, 2]), [{"b": 1}, {"b": 2}], 3)
    assert result == [{"a": 1}, {"b": 1}, {"b": 2}]


def test_durations_keep_their_unit():
    """Also beside environments without one, beside other units, and in time."""
    one, fine = np.timedelta64(3, "s"), np.timedelta64(5, "ns")
    layout = stack_infos([{"k": one}, {}], None, 2)
    assert_same(layout["k"], np.array([3, 0], "m8[s]"))
    other = stack_infos([{"k": one}, {"k": fine}], None, 2)
    assert_same(other["k"], np.array([one, fine], object))
    in_time = stack_infos_in_time([layout, other], 2)
    assert_same(in_time["k"], np.array([[one, None], [one, fine]], object))
    assert_same(stack_infos_in_time([layout], 2)["k"], np.array([[3, 0]], "m8[s]"))
