"""Infos and rollouts: the layout differs from Gymnasium's, or a value is lost.

``infos_calls.txt`` has single values.
"""

import itertools

import gymnasium
import numpy as np
from gymnasium.vector import SyncVectorEnv
from hypothesis import example, given
from hypothesis import strategies as st

import roll_vec
from roll_vec.vector.infos import (
    add_infos,
    cut_final_infos,
    finish_infos,
    join_infos,
    list_infos,
    stack_infos,
)
from roll_vec.vector.known_infos import UNKNOWN, episode_successes
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
    "dict": st.fixed_dictionaries(
        {}, optional={"a": st.integers(0, 9), 0: st.lists(st.none(), max_size=2)}
    ),
    "_hidden": st.integers(0, 9),
    7: st.text(max_size=3),
    # Both have one mask.
    "7": st.text(max_size=3),
    None: st.text(max_size=3),
    (1, 2): st.just(0.5),
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
        for key in ("dict", "_hidden", 7, "7", None, (1, 2)):
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


@example([{"b": 1}, {7: "", "b": 1, "f": 0.5}, {"f": 0.5}, {"f": 0.5}], [False] * 3)
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


def test_a_game_without_a_success_has_none():
    envs = roll_vec.make_vec("roll_vec/Blackjack-v1", 2)
    envs.reset(seed=0)
    infos = envs.step(np.zeros(2, np.int64))[-1]
    assert episode_successes(envs, infos, np.arange(2)).tolist() == [UNKNOWN] * 2
