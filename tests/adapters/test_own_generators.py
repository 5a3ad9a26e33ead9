"""Modules of another package draw from the generators of one environment."""

import pickle
import random
import sys
import threading
import types

import numpy as np
import pytest

from roll_vec.adapters.own_generators import OwnGenerators, isolate


@pytest.fixture
def foreign(monkeypatch):
    """Return a module of another package, isolated."""
    module = types.ModuleType("foreign_games.dice")
    module.random, module.np = random, np
    monkeypatch.setitem(sys.modules, "foreign_games.dice", module)
    isolate("foreign_games")
    return module


def draw(module):
    return module.random.random(), module.np.random.randint(1 << 30)


def test_draws_are_those_of_a_global_seed(foreign):
    one, other = OwnGenerators(7), OwnGenerators(8)
    random.seed(7)
    np.random.seed(7)
    expected = [(random.random(), np.random.randint(1 << 30)) for _ in range(3)]
    state = random.getstate()
    actual = []
    for _ in range(3):
        with one.active():
            actual.append(draw(foreign))
            with other.active():
                draw(foreign)
        one = pickle.loads(pickle.dumps(one))
    assert actual == expected
    assert random.getstate() == state
    assert np.array_equal(foreign.np.zeros(2), [0, 0])
    assert isinstance(foreign.random.Random(1), random.Random)


def test_seeds_of_the_package_seed_the_own_generator(foreign):
    generators, state = OwnGenerators(0), random.getstate()
    with generators.active():
        foreign.random.seed(3)
        foreign.np.random.seed(3)
        first = draw(foreign)
        assert random.getstate() == state
    random.seed(3)
    np.random.seed(3)
    # Outside it is the global one, as before.
    assert draw(foreign) == first


def test_threads_do_not_meet(foreign):
    barrier, results = threading.Barrier(2), {}

    def play(seed):
        with OwnGenerators(seed).active():
            barrier.wait()
            results[seed] = [draw(foreign) for _ in range(200)]

    threads = [threading.Thread(target=play, args=(seed,)) for seed in (1, 2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with OwnGenerators(2).active():
        assert results[2] == [draw(foreign) for _ in range(200)]
