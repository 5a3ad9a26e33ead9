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
    merge_faults,
    merge_infos,
    merge_observations,
    merge_reset_infos,
    merge_steps,
    merge_unrolls,
)
from roll_vec.errors import EnvironmentFaultError
from roll_vec.vector.engine import StepResult
from roll_vec.vector.env import RollVectorEnv
from roll_vec.vector.infos import masked_infos, stack_infos
from tests.contract.cases import (
    CASES,
    DISABLED,
    MODES,
    NEXT_STEP,
    SAME_STEP,
    assert_same,
    draw_actions,
    make_batch,
)
from tests.distributed.split_engines import SplitEngine

NUM_ENVS, SIZES = 7, (1, 4, 2)
INFO_KEYWORDS = {"episode_info": True}


def assert_equal_in_order(actual, expected):
    """Check two results to the bit, and the order of the keys of dicts."""
    assert_same(actual, expected)
    pairs = [(actual, expected)]
    while pairs:
        one, other = pairs.pop()
        if isinstance(one, dict):
            assert list(one) == list(other)
            pairs += zip(one.values(), other.values(), strict=True)


def make_split(case, mode, **more):
    """Return a batch over the engines of shards, and one local batch."""
    more = {"autoreset_mode": mode, **INFO_KEYWORDS, **more}
    local = make_batch(case, NUM_ENVS, **more)
    engines = [make_batch(case, size, **more).engine for size in SIZES]
    batch_keywords = {"autoreset_mode": mode, "group_id_info": True, **INFO_KEYWORDS}
    local = RollVectorEnv(local.engine, **batch_keywords)
    whole = make_batch(case, NUM_ENVS, **more).engine
    return RollVectorEnv(SplitEngine(engines, whole), **batch_keywords), local


@pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.value)
@pytest.mark.parametrize("case", CASES)
def test_steps_equal_those_of_one_engine(case, mode):
    split, local = make_split(case, mode)
    assert_equal_in_order(split.reset(seed=3), local.reset(seed=3))
    for actions in draw_actions(local, 30, seed=1):
        result = local.step(actions)
        assert_equal_in_order(split.step(actions), result)
        ends = result[2] | result[3]
        if mode is DISABLED and ends.any():
            options = {"reset_mask": ends}
            expected = local.reset(options=options)
            assert_equal_in_order(split.reset(options=options), expected)


@pytest.mark.parametrize("mode", [NEXT_STEP, SAME_STEP], ids=lambda mode: mode.value)
@pytest.mark.parametrize("case", CASES[:3])
def test_resets_of_whole_shards_and_of_none(case, mode):
    # All environments of the first shard end in one step, and none of the others.
    split, local = make_split(case, mode, max_episode_steps=4)
    actions = draw_actions(local, 5, seed=2)
    for env in (split, local):
        env.reset(seed=4)
        for batch in actions[:2]:
            env.step(batch)
        mask = np.arange(NUM_ENVS) >= SIZES[0]
        env.reset(options={"reset_mask": mask})
    for batch in actions[2:]:
        assert_equal_in_order(split.step(batch), local.step(batch))


@pytest.mark.parametrize("case", CASES[:2])
@pytest.mark.parametrize("mode", [NEXT_STEP, SAME_STEP], ids=lambda mode: mode.value)
def test_unrolls_equal_those_of_one_engine(case, mode):
    split, local = make_split(case, mode)
    actions = np.array(draw_actions(local, 40, seed=5))
    none = np.zeros(NUM_ENVS, np.bool_)
    for env in (split, local):
        env.reset(seed=6)
    for _ in range(2):
        result = split.engine.unroll(actions, none, mode, None)
        expected = local.engine.unroll(actions, none, mode, None)
        assert_equal_in_order(tuple(result), tuple(expected))
    out = local.unroll(actions)
    merged = merge_unrolls(local.single_observation_space, [result], out)
    assert merged.rewards is out.rewards
    assert merged.observations is out.observations
    if mode is SAME_STEP:
        assert merged.final_observations is out.infos["final_obs"]


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


def test_observations_without_arrays_are_passed_on():
    space = SPACES["sequence"]
    parts = [make_batch_of(space, size, seed) for seed, size in enumerate(SIZES)]
    assert_same(merge_observations(space, parts), (*parts[0], *parts[1], *parts[2]))


class Bag(spaces.Space):
    """A space whose batch is a list, as a user can register it."""


@concatenate.register(Bag)
def _concatenate_bags(space, items, out):
    return list(items)


def test_a_batch_of_a_users_own_space():
    space = Bag()
    assert merge_observations(space, [[1], [2, 3]]) == [1, 2, 3]
    texts = (("a", "b"), ("c", "d"))
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
    assert merge_reset_infos(parts) == infos


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
    assert merge_reset_infos(rows)["d"]["x"].tolist() == [1, 2, 3]


def test_a_step_of_one_shard_is_new():
    arrays = np.ones(2), np.ones(2, np.bool_), np.zeros(2, np.bool_)
    freeze(arrays)
    merged = merge_steps([StepResult(*arrays, {})])
    assert all(array.flags.writeable for array in merged[:3])
    assert_same(merged[:3], arrays)


def test_faults_are_numbered_anew():
    errors = {0: EnvironmentFaultError({0: "a"}), 2: EnvironmentFaultError({1: "b"})}
    merged = merge_faults(errors, SIZES)
    assert merged.errors == {0: "a", 6: "b"}
    assert str(merged).startswith("environments [0, 6] failed, first: a")
