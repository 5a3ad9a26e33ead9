"""Helpers of the checker that compare, show, copy and overwrite results."""

from __future__ import annotations

import numpy as np
import pytest
from gymnasium import spaces

from roll_vec.testing.comparison import (
    difference,
    layout_mismatches,
    overwrite,
    show,
    snapshot,
)


@pytest.mark.parametrize(
    ("left", "right", "text"),
    [
        (np.array([1.0, np.nan]), np.array([1.0, np.nan]), None),
        (np.zeros(2, np.int8), np.zeros(2, np.int64), "int8 of shape (2,) against"),
        (np.array([1, 2, 3]), np.array([1, 0, 0]), "[1]: 2 against 0 (2 of 3"),
        ({"a": ("x", [1])}, {"a": ("x", [1])}, None),
        ({"a": ("x", [1])}, {"a": ("x", [2])}, "['a'][1][0]: 1 against 2"),
        ({"a": 1}, {"b": 1}, "keys ['a'] against keys ['b']"),
        ((1, 2), [1, 2], "tuple of length 2 against list of length 2"),
        (float("nan"), np.float64("nan"), None),
        (np.array([None, "x"]), np.array([None, "y"]), "[1]: 'x' against 'y'"),
        (True, np.True_, None),
    ],
)
def test_difference(left, right, text):
    result = difference(left, right)
    assert result is None if text is None else result.startswith(text)


def test_difference_of_objects_without_equality_compares_their_attributes():
    class Box:
        def __init__(self, value):
            self.value = value

    assert difference(Box([1]), Box([1])) is None
    assert difference(Box([1]), Box([2])) is not None


LETTERS = spaces.Tuple((spaces.Text(3), spaces.Text(3)))


@pytest.mark.parametrize(
    ("space", "value", "where"),
    [
        (spaces.Dict({"a": LETTERS}), {"a": ("x", "y")}, []),
        (spaces.Dict({"a": LETTERS}), {"b": ("x", "y")}, ["o"]),
        (spaces.Dict({"a": LETTERS}), {"a": ["x", "y"]}, ["o['a']"]),
        (spaces.Dict({"a": LETTERS}), {"a": ("x", 1)}, ["o['a'][1]"]),
        (LETTERS, (1, 2), ["o[0]", "o[1]"]),
        (LETTERS, ("x",), ["o"]),
        (spaces.MultiDiscrete([2, 2]), np.zeros(2, np.int64), []),
        (spaces.MultiDiscrete([2, 2]), np.zeros(2, np.int32), ["o"]),
        (spaces.Box(0, 1, (2, 2)), np.zeros((4,), np.float32), ["o"]),
        (spaces.Box(0, 1, (1,)), [0.0], ["o"]),
    ],
)
def test_layout_mismatches(space, value, where):
    assert [at for at, _, _ in layout_mismatches(space, value, "o")] == where


def test_overwrite_spoils_all_but_a_snapshot():
    value = {"a": np.arange(3), "b": (np.array([True]), [np.zeros(2)]), "c": "text"}
    value["d"] = np.array([None, np.ones(2)], dtype=object)
    inner, copy = value["d"][1], snapshot(value)
    flags = value["b"][0]
    overwrite(value)
    assert value == {}
    assert not flags[0]
    assert np.isnan(inner).all()
    assert copy["d"][1].tolist() == [1, 1]
    assert copy["b"][1][0].tolist() == [0, 0]


def test_show_is_short():
    assert show(np.arange(2)) == "[0, 1] (int64 array of shape (2,))"
    assert show((np.zeros((9, 9)),)) == "(float64 array of shape (9, 9),)"
    assert show({"a": np.float32(0.5)}) == "{'a': 0.5}"
    assert len(show("x" * 1000)) == 160
