"""Snapshots and copies of pools: what is kept of each kind of environment, and faults.

`tests/contract/test_scenarios.py` goes to snapshots of every kind of batch and back.
"""

import copy
import pickle
from contextlib import closing

import numpy as np
import pytest

from roll_vec.errors import ResetNeededError
from roll_vec.pool import PoolVectorEnv
from roll_vec.vector.packed_values import COPY, LOST, PICKLED, PICKLED_ENV, PLAIN
from tests.contract.cases import assert_same
from tests.pool.cases import (
    EACH_EXECUTOR,
    EACH_SHARED_MEMORY,
    EXECUTORS,
    FAULTS_ON_PURPOSE,
    KINDS,
    MODES,
    NAMED_EXECUTORS,
    NEXT_STEP,
    ONE_PROCESS,
    SAME_STEP,
    draw_actions,
    kill_workers,
    play,
    pool,
    reset_ended,
    values_of,
    with_fault,
)
from tests.pool.envs import Counter, drifters, talkers
from tests.pool.snapshot_envs import (
    HalfStateful,
    Levelled,
    Remembering,
    Stateful,
    Unpicklable,
    half_reward,
    noop_counter,
    wrapped_countdown,
)
from tests.thinning import one_in

pytestmark = FAULTS_ON_PURPOSE

SEED = 11
FNS = {"plain": [Stateful] * 3, "text": talkers(3)}


def started(fns, steps=3, seed=SEED, **keywords):
    """Return a pool that was reset and stepped by texts."""
    env = PoolVectorEnv(fns, **keywords)
    env.reset(seed=seed)
    play(env, draw_actions("text", env.num_envs, steps))
    return env


@pytest.mark.parametrize(
    ("build", "kind"),
    [
        (Stateful, PLAIN),
        (wrapped_countdown, PLAIN),
        (noop_counter, PLAIN),
        (Remembering, PLAIN),
        (HalfStateful, PICKLED),
        (half_reward, PICKLED_ENV),
        (drifters("dict", 1)[0], PICKLED_ENV),
        (Counter, PICKLED_ENV),
        (Unpicklable, COPY),
    ],
)
def test_the_kind_of_a_state(build, kind):
    with pool([build] * 2) as env:
        env.reset(seed=SEED)
        state = env.get_state()
        assert set(state.arrays["state_kinds"]) == {kind}
        assert (state.objects is None) == (kind != COPY)


@one_in(3, "workers, mode, kind", NAMED_EXECUTORS, MODES, ["plain", "text"])
def test_an_environment_that_has_just_failed(kind, mode, workers):
    """Its next reset builds a new object, in the episode that the old one had."""
    actions = draw_actions("text", 3, 12)
    keywords = {"autoreset_mode": mode, **workers}
    with pool(FNS[kind], **keywords) as env, pool(FNS[kind], **keywords) as other:
        env.reset(seed=SEED)
        play(env, actions[:3])
        env.set_attr("length", 6)
        result = env.step(with_fault(actions[3], 1, "raise"))
        state = env.get_state()
        is_lost = mode is not SAME_STEP
        assert (state.arrays["state_kinds"][1] == LOST) == is_lost
        assert state.arrays["needs_replacement"].tolist() == [False, is_lost, False]
        reset_ended(env, result)
        expected = play(env, actions[4:])
        for target in (env, other):
            target.set_attr("length", 6)
            target.set_state(state)
            # Nothing is left that a call could reach.
            assert (target.call("turn")[1] is None) == is_lost
            reset_ended(target, result)
            assert_same(play(target, actions[4:]), expected)
        assert other.fault_counts.sum() == 0


class Wordless(Stateful):
    """Observes nothing after an empty action."""

    def step(self, action):
        results = super().step(action)
        return results if action else (None, *results[1:])


def test_a_snapshot_after_faults_is_the_same_with_any_workers():
    batches = [("a",) * 4, ("fault:raise", "", "b", "fault:raise")]
    # The last environment is stalled by its reset, and ends with its step.
    batches += [("c",) * 4] * 2
    states = []
    for workers in EXECUTORS:
        with pool([Wordless] * 4, max_episode_steps=9, **workers) as env:
            env.reset(seed=SEED)
            env.set_attr("fail_resets", [0, 0, 0, 1])
            states.append([(env.step(batch), env.get_state())[1] for batch in batches])
    assert states[0] == states[1] == states[2]


def test_a_stalled_environment_stays_stalled():
    actions = draw_actions("text", 2, 6)
    with pool(talkers(2)) as env, pool(talkers(2)) as other:
        env.reset(seed=1)
        env.set_attr("fail_resets", [False, True])
        env.step(("fault:raise",) * 2)
        env.step(("a", "b"))
        state = env.get_state()
        expected = play(env, actions)
        other.set_attr("fail_resets", [False, True])
        other.set_state(state)
        assert_same(play(other, actions), expected)
        # It leaves the state by another snapshot, too.
        other.set_attr("fail_resets", False)
        with pool(talkers(2)) as good:
            good.reset(seed=1)
            other.set_state(good.get_state())
            assert_same(play(other, actions), play(good, actions))


@pytest.mark.parametrize(
    ("kind", "build"),
    [
        ("text", Stateful),
        ("discrete", HalfStateful),
        ("box", drifters("box", 1, reuses=True)[0]),
    ],
)
def test_a_worker_that_dies_after_set_state_is_restored(kind, build):
    """The log of each environment begins at the snapshot."""
    actions = draw_actions(kind, 3, 12)
    with pool([build] * 3) as env, pool([build] * 3, **ONE_PROCESS) as other:
        env.reset(seed=SEED)
        play(env, actions[:4])
        other.reset(seed=99)
        play(other, actions[4:9])
        other.set_state(env.get_state())
        for t in range(3):
            kill_workers(other)
            # The one whose task was running is lost.
            other.send([actions[t][t]], [t])
            other.recv()
            others = [i for i in range(3) if i != t]
            other.send([actions[t][i] for i in others], others)
            result, expected = other.recv(None), env.step(actions[t])
            assert values_of(result, [0, 1])[0] == values_of(expected, others)[0]
            other.set_state(env.get_state())
        assert other.fault_counts.tolist() == [1, 1, 1]


@EACH_SHARED_MEMORY
def test_states_go_into_the_same_objects_unless_they_failed(workers):
    with pool([Stateful] * 2, **workers) as env, pool(talkers(2), **workers) as other:
        for each, is_same in ((env, True), (other, False)):
            each.reset(seed=1)
            objects = each.envs
            each.set_state(each.get_state(), rows=[1, 0])
            pairs = zip(objects, each.envs, strict=True)
            assert [one is two for one, two in pairs] == [is_same] * 2
        state, objects = env.get_state(), env.envs
        env.step(("fault:raise", "a"))
        env.set_state(state)
        assert env.envs[0] is not objects[0]
        assert env.envs[1] is objects[1]
        env.step(("a", "b"))
        assert env.fault_counts.tolist() == [1, 0]


def test_attributes_belong_to_the_pool():
    """A state leaves them alone; an object brings its own."""
    with pool([Stateful] * 2) as env, pool(talkers(2)) as other:
        for each, expected in ((env, (9, 9)), (other, (4, 4))):
            each.reset(seed=1)
            state = each.get_state()
            each.set_attr("length", 9)
            each.set_state(state)
            assert each.get_attr("length") == expected


@EACH_EXECUTOR
def test_level_options_that_are_in_no_state(workers):
    """A new object gets those of the snapshot."""
    with pool([Levelled] * 3, **workers) as env:
        env.reset(seed=1)
        env.set_level_options(mask=np.array([True, False, False]), length=50)
        state = env.get_state()
        env.set_level_options(length=70)
        env.set_state(state)
        assert env.get_attr("length") == (50, 4, 4)
        env.set_state(state, rows=[1, 0, 2])
        assert env.get_attr("length") == (4, 50, 4)


class Interrupted(Stateful):
    """Ctrl-C comes while its state is set."""

    interrupts = False

    def set_state(self, state):
        if self.interrupts:
            raise KeyboardInterrupt
        super().set_state(state)


def test_an_interrupted_set_state_needs_a_reset(monkeypatch):
    with pool([Interrupted] * 2) as env, pool([Stateful] * 2) as twin:
        env.reset(seed=1)
        state = env.get_state()
        with monkeypatch.context() as patch:
            patch.setattr(Interrupted, "interrupts", True)
            with pytest.raises(KeyboardInterrupt):
                env.set_state(state)
        for call in (env.get_state, lambda: env.step(("a", "b"))):
            with pytest.raises(ResetNeededError):
                call()
        assert_same(env.reset(seed=2), twin.reset(seed=2))
        assert_same(env.step(("a", "b")), twin.step(("a", "b")))


@pytest.mark.parametrize("autoreset_mode", [NEXT_STEP, SAME_STEP])
def test_pools_that_reuse_their_batch(autoreset_mode):
    keywords = {"copy": False, "autoreset_mode": autoreset_mode}
    actions = draw_actions("box", 3, 20)
    with pool(drifters("box", 3, True), **keywords) as env:
        first, _ = env.reset(seed=1)
        play(env, actions[:6])
        state = env.get_state()
        expected = play(env, actions[6:])
        assert env.set_state(state) is first
        assert_same(play(env, actions[6:]), expected)


# ---------------------------------------------------------------------- copies


def test_workers_of_a_copy_restore_its_environments():
    """They begin with the environment objects that the copy got."""
    with closing(started(KINDS["text"](3), **ONE_PROCESS)) as env:
        with closing(copy.deepcopy(env)) as other:
            result, expected = (
                other.step(("fault:kill", "e", "f")),
                env.step(list("def")),
            )
        assert values_of(result, [1, 2]) == values_of(expected, [1, 2])
        env.step(("fault:kill", "b", "c"))
        with closing(pickle.loads(pickle.dumps(env))) as other:
            actions = draw_actions("text", 3, 9)
            assert_same(play(other, actions), play(env, actions))
            assert other.fault_counts.tolist() == env.fault_counts.tolist()


def test_shared_objects_stay_shared():
    catalogue = {"apples": 3}

    def shopper():
        env = KINDS["text"](1)[0]()
        env.catalogue = catalogue
        return env

    with pool([shopper] * 3) as env, closing(copy.deepcopy(env)) as other:
        copies = other.get_attr("catalogue")
        assert copies[0] == catalogue
        assert copies[0] is copies[1] is copies[2]
        assert isinstance(other, PoolVectorEnv)
