"""Sessions: a caller gets what a single environment returns, whoever else calls."""

import asyncio
import copy
import gc
import os
import pickle
import threading
from concurrent.futures import ThreadPoolExecutor

import gymnasium
import numpy as np
import pytest

import roll_vec
from roll_vec.errors import (
    ClosedError,
    InvalidActionError,
    InvalidOptionError,
    InvalidSeedError,
    PendingResultsError,
    ResetNeededError,
    SessionsFullError,
    UnsupportedError,
)
from roll_vec.pool import PoolVectorEnv
from roll_vec.pool.observations import same_data
from roll_vec.sessions import Sessions
from roll_vec.sessions.calls import TaskCall, ThreadCall
from roll_vec.sessions.micro_batches import MicroBatches
from tests.distributed.local_actors import make_env


def make_sessions(id="roll_vec/FrozenLake-v1", num_envs=2, **keywords):
    envs = roll_vec.make_vec(id, num_envs, autoreset_mode="Disabled", **keywords)
    return Sessions(envs)


def texts_or_codes(space, seed):
    space = copy.deepcopy(space)
    space.seed(seed)
    return [space.sample() for _ in range(12)]


def play(env, actions, seed):
    """Return everything of two episodes; the second has no seed of its own."""
    results = []
    for episode_seed in (seed, None):
        results.append(env.reset(seed=episode_seed))
        for action in actions:
            results.append(env.step(action))
            if results[-1][2] or results[-1][3]:
                break
    return results


async def play_async(session, actions, seed):
    results = []
    for episode_seed in (seed, None):
        results.append(await session.reset_async(episode_seed))
        for action in actions:
            results.append(await session.step_async(action))
            if results[-1][2] or results[-1][3]:
                break
    return results


LAKE, COUNTDOWN = "roll_vec/FrozenLake-v1", "roll_vec/Countdown-v0"
SOKOBAN = {"num_levels": 4, "level_info": True, "action_mask": True}
TEXTS = {"action_mode": "text", "obs_mode": "text"}


@pytest.mark.parametrize("way", ["threads", "coroutines"])
@pytest.mark.parametrize(
    ("make", "id", "keywords", "options"),
    [
        (roll_vec.make_vec, "roll_vec/Sokoban-v0", SOKOBAN, {}),
        (roll_vec.make_vec, "roll_vec/RandomFrozenLake-v0", TEXTS, {}),
        (
            roll_vec.make_vec,
            COUNTDOWN,
            {"action_pattern": "<answer>(.*?)</answer>"},
            {},
        ),
        (roll_vec.make_vec, COUNTDOWN, {}, {"workers": 2, "executor": "thread"}),
        (roll_vec.make_vec, COUNTDOWN, {}, {"workers": 2, "executor": "process"}),
        (make_env, LAKE, {}, {"num_shards": 2}),
        (make_env, COUNTDOWN, {}, {"num_shards": 2}),
    ],
    ids=["array", "texts", "pool", "thread", "process", "array shards", "pool shards"],
)
def test_sessions_return_what_single_environments_return(
    make, id, keywords, options, way
):
    keywords = {"max_episode_steps": 6, **keywords}
    envs = make(id, 4, autoreset_mode="Disabled", **options, **keywords)
    with Sessions(envs) as sessions, ThreadPoolExecutor(4) as threads:
        plans = [texts_or_codes(envs.single_action_space, seed) for seed in range(4)]
        opened = [sessions.open() for _ in plans]
        # One plays alone, while the others were never reset.
        results = [play(opened[3], plans[3], 3)]
        if way == "threads":
            results += threads.map(play, opened, plans, range(4))
        else:
            results += together(*map(play_async, opened, plans, range(4)))
    for seed, result in zip((3, *range(4)), results, strict=True):
        assert same_data(
            result, play(gymnasium.make(id, **keywords), plans[seed], seed)
        )


class Gate(gymnasium.Env):
    """Its step waits for the test, and notes in which batch it was."""

    observation_space = gymnasium.spaces.Discrete(10)
    action_space = gymnasium.spaces.Discrete(10)

    def __init__(self):
        self.entered, self.may_go = threading.Event(), threading.Event()

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        if options:
            raise RuntimeError(options["message"])
        self.num_steps = 0
        return 0, {"random": float(self.np_random.random())}

    def step(self, action):
        if action == 9:
            raise RuntimeError("nine")
        if action == 5:
            self.entered.set()
            assert self.may_go.wait(10)
        self.num_steps += 1
        # An int beside a float would become one in a batch.
        info = {"value": action or 0.5, "number": self.num_steps}
        return action, 1.0, action == 8, False, info


@pytest.fixture
def gates():
    sessions = Sessions(PoolVectorEnv([Gate] * 4, autoreset_mode="Disabled"))
    yield sessions
    for env in sessions.envs.envs if not sessions.envs.closed else []:
        env.may_go.set()
    sessions.close()


def together(*calls):
    """Return the results, or errors, of calls of coroutines that run at once."""

    async def gather():
        return await asyncio.gather(*calls, return_exceptions=True)

    return asyncio.run(gather())


def open_started(sessions, count):
    """Return sessions that have been reset."""
    opened = [sessions.open() for _ in range(count)]
    for seed, session in enumerate(opened):
        session.reset(seed=seed)
    return opened


def run_in_thread(function, *arguments):
    executor = ThreadPoolExecutor(1)
    future = executor.submit(function, *arguments)
    executor.shutdown(wait=False)
    return future


def wait_until(condition):
    for _ in range(5000):
        if condition():
            return
        threading.Event().wait(0.001)
    pytest.fail("it did not happen in 5 s")


def test_calls_that_come_while_a_batch_runs_are_the_next_batch(gates, monkeypatch):
    sizes, run = [], gates._rows.run
    monkeypatch.setattr(
        gates._rows, "run", lambda calls: (sizes.append(len(calls)), run(calls))
    )
    gates._calls._run = gates._run
    players = open_started(gates, 4)
    sizes.clear()
    env = gates.envs.envs[0]
    first = run_in_thread(players[0].step, 5)
    assert env.entered.wait(5)
    others = [run_in_thread(player.step, 3) for player in players[1:]]
    wait_until(lambda: len(gates._calls._waiting) == 3)
    env.may_go.set()
    assert [future.result(5)[0] for future in (first, *others)] == [5, 3, 3, 3]
    assert sizes == [1, 3]


def test_an_info_does_not_change_the_type_of_anothers(gates):
    one, other = open_started(gates, 2)
    (*_, info), (*_, other_info) = together(one.step_async(0), other.step_async(2))
    assert info["value"] == 0.5
    assert type(other_info["value"]) is int


@pytest.mark.parametrize("action", [7, "left", None, -1, 1.5])
def test_an_invalid_action_raises_for_its_own_caller_alone(action):
    with make_sessions() as sessions:
        one, other = sessions.open(), sessions.open()
        single = gymnasium.make("roll_vec/FrozenLake-v1")
        one.reset(seed=1)
        other.reset(seed=1), single.reset(seed=1)
        error, result = together(one.step_async(action), other.step_async(2))
        assert isinstance(error, InvalidActionError)
        assert same_data(result, single.step(2))
        # It has not moved: its next step is the first.
        single.reset(seed=1)
        assert same_data(one.step(np.int32(2)), single.step(2))


def test_a_level_that_cannot_be_made_is_an_error_of_its_own_session_alone():
    keywords = {"num_boxes": 1, "dim_room": (6, 6), "search_depth": 30}
    with make_sessions("roll_vec/Sokoban-v0", 2, **keywords) as sessions:
        engine = sessions.envs.engine
        reset = engine.reset

        def reset_unless(env_ids, seeds, options=None):
            if 13 in seeds:
                raise roll_vec.errors.LevelGenerationError("no level")
            reset(env_ids, seeds, options)

        engine.reset = reset_unless
        one, other = sessions.open(), sessions.open()
        error, result = together(one.reset_async(13), other.reset_async(5))
        assert isinstance(error, roll_vec.errors.LevelGenerationError)
        single = gymnasium.make("roll_vec/Sokoban-v0", **keywords)
        assert same_data(result, single.reset(seed=5))


@pytest.mark.filterwarnings("ignore::roll_vec.errors.EnvironmentFaultWarning")
def test_a_fault_ends_its_own_episode_alone(gates):
    one, other = open_started(gates, 2)
    one.step(3)
    failed, well = together(one.step_async(9), other.step_async(2))
    # The last observation that it had.
    assert (failed[0], failed[3]) == (3, True)
    assert "nine" in failed[4]["error"]
    assert well == (2, 1.0, False, False, {"value": 2, "number": 1})
    with pytest.raises(ResetNeededError):
        one.step(1)
    other.step(1)
    one.reset(seed=1)
    assert one.step(1)[0] == 1


def test_a_step_needs_a_reset_and_a_bad_reset_changes_nothing(gates):
    session = gates.open()
    for call in (lambda: session.step(1), session.render):
        with pytest.raises(ResetNeededError):
            call()
    session.reset()
    for seed in (-1, 1.5, "a"):
        with pytest.raises(InvalidSeedError):
            session.reset(seed=seed)
    with pytest.raises(InvalidOptionError):
        session.reset(options=[1])
    assert session.step(8)[2]
    with pytest.raises(ResetNeededError):
        session.step(1)


def test_a_session_is_for_one_caller_at_a_time(gates):
    [session] = open_started(gates, 1)
    future = run_in_thread(session.step, 5)
    env = gates.envs.envs[0]
    assert env.entered.wait(5)
    with pytest.raises(PendingResultsError):
        session.step(1)
    # The environment is free when the call has ended, and not before.
    session.close()
    assert gates._free_rows.qsize() == 3
    env.may_go.set()
    assert future.result(5)[0] == 5
    wait_until(lambda: gates._free_rows.qsize() == 4)
    with pytest.raises(ClosedError):
        session.step(1)


@pytest.mark.parametrize("way", ["close", "with", "garbage"])
def test_a_session_that_goes_frees_its_environment(way):
    with make_sessions(num_envs=1) as sessions:
        session = sessions.open()
        session.reset(seed=1)
        with pytest.raises(SessionsFullError, match="all 1 environments"):
            sessions.open(timeout=0)
        with pytest.raises(SessionsFullError):
            sessions.open(timeout=0.01)
        if way == "close":
            session.close(), session.close()
        elif way == "with":
            with session:
                pass
        del session
        gc.collect()
        session = sessions.open(timeout=0)
        with pytest.raises(ResetNeededError):
            session.step(0)
        with pytest.raises(SessionsFullError):
            sessions.open(timeout=0)


def test_a_new_session_does_not_go_on_with_the_stream_of_the_one_before():
    with make_sessions("roll_vec/RandomFrozenLake-v0", 1, size=8) as sessions:
        lakes = []
        for _ in range(2):
            with sessions.open() as session:
                session.reset(seed=1)
            with sessions.open() as session:
                lakes.append(session.reset()[0].tolist())
        assert lakes[0] != lakes[1]


def test_open_waits_for_an_environment():
    with make_sessions(num_envs=1) as sessions:
        session = sessions.open()
        future = run_in_thread(sessions.open)
        session.close()
        session = future.result(5)
        assert session.reset(seed=1)[0] == 0
        session.close()
        # A timeout may be longer than a clock can measure.
        for timeout in (2e9, float("inf"), 10**400):
            sessions.open(timeout).close()
            asyncio.run(sessions.open_async(timeout)).close()


def test_close_wakes_all_that_wait(gates):
    players = open_started(gates, 4)
    env = gates.envs.envs[0]
    running = run_in_thread(players[0].step, 5)
    assert env.entered.wait(5)
    waiting = [run_in_thread(player.step, 1) for player in players[1:]]
    opening = [run_in_thread(gates.open) for _ in range(2)]
    wait_until(lambda: len(gates._calls._waiting) == 3)
    closing = run_in_thread(gates.close)
    for future in waiting:
        assert isinstance(future.exception(5), ClosedError)
    assert not closing.done()
    env.may_go.set()
    closing.result(5)
    assert running.result(5)[0] == 5
    for future in opening:
        assert isinstance(future.exception(5), ClosedError)
    assert gates.envs.closed
    for call in (gates.open, players[0].reset, lambda: players[0].step(1)):
        with pytest.raises(ClosedError):
            call()


def test_a_coroutine_that_is_cancelled_leaves_the_others_alone(gates):
    players = open_started(gates, 3)
    env = gates.envs.envs[0]

    async def cancel_one():
        running = run_in_thread(players[0].step, 5)
        while not env.entered.is_set():
            await asyncio.sleep(0.001)
        tasks = [asyncio.ensure_future(one.step_async(3)) for one in players[1:]]
        await asyncio.sleep(0)
        tasks[0].cancel()
        env.may_go.set()
        result = await asyncio.wait_for(tasks[1], 5)
        assert running.result(5)[0] == 5
        return result

    assert asyncio.run(cancel_one())[0] == 3
    # The call that was cancelled was not made.
    assert players[1].step(4)[4]["number"] == 1


def test_a_result_that_nobody_took_asks_for_a_reset(gates):
    [session], env = open_started(gates, 1), gates.envs.envs[0]

    async def cancel_late():
        task = asyncio.ensure_future(session.step_async(3))
        while not env.num_steps:
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancel_late())
    with pytest.raises(ResetNeededError):
        session.step(1)


def test_a_coroutine_that_leads_and_is_cancelled_hands_over(gates):
    [session] = open_started(gates, 1)

    async def cancel_leader():
        leader = TaskCall(3, "step", 1)
        assert gates._calls._submit(leader)
        follower = asyncio.ensure_future(session.step_async(2))
        await asyncio.sleep(0)
        gates._calls._withdraw(leader)
        assert leader.is_withdrawn
        return await asyncio.wait_for(follower, 5)

    assert asyncio.run(cancel_leader())[0] == 2


def test_an_interrupted_batch_asks_all_for_a_reset_and_hands_over(gates, monkeypatch):
    one, other = open_started(gates, 2)

    def interrupt(calls):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(gates._rows, "run", interrupt)
        with pytest.raises(KeyboardInterrupt):
            one.step(1)
    for session in (one, other):
        with pytest.raises(ResetNeededError):
            session.step(1)
        session.reset()
        assert session.step(2)[0] == 2


def test_they_belong_to_their_process():
    with make_sessions() as sessions, sessions.open() as session:
        for thing in (sessions, session):
            for copy_it in (pickle.dumps, copy.copy, copy.deepcopy):
                with pytest.raises(UnsupportedError, match="process"):
                    copy_it(thing)
        sessions._process = os.getpid() + 1
        for call in (sessions.open, session.reset, lambda: session.step(0)):
            with pytest.raises(UnsupportedError, match="forked"):
                call()
        sessions._process = os.getpid()


RAISING = {"autoreset_mode": "Disabled", "on_error": "raise"}


@pytest.mark.parametrize(
    "make_envs",
    [
        lambda: gymnasium.make_vec("CartPole-v1", 2, vectorization_mode="sync"),
        lambda: roll_vec.make_vec("roll_vec/FrozenLake-v1", 2),
        lambda: PoolVectorEnv([Gate], **RAISING),
        lambda: make_env(Gate, 2, 2, **RAISING),
        lambda: roll_vec.make_mixed(
            {
                "one": {"id": "roll_vec/Countdown-v0"},
                "two": {"id": "roll_vec/Countdown-v0", "on_error": "raise"},
            },
            2,
            autoreset_mode="Disabled",
        ),
        lambda: gymnasium.wrappers.vector.RecordEpisodeStatistics(
            roll_vec.make_vec("roll_vec/FrozenLake-v1", autoreset_mode="Disabled")
        ),
    ],
)
def test_a_batch_that_cannot_serve_sessions_is_refused(make_envs):
    with pytest.raises(InvalidOptionError, match="envs: expected"):
        Sessions(make_envs())


def test_render_returns_the_frame_of_the_session():
    with make_sessions("roll_vec/Sokoban-v0", 3, render_mode="ansi") as sessions:
        single = gymnasium.make("roll_vec/Sokoban-v0", render_mode="ansi")
        sessions.open()
        session = sessions.open()
        session.reset(seed=4), single.reset(seed=4)
        assert session.render() == single.render()
    with make_sessions() as sessions, sessions.open() as session:
        session.reset()
        assert session.render() is None


def test_a_caller_that_is_about_to_lead_gets_the_error_of_a_close():
    batches = MicroBatches(list)
    call = ThreadCall(0, "step")
    assert batches._submit(call)
    is_done = []

    def lead():
        batches._run_batch(call)
        is_done.append(call.is_done)

    leader, fail = threading.Thread(target=lead), call.fail

    def fail_late(error):
        leader.start()
        leader.join(0.02)
        fail(error)

    call.fail = fail_late
    batches.close()
    leader.join()
    assert is_done == [True]
