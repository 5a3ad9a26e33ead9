"""A copy of a pool goes on as the pool does, with workers of its own."""

import pickle
import threading

import pytest

from roll_vec.pool import PoolVectorEnv
from tests.contract.cases import assert_same
from tests.pool.cases import (
    COPIES,
    EACH_EXECUTOR,
    FAULTS_ON_PURPOSE,
    KINDS,
    MODES,
    ONE_PROCESS,
    draw_actions,
    play,
    pool,
    values_of,
)


@EACH_EXECUTOR
@pytest.mark.parametrize(
    ("how", "kind", "mode"),
    [
        *zip(["pickle", "deep", "pickle"], ["text", "box", "box"], MODES, strict=True),
        *zip(["deep", "pickle", "deep"], ["text", "box", "text"], MODES, strict=True),
    ],
)
def test_a_copy_goes_on(how, kind, mode, workers):
    with pool(KINDS[kind](3), autoreset_mode=mode, **workers) as env:
        env.reset(seed=4)
        actions = draw_actions(kind, 3, 20)
        play(env, actions[:7])
        other = COPIES[how](env)
        assert_same(play(other, actions[7:]), play(env, actions[7:]))
        assert_same(other.reset(), env.reset())
        other.close()
        play(env, actions[:3])


@FAULTS_ON_PURPOSE
@EACH_EXECUTOR
@pytest.mark.parametrize("how", COPIES)
def test_a_copy_before_the_first_reset_and_beside_a_fault(how, workers):
    with pool(KINDS["text"](3), **workers) as env:
        other = COPIES[how](env)
        assert_same(other.reset(seed=1), env.reset(seed=1))
        for one in (env, other):
            one.set_attr("length", 9)
            one.step(("fault:raise", "a", "b"))
        third = COPIES[how](other)
        actions = draw_actions("text", 3, 9)
        assert_same(play(third, actions), play(env, actions))
        assert third.get_attr("length") == (9, 9, 9)
        assert third.fault_counts.tolist() == [1, 0, 0]
        other.close()
        third.close()


@FAULTS_ON_PURPOSE
def test_workers_of_a_copy_restore_its_environments():
    """They begin with the environment objects that the copy got."""
    with pool(KINDS["text"](3), **ONE_PROCESS) as env:
        env.reset(seed=1)
        env.step(("a", "b", "c"))
        other = pickle.loads(pickle.dumps(env))
        env_result = env.step(("d", "e", "f"))
        result = other.step(("fault:kill", "e", "f"))
        assert values_of(result, [1, 2]) == values_of(env_result, [1, 2])
        other.close()


@FAULTS_ON_PURPOSE
def test_a_copy_beside_an_environment_that_was_lost():
    with pool(KINDS["text"](3), **ONE_PROCESS) as env:
        env.reset(seed=1)
        env.step(("fault:kill", "b", "c"))
        other = pickle.loads(pickle.dumps(env))
        actions = draw_actions("text", 3, 9)
        assert_same(play(other, actions), play(env, actions))
        other.close()


@EACH_EXECUTOR
def test_an_environment_that_cannot_be_pickled_says_so(workers):
    def locked():
        env = KINDS["text"](1)[0]()
        env.lock = threading.Lock()
        return env

    with pool([locked], **workers) as env:
        env.reset(seed=1)
        with pytest.raises(TypeError, match="lock"):
            pickle.dumps(env)
        env.step(("a",))


def test_shared_objects_stay_shared():
    catalogue = {"apples": 3}

    def shopper():
        env = KINDS["text"](1)[0]()
        env.catalogue = catalogue
        return env

    with pool([shopper] * 3) as env:
        other = pickle.loads(pickle.dumps(env))
        copies = other.get_attr("catalogue")
        assert copies[0] == catalogue
        assert copies[0] is copies[1] is copies[2]
        assert isinstance(other, PoolVectorEnv)
        other.close()
