"""Infos of any kind in Gymnasium's layout."""

import numpy as np
import pytest

from roll_vec.errors import ResetNeededError
from tests.pool.cases import pool
from tests.pool.envs import Talker


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


def test_an_info_that_holds_itself_demands_a_reset():
    with pool(odd(endless, False)) as env:
        env.reset(seed=1)
        with pytest.raises(RecursionError):
            env.step(("odd",) * 3)
        with pytest.raises(ResetNeededError):
            env.step(("go",) * 3)
        env.reset(seed=1)
        env.step(("go",) * 3)


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
