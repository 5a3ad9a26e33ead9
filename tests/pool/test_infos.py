"""Infos of any kind: Gymnasium's layout, or a fault of one."""

import numpy as np
import pytest

from roll_vec.pool import PoolVectorEnv
from roll_vec.testing import check_vector_env
from tests.contract.cases import MODES, assert_same
from tests.pool.cases import (
    EACH_EXECUTOR,
    FAULTS_ON_PURPOSE,
    NAMED_EXECUTORS,
    pool,
    reset_ended,
    sync,
    values_of,
)
from tests.pool.envs import Talker, talkers
from tests.thinning import one_in


class Unequal:
    """A key that cannot be compared."""

    def __eq__(self, other):
        raise RuntimeError

    def __hash__(self):
        return 1


class Opaque:
    """A value that allows nothing to be done with it."""

    def __eq__(self, other):
        raise RuntimeError

    def __array__(self, *args, **kwargs):
        raise RuntimeError

    __hash__ = None


class Proxy:
    """A value that says that it is a dict."""

    __class__ = dict


def endless():
    """Return a dict that holds itself."""
    info = {}
    info["self"] = info
    return info


def doubled(info):
    """Return an info that holds itself once more."""
    info["again"] = info
    return info


class Odd(Talker):
    """Adds odd entries to the infos of the steps, and resets, that ask for it."""

    def __init__(self, make, on_reset):
        super().__init__()
        self.make, self.on_reset = make, on_reset

    def reset(self, *, seed=None, options=None):
        observation, info = super().reset(seed=seed, options=options)
        return observation, {**info, **(self.make() if self.on_reset else {})}

    def step(self, action):
        *values, info = super().step(action)
        return *values, {**info, **(self.make() if action == "odd" else {})}


def odd(make, on_reset=True):
    """Return constructors of three environments; the middle one is odd."""
    return [Talker, lambda: Odd(make, on_reset), Talker]


# Infos that Gymnasium's batch takes too.
STACKABLE = {
    "int": lambda: {1: 2, None: "x", (1, 2): 0.5},
    "nested int": lambda: {"inventory": {0: 3, "deep": {7: [1]}}},
    "datetime": lambda: {"at": np.datetime64(5, "ns")},
    "one text": lambda: {1: 2, "1": 3},
}


@EACH_EXECUTOR
@pytest.mark.parametrize("kind", STACKABLE)
def test_keys_need_not_be_texts(kind, workers):
    fns = odd(STACKABLE[kind])
    with pool(fns, **workers) as env, sync(fns) as twin:
        assert_same(env.reset(seed=1), twin.reset(seed=1))
        for action in ("odd", "go", "odd", "odd", "go"):
            assert_same(env.step((action,) * 3), twin.step((action,) * 3))


# Infos that cannot be stacked, or not be sent.
UNSTACKABLE = {
    "itself twice": lambda: doubled(endless()),
    "itself": endless,
    "key": lambda: {Unequal(): 1},
    "nested key": lambda: {"inventory": {Unequal(): 1}},
}


@FAULTS_ON_PURPOSE
@one_in(3, "workers, mode, kind", NAMED_EXECUTORS, MODES, [*UNSTACKABLE])
def test_an_info_that_cannot_be_stacked_is_a_fault_of_one(kind, mode, workers):
    """The others go on as if nothing had happened, and nothing stays finished."""
    with (
        pool(odd(UNSTACKABLE[kind], False), autoreset_mode=mode, **workers) as env,
        pool(talkers(3), autoreset_mode=mode) as twin,
    ):
        for one in (env, twin):
            one.reset(seed=1)
        for action in ("odd", "go", "odd", "odd", "go", "go"):
            result, twin_result = env.step((action,) * 3), twin.step((action,) * 3)
            assert values_of(result, [0, 2]) == values_of(twin_result, [0, 2])
            reset_ended(env, result)
            reset_ended(twin, twin_result)
        assert env.fault_counts[1] >= 2
        assert env.fault_counts[[0, 2]].tolist() == [0, 0]


@FAULTS_ON_PURPOSE
@EACH_EXECUTOR
def test_recv_loses_nothing_beside_a_fault_of_infos(workers):
    with pool(odd(endless, False), **workers) as env:
        env.reset(seed=1)
        env.send(("odd",) * 3, [0, 1, 2])
        observations, *_, truncations, infos = env.recv(3)
        assert infos["env_id"].tolist() == [0, 1, 2]
        assert truncations.tolist() == [False, True, False]
        assert infos["error"][1].endswith("nested more than 64 deep in it")
        assert observations[0] == "1: odd"
        env.send(("go",) * 3, [0, 1, 2])
        assert env.recv(3)[4]["_level"].tolist() == [False, True, False]


@FAULTS_ON_PURPOSE
@EACH_EXECUTOR
def test_a_reset_whose_info_cannot_be_stacked(workers):
    with pool(odd(endless), **workers) as env:
        _, infos = env.reset(seed=1)
        assert infos["_error"].tolist() == [False, True, False]
        assert infos["error"][1].startswith("exception in reset: the info cannot be")
        assert env.step(("go",) * 3)[3].tolist() == [False, True, False]


# Infos that Gymnasium's batch does not take, or not without a loss.
OBJECTS = {
    "opaque": lambda: {"k": Opaque()},
    "proxy": lambda: {"k": Proxy()},
    "huge": lambda: {"k": 10**400},
    "shapes": iter([{"k": np.zeros(2)}, {"k": np.zeros(3)}] * 9).__next__,
    "error": lambda: {"error": "mine"},
    "mask": lambda: {"turn": 1, "_turn": "left out"},
}


@pytest.mark.parametrize("kind", OBJECTS)
def test_odd_values_are_kept(kind):
    with pool(odd(OBJECTS[kind])) as env:
        env.reset(seed=1)
        *_, truncations, infos = env.step(("odd",) * 3)
        assert not truncations.any()
        assert env.fault_counts.sum() == 0
        if kind == "mask":
            assert infos["_turn"].tolist() == [True, True, True]
        else:
            key = "error" if kind == "error" else "k"
            assert infos[f"_{key}"].tolist() == [False, True, False]
        assert not env.successes.any()
        env.unroll([("odd",) * 3] * 2)


class Erring(Talker):
    """Has errors in its infos that are part of its task, and keys that are no texts."""

    def step(self, action):
        *values, info = super().step(action)
        return *values, {**info, "error": "no such tool", 1: {2: 3}}


def test_infos_with_errors_pass_the_checker():
    def make(num_envs, **keywords):
        return PoolVectorEnv([Erring] * num_envs, **keywords)

    check_vector_env(make, steps=6)
