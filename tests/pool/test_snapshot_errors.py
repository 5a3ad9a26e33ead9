"""Snapshots of pools that are refused or fail: one clear error each."""

import json
import os
import pickle
from contextlib import suppress

import numpy as np
import pytest

import roll_vec
from roll_vec import VectorState
from roll_vec.errors import (
    EnvironmentFaultError,
    InvalidFileError,
    InvalidStateError,
    ResetNeededError,
    UnsupportedError,
)
from tests.contract.cases import assert_same, play
from tests.pool import cases, snapshot_envs
from tests.pool.envs import Talker, drifters, talkers
from tests.thinning import one_in

# In the files: pickled data.
PICKLED = b"P"


UNKEPT = {
    snapshot_envs.Forgetful: "TypeError: Forgetful is pickled ",
    snapshot_envs.Unpicklable: "annot .*pickle",
    snapshot_envs.Locked: "cannot pickle '_thread.lock'",
}


@one_in(3, "workers, build", cases.NAMED_EXECUTORS, [*UNKEPT])
def test_a_state_that_cannot_be_kept_names_the_environment(build, workers):
    """And nothing has happened to the pool."""
    words = rf"environment 1 \({build.__name__}\).*{UNKEPT[build]}"
    fns = [*drifters("discrete", 1), build, *drifters("discrete", 1)]
    with cases.twins(fns, **workers) as (env, twin):
        actions = cases.draw_actions("discrete", 3, 6)
        for one in (env, twin):
            play(one, actions[:3])
        with pytest.raises(UnsupportedError, match=words + ".*give .* both methods"):
            env.get_state()
        assert_same(play(env, actions[3:]), play(twin, actions[3:]))


def rewritten(state, name, row, change):
    """Return the array of a state with another value in a row, its first byte kept."""
    contents = state.arrays[name].tolist()
    contents[row] = contents[row][:1] + change(contents[row][1:])
    return {name: np.array(contents)}


def with_observation_5(content):
    return json.dumps({**json.loads(content), "observation": 5}).encode()


def test_a_changed_state_is_refused_by_its_place():
    """`tests/contract/test_snapshots.py` changes any bytes, and nothing moves."""
    with cases.pool([snapshot_envs.Stateful] * 2) as env:
        env.reset(seed=1)
        state = env.get_state()
        for words, arrays in (
            (r"states\[1\]", rewritten(state, "states", 1, lambda _: b"{")),
            (r"records\[0\]", rewritten(state, "records", 0, lambda text: text[:-1])),
            (
                r"records\[1\].*a record with an observation of",
                rewritten(state, "records", 1, with_observation_5),
            ),
            ("records", {"records": np.array([b"", b""])}),
        ):
            with pytest.raises(InvalidStateError, match=words):
                env.set_state(cases.with_arrays(state, **arrays))
        assert env.get_state() == state


class Spy:
    """Its pickle runs code."""

    def __reduce__(self):
        return pytest.fail, ("a pickle was read",)


@pytest.mark.parametrize("name", ["states", "records"])
@pytest.mark.parametrize("dtype", ["S", "V", "u1", "U", "2-d"])
def test_no_array_of_a_file_makes_a_pickle_run(name, dtype, tmp_path):
    envs = roll_vec.make_vec("roll_vec/Countdown-v0", 2)
    envs.reset(seed=0)
    state, content = envs.get_state(), PICKLED + pickle.dumps(Spy())
    array = np.array([content] * 2)
    if dtype == "V":
        array = array.view(f"V{len(content)}")
    elif dtype == "u1":
        array = array.view(np.uint8).reshape(2, -1)
    elif dtype == "U":
        array = np.array([content.decode("latin-1")] * 2)
    elif dtype == "2-d":
        array = array[:, None]
    arrays = {**state.arrays, name: array}
    path = tmp_path / "odd.npz"
    forged = VectorState(state.id, state.configuration, arrays)
    if dtype != "V":
        forged.save(path)
        if dtype == "S":
            with pytest.raises(InvalidFileError):
                VectorState.load(path)
        else:
            forged = VectorState.load(path)
    with pytest.raises(InvalidStateError):
        envs.set_state(forged)
    # An array of another form is none of values: it is returned as it is.
    with suppress(InvalidStateError):
        forged.row(0)


def test_the_permission_for_pickles_belongs_to_the_snapshot(tmp_path):
    """Kinds that are changed in memory, and snapshots that are made of others."""
    path = tmp_path / "state.npz"
    with cases.pool([snapshot_envs.Stateful] * 2) as env:
        env.reset(seed=1)
        own = env.get_state()
        own.save(path)
        loaded = VectorState.load(path)
        allowed = [
            own,
            own.select_rows([1, 0]),
            VectorState.load(path, allow_pickle=True),
        ]
        refused = [
            loaded,
            loaded.select_rows([0, 1]),
            VectorState.concatenate([own, loaded]),
            VectorState(own.id, own.configuration, own.arrays),
        ]
        for number, state in enumerate(allowed + refused):
            env.set_state(state, rows=[0, 1])
            # The arrays of a pickle can be made writable.
            changed = pickle.loads(pickle.dumps(state))
            states = changed.arrays["states"]
            states.flags.writeable = True
            states[:] = PICKLED + b"J"
            is_allowed = number < len(allowed)
            words = "UnpicklingError" if is_allowed else "allow_pickle=True"
            with pytest.raises(InvalidStateError, match=words):
                changed.row(0)
            if not is_allowed:
                with pytest.raises(InvalidStateError, match=words):
                    env.set_state(changed, rows=[0, 1])


@cases.FAULTS_ON_PURPOSE
@cases.EACH_EXECUTOR
def test_a_fault_of_set_state_names_the_environment(workers):
    actions = cases.draw_actions("text", 3, 6)
    with (
        cases.pool([snapshot_envs.Stateful] * 3, **workers) as env,
        cases.pool([snapshot_envs.Stateful] * 3) as twin,
    ):
        env.reset(seed=1)
        play(env, actions[:3])
        state = env.get_state()
        bad = cases.replace_row(state, 1, {**state.row(1), "turn": "refused"})
        with pytest.raises(EnvironmentFaultError, match="ValueError: refused") as error:
            env.set_state(bad, rows=[0, 1, 2])
        assert list(error.value.errors) == [1]
        for call in (env.get_state, lambda: env.step(("a",) * 3)):
            with pytest.raises(ResetNeededError):
                call()
        for go_on in (lambda one: one.set_state(state), lambda one: one.reset(seed=7)):
            assert_same(go_on(env), go_on(twin))
            assert_same(play(env, actions), play(twin, actions))
            with pytest.raises(EnvironmentFaultError):
                env.set_state(bad)
    with cases.pool(talkers(2), **workers) as env:
        env.reset(seed=1)
        state = env.get_state()
        bad = rewritten(state, "states", 1, lambda content: content[:9])
        with pytest.raises(EnvironmentFaultError, match=r"environments \[1\] failed"):
            env.set_state(cases.with_arrays(state, **bad))
        env.set_state(state)
        env.step(("a", "b"))


class Dying(Talker):
    """Ends its process where its state is asked for or set."""

    dies_in = ""

    def get_state(self):
        if self.dies_in == "get_state":
            os._exit(3)
        return {"stream": self.get_stream(), "turn": self.turn, "goal": self.goal}

    def set_state(self, state):
        if self.dies_in == "set_state":
            os._exit(3)
        self.set_stream(state["stream"])
        self.turn, self.goal = state["turn"], state["goal"]


@cases.FAULTS_ON_PURPOSE
@pytest.mark.parametrize(
    "workers", [cases.ONE_PROCESS, cases.PROCESSES], ids=["one", "two"]
)
def test_a_worker_that_dies_in_a_snapshot(workers):
    actions = cases.draw_actions("text", 3, 6)
    with cases.twins([Dying] * 3, **workers) as (env, twin):
        for one in (env, twin):
            play(one, actions[:2])
        state = env.get_state()
        env.set_attr("dies_in", ["", "get_state", ""])
        with pytest.raises(EnvironmentFaultError, match=r"\[1.*during get_state"):
            env.get_state()
        # The environments of the other worker go on; those of this one are replaced.
        result, expected = env.step(actions[2]), twin.step(actions[2])
        others = [0, 2] if workers is cases.PROCESSES else []
        assert cases.values_of(result, others) == cases.values_of(expected, others)
        messages = [result[4]["error"][i] for i in range(3) if i not in others]
        assert all("exit code 3 during get_state" in one for one in messages)
        env.set_attr("dies_in", ["", "set_state", ""])
        with pytest.raises(EnvironmentFaultError, match=r"\[1.*during set_state"):
            env.set_state(state)
        env.set_attr("dies_in", "")
        for is_killed in (False, True):
            if is_killed:
                cases.kill_workers(env)
                words = "exit code -9 during set_state"
                with pytest.raises(EnvironmentFaultError, match=words):
                    env.set_state(state)
            env.set_state(state)
            twin.set_state(state)
            assert_same(play(env, actions[3:]), play(twin, actions[3:]))


@cases.EACH_EXECUTOR
@pytest.mark.parametrize(
    "build", [snapshot_envs.Remembering, snapshot_envs.HalfStateful]
)
def test_the_generator_beside_a_state(build, workers):
    with cases.pool([build] * 2, **workers) as env:
        env.reset(seed=1)
        env.step(np.array([0, 1]))
        state = env.get_state()
        row = state.row(1)
        env.set_state(cases.replace_row(state, 1, row))
        for change in ({"np_random": {"bit_generator": "x"}}, {"more": 1}):
            with pytest.raises(EnvironmentFaultError, match=r"\[1\] failed.*state"):
                env.set_state(cases.replace_row(state, 1, {**row, **change}))
            env.set_state(state)
        assert env.get_state() == state
