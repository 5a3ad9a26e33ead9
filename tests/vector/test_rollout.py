"""Rollouts: a value is lost when steps are stacked, or an ``out`` that does not fit."""

import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.vector.utils import create_empty_array

from roll_vec.errors import InvalidOptionError
from roll_vec.vector.rollout import (
    Rollout,
    check_out,
    stack_batches,
    stack_infos_in_time,
)
from tests.contract.cases import assert_same


def test_infos_that_differ_from_step_to_step_keep_all_values():
    yes, no = np.array([True, True]), np.array([True, False])
    steps = [
        {"a": np.array([1, 2]), "_a": yes, "b": np.array([1, 0]), "_b": no},
        {"a": np.array([0.5, 0]), "_a": no, "b": np.array(["x", None]), "_b": no},
        {"c": {"d": np.array([[1, 2], [0, 0]]), "_d": no}, "_c": no},
        {"c": np.array(["x", None]), "_c": no, "b": np.array([2**60, 3]), "_b": yes},
        {"b": np.array([0.5, 0.0]), "_b": no},
    ]
    stacked = stack_infos_in_time(steps, 2)
    assert_same(stacked["a"], np.array([[1, 2], [0.5, 0], [0, 0], [0, 0], [0, 0]]))
    assert_same(stacked["_a"][:3], np.array([[1, 1], [1, 0], [0, 0]], np.bool_))
    rows = [[1, None], ["x", None], [None, None], [2**60, 3], [0.5, None]]
    assert stacked["b"].tolist() == rows
    (d,) = stacked["c"][2, 0].values()
    assert d.tolist() == [1, 2]
    assert stacked["c"][3].tolist() == ["x", None]


def test_a_key_that_a_step_lacks_is_blank_in_any_dtype():
    mask = np.array([True, True])
    kinds = {
        "": np.array(["x", "y"]),
        b"": np.array([b"x", b"y"]),
        0: np.array([True, True]),
        None: np.array([[], {}], object),
    }
    for blank, values in kinds.items():
        stacked = stack_infos_in_time([{"a": values, "_a": mask}, {}], 2)
        assert stacked["a"].dtype == values.dtype
        assert stacked["a"].tolist() == [values.tolist(), [blank] * 2]
        assert stacked["_a"].tolist() == [[True] * 2, [False] * 2]


@pytest.mark.parametrize("number", [-(2**63), -(2**53) - 1, 2**53 + 1])
def test_integers_that_no_float_equals_stay_integers(number):
    mask = np.array([True, True])
    steps = [
        {"a": np.array([number, 1]), "_a": mask},
        {"a": np.array([0.5, 2.0]), "_a": mask},
    ]
    stacked = stack_infos_in_time(steps, 2)["a"].tolist()
    assert stacked == [[number, 1], [0.5, 2.0]]
    assert type(stacked[0][0]) is int


NESTED = spaces.Dict(
    a=spaces.Box(0, 1, (2,)),
    b=spaces.Tuple((spaces.Discrete(3), spaces.Text(4))),
)


def test_nested_observations_are_checked_and_overwritten():
    batch = create_empty_array(NESTED, 3)
    first = stack_batches(NESTED, [batch] * 2)
    flags = np.zeros((2, 2, 3), np.bool_)
    out = Rollout(first, np.zeros((2, 3)), *flags, {})
    check_out(out, NESTED, 3, 2)
    again = stack_batches(NESTED, [batch] * 2, first)
    assert again["a"] is first["a"]
    assert again["b"][0] is first["b"][0]
    a, (b, texts) = first["a"], first["b"]
    for value, message in [
        (None, r"observations: expected a dict with the keys \['a', 'b'\], got None"),
        ({"a": a}, "observations: expected a dict with the keys"),
        ({"a": a[1:], "b": (b, texts)}, r"observations\['a'\]: expected float32 of s"),
        ({"a": a, "b": [b, texts]}, r"observations\['b'\]: expected a tuple of 2"),
        ({"a": a, "b": (b,)}, r"observations\['b'\]: expected a tuple of 2"),
        ({"a": a, "b": (5, texts)}, r"observations\['b'\]\[0\]: expected int64 of sh"),
    ]:
        with pytest.raises(InvalidOptionError, match=rf"out\.{message}"):
            check_out(out._replace(observations=value), NESTED, 3, 2)
