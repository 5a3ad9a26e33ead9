"""Infos of a batch, split into one dict an environment."""

import numpy as np
import pytest

from roll_vec.vector.info_lists import split_infos
from roll_vec.vector.infos import stack_infos

INFOS = [
    {"a": True, "b": 1, "c": {"d": 0.5, "e": True}, "f": np.array([1, 2])},
    {},
    {"a": True, "b": 2, "f": np.array([3, 4]), "g": "text"},
    {"a": True, "b": 1, "c": {"e": True}, "g": None, "_h": 7},
]


def is_same(one, other):
    if isinstance(one, dict):
        assert one.keys() == other.keys()
        return all(is_same(one[key], other[key]) for key in one)
    return type(one) is type(other) and np.array_equal(one, other)


@pytest.mark.parametrize("env_ids", [[0, 1, 2, 3], [1], [3, 0], [2, 3], [0, 2], []])
def test_they_are_those_that_were_stacked(env_ids):
    split = split_infos(stack_infos(INFOS, None, 4), np.array(env_ids, np.int64))
    assert len(split) == len(env_ids)
    for info, env_id in zip(split, env_ids, strict=True):
        assert is_same(info, INFOS[env_id])


def test_no_dict_is_shared():
    split = split_infos(stack_infos([{"a": True}] * 3, None, 3), np.arange(3))
    split[0]["b"] = split[0].pop("a")
    assert split[1:] == [{"a": True}] * 2


def test_equal_numbers_keep_their_types():
    infos = stack_infos([{"a": True, "b": None}, {"a": 1, "b": None}], None, 2)
    split = split_infos(infos, np.arange(2))
    assert [type(info["a"]) for info in split] == [bool, int]
