"""Infos and rollouts: the layout differs from Gymnasium's, or a value is lost.

Returns and lengths of episodes, ``infos["episode"]``, are in unrolls and in steps of
some environments as well in ``tests/contract``.
"""

import itertools

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.vector import SyncVectorEnv
from gymnasium.vector.utils import create_empty_array
from hypothesis import given
from hypothesis import strategies as st

import roll_vec
from roll_vec.errors import InvalidOptionError, InvalidStateError, LevelGenerationError
from roll_vec.vector.infos import (
    add_infos,
    cut_final_infos,
    finish_infos,
    join_infos,
    list_infos,
    masked_infos,
    split_infos,
    stack_infos,
)
from roll_vec.vector.rollout import (
    Rollout,
    check_out,
    stack_infos_in_time,
)
from roll_vec.vector.space_batches import stack_batches
from tests.contract.cases import assert_same
from tests.pool.cases import with_arrays

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
    "_hidden": st.integers(0, 9),
    7: st.text(max_size=3),
}


def rows_of(kinds):
    """Return a strategy of infos: of any of the keys, or all of the same ones."""
    sizes = {"min_size": NUM_ENVS, "max_size": NUM_ENVS}
    any_keys = st.fixed_dictionaries({}, optional=kinds)
    same_keys = st.sets(st.sampled_from([*kinds])).flatmap(
        lambda keys: st.lists(
            st.fixed_dictionaries({key: kinds[key] for key in keys}), **sizes
        )
    )
    return st.lists(any_keys, **sizes) | same_keys


INFOS = rows_of(KINDS)


class Empty(gymnasium.Env):
    """An environment that is never stepped."""

    observation_space = action_space = gymnasium.spaces.Discrete(1)


SYNC = SyncVectorEnv([Empty] * NUM_ENVS)


def gymnasium_layout(infos):
    """Return the layout that Gymnasium's vector environments build."""
    layout = {}
    for i, info in enumerate(infos):
        layout = SYNC._add_info(layout, info, i)
    return layout


@given(INFOS, st.sets(st.integers(0, NUM_ENVS - 1)))
def test_the_layout_is_gymnasiums(infos, env_ids):
    assert_same(stack_infos(infos, None, NUM_ENVS), gymnasium_layout(infos))
    # Infos of some environments have their places.
    own = [info if i in env_ids else {} for i, info in enumerate(infos)]
    ids = sorted(env_ids)
    stacked = stack_infos([infos[i] for i in ids], ids, NUM_ENVS)
    assert_same(stacked, gymnasium_layout(own))
    # Those that are cut out of the layout of all are the same, and so are the others.
    for info in infos:
        for key in ("dict", "_hidden", 7):
            info.pop(key, None)
    others = [{} if i in env_ids else info for i, info in enumerate(infos)]
    has_ended = np.isin(np.arange(NUM_ENVS), ids)
    for whole in (stack_infos(infos, None, NUM_ENVS), [*infos]):
        assert_same(cut_final_infos(whole, has_ended), gymnasium_layout(own))
        if isinstance(whole, list):
            assert whole == others
        else:
            assert_same(whole, gymnasium_layout(others))


@given(INFOS, INFOS, st.sets(st.integers(0, NUM_ENVS - 1), min_size=1))
def test_infos_of_resets_join_those_of_a_step_in_either_form(infos, resets, ids):
    env_ids, both = np.array(sorted(ids)), [*infos]
    for env_id in ids:
        infos[env_id], both[env_id] = {}, resets[env_id]
    resets = [resets[env_id] for env_id in sorted(ids)]
    for step in ([*infos], stack_infos(infos, None, NUM_ENVS)):
        joined = add_infos(step, env_ids, resets, NUM_ENVS)
        assert_same(finish_infos(joined, NUM_ENVS), gymnasium_layout(both))


@given(INFOS, st.lists(st.booleans(), min_size=3, max_size=3))
def test_parts_of_a_batch_have_the_layout_of_the_whole(infos, are_lists):
    """From engines that return lists, and from others that return layouts."""
    starts, parts = [0, 1, 1, NUM_ENVS], []
    for (start, stop), is_list in zip(
        itertools.pairwise(starts), are_lists, strict=True
    ):
        part = infos[start:stop]
        layout = stack_infos(part, None, stop - start)
        parts.append((part if is_list else layout, stop - start))
    joined = join_infos(parts)
    layout = stack_infos(infos, None, NUM_ENVS)
    assert_same(stack_infos(list_infos(layout, NUM_ENVS), None, NUM_ENVS), layout)
    merged = finish_infos(joined, NUM_ENVS)
    assert_same(merged, layout)
    if len(set(are_lists)) == 1:
        assert list(merged) == list(layout)


ONE, FINE = np.timedelta64(3, "s"), np.timedelta64(5, "ns")
HALF = np.float32(0.5)


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
        ([HALF, 1.0], np.array([HALF, 1.0], object)),
        ([ONE, ONE], np.array([3, 3], "m8[s]")),
        ([ONE, FINE], np.array([ONE, FINE], object)),
        ([{"a": 1}, 7], np.array([{"a": 1}, 7], object)),
    ],
    ids=str,
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


# ------------------------------------------------- masked, merged and split


def bools(*values):
    return np.array(values, np.bool_)


def test_each_key_gets_a_mask_of_its_own():
    values = {"a": np.array([1.5, 0.0]), "b": np.array([2, 0])}
    infos = masked_infos(values, bools(True, False))
    assert list(infos) == ["a", "_a", "b", "_b"]
    infos["_a"][:] = False
    assert infos["_b"].tolist() == [True, False]
    assert masked_infos(values, bools(False, False)) == {}


def test_rows_and_keys_are_added():
    infos = {"a": np.array([1.0, 0.0, 3.0]), "_a": bools(True, False, True)}
    values = {"a": np.array([9.0]), "b": np.array([7])}
    expected = {
        "a": np.array([1.0, 9.0, 3.0]),
        "_a": bools(True, True, True),
        "b": np.array([0, 7, 0]),
        "_b": bools(False, True, False),
    }
    assert_same(add_infos(infos, np.array([1]), values, 3), expected)
    result = add_infos([{"a": 1}, {}, {}], np.array([1, 2]), [{"b": 1}, {"b": 2}], 3)
    assert result == [{"a": 1}, {"b": 1}, {"b": 2}]


SPLIT = [
    {"a": True, "b": 1, "c": {"d": 0.5, "e": True}, "f": np.array([1, 2])},
    {},
    {"a": True, "b": 2, "f": np.array([3, 4]), "g": "text"},
    {"a": True, "b": 1, "c": {"e": True}, "g": None, "_h": 7},
]


@pytest.mark.parametrize("env_ids", [[0, 1, 2, 3], [1], [3, 0], [2, 3], [0, 2], []])
def test_split_infos_are_those_that_were_stacked(env_ids):
    split = split_infos(stack_infos(SPLIT, None, 4), np.array(env_ids, np.int64))
    assert_same(split, [SPLIT[env_id] for env_id in env_ids])


def test_split_infos_share_no_dict_and_keep_types():
    split = split_infos(stack_infos([{"a": True}] * 3, None, 3), np.arange(3))
    split[0]["b"] = split[0].pop("a")
    assert split[1:] == [{"a": True}] * 2
    infos = stack_infos([{"a": True, "b": None}, {"a": 1, "b": None}], None, 2)
    split = split_infos(infos, np.arange(2))
    assert [type(info["a"]) for info in split] == [bool, int]


# -------------------------------------------------------------------- in time


def test_infos_that_differ_from_step_to_step_keep_all_values():
    yes, no = bools(True, True), bools(True, False)
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


@pytest.mark.parametrize(
    ("blank", "values"),
    [
        ("", np.array(["x", "y"])),
        (b"", np.array([b"x", b"y"])),
        (0, np.array([True, True])),
        (None, np.array([[], {}], object)),
    ],
)
def test_a_key_that_a_step_lacks_is_blank_in_any_dtype(blank, values):
    stacked = stack_infos_in_time([{"a": values, "_a": bools(True, True)}, {}], 2)
    assert stacked["a"].dtype == values.dtype
    assert stacked["a"].tolist() == [values.tolist(), [blank] * 2]
    assert stacked["_a"].tolist() == [[True] * 2, [False] * 2]


@pytest.mark.parametrize("number", [-(2**63), -(2**53) - 1, 2**53 + 1])
def test_integers_that_no_float_equals_stay_integers(number):
    steps = [
        {"a": np.array(values), "_a": bools(True, True)}
        for values in ([number, 1], [0.5, 2.0])
    ]
    stacked = stack_infos_in_time(steps, 2)["a"].tolist()
    assert stacked == [[number, 1], [0.5, 2.0]]
    assert type(stacked[0][0]) is int


def test_durations_keep_their_unit_in_time():
    layout = stack_infos([{"k": ONE}, {}], None, 2)
    assert_same(layout["k"], np.array([3, 0], "m8[s]"))
    other = stack_infos([{"k": ONE}, {"k": FINE}], None, 2)
    in_time = stack_infos_in_time([layout, other], 2)
    assert_same(in_time["k"], np.array([[ONE, None], [ONE, FINE]], object))
    assert_same(stack_infos_in_time([layout], 2)["k"], np.array([[3, 0]], "m8[s]"))


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


def test_counts_are_right_after_a_level_that_cannot_be_drawn():
    envs = roll_vec.make_vec(
        "roll_vec/Sokoban-v0",
        2,
        autoreset_mode="SameStep",
        max_episode_steps=3,
        action_start=1,
        episode_info=True,
    )
    envs.reset(seed=0)
    envs.set_level_options(mask=np.array([True, False]), solution_steps=(900, 999))
    envs.step([1, 1])
    envs.reset(options={"reset_mask": np.array([False, True])})
    envs.step([1, 1])
    with pytest.raises(LevelGenerationError):
        envs.step([1, 1])
    arrays = envs.get_state().arrays
    np.testing.assert_array_equal(arrays["elapsed_steps"], arrays["episode_lengths"])
    assert arrays["episode_lengths"][1] == 2


def test_lengths_that_no_episode_has_are_refused():
    envs = roll_vec.make_vec("roll_vec/FrozenLake-v1", 2, episode_info=True)
    envs.reset(seed=0)
    state = envs.get_state()
    for length in (-1, (1 << 63) - 1):
        bad = with_arrays(state, episode_lengths=np.array([0, length]))
        with pytest.raises(InvalidStateError, match=r"episode_lengths: .* got"):
            envs.set_state(bad)
