"""A pool that goes back to a snapshot repeats what followed it, to the bit."""

import copy

import gymnasium
import numpy as np
import pytest

from roll_vec import VectorState
from roll_vec.errors import ResetNeededError
from roll_vec.pool import PoolVectorEnv
from roll_vec.vector.packed_values import COPY, LOST, PICKLED, PICKLED_ENV, PLAIN
from tests.contract.cases import assert_same
from tests.pool import cases
from tests.pool.cases import (
    EACH_EXECUTOR,
    EXECUTORS,
    FAULTS_ON_PURPOSE,
    MODES,
    NAMED_EXECUTORS,
    NEXT_STEP,
    ONE_PROCESS,
    PROCESSES,
    SAME_STEP,
    THREADS,
    draw_actions,
    kill_workers,
    pool,
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

SEED = 11


def cart_pole():
    return gymnasium.make("CartPole-v1", max_episode_steps=7)


def frozen_lake():
    return gymnasium.make("FrozenLake-v1", max_episode_steps=7)


# Constructors of n environments, the kind of their actions, the kind of a snapshot.
KINDS = {
    "plain": (lambda n: [Stateful] * n, "text", PLAIN),
    "plain in wrappers": (lambda n: [wrapped_countdown] * n, "text", PLAIN),
    "plain without a step": (lambda n: [noop_counter] * n, "counts", PLAIN),
    "EzPickle with states": (lambda n: [Remembering] * n, "discrete", PLAIN),
    "pickled states": (lambda n: [HalfStateful] * n, "discrete", PICKLED),
    "in a strange wrapper": (lambda n: [half_reward] * n, "text", PICKLED_ENV),
    "text": (talkers, "text", PICKLED_ENV),
    "reusing": (lambda n: drifters("box", n, reuses=True), "box", PICKLED_ENV),
    "dict": (lambda n: drifters("dict", n), "dict", PICKLED_ENV),
    "tuple": (lambda n: drifters("tuple", n), "tuple", PICKLED_ENV),
    "counter": (lambda n: [Counter] * n, "counter", PICKLED_ENV),
    "CartPole": (lambda n: [cart_pole] * n, "two", PICKLED_ENV),
    "FrozenLake": (lambda n: [frozen_lake] * n, "discrete", PICKLED_ENV),
    "copies": (lambda n: [Unpicklable] * n, "discrete", COPY),
}
EACH_KIND = pytest.mark.parametrize("kind", KINDS)
# One of each kind of snapshot that processes take: they start slowly.
PROCESS_KINDS = ("plain in wrappers", "pickled states", "reusing")


def draw(kind, num_envs, steps, seed=0):
    """Return batches of random actions for a kind of `KINDS`."""
    rng = np.random.default_rng(seed)
    name = KINDS[kind][1]
    if name == "two":
        return list(rng.integers(0, 2, (steps, num_envs)))
    if name == "counts":
        words = ["up", "up, up", "down", "?", "stay"]
        return [tuple(rng.choice(words, num_envs).tolist()) for _ in range(steps)]
    return draw_actions(name, num_envs, steps, seed)


def play(env, batches):
    """Return copies of the results of steps, and in DISABLED mode of resets."""
    return cases.play(env, batches)


def part_of(batch, env_ids):
    """Return the actions of some environments."""
    if isinstance(batch, dict):
        return {key: value[env_ids] for key, value in batch.items()}
    if isinstance(batch, tuple):
        return tuple(batch[i] for i in env_ids)
    return batch[env_ids]


@pytest.mark.parametrize(
    ("kind", "mode"),
    [
        # Each kind in one mode; in the others among the slow tests.
        pytest.param(
            kind, mode, marks=[] if j == i % len(MODES) else [pytest.mark.slow]
        )
        for i, kind in enumerate(KINDS)
        for j, mode in enumerate(MODES)
    ],
)
def test_restore_and_replay_equals_the_undisturbed_run(kind, mode):
    """In the pool itself and in another one, serial, threads or processes."""
    fns, _, expected_kind = KINDS[kind]
    actions = draw(kind, 3, 30)
    others = EXECUTORS if expected_kind != COPY else EXECUTORS[:2]
    points = {1: {}, 8: others[1], 17: others[-1]}
    states, expected = {}, []
    with (
        pool(fns(3), autoreset_mode=mode) as env,
        pool(fns(3), autoreset_mode=mode) as twin,
    ):
        assert_same(env.reset(seed=SEED), twin.reset(seed=SEED))
        for t, batch in enumerate(actions):
            if t in points:
                states[t] = env.get_state()
                assert set(states[t].arrays["state_kinds"]) == {expected_kind}
            expected.append(play(twin, [batch]))
            assert_same(play(env, [batch]), expected[-1])
        for t, workers in points.items():
            wanted = expected[t : t + 10]
            env.set_state(states[t])
            assert_same([play(env, [batch]) for batch in actions[t : t + 10]], wanted)
            with pool(fns(3), autoreset_mode=mode, **workers) as other:
                observations = other.set_state(states[t])
                assert_same(observations, copy.deepcopy(env.set_state(states[t])))
                results = [play(other, [batch]) for batch in actions[t : t + 10]]
                assert_same(results, wanted)
                # The snapshot is still what it was.
                other.set_state(states[t])
                assert_same(play(other, actions[t : t + 1]), wanted[0])


@pytest.mark.parametrize(
    ("kind", "workers"),
    [
        (kind, workers)
        for kind in KINDS
        for workers in (EXECUTORS if kind in PROCESS_KINDS else EXECUTORS[:2])
    ],
)
def test_clones_in_a_pool_of_another_size_share_nothing(kind, workers):
    fns = KINDS[kind][0]
    rows = [2, 0, 0, 2, 0]
    with pool(fns(3), **workers) as env, pool(fns(5), **workers) as many:
        env.reset(seed=SEED)
        play(env, draw(kind, 3, 4))
        state = env.get_state()
        many.set_state(state, rows=rows)
        batches = draw(kind, 5, 4, seed=1)
        # Environment 1 goes on as row 0 does alone, whatever its twins 2 and 4 do.
        for batch in batches:
            batch_of_three = part_of(batch, [1, 1, 0])
            one, all_five = env.step(batch_of_three), many.step(batch)
            assert values_of(one, [0, 2]) == values_of(all_five, [1, 0])


def send_all(env, batch, env_ids):
    """Send actions to some environments, and return their results in order."""
    env.send(part_of(batch, env_ids), env_ids)
    return copy.deepcopy(env.recv(None))


@one_in(
    3, "workers, mode, kind", NAMED_EXECUTORS, MODES[:2], ["plain", "text", "reusing"]
)
def test_between_rounds_of_send_and_recv(kind, mode, workers):
    """Also when some environments have ended, and others are not stepped yet."""
    fns = KINDS[kind][0]
    rounds = [[0, 2], [1], [2], [0, 1, 2], [2, 1], [0], [0, 1], [1, 2]] * 2
    actions = draw(kind, 3, len(rounds))
    with (
        pool(fns(3), autoreset_mode=mode, **workers) as env,
        pool(fns(3), autoreset_mode=mode, **workers) as twin,
    ):
        env.reset(seed=3)
        twin.reset(seed=3)
        for t, (batch, env_ids) in enumerate(zip(actions, rounds, strict=True)):
            state = env.get_state()
            expected = send_all(twin, batch, env_ids)
            assert_same(send_all(env, batch, env_ids), expected)
            if t % 3 == 0:
                env.set_state(state)
                assert_same(send_all(env, batch, env_ids), expected)


@FAULTS_ON_PURPOSE
@one_in(3, "workers, mode, kind", NAMED_EXECUTORS, MODES, ["plain", "text"])
def test_an_environment_that_has_just_failed(kind, mode, workers):
    """Its next reset builds a new object, in the episode that the old one had."""
    fns = KINDS[kind][0]
    actions = draw(kind, 3, 12)
    with pool(fns(3), autoreset_mode=mode, **workers) as env:
        env.reset(seed=SEED)
        play(env, actions[:3])
        env.set_attr("length", 6)
        result = env.step(with_fault(actions[3], 1, "raise"))
        state = env.get_state()
        is_lost = mode is not SAME_STEP
        assert (state.arrays["state_kinds"][1] == LOST) == is_lost
        assert state.arrays["needs_replacement"].tolist() == [False, is_lost, False]
        cases.reset_ended(env, result)
        expected = play(env, actions[4:])
        for target in (env, PoolVectorEnv(fns(3), autoreset_mode=mode, **workers)):
            target.set_attr("length", 6)
            target.set_state(state)
            # Nothing is left that a call could reach.
            assert (target.call("turn")[1] is None) == is_lost
            cases.reset_ended(target, result)
            assert_same(play(target, actions[4:]), expected)
        assert target.fault_counts.sum() == 0
        target.close()


class Wordless(Stateful):
    """Observes nothing after an empty action."""

    def step(self, action):
        results = super().step(action)
        return results if action else (None, *results[1:])


@FAULTS_ON_PURPOSE
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


@FAULTS_ON_PURPOSE
def test_a_stalled_environment_stays_stalled():
    actions = draw("text", 2, 6)
    with pool(talkers(2)) as env, pool(talkers(2)) as other:
        env.reset(seed=1)
        env.set_attr("fail_resets", [False, True])
        env.step(("fault:raise",) * 2)
        env.step(("a", "b"))
        assert list(env.engine.faults.stalled) == [1]
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


@FAULTS_ON_PURPOSE
@pytest.mark.parametrize("kind", [*PROCESS_KINDS, "CartPole"])
def test_a_worker_that_dies_after_set_state_is_restored(kind):
    """The log of each environment begins at the snapshot."""
    fns = KINDS[kind][0]
    actions = draw(kind, 3, 12)
    with pool(fns(3)) as env, pool(fns(3), **ONE_PROCESS) as other:
        env.reset(seed=SEED)
        play(env, actions[:4])
        state = env.get_state()
        other.reset(seed=99)
        play(other, actions[4:9])
        other.set_state(state)
        for t in range(3):
            kill_workers(other)
            # The one whose task was running is lost.
            other.send(part_of(actions[t], [t]), [t])
            other.recv()
            others = [i for i in range(3) if i != t]
            other.send(part_of(actions[t], others), others)
            result = copy.deepcopy(other.recv(None))
            expected = env.step(actions[t])
            assert_same(result[1:4], tuple(part[others] for part in expected[1:4]))
            assert_same(result[0], part_of_batch(expected[0], others))
            other.set_state(env.get_state())
        assert other.fault_counts.tolist() == [1, 1, 1]


def part_of_batch(batch, env_ids):
    """Return the observations of some environments."""
    if isinstance(batch, dict):
        return {key: part_of_batch(part, env_ids) for key, part in batch.items()}
    if isinstance(batch, tuple) and isinstance(batch[0], np.ndarray):
        return tuple(part_of_batch(part, env_ids) for part in batch)
    return part_of(batch, env_ids)


@pytest.mark.parametrize("workers", [{}, THREADS])
def test_states_go_into_the_same_objects(workers):
    with pool([Stateful] * 2, **workers) as env, pool(talkers(2), **workers) as other:
        for each, is_same in ((env, True), (other, False)):
            each.reset(seed=1)
            objects = each.envs
            each.set_state(each.get_state(), rows=[1, 0])
            after = each.envs
            assert [one is two for one, two in zip(objects, after, strict=True)] == [
                is_same
            ] * 2


@FAULTS_ON_PURPOSE
@pytest.mark.parametrize("workers", [{}, THREADS])
def test_a_state_goes_into_a_new_object_in_place_of_one_that_failed(workers):
    with pool([Stateful] * 2, **workers) as env:
        env.reset(seed=1)
        state, objects = env.get_state(), env.envs
        env.step(("fault:raise", "a"))
        env.set_state(state)
        assert env.envs[0] is not objects[0]
        assert env.envs[1] is objects[1]
        env.step(("a", "b"))
        assert env.fault_counts.tolist() == [1, 0]


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


def test_an_interrupted_set_state_needs_a_reset():
    with pool([Interrupted] * 2) as env, pool([Stateful] * 2) as twin:
        env.reset(seed=1)
        state = env.get_state()
        Interrupted.interrupts = True
        try:
            with pytest.raises(KeyboardInterrupt):
                env.set_state(state)
        finally:
            Interrupted.interrupts = False
        for call in (env.get_state, lambda: env.step(("a", "b"))):
            with pytest.raises(ResetNeededError):
                call()
        assert_same(env.reset(seed=2), twin.reset(seed=2))
        assert_same(env.step(("a", "b")), twin.step(("a", "b")))


class Interrupted(Stateful):
    """Ctrl-C comes while its state is set."""

    interrupts = False

    def set_state(self, state):
        if self.interrupts:
            raise KeyboardInterrupt
        super().set_state(state)


def test_attributes_belong_to_the_pool():
    """A state leaves them alone; an object brings its own."""
    with pool([Stateful] * 2) as env, pool(talkers(2)) as other:
        for each, expected in ((env, (9, 9)), (other, (4, 4))):
            each.reset(seed=1)
            state = each.get_state()
            each.set_attr("length", 9)
            each.set_state(state)
            assert each.get_attr("length") == expected


@pytest.mark.parametrize("workers", [{}, THREADS, PROCESSES])
def test_a_copied_pool_goes_back_to_the_snapshots_of_the_first(workers):
    actions = draw("plain", 2, 6)
    with pool([Stateful] * 2, **workers) as env:
        env.reset(seed=1)
        state = env.get_state()
        expected = play(env, actions)
        with pool([Stateful] * 2, **workers) as other:
            other.set_state(copy.deepcopy(state))
            assert_same(play(other, actions), expected)


def test_a_file_without_pickles(tmp_path):
    path = tmp_path / "state.npz"
    with pool([wrapped_countdown] * 3) as env:
        env.reset(seed=1)
        actions = draw("plain in wrappers", 3, 9)
        play(env, actions[:4])
        state = env.get_state()
        state.save(path)
        with np.load(path, allow_pickle=False) as file:
            assert "states" in file
        assert VectorState.load(path) == state
        expected = play(env, actions[4:])
        env.set_state(VectorState.load(path))
        assert_same(play(env, actions[4:]), expected)


@pytest.mark.parametrize("autoreset_mode", [NEXT_STEP, SAME_STEP])
def test_pools_that_reuse_their_batch(autoreset_mode):
    keywords = {"copy": False, "autoreset_mode": autoreset_mode}
    actions = draw("reusing", 3, 20)
    with pool(drifters("box", 3, True), **keywords) as env:
        env.reset(seed=1)
        play(env, actions[:6])
        state = env.get_state()
        expected = play(env, actions[6:])
        observations = env.set_state(state)
        assert observations is env.engine.observe_without_copy()
        assert_same(play(env, actions[6:]), expected)
