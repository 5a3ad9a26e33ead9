"""Keywords of batches: one is lost on its way, not checked or not documented.

And what batches share: rows of masks, and parts that equal one batch.
"""

import dataclasses
import inspect
import itertools

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.envs.registration import load_env_creator
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import concatenate, create_empty_array

import roll_vec
from roll_vec.errors import InvalidOptionError, UnknownOptionError
from roll_vec.vector.env import BatchOptions
from roll_vec.vector.masks import list_rows
from roll_vec.vector.rollout import Rollout, check_out
from roll_vec.vector.space_batches import join_batches, stack_batches

IDS = ARRAY, POOL = "roll_vec/FrozenLake-v1", "roll_vec/Countdown-v0"
FIELDS = {field.name: field.default for field in dataclasses.fields(BatchOptions)}
# By keyword: a value that is not the default.
VALUES = {"autoreset_mode": AutoresetMode.DISABLED, "copy": False, "group_size": 2}


def make_pool(**keywords):
    """Make a pool without an id."""
    env_fns = [lambda: gymnasium.make("CartPole-v1")] * 2
    return roll_vec.PoolVectorEnv(env_fns, **keywords)


# Refused by batches of arrays and by pools; threads are those of arrays.
REFUSED = {
    "num_envs": (0, -1, 1.5, "4", None, True),
    "group_size": (0, -2, 3, 8, 1.0, None, True),
    "copy": (0, None),
    "max_episode_steps": (0, -2, 1.5, "9", True, False),
    "num_threads": (0, -1, 1.5, "2", True),
    "autoreset_mode": ("next_step", "Same_Step", "", None, 0),
    "render_mode": ("rgb", "", 1, "depth_array"),
}


MAKERS = {
    "array": lambda **keywords: roll_vec.make_vec(ARRAY, 2, **keywords),
    "pool": lambda **keywords: roll_vec.make_vec(POOL, 2, **keywords),
    "objects": make_pool,
}


@pytest.mark.parametrize("maker", MAKERS)
@pytest.mark.parametrize("name", FIELDS)
def test_a_keyword_becomes_an_attribute_of_every_batch(name, maker):
    make = MAKERS[maker]
    for expected in (FIELDS[name], VALUES[name]):
        env = make() if expected == FIELDS[name] else make(**{name: expected})
        assert getattr(env, name) == expected
        env.close()
    for refused in REFUSED[name]:
        message = f"^{name}: expected .*, got {refused!r}"
        with pytest.raises(InvalidOptionError, match=message):
            make(**{name: refused})


@pytest.mark.parametrize(
    ("id", "name"),
    [pair for pair in itertools.product(IDS, REFUSED) if pair != (POOL, "num_threads")],
)
def test_bad_values_are_named(id, name):
    for value in REFUSED[name]:
        message = f"^{name}: expected .*, got {value!r}"
        with pytest.raises(InvalidOptionError, match=message):
            gymnasium.make_vec(id, **{"num_envs": 4, name: value})
    env = gymnasium.make_vec(id, np.int64(4), group_size=np.int32(2))
    assert (type(env.num_envs), env.group_size) == (int, 2)
    env.close()


@pytest.mark.parametrize("name", FIELDS)
def test_a_keyword_is_shown_and_is_for_batches_alone(name):
    makers = [load_env_creator(gymnasium.spec(id).vector_entry_point) for id in IDS]
    for function in (*makers, roll_vec.PoolVectorEnv, roll_vec.RollVectorEnv):
        assert inspect.signature(function).parameters[name].default == FIELDS[name]
    assert f"\n    {name} : " in BatchOptions.__doc__
    for id in IDS:
        with pytest.raises(UnknownOptionError, match=f"argument '{name}'"):
            gymnasium.make(id, **{name: VALUES[name]})


@pytest.mark.parametrize("maker", MAKERS)
def test_an_unknown_keyword_is_refused_with_those_that_exist(maker):
    with pytest.raises(UnknownOptionError, match="'group'") as caught:
        MAKERS[maker](group=2)
    listed = str(caught.value).split("those that exist: ")[1].split("; ")[0]
    own = {"array": {"num_threads", "desc"}, "pool": {"workers", "max_steps"}}
    assert own.get(maker, {"workers"}) | {*FIELDS} <= {*listed.split(", ")}


@pytest.mark.parametrize("num_envs", [1, 5, 16383, 16384, 20001])
@pytest.mark.parametrize("share", [0.0, 0.1, 0.7, 1.0])
def test_the_rows_of_a_mask_are_listed_in_order(num_envs, share):
    mask = np.random.default_rng(0).random(num_envs) < share
    rows = list_rows(mask)
    np.testing.assert_array_equal(rows, np.flatnonzero(mask))
    assert rows.dtype == np.int64


class Bag(spaces.Space):
    """A space whose batch is a list, as a user can register it."""


@concatenate.register(Bag)
def _concatenate_bags(space, items, out):
    return list(items)


def test_a_batch_of_a_users_own_space():
    assert join_batches(Bag(), [[1], [2, 3]]) == [1, 2, 3]


def test_arrays_to_write_into_that_do_not_fit_are_named():
    pair = spaces.Tuple([spaces.Discrete(3), spaces.Text(4)])
    space = spaces.Dict(a=spaces.Box(0, 1, (2,)), b=pair)
    batch = create_empty_array(space, 3)
    first = stack_batches(space, [batch] * 2)
    again = stack_batches(space, [batch] * 2, first)
    assert again["a"] is first["a"]
    assert again["b"][0] is first["b"][0]
    a, (b, texts) = first["a"], first["b"]
    out = Rollout(first, np.zeros((2, 3)), *np.zeros((2, 2, 3), np.bool_), {})
    check_out(out, space, 3, 2)
    for bad, message in (
        (None, r"float32 of shape \(2, 3, 2\), got None"),
        ({"a": 1}, "the form of a batch of Dict"),
        ({"a": a[1:], "b": (b, texts)}, r"got 'float32 of shape \(1, 3, 2\)'"),
        ({"a": a, "b": (5, texts)}, r"int64 of shape \(2, 3\), got 5"),
    ):
        with pytest.raises(InvalidOptionError, match=f"^out.observations: .*{message}"):
            check_out(out._replace(observations=bad), space, 3, 2)
