"""Errors anywhere in the calls of batches and single environments; two threads.

Ctrl-C, or a `MemoryError`, strikes at a place of the package's bytecode.  After it a
batch is as before the call, or all environments must be reset.  One that strikes when
the work is done, before the call returns, finds the batch as after it.
"""

import contextlib
import copy
import sys
import threading
from pathlib import Path
from threading import get_ident

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

import roll_vec
from roll_vec import JoinedVectorEnv, PoolVectorEnv, RollVectorEnv
from roll_vec.errors import (
    BatchInUseError,
    PendingResultsError,
    ResetNeededError,
    RollVecError,
    UnknownOptionError,
    UnsupportedError,
)
from tests.contract import cases, kinds
from tests.thinning import one_in

PACKAGE = str(Path(roll_vec.__file__).parent)
N = 4
MASK = np.arange(N) % 2 == 0
IDS = [0, 2]


def is_traced(frame):
    """Return whether a frame is of the package."""
    return frame.f_code.co_filename.startswith(PACKAGE)


def is_of_object(frame):
    """Return whether a frame is of an environment object, or of what it calls."""
    while frame is not None and not frame.f_code.co_filename.endswith("env_runner.py"):
        frame = frame.f_back
    return frame is not None


ERRORS = KeyboardInterrupt, MemoryError


def run_traced(call, env, number=0, error=KeyboardInterrupt):
    """Call; return the places in the package's bytecode that were reached, in order.

    At the place ``number``, from 1 on, the error strikes: within an object of a pool it
    is Ctrl-C, as another one is its fault.
    """
    places, before = [], sys.gettrace()

    def strike(frame, event, _):
        if event == "opcode":
            places.append((frame.f_code, frame.f_lasti))
            if len(places) == number:
                sys.settrace(None)
                raise KeyboardInterrupt if is_of_object(frame) else error
        return strike

    def trace(frame, *_):
        if not is_traced(frame):
            return None
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        return strike

    try:
        sys.settrace(trace)
        call(env)
    finally:
        sys.settrace(before)
    return places


def choose_numbers(places, count, rng):
    """Return the numbers of so many places, all different in the code.

    Of a place that was reached several times, as in each step of an unroll, any one.
    """
    order = rng.permutation(len(places))
    number_of = {places[i]: i + 1 for i in order.tolist()}
    return rng.permutation(list(number_of.values()))[:count].tolist()


# The same state of lamps has other bytes each time that it is pickled.
NAMES = [case for case in cases.CASES if "Lamps" not in case]


def make_joined(num_envs, **keywords):
    """Return two batches of lakes as one."""
    make_part, n = kinds.KINDS["roll_vec/RandomFrozenLake-v0 text"].make, num_envs // 2
    more = {"render_mode": "ansi", **keywords}
    return JoinedVectorEnv([make_part(n, **more) for _ in range(2)])


MAKERS = {
    **{name: kinds.KINDS[name].make for name in NAMES},
    "processes": kinds.case("roll_vec/Countdown-v0 in processes").make,
    "rules": kinds.RULES["tests_rules/Corridor-v0"].make,
    "joined": make_joined,
}


@pytest.fixture(autouse=True, scope="module")
def _rules(module_forgets_ids):
    kinds.register_kinds()


def make(kind, mode=AutoresetMode.NEXT_STEP):
    """Return a batch of a kind, with short episodes."""
    return MAKERS[kind](N, autoreset_mode=mode, max_episode_steps=3)


def calls_of(env, actions, state):
    """Return functions of a batch, by name."""

    def send(batch):
        batch.send([actions[0][i] for i in IDS], IDS)

    def send_and_receive(batch):
        send(batch)
        batch.recv(None)

    options = {"reset_mask": MASK}
    calls = {
        "step": lambda batch: batch.step(actions[0]),
        "unroll": lambda batch: batch.unroll(actions),
        "reset": lambda batch: batch.reset(),
        "seeded reset": lambda batch: batch.reset(seed=9),
        "masked reset": lambda batch: batch.reset(seed=9, options=options),
        "set_state": lambda batch: batch.set_state(state),
        "masked set_state": lambda batch: batch.set_state(state, mask=MASK),
        "get_state": lambda batch: batch.get_state(),
        "get_attr": lambda batch: batch.get_attr("num_env_steps"),
    }
    if isinstance(env, PoolVectorEnv):
        return calls | {"send": send, "send and recv": send_and_receive}
    if isinstance(env, JoinedVectorEnv):
        # Parts may have other level options after an error.
        return calls
    return calls | {
        "level options": lambda batch: batch.set_level_options(num_levels=3)
    }


def snapshot(env):
    """Return the state of a batch, or that results were not received."""
    try:
        return env.get_state()
    except PendingResultsError:
        return "pending"


def go_back(batch, state):
    """Go to a snapshot, with its level options."""
    with contextlib.suppress(UnsupportedError, UnknownOptionError):
        batch.set_level_options(num_levels=state.configuration.get("num_levels", 0))
    batch.set_state(state)


def check_that_all_must_be_reset(env, fresh, actions, state, name):
    """Check that calls are refused, and that a reset makes the batch as a new one."""
    words = name.replace("level options", "set_level_options").replace(" ", "|")
    words = words.replace("get_attr", "call")
    calls = [
        lambda: env.step(actions[0]),
        lambda: env.unroll(actions),
        lambda: env.reset(options={"reset_mask": MASK}),
        env.get_state,
    ]
    if name != "level options":  # the snapshot may be of others
        calls.append(lambda: env.set_state(state, mask=MASK))
    for refused in calls:
        with pytest.raises(ResetNeededError, match=f"must be reset: ({words}|a call) "):
            refused()
    for batch in (env, fresh):
        if name == "level options":
            # They may have changed, or not.
            batch.reset()
            batch.set_level_options(num_levels=3)
    if name.endswith(("reset", "set_state")) and type(env) is RollVectorEnv:
        # Whatever the streams are after an interrupt, the batch tells their seeds.
        env.reset()
        fresh.reset(seed=env.np_random_seed)
        now, expected = (
            one.get_state().arrays.get("episodes_first_seeds") for one in (env, fresh)
        )
        cases.assert_same(now, expected, name)
    cases.assert_same(env.reset(seed=1), fresh.reset(seed=1), name)
    cases.assert_same(env.step(actions[0]), fresh.step(actions[0]), name)
    cases.assert_same(env.step(actions[1]), fresh.step(actions[1]), name)


@pytest.mark.parametrize(
    "is_dense",
    [False, pytest.param(True, marks=pytest.mark.slow)],
    ids=["some", "many"],
)
@one_in(2, "mode, kind", cases.MODES, [*MAKERS])
def test_an_error_leaves_no_half_state(kind, mode, is_dense, no_garbage_collection):
    # Processes start anew after an interrupt, which takes a while.
    count = 1 if kind == "processes" else 100 if is_dense else 4
    rng = np.random.default_rng([*MAKERS].index(kind) + 100 * cases.MODES.index(mode))
    env, twin = make(kind, mode), make(kind, mode)
    actions = cases.draw_actions(env, 3)
    for batch in (env, twin):
        batch.reset(seed=1)
        batch.step(actions[0])
        batch.step(actions[1])
    start = env.get_state()
    for name, call in calls_of(env, actions, twin.get_state()).items():
        go_back(twin, start)
        try:
            places = run_traced(call, twin)
        except (UnsupportedError, UnknownOptionError, ResetNeededError):
            # Some batches have no level options; DISABLED mode minds ends.
            assert name == "level options" or mode is AutoresetMode.DISABLED
            go_back(twin, start)
            continue
        after = snapshot(twin)
        if after == "pending":
            twin.recv(None)
        for number in choose_numbers(places, count, rng):
            go_back(env, start)
            where = f"{name}: place {number} of {len(places)}, {places[number - 1]}"
            error, is_interrupted = ERRORS[number % 2], False
            if isinstance(env, PoolVectorEnv):
                # Another error may be a fault of an object, or of its pickle.
                error = KeyboardInterrupt
            try:
                run_traced(call, env, number, error)
            except (*ERRORS, RollVecError):
                # The last one where a game, or a snapshot, explains a MemoryError.
                is_interrupted = True
            try:
                now = snapshot(env)
            except ResetNeededError:
                assert is_interrupted, where
                go_back(twin, start)
                check_that_all_must_be_reset(env, twin, actions, start, name)
                continue
            if now == "pending":
                # The actions of `send` are whole.
                assert len(env.recv(None)[1]) == len(IDS), where
            elif is_interrupted:
                assert now in (start, after), where
    env.close()
    twin.close()


SINGLES = ["roll_vec/Sokoban-v0", "roll_vec/FrozenLake-v1", "roll_vec/CartPole-v1"]


@pytest.mark.parametrize("id", SINGLES)
def test_an_error_leaves_no_half_state_of_one(id, no_garbage_collection):
    env, twin = (gymnasium.make(id).unwrapped for _ in range(2))
    rng, action = np.random.default_rng(0), env.action_space.start
    for each in (env, twin):
        each.reset(seed=1)
        each.step(action)
    start = env.get_state()
    calls = {
        "step": lambda one: one.step(action),
        "reset": lambda one: one.reset(),
        "seeded reset": lambda one: one.reset(seed=5),
        "set_state": lambda one: one.set_state(start),
    }
    for name, call in calls.items():
        twin.set_state(start)
        places = run_traced(call, twin)
        after = twin.get_state()
        for number in choose_numbers(places, 12, rng):
            env.set_state(start)
            where = f"{name}: place {number} of {len(places)}, {places[number - 1]}"
            # The last one where a game explains a MemoryError.
            with contextlib.suppress(*ERRORS, RollVecError):
                run_traced(call, env, number, ERRORS[number % 2])
            try:
                now = env.get_state()
            except ResetNeededError:
                with pytest.raises(ResetNeededError):
                    env.step(action)
            else:
                assert any(cases.is_same(now, state) for state in (start, after)), where
            for each in (env, twin):
                each.reset(seed=7)
            cases.assert_same(env.step(action), twin.step(action), where)
            assert cases.is_same(env.get_state(), twin.get_state()), where


@pytest.mark.parametrize("kind", MAKERS)
def test_a_second_thread_gets_an_error_and_moves_nothing(kind):
    env, twin = make(kind), make(kind)
    actions = cases.draw_actions(env, 3)
    for batch in (env, twin):
        batch.reset(seed=1)
    state = env.get_state()
    more = {
        "get_state": lambda batch: batch.get_state(),
        "render": lambda batch: batch.render(),
        "solve": lambda batch: batch.solve(),
        "call": lambda batch: batch.call("render"),
        "get_attr": lambda batch: batch.get_attr("render_mode"),
        "level options": lambda batch: batch.set_level_options(num_levels=3),
        "copy": copy.copy,
    }
    raised, calls = {}, {**calls_of(env, actions, state), **more}

    def call_all():
        for name, call in calls.items():
            try:
                call(env)
            except Exception as error:
                raised[name] = error

    class Plan:
        def __len__(self):
            return 1

        def __getitem__(self, step):
            # The calling thread is in `unroll`.
            thread = threading.Thread(target=call_all)
            thread.start()
            thread.join()
            return actions[:1][step]

    rollout = env.unroll(Plan())
    assert raised.keys() == calls.keys()
    for name, error in raised.items():
        is_refused = isinstance(error, BatchInUseError)
        # Ray's batches refuse copies in any thread.
        assert is_refused or (name == "copy" and isinstance(error, TypeError)), name
    cases.assert_same(tuple(rollout), tuple(twin.unroll(actions[:1])))
    # Between calls a batch may change its thread.
    raised.clear()
    thread = threading.Thread(target=lambda: raised.update(step=env.step(actions[1])))
    thread.start()
    thread.join()
    cases.assert_same(raised["step"], twin.step(actions[1]))
    env.close()
    twin.close()


@pytest.mark.parametrize("name", ["step", "reset"])
def test_a_call_of_another_thread_that_has_just_ended_leaves_nothing(name):
    env = cases.make_batch("roll_vec/FrozenLake-v1", N)
    env.reset(seed=1)
    # What is read: the call of the other thread ends after the first look.
    callers = [get_ident() + 1, 0]

    def read(_):
        return callers.pop(0) if len(callers) > 1 else callers[0]

    def write(_, caller):
        callers[:] = [caller]

    env.__class__ = type("Watched", (type(env),), {"_caller": property(read, write)})
    call = {"step": lambda: env.step(np.zeros(N, int)), "reset": env.reset}[name]
    with pytest.raises(BatchInUseError):
        call()
    assert env._caller == 0
    call()
    assert env._caller == 0
