"""Joined snapshots mix up the level options of their environments."""

import numpy as np
import pytest

import roll_vec
from roll_vec.errors import InvalidStateError
from roll_vec.vector.state import VectorState
from tests.contract.cases import assert_same, draw_actions, play

LAKE = "roll_vec/RandomFrozenLake-v0"
KEYWORDS = {"max_episode_steps": 5, "p": 0.9, "action_start": 1}
SIZES = (2, 3, 1)


def make_batch(num_envs, first_seed=0):
    """Return a batch that was reset."""
    env = roll_vec.make_vec(LAKE, num_envs, **KEYWORDS)
    env.reset(seed=first_seed)
    return env


def make_state(table, indices, **arrays):
    """Return a snapshot with one table and further arrays."""
    arrays = {"option": np.array(indices, np.int32), **arrays}
    return VectorState("any", {}, arrays, {"option": table})


@pytest.mark.parametrize(
    "changes",
    [
        [([0, 1], 0.5)],
        [([4], 0.5), ([0, 4, 5], 0.7)],
        [([0, 1, 2], 0.7), ([2, 3, 4, 5], 0.5), ([5], 0.7)],
    ],
)
def test_parts_with_other_level_options_equal_one_batch(changes):
    whole = make_batch(6)
    starts = np.cumsum([0, *SIZES])
    parts = [make_batch(n, int(i)) for n, i in zip(SIZES, starts, strict=False)]
    for env_ids, p in changes:
        mask = np.isin(np.arange(6), env_ids)
        whole.set_level_options(mask=mask, p=p)
        for part, start in zip(parts, starts, strict=False):
            own = mask[start : start + part.num_envs]
            part.set_level_options(mask=own, p=p)
    state = VectorState.concatenate([part.get_state() for part in parts])
    assert state == whole.get_state()
    assert whole.get_state() == state
    values = state.shared["level_options"]
    assert [values[k]["p"] for k in state.arrays["level_options"]] == [
        whole.get_state().row(i)["level_options"]["p"] for i in range(6)
    ]
    # And it is played as that batch is.
    other = make_batch(6, 99)
    other.set_state(state)
    actions = draw_actions(whole, 12)
    assert_same(play(other, actions), play(whole, actions))


def test_tables_are_joined_in_the_order_of_values():
    one, other = make_state(["a", "b"], [1, 0, 1]), make_state(["c", "b"], [1, 0])
    joined = VectorState.concatenate([one, other])
    assert joined.shared == {"option": ["a", "b", "c"]}
    assert joined.arrays["option"].tolist() == [1, 0, 1, 1, 2]
    assert joined.arrays["option"].dtype == np.int32


def test_equality_is_that_of_the_values():
    state = make_state(["a", "b"], [1, 0, 1])
    assert state == make_state(["b", "unused", "a"], [0, 2, 0])
    assert state != make_state(["b", "a"], [1, 0, 1])
    assert state != make_state(["a", "c"], [1, 0, 1])
    assert state != make_state(["b", "a", "unused"], [0, 0, 1])
    assert state != make_state(["a"], [1, 0, 1])


@pytest.mark.parametrize("index", [-1, 2])
def test_an_index_outside_of_its_table_is_refused(index):
    states = [make_state(["a", "b"], [0, index]), make_state(["b"], [0])]
    with pytest.raises(InvalidStateError, match=f"option: .*0 to 1, got {index}"):
        VectorState.concatenate(states)


def test_tables_of_other_names_are_refused():
    other = VectorState("any", {}, {"option": np.array([0])}, {"sets": ["a"]})
    with pytest.raises(InvalidStateError, match="shared values \\['option'\\]"):
        VectorState.concatenate([make_state(["a"], [0]), other])
