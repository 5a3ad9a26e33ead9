"""Ctrl-C anywhere in the calls of every kind of batch, and calls of two threads.

After it a batch is as before the call, or all environments must be reset.  One that
strikes when the work is done, before the call returns, finds the batch as after it.
"""

import copy
import sys
import threading
from pathlib import Path
from threading import get_ident

import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

import roll_vec
from roll_vec.errors import (
    BatchInUseError,
    PendingResultsError,
    ResetNeededError,
    UnknownOptionError,
    UnsupportedError,
)
from tests.contract import kinds
from tests.contract.cases import (
    ARRAY_CASES,
    CASES,
    MODES,
    assert_same,
    draw_actions,
    make_batch,
)
from tests.thinning import one_in

PACKAGE = str(Path(roll_vec.__file__).parent)
N = 4
MASK = np.arange(N) % 2 == 0
IDS = [0, 2]


def is_traced(frame):
    """Return whether a frame is of the package."""
    return frame.f_code.co_filename.startswith(PACKAGE)


def run_traced(call, env, number=0):
    """Call; return the places in the package's bytecode that were reached, in order.

    At the place ``number``, from 1 on, Ctrl-C strikes.
    """
    places, before = [], sys.gettrace()

    def strike(frame, event, _):
        if event == "opcode":
            places.append((frame.f_code, frame.f_lasti))
            if len(places) == number:
                sys.settrace(None)
                raise KeyboardInterrupt
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
NAMES = [case for case in CASES if "Lamps" not in case]
MAKERS = {
    **{name: kinds.KINDS[name].make for name in NAMES},
    "processes": kinds.case("roll_vec/Countdown-v0 in processes").make,
    "rules": kinds.RULES["tests_rules/Corridor-v0"].make,
}


@pytest.fixture(autouse=True, scope="module")
def _rules(module_forgets_ids):
    kinds.register_kinds()


def make(kind, mode=AutoresetMode.NEXT_STEP):
    """Return a batch of a kind, with short episodes."""
    more = {"max_episode_steps": 3, "episode_info": True}
    return MAKERS[kind](N, autoreset_mode=mode, **more)


def calls_of(actions, state):
    """Return functions of a batch, by name."""

    def send(batch):
        batch.send([actions[0][i] for i in IDS], IDS)

    def send_and_receive(batch):
        send(batch)
        batch.recv(None)

    options = {"reset_mask": MASK}
    return {
        "step": lambda batch: batch.step(actions[0]),
        "masked step": lambda batch: batch.step(actions[0], mask=MASK),
        "unroll": lambda batch: batch.unroll(actions),
        "reset": lambda batch: batch.reset(),
        "seeded reset": lambda batch: batch.reset(seed=9),
        "masked reset": lambda batch: batch.reset(seed=9, options=options),
        "set_state": lambda batch: batch.set_state(state, mask=MASK),
        "level options": lambda batch: batch.set_level_options(num_levels=3),
        "send": send,
        "send and recv": send_and_receive,
    }


def snapshot(env):
    """Return the state of a batch, or that results were not received."""
    try:
        return env.get_state()
    except PendingResultsError:
        return "pending"


def check_that_all_must_be_reset(env, actions):
    for call in (
        lambda: env.step(actions[0]),
        lambda: env.reset(options={"reset_mask": MASK}),
        lambda: env.send([actions[0][i] for i in IDS], IDS),
        lambda: env.recv(),
    ):
        with pytest.raises(ResetNeededError, match="interrupted"):
            call()
    env.reset(seed=1)
    env.step(actions[0])


@pytest.mark.parametrize(
    "is_dense",
    [False, pytest.param(True, marks=pytest.mark.slow)],
    ids=["some", "many"],
)
@one_in(2, "mode, kind", MODES, [*MAKERS])
def test_an_interrupt_leaves_no_half_state(kind, mode, is_dense, no_garbage_collection):
    # Processes start anew after an interrupt, which takes a while.
    count = 2 if kind == "processes" else 100 if is_dense else 6
    rng = np.random.default_rng([*MAKERS].index(kind) + 100 * MODES.index(mode))
    env, twin = make(kind, mode), make(kind, mode)
    actions = draw_actions(env, 3)
    for batch in (env, twin):
        batch.reset(seed=1)
        batch.step(actions[0])
        batch.step(actions[1])
    start = env.get_state()
    for name, call in calls_of(actions, twin.get_state()).items():
        twin.set_state(start)
        try:
            places = run_traced(call, twin)
        except (UnsupportedError, UnknownOptionError, ResetNeededError):
            # Some batches have no level options; DISABLED mode minds ends.
            assert name == "level options" or mode is AutoresetMode.DISABLED
            continue
        after = snapshot(twin)
        if after == "pending":
            twin.recv(None)
        for number in choose_numbers(places, count, rng):
            env.set_state(start)
            where = f"{name}: place {number} of {len(places)}, {places[number - 1]}"
            try:
                run_traced(call, env, number)
                is_interrupted = False
            except KeyboardInterrupt:
                is_interrupted = True
            try:
                now = snapshot(env)
            except ResetNeededError:
                assert is_interrupted, where
                check_that_all_must_be_reset(env, actions)
                continue
            if now == "pending":
                # The actions of `send` are whole.
                assert len(env.recv(None)[1]) == len(IDS), where
            elif is_interrupted:
                assert now in (start, after), where
    env.close()
    twin.close()


@pytest.mark.parametrize("kind", MAKERS)
def test_a_second_thread_gets_an_error_and_moves_nothing(kind):
    env, twin = make(kind), make(kind)
    actions = draw_actions(env, 3)
    for batch in (env, twin):
        batch.reset(seed=1)
    state = env.get_state()
    more = {
        "recv": lambda batch: batch.recv(),
        "get_state": lambda batch: batch.get_state(),
        "render": lambda batch: batch.render(),
        "solve": lambda batch: batch.solve(),
        "call": lambda batch: batch.call("render"),
        "get_attr": lambda batch: batch.get_attr("render_mode"),
        "copy": copy.copy,
    }
    errors = {}

    def call_all():
        for name, call in {**calls_of(actions, state), **more}.items():
            try:
                call(env)
            except Exception as error:
                errors[name] = error

    def policy(_):
        # The calling thread is in `unroll`.
        thread = threading.Thread(target=call_all)
        thread.start()
        thread.join()
        return actions[0]

    rollout = env.unroll(policy, 1)
    assert len(errors) == 17
    for name, error in errors.items():
        is_refused = isinstance(error, BatchInUseError)
        # Ray's batches refuse copies in any thread.
        assert is_refused or (name == "copy" and isinstance(error, TypeError)), name
    assert_same(tuple(rollout), tuple(twin.unroll(actions[:1])))
    # Between calls a batch may change its thread.
    errors.clear()
    thread = threading.Thread(target=lambda: errors.update(step=env.step(actions[1])))
    thread.start()
    thread.join()
    assert_same(errors["step"], twin.step(actions[1]))
    env.close()
    twin.close()


@pytest.mark.parametrize("name", ["step", "reset"])
def test_a_call_of_another_thread_that_has_just_ended_leaves_nothing(name):
    env = make_batch("roll_vec/FrozenLake-v1", N)
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


@pytest.mark.parametrize("name", ["go_back", "set_state"])
@pytest.mark.parametrize("case", ARRAY_CASES)
def test_an_interrupt_on_the_way_back_of_an_unroll_or_to_a_state(
    case, name, monkeypatch
):
    env, fresh = make_batch(case, N), make_batch(case, N)
    actions = draw_actions(env, 3)
    env.reset(seed=1)
    state, policy_calls = env.get_state(), iter(actions[:2])

    def interrupt(*_):
        raise KeyboardInterrupt

    def policy(_):
        action = next(policy_calls, None)
        return interrupt() if action is None else action

    with monkeypatch.context() as patch:
        patch.setattr(env.engine, name, interrupt)
        with pytest.raises(KeyboardInterrupt):
            env.set_state(state) if name == "set_state" else env.unroll(policy, 3)
    check_that_all_must_be_reset(env, actions)
    assert_same(env.reset(seed=2), fresh.reset(seed=2))
    assert_same(tuple(env.unroll(actions)), tuple(fresh.unroll(actions)))
