"""Numbers that rules read from a class: of all types of numbers, or clear errors."""

import enum
from typing import Any, ClassVar

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Box

import roll_vec
from roll_vec.arrays.array_checks import RESERVED
from roll_vec.errors import InvalidOptionError


class Level(enum.IntEnum):
    EASY, HARD = 3, 7


class Reader(roll_vec.ArrayEnv):
    """A game that shows a number, and the second one of two."""

    level: Level = Level.EASY
    pair: tuple[float, float] = (1.0, 2.0)
    unread = 2**70
    state = {"seen": np.float64}  # noqa: RUF012
    actions = ("wait",)
    observation_space = Box(-np.inf, np.inf, (1,), np.float64)

    @roll_vec.rule
    def begin(env, rng):
        env.seen = env.level

    @roll_vec.rule
    def step(env, action, rng):
        env.seen += env.pair[1]
        return 0.0, False

    @roll_vec.rule
    def observe(env, out):
        out[0] = env.seen


# Each with the number that rules read.
NUMBERS = [
    (Level.HARD, 7),
    (2**63 - 1, 2**63 - 1),
    (-(2**63), -(2**63)),
    (np.int8(-3), -3),
    (np.uint64(5), 5),
    (np.float16(1.5), 1.5),
    (np.longdouble(2.5), 2.5),
    (np.bool_(True), True),
]
# Each with the dtype of the array.
ARRAYS = [
    ((Level.EASY, Level.HARD), np.int64),
    ([3, np.int8(7)], np.int64),
    (np.array([3, 7], ">i4"), np.int32),
    (np.array([3, 7], ">f8"), np.float64),
]
NO_NUMBERS = [
    *(np.array([3, 7], np.float16), np.array([3, 7], np.uint64)),
    *(2**63, -(2**63) - 1, np.uint64(2**63), (1, 2**63), (-1, 2**64), ((1, 2), 3)),
    *(("a", "b"), np.array([1, 2j]), np.array([1, 2], np.longdouble), [None, 1]),
]


def constants_of(value):
    """Return what rules read of a class that has a value as ``pair``."""
    members = {"pair": value, "__annotations__": {"pair": ClassVar[Any]}}
    return type("Reader", (Reader,), members)().constants


def test_rules_read_all_types_of_numbers():
    for value, number in NUMBERS:
        got = constants_of(value)["pair"]
        assert (got, type(got)) == (number, type(number)), repr(value)
    for value, dtype in ARRAYS:
        got = constants_of(value)["pair"]
        assert got.tolist() == [3, 7]
        # A dtype is native here: `==` is so as well.
        assert (got.dtype, got.dtype.isnative) == (dtype, True), repr(value)
    assert "unread" not in Reader().constants


@pytest.mark.usefixtures("forgets_ids")
def test_an_enum_and_an_array_of_other_byte_order_are_played():
    roll_vec.register("mine/Reader-v0", Reader)
    keywords = {"level": 7, "pair": np.array([0, 2], ">f4")}
    envs = roll_vec.make_vec("mine/Reader-v0", 1, **keywords)
    assert envs.reset(seed=0)[0] == 7
    assert envs.step([0])[0] == 9
    assert envs.get_attr("level") == (Level.HARD,)


def test_numbers_that_no_kernel_holds_are_errors_with_their_names():
    for value in NO_NUMBERS:
        with pytest.raises(InvalidOptionError, match=r"^Reader\.pair: expected number"):
            constants_of(value)
    with pytest.raises(InvalidOptionError, match=r"^pair: expected a tuple, a list or"):
        Reader(pair="12")


@pytest.mark.parametrize("id", ["roll_vec/Game2048-v0", "roll_vec/CliffWalking-v1"])
def test_no_variable_has_the_name_of_another_array_of_a_state(id):
    env, envs = gymnasium.make(id).unwrapped, roll_vec.make_vec(id, 2)
    env.reset(), envs.reset()
    names = env.get_state().keys() | envs.get_state().arrays.keys()
    assert names - env.options.state.keys() <= set(RESERVED)
