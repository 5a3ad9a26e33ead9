"""Snapshots of pools: what is kept of each kind of environment, and who can take it.

`tests/contract/test_scenarios.py` goes to snapshots of every kind of batch and back.
"""

import copy
import functools
import json
from contextlib import closing

import gymnasium
import numpy as np
import pytest

import roll_vec
from roll_vec import VectorState
from roll_vec.errors import InvalidFileError, InvalidStateError
from roll_vec.pool import PoolVectorEnv
from tests.contract.cases import assert_same, play
from tests.pool import cases, snapshot_envs
from tests.pool.envs import Counter, Talker, drifters, talkers

pytestmark = cases.FAULTS_ON_PURPOSE

COUNTDOWN, CHOSEN = "roll_vec/Countdown-v0", "tests_pool/Chosen-v0"


class Chosen(snapshot_envs.Stateful):
    """Has a function among its keywords."""

    def __init__(self, choose=None):
        super().__init__()


@pytest.fixture(scope="module", autouse=True)
def _registered(module_forgets_ids):
    roll_vec.register(CHOSEN, Chosen)


@pytest.mark.parametrize(
    ("build", "kind"),
    [
        (snapshot_envs.Stateful, "plain data"),
        (snapshot_envs.wrapped_countdown, "plain data"),
        (snapshot_envs.noop_counter, "plain data"),
        (snapshot_envs.Remembering, "plain data"),
        (snapshot_envs.HalfStateful, "pickled data"),
        (snapshot_envs.half_reward, "pickled object"),
        (drifters("dict", 1)[0], "pickled object"),
        (Counter, "pickled object"),
    ],
)
def test_the_kind_of_a_state(build, kind, tmp_path):
    """Pickles are loaded on request alone."""
    path = tmp_path / "state.npz"
    with cases.pool([build] * 2) as env:
        env.reset(seed=11)
        state = env.get_state()
        if kind == "pickled object":
            with pytest.raises(InvalidStateError, match=r"row 1: .*no get_state"):
                state.row(1)
        else:
            assert cases.replace_row(state, 0, state.row(0)).row(0) == state.row(0)
        state.save(path)
        if kind != "plain data":
            with pytest.raises(
                InvalidFileError, match=r"state\.npz.*allow_pickle=True"
            ):
                VectorState.load(path)
        loaded = VectorState.load(path, allow_pickle=kind != "plain data")
        assert_same(env.set_state(loaded), env.set_state(env.get_state()))


class Wordless(snapshot_envs.Stateful):
    """Observes nothing after an empty action."""

    def step(self, action):
        results = super().step(action)
        return results if action else (None, *results[1:])


def test_a_snapshot_after_faults_is_the_same_with_any_workers():
    batches = [("a",) * 4, ("fault:raise", "", "b", "fault:raise")]
    # The last environment is stalled by its reset, and ends with its step.
    batches += [("c",) * 4] * 2
    states = []
    for workers in cases.EXECUTORS:
        with cases.pool([Wordless] * 4, max_episode_steps=9, **workers) as env:
            env.reset(seed=11)
            env.set_attr("fail_resets", [0, 0, 0, 1])
            states.append([(env.step(batch), env.get_state())[1] for batch in batches])
    assert states[0] == states[1] == states[2]
    is_lost = states[0][1].arrays["states"] == b""
    assert is_lost.tolist() == [True, True, False, True]


def test_a_stalled_environment_stays_stalled():
    actions = cases.draw_actions("text", 2, 6)
    with cases.pool(talkers(2)) as env, cases.pool(talkers(2)) as other:
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
        with cases.pool(talkers(2)) as good:
            good.reset(seed=1)
            other.set_state(good.get_state())
            assert_same(play(other, actions), play(good, actions))


@pytest.mark.parametrize("workers", cases.EXECUTORS[:2], ids=["serial", "threads"])
def test_states_go_into_the_same_objects_unless_they_failed(workers):
    """A state leaves attributes alone; an object brings its own."""
    with (
        cases.pool([snapshot_envs.Stateful] * 2, **workers) as env,
        cases.pool(talkers(2), **workers) as other,
    ):
        for each, is_same in ((env, True), (other, False)):
            each.reset(seed=1)
            objects, state = each.envs, each.get_state()
            each.set_attr("length", 9)
            each.set_state(state, rows=[1, 0])
            pairs = zip(objects, each.envs, strict=True)
            assert [one is two for one, two in pairs] == [is_same] * 2
            assert each.get_attr("length") == ((9, 9) if is_same else (4, 4))
        state, objects = env.get_state(), env.envs
        env.step(("fault:raise", "a"))
        lost = env.get_state()
        env.set_state(state)
        assert env.envs[0] is not objects[0]
        assert env.envs[1] is objects[1]
        env.step(("a", "b"))
        assert env.fault_counts.tolist() == [1, 0]
        env.set_state(lost)
        # Nothing is left that a call could reach.
        assert env.call("turn") == (None, 1)


def test_shared_objects_stay_shared_in_a_copy():
    catalogue = {"apples": 3}

    def shopper():
        env = Talker()
        env.catalogue = catalogue
        return env

    with cases.pool([shopper] * 3) as env, closing(copy.deepcopy(env)) as other:
        copies = other.get_attr("catalogue")
        assert copies[0] == catalogue
        assert copies[0] is copies[1] is copies[2]
        assert isinstance(other, PoolVectorEnv)


def make(id=COUNTDOWN, num_envs=2, **keywords):
    """Return a batch that was reset."""
    env = roll_vec.make_vec(id, num_envs, **keywords)
    env.reset(seed=3)
    return env


@pytest.mark.parametrize(
    ("keywords", "words"),
    [
        ({}, None),
        (cases.THREADS, None),
        (cases.PROCESSES, None),
        ({"workers": 1, "step_timeout": 5, "copy": False}, None),
        ({"render_mode": "text", "action_pattern": None, "score": 1.0}, None),
        ({"max_steps": 4}, "max_steps.*4"),
        ({"score": 2.0}, "score"),
        ({"format_penalty": -1.0}, "format_penalty"),
    ],
    ids=str,
)
def test_batches_that_exchange_snapshots_and_others(keywords, words):
    state = make(max_steps=3).get_state()
    with closing(make(**{"max_steps": 3, **keywords})) as env:
        before = env.get_state()
        if words is None:
            env.set_state(state)
            assert env.get_state().digest == state.digest
            return
        with pytest.raises(InvalidStateError, match=words):
            env.set_state(state)
        assert env.get_state() == before


def test_other_environments_are_refused_by_name():
    state = make().get_state()
    with pytest.raises(InvalidStateError, match="Chosen"):
        make(CHOSEN).set_state(state)
    for fn, other, words in (
        (Talker, snapshot_envs.Stateful, r"Stateful.*Talker"),
        (
            snapshot_envs.wrapped_countdown,
            lambda: snapshot_envs.wrapped_countdown().unwrapped,
            "TimeLimit",
        ),
        (drifters("box", 1)[0], drifters("discrete", 1)[0], "Discrete"),
    ):
        with cases.pool([fn]) as env, cases.pool([other]) as target:
            env.reset(seed=1)
            target.reset(seed=1)
            with pytest.raises(InvalidStateError, match=words):
                target.set_state(env.get_state())


def test_a_data_file_counts_by_its_content(tmp_path):
    lines = ['{"nums": [1, 2, 3], "target": 6}', '{"nums": [2, 3, 4], "target": 9}']
    paths = [tmp_path / name for name in ("one.jsonl", "same.jsonl", "other.jsonl")]
    for path, text in zip(paths, (lines, lines, lines[::-1]), strict=True):
        path.write_text("\n".join(text))
    one, same, other = (make(data=path) for path in paths)
    state = one.get_state()
    assert str(tmp_path) not in json.dumps(state.configuration)
    same.set_state(state)
    assert_same(same.step(["1", "2"]), one.step(["1", "2"]))
    with pytest.raises(InvalidStateError, match="sha256"):
        other.set_state(state)


def is_even(number):
    return number % 2 == 0


def is_below(limit, number):
    return number < limit


FUNCTIONS = (
    None,
    is_even,
    lambda number: number % 2 == 1,
    lambda number: number < 40,
    functools.partial(is_below, 40),
    functools.partial(is_below, 50),
)


def test_a_function_counts_by_its_name_and_arguments():
    states = [make(CHOSEN, choose=one).get_state() for one in FUNCTIONS]
    assert len({state.digest for state in states}) == len(FUNCTIONS)
    env = make(CHOSEN, choose=is_even)
    words = "choose.*test_snapshots:is_even.* in this batch"
    for state in states[2:]:
        with pytest.raises(InvalidStateError, match=words):
            env.set_state(state)
    env.set_state(states[1])
    with closing(make(CHOSEN, choose=FUNCTIONS[4], **cases.PROCESSES)) as env:
        env.set_state(states[4])


def test_different_environments_in_one_pool():
    """Each goes to rows of its like."""
    fns = [snapshot_envs.Stateful, Talker, snapshot_envs.Stateful, Talker]
    actions = cases.draw_actions("text", 4, 6)
    with cases.pool(fns) as env, cases.pool(fns) as other:
        env.reset(seed=1)
        play(env, actions[:3])
        state = env.get_state()
        expected = play(env, actions[3:])
        other.set_state(state)
        assert_same(play(other, actions[3:]), expected)
        before = other.get_state()
        # The kind belongs to the row, also where rows are in another order.
        swapped = state.select_rows([1, 0, 3, 2])
        for bad, rows in ((state, [1, 1, 2, 3]), (swapped, None)):
            with pytest.raises(InvalidStateError, match=r"environment 0 .* of row \d"):
                other.set_state(bad, rows=rows)
        assert_same(other.step(actions[0]), env.step(actions[0]))
        other.set_state(before, rows=[2, 3, 2, 3])
        other.set_state(state, mask=np.array([True, False, False, True]))
        five = state.select_rows([1, 0, 1, 2, 3])
        other.set_state(five, rows=[1, 2, 3, 4])
        assert_same(play(other, actions[3:]), expected)
    with cases.pool([Talker, snapshot_envs.Stateful]) as few:
        # The order of kinds is not of the configuration.
        few.set_state(state, rows=[1, 0])
        result = few.step(tuple(actions[3][i] for i in (1, 0)))
        assert cases.values_of(result, [1, 0]) == cases.values_of(expected[0], [0, 1])
    wrong = pytest.raises(InvalidStateError, match="another configuration")
    with cases.pool([snapshot_envs.Stateful]) as alike, wrong:
        alike.set_state(state, rows=[0])


def test_a_part_of_a_snapshot_is_as_wide_as_its_longest_state():
    with cases.pool([snapshot_envs.Stateful] * 3) as env:
        env.reset(seed=1)
        state = env.get_state()
        env.step(("a", "b" * 5000, "c"))
        longer = env.get_state()
    assert longer.select_rows([0, 2]).nbytes < 2000 < longer.nbytes
    assert longer.select_rows([0, 2]) == longer.select_rows([2, 1, 0]).select_rows(
        [2, 0]
    )
    assert longer.select_rows([0, 2]) != state.select_rows([0, 2])


def test_a_row_is_a_single_environment_and_goes_back():
    """`gymnasium.make(id)` has the same content, with and without the text layer."""
    env, single = make(num_envs=3), gymnasium.make(COUNTDOWN)
    env.step(["1+2"] * 3)
    state = env.get_state()
    single.reset(seed=0)
    inner, outer = single.unwrapped, single.get_wrapper_attr("set_state").__self__
    assert type(inner) is not type(outer)
    for layer in (inner, outer):
        layer.set_state(state.row(1))
        assert layer.get_state() == state.row(1)
    outer.reset()
    single.step("1+2")
    moved = cases.replace_row(state, 0, outer.get_state())
    assert moved.row(0) == inner.get_state()
    assert moved.row(1) == state.row(1)
    env.set_state(moved)
    assert env.call("get_state")[0] == inner.get_state()
