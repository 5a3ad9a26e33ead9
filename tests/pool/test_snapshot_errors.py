"""Snapshots of pools that are refused or fail: one clear error each."""

import os
import pickle

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
from roll_vec.plain_data import decode, encode
from roll_vec.pool import PoolVectorEnv
from roll_vec.vector.packed_values import COPY, PICKLED, pack, replace_value
from tests.contract.cases import assert_same
from tests.pool.cases import (
    EACH_EXECUTOR,
    FAULTS_ON_PURPOSE,
    ONE_PROCESS,
    PROCESSES,
    draw_actions,
    kill_workers,
    play,
    pool,
)
from tests.pool.envs import Drifter, Talker, drifters, talkers
from tests.pool.snapshot_envs import (
    Forgetful,
    HalfStateful,
    Locked,
    Stateful,
    Unpicklable,
)


def started(fns, **keywords):
    """Return a pool that was reset and stepped."""
    env = PoolVectorEnv(fns, **keywords)
    env.reset(seed=1)
    play(env, draw_actions("text", env.num_envs, 3))
    return env


@EACH_EXECUTOR
@pytest.mark.parametrize(
    ("build", "words"),
    [
        (Forgetful, r"environment 1 \(Forgetful\).*TypeError: Forgetful is pickled "),
        (Locked, r"environment 1 \(Locked\).*cannot pickle '_thread.lock'"),
    ],
)
def test_a_state_that_cannot_be_kept_names_the_environment(build, words, workers):
    """And nothing has happened to the pool."""
    fns = [*drifters("discrete", 1), build, *drifters("discrete", 1)]
    with pool(fns, **workers) as env, pool(fns) as twin:
        actions = draw_actions("discrete", 3, 6)
        for one in (env, twin):
            one.reset(seed=1)
            play(one, actions[:3])
        with pytest.raises(UnsupportedError, match=words + ".*give .* both methods"):
            env.get_state()
        assert_same(play(env, actions[3:]), play(twin, actions[3:]))


def test_copies_are_for_one_process(tmp_path):
    with pool([Unpicklable] * 2) as env, pool([Unpicklable] * 2, **PROCESSES) as other:
        env.reset(seed=1)
        state = env.get_state()
        assert state.objects is not None
        with pytest.raises(InvalidStateError, match="only this process can use"):
            state.save(tmp_path / "state.npz")
        assert not os.listdir(tmp_path)  # noqa: PTH208
        lonely = VectorState(state.id, state.configuration, state.arrays)
        with pytest.raises(InvalidStateError, match="a copy of an object"):
            env.set_state(lonely)
        other.reset(seed=1)
        with pytest.raises(UnsupportedError, match=r"environment 0 \(Unpicklable\)"):
            other.get_state()
        with pytest.raises(InvalidStateError, match="for the processes of this pool"):
            other.set_state(state)
        assert_same(other.step([0, 1]), env.step([0, 1]))


def test_pickles_are_loaded_on_request_alone(tmp_path):
    path = tmp_path / "state.npz"
    for fns in (talkers(2), [HalfStateful] * 2):
        with pool(fns) as env:
            env.reset(seed=1)
            state = env.get_state()
            state.save(path)
            if fns[0] is Talker:
                with pytest.raises(InvalidStateError, match=r"row 1: .*no get_state"):
                    state.row(1)
            with pytest.raises(
                InvalidFileError, match=r"state\.npz.*allow_pickle=True"
            ):
                VectorState.load(path)
            observations = env.set_state(VectorState.load(path, allow_pickle=True))
            assert_same(observations, env.set_state(env.get_state()))


# ------------------------------------------------------------------ changed states


def with_arrays(state, arrays):
    """Return a snapshot with other arrays."""
    return VectorState(
        state.id, state.configuration, arrays, state.shared, allow_pickle=True
    )


def rewritten(state, name, row, change):
    """Return the arrays of a state with another value in a row."""
    kinds, lengths = state.arrays[f"{name}_kinds"], state.arrays[f"{name}_lengths"]
    matrix = state.arrays[f"{name}s"]
    contents = [matrix[i, : lengths[i]].tobytes() for i in range(len(matrix))]
    contents[row] = change(contents[row])
    return pack(name, kinds.tolist(), contents)


def with_entry(**entries):
    """Return a change of a record."""
    return lambda content: encode({**decode(content), **entries})


def changed_arrays(state):
    """Yield the name in the message and the arrays that replace those of a state."""
    for name, array in state.arrays.items():
        if array.dtype != "S16":
            yield name, {name: array.astype(np.float32)}
    for name in ("state", "record"):
        for suffix, values in (
            ("kinds", [-1, 0]),
            ("kinds", [0, 5]),
            ("lengths", [0, -1]),
        ):
            array = state.arrays[f"{name}_{suffix}"]
            values = np.array(values, array.dtype)
            yield f"{name}_{suffix}", {f"{name}_{suffix}": values}
        matrix = state.arrays[f"{name}s"]
        yield f"{name}_lengths", {f"{name}s": matrix[:, :-9]}
        yield f"{name}s", {f"{name}s": matrix[:, :, None]}
        yield rf"{name}s\[1\]", rewritten(state, name, 1, lambda _: b"{")
        yield rf"{name}s\[0\]", rewritten(state, name, 0, lambda content: content[:-1])
    yield r"records\[1\].*a dict with", rewritten(state, "record", 1, lambda _: b"{}")
    for entries, words in (
        ({"observation": 5}, "an observation of"),
        ({"observation": None}, "an observation of"),
        ({"error": 1}, "an error, or None"),
        ({"level_options": [1]}, "a dict of level options"),
    ):
        yield (
            rf"records\[1\].*{words}",
            rewritten(state, "record", 1, with_entry(**entries)),
        )
    yield "record_kinds", {"record_kinds": np.array([0, COPY], np.int8)}
    yield "a copy of an object", {"state_kinds": np.array([0, COPY], np.int8)}
    yield "needs_replacement", {"needs_replacement": np.array([True, False])}
    yield "first_seeds", {"first_seeds": np.array([b"x", b"1"], "S16")}
    yield "first_seeds", {"first_seeds": np.array([b"-1", b"1"], "S16")}
    for value in (-1, (1 << 63) - 1):
        yield "elapsed_steps", {"elapsed_steps": np.array([0, value])}
    for value in (-2, (1 << 63) - 1):
        yield "episode_numbers", {"episode_numbers": np.array([0, value])}


def test_a_changed_state_is_refused_before_anything_moves():
    env, twin = (started([Stateful] * 2) for _ in range(2))
    state = env.get_state()
    for words, arrays in changed_arrays(state):
        with pytest.raises(InvalidStateError, match=words):
            env.set_state(with_arrays(state, {**state.arrays, **arrays}))
    assert env.get_state() == twin.get_state()
    actions = draw_actions("text", 2, 5)
    assert_same(play(env, actions), play(twin, actions))
    env.close()
    twin.close()


# ------------------------------------------------------------------------- faults


@FAULTS_ON_PURPOSE
@EACH_EXECUTOR
def test_a_fault_of_set_state_names_the_environment(workers):
    env = started([Stateful] * 3, **workers)
    state = env.get_state()
    values = {**state.row(1), "turn": "refused"}
    arrays = replace_value("state", state.arrays, 1, values)
    bad = VectorState(state.id, state.configuration, {**state.arrays, **arrays})
    with pytest.raises(EnvironmentFaultError, match="ValueError: refused") as caught:
        env.set_state(bad, rows=[0, 1, 2])
    assert list(caught.value.errors) == [1]
    for call in (env.get_state, lambda: env.step(("a",) * 3)):
        with pytest.raises(ResetNeededError):
            call()
    actions = draw_actions("text", 3, 6)
    with pool([Stateful] * 3) as twin:
        twin.set_state(state)
        env.set_state(state)
        assert_same(play(env, actions), play(twin, actions))
        with pytest.raises(EnvironmentFaultError):
            env.set_state(bad)
        assert_same(env.reset(seed=7), twin.reset(seed=7))
        assert_same(play(env, actions), play(twin, actions))
    env.close()
    with pool(talkers(2), **workers) as env:
        env.reset(seed=1)
        state = env.get_state()
        arrays = rewritten(state, "state", 1, lambda content: content[:9])
        bad = with_arrays(state, {**state.arrays, **arrays})
        with pytest.raises(EnvironmentFaultError, match=r"environments \[1\] failed"):
            env.set_state(bad)
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


@FAULTS_ON_PURPOSE
@pytest.mark.parametrize("workers", [ONE_PROCESS, PROCESSES])
def test_a_worker_that_dies_in_a_snapshot(workers):
    actions = draw_actions("text", 3, 6)
    with pool([Dying] * 3, **workers) as env, pool([Dying] * 3) as twin:
        for one in (env, twin):
            one.reset(seed=1)
            play(one, actions[:2])
        state = env.get_state()
        env.set_attr("dies_in", ["", "get_state", ""])
        with pytest.raises(EnvironmentFaultError, match=r"\[1\].*during get_state"):
            env.get_state()
        # The other environments go on; the lost one is replaced.
        result, expected = env.step(actions[2]), twin.step(actions[2])
        assert result[0][::2] == expected[0][::2]
        assert "worker death" in result[4]["error"][1]
        env.set_attr("dies_in", ["", "set_state", ""])
        with pytest.raises(EnvironmentFaultError, match=r"\[1\].*during set_state"):
            env.set_state(state)
        env.set_attr("dies_in", "")
        env.set_state(state)
        twin.set_state(state)
        assert_same(play(env, actions[3:]), play(twin, actions[3:]))
        kill_workers(env)
        with pytest.raises(
            EnvironmentFaultError, match="exit code -9 during set_state"
        ):
            env.set_state(state)
        env.set_state(state)
        twin.set_state(state)
        assert_same(play(env, actions[3:]), play(twin, actions[3:]))


class Spy:
    """Its pickle runs code."""

    def __reduce__(self):
        return pytest.fail, ("a pickle was read",)


@pytest.mark.parametrize("name", ["state", "record"])
@pytest.mark.parametrize(
    "kinds",
    [
        np.array([1, 1], np.int8),
        np.array([257, 257], np.int16),
        np.array([1.0, 1.0]),
        np.array(["1", "1"]),
        np.array([True, True]),
        np.array([1, 1], "M8[ns]"),
        np.array([1, 1], "m8[ns]"),
        np.array([[1], [1]], np.int8),
    ],
    ids=lambda kinds: str(kinds.dtype),
)
def test_no_kind_of_a_file_makes_a_pickle_run(name, kinds, tmp_path):
    envs = roll_vec.make_vec("roll_vec/Countdown-v0", 2)
    envs.reset(seed=0)
    state, content = envs.get_state(), pickle.dumps(Spy())
    arrays = {
        **state.arrays,
        f"{name}s": np.stack([np.frombuffer(content, np.uint8)] * 2),
        f"{name}_lengths": np.array([len(content)] * 2),
        f"{name}_kinds": kinds,
    }
    path = tmp_path / "odd.npz"
    forged = VectorState(state.id, state.configuration, arrays, state.shared)
    forged.save(path)
    with pytest.raises(InvalidFileError):
        VectorState.load(path)
    with pytest.raises(InvalidStateError):
        forged.row(0)
    with pytest.raises(InvalidStateError):
        envs.set_state(forged)


def test_the_permission_for_pickles_belongs_to_the_snapshot(tmp_path):
    """Kinds that are changed in memory, and snapshots that are made of others."""
    path = tmp_path / "state.npz"
    with pool([Stateful] * 2) as env:
        env.reset(seed=1)
        own = env.get_state()
        own.save(path)
        loaded = VectorState.load(path)
        allowed = [own, own.take([1, 0]), VectorState.load(path, allow_pickle=True)]
        refused = [
            loaded,
            loaded.take([0, 1]),
            loaded.replace_row(0, loaded.row(1)),
            VectorState.concatenate([own, loaded]),
            VectorState(own.id, own.configuration, own.arrays),
        ]
        for state in allowed + refused:
            env.set_state(state, rows=[0, 1])
            # The arrays of a pickle can be made writable.
            changed = pickle.loads(pickle.dumps(state))
            kinds = changed.arrays["state_kinds"]
            kinds.flags.writeable = True
            kinds[:] = PICKLED
            is_allowed = any(state is one for one in allowed)
            words = "UnpicklingError" if is_allowed else "allow_pickle=True"
            with pytest.raises(InvalidStateError, match=words):
                changed.row(0)
            if not is_allowed:
                with pytest.raises(InvalidStateError, match=words):
                    env.set_state(changed, rows=[0, 1])


# ------------------------------------------------------------- checks of states

COUNTDOWN, WEBSHOP = "roll_vec/Countdown-v0", "roll_vec/WebShop-v0"
TEXTS = {COUNTDOWN: "1+2", WEBSHOP: "search[red]"}


def make_started(id, workers):
    """Return a batch within its episodes."""
    keywords = {"max_steps": 9} if id == COUNTDOWN else {}
    env = roll_vec.make_vec(id, 3, **keywords, **workers)
    env.reset(seed=3)
    env.step([TEXTS[id]] * 3)
    return env


def bad_rows(id, row):
    """Yield states of one environment that cannot be set."""
    for key in row:
        yield {k: v for k, v in row.items() if k != key}
    yield {**row, "num_env_steps": -3}
    if id == COUNTDOWN:
        yield {**row, "level_options": {"num_numbers": 6}}
    else:
        yield {**row, "session": {**row["session"], "goal": 10**30}}
        yield {**row, "level_options": {"limit_goals": 0}}


@EACH_EXECUTOR
@pytest.mark.parametrize("id", [COUNTDOWN, WEBSHOP])
def test_a_bad_row_moves_no_environment(id, workers):
    env, twin = make_started(id, workers), make_started(id, {})
    state = env.get_state()
    for one in (env, twin):
        one.step([TEXTS[id]] * 3)
    for row in bad_rows(id, state.row(1)):
        with pytest.raises(InvalidStateError, match="environment 1 of the state: "):
            env.set_state(state.replace_row(1, row))
    assert env.get_state() == twin.get_state()
    assert_same(env.step(["?"] * 3), twin.step(["?"] * 3))
    env.close()
    twin.close()


class Checked(Stateful):
    """Says itself whether it can go to a state; counts these questions."""

    checks = 0

    def check_state(self, state):
        self.checks += 1
        if state["turn"] == "refused":
            message = "refused"
            raise KeyError(message)


@EACH_EXECUTOR
def test_the_check_of_a_users_environment(workers):
    actions = draw_actions("text", 3, 6)
    with pool([Checked] * 3, **workers) as env, pool([Stateful] * 3) as twin:
        for one in (env, twin):
            one.reset(seed=1)
        state = env.get_state()
        bad = state.replace_row(2, {**state.row(2), "turn": "refused"})
        for rows in (None, [0, 0, 0]):
            with pytest.raises(KeyError, match="refused"):
                env.set_state(bad, rows=rows)
        before = env.call("checks")
        env.set_state(state)
        env.set_state(state.take([2, 1, 0]))
        env.set_state(state)
        # A snapshot that nobody has changed costs no check.
        assert env.call("checks") == before
        assert_same(play(env, actions), play(twin, actions))


@EACH_EXECUTOR
def test_objects_of_several_kinds_check_their_own_rows(workers):
    with pool([Checked, Stateful, Checked], **workers) as env:
        env.reset(seed=1)
        state = env.get_state()
        env.set_state(state.replace_row(1, {**state.row(1), "turn": 1}))
        with pytest.raises(KeyError, match="refused"):
            env.set_state(state.replace_row(2, {**state.row(2), "turn": "refused"}))
        assert_same(env.get_state().row(2), state.row(2))


class OldApi(Drifter):
    """No `SeededEnv`; its states are plain data beside a generator."""

    def __init__(self):
        super().__init__("discrete")

    def get_state(self):
        return {"clock": self.clock}

    def set_state(self, state):
        self.clock = state["clock"]


@EACH_EXECUTOR
@pytest.mark.parametrize("build", [OldApi, HalfStateful])
def test_the_generator_beside_a_state(build, workers):
    with pool([build] * 2, **workers) as env:
        env.reset(seed=1)
        env.step(np.array([0, 1]))
        state = env.get_state()
        row = state.row(1)
        env.set_state(state.replace_row(1, row))
        for change in ({"np_random": {"bit_generator": "x"}}, {"more": 1}):
            with pytest.raises(InvalidStateError, match="environment 1 of the state"):
                env.set_state(state.replace_row(1, {**row, **change}))
        assert env.get_state() == state
