"""Sessions: a caller gets what a single environment returns, whoever else calls."""

import asyncio
import copy
import pickle
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import gymnasium
import numpy as np
import pytest

import roll_vec
from roll_vec import errors
from roll_vec.sessions import Sessions
from tests.contract.cases import assert_same
from tests.pool.cases import FAULTS_ON_PURPOSE, wait_until

SECONDS = 20  # only a deadlock takes so long


class Gate(gymnasium.Env):
    """Its step 5 waits for the test: for an event, or for a file if one is named."""

    observation_space = gymnasium.spaces.Discrete(10)
    action_space = gymnasium.spaces.Discrete(10)

    def __init__(self, path=None):
        self.entered, self.may_go = threading.Event(), threading.Event()
        self.path = path

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        if options:
            raise RuntimeError(options["message"])
        self.num_steps = 0
        return 0, {"random": float(self.np_random.random())}

    def step(self, action):
        if action == 9:
            raise RuntimeError("nine")
        if action == 5 and self.path:
            wait_until(Path(self.path).exists)
        elif action == 5:
            self.entered.set()
            assert self.may_go.wait(10)
        self.num_steps += 1
        # An int beside a float would become one in a batch.
        info = {"value": action or 0.5, "number": self.num_steps}
        return action, 1.0, action == 8, False, info

    def render(self):
        return "a picture"


LAKE, COUNTDOWN = "roll_vec/FrozenLake-v1", "roll_vec/Countdown-v0"
ROOMS, LAKES = "roll_vec/Sokoban-v0", "roll_vec/RandomFrozenLake-v0"
GATE = "tests_sessions/Gate-v0"


@pytest.fixture(scope="module", autouse=True)
def _registered(module_forgets_ids):
    roll_vec.register(GATE, Gate)


def make_sessions(id=LAKE, num_envs=2, **keywords):
    envs = roll_vec.make_vec(id, num_envs, autoreset_mode="Disabled", **keywords)
    return Sessions(envs)


@pytest.fixture(params=[0, 4], ids=["batches", "workers"])
def gates(request):
    """Sessions over four gates, which are open at the end."""
    sessions = make_sessions(GATE, 4, workers=request.param)
    envs = [env.unwrapped for env in sessions.envs.envs]
    yield sessions, envs
    for env in envs:
        env.may_go.set()
    sessions.close()


in_batches = pytest.mark.parametrize("gates", [0], indirect=True, ids=["batches"])
by_workers = pytest.mark.parametrize("gates", [4], indirect=True, ids=["workers"])


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


def enter(session, env):
    """Begin a step that waits in its environment; return its future."""
    future = run_in_thread(session.step, 5)
    assert env.entered.wait(SECONDS)
    return future


def check_reset_needed(session):
    with pytest.raises(errors.ResetNeededError):
        session.step(1)


def cancel_step(session, action, when):
    """Cancel a coroutine's step when a condition is true: the session needs a reset."""

    async def cancel():
        task = asyncio.ensure_future(session.step_async(action))
        while not when():
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancel())
    check_reset_needed(session)


# ---------------------------------------------------- beside single environments


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
    """Return the same of coroutines."""
    results = []
    for episode_seed in (seed, None):
        results.append(await session.reset_async(episode_seed))
        for action in actions:
            results.append(await session.step_async(action))
            if results[-1][2] or results[-1][3]:
                break
    return results


KINDS = {
    "array": (ROOMS, {"num_levels": 4, "level_info": True, "action_mask": True}),
    "texts": (LAKES, {"action_mode": "text", "obs_mode": "text"}),
    "pool": (COUNTDOWN, {"action_pattern": "<answer>(.*?)</answer>"}),
    "threads": (COUNTDOWN, {}, {"workers": 2, "executor": "thread"}),
    "processes": (COUNTDOWN, {}, {"workers": 2, "executor": "process"}),
}


@pytest.mark.parametrize("way", ["threads", "coroutines"])
@pytest.mark.parametrize("kind", KINDS)
def test_sessions_return_what_single_environments_return(kind, way):
    id, keywords, *options = KINDS[kind]
    keywords = {"max_episode_steps": 6, **keywords}
    more = options[0] if options else {}
    envs = roll_vec.make_vec(id, 4, autoreset_mode="Disabled", **more, **keywords)
    with Sessions(envs) as sessions, ThreadPoolExecutor(4) as threads:
        plans = []
        for seed in range(4):
            space = copy.deepcopy(envs.single_action_space)
            space.seed(seed)
            plans.append([space.sample() for _ in range(12)])
        opened = [sessions.open() for _ in plans]
        # One plays alone, while the others were never reset.
        results = [play(opened[3], plans[3], 3)]
        if way == "threads":
            results += threads.map(play, opened, plans, range(4))
        else:
            results += together(*map(play_async, opened, plans, range(4)))
    for seed, result in zip((3, *range(4)), results, strict=True):
        single = gymnasium.make(id, **keywords)
        assert_same(result, play(single, plans[seed], seed))


@pytest.mark.parametrize("kind", KINDS)
def test_a_state_goes_into_another_session(kind):
    id, keywords, *options = KINDS[kind]
    more = {**(options[0] if options else {}), **keywords}
    envs = roll_vec.make_vec(id, 4, autoreset_mode="Disabled", **more)
    space = copy.deepcopy(envs.single_action_space)
    space.seed(0)
    with Sessions(envs) as sessions:
        # The others were never reset.
        first, second = sessions.open(), sessions.open()
        with pytest.raises(errors.ResetNeededError):
            first.get_state()
        observation, _ = first.reset(seed=3)
        if id != COUNTDOWN:
            observation, *_ = first.step(space.sample())
        state = pickle.loads(pickle.dumps(first.get_state()))
        assert (len(state), state.arrays["has_ended"].tolist()) == (1, [False])
        results = []
        plan = [space.sample() for _ in range(12)]
        for session in (first, second, second):
            if session is second:
                assert_same(session.set_state(state), observation)
            played = []
            for action in plan:
                played.append(session.step(action))
                if played[-1][2] or played[-1][3]:
                    break
            results.append([*played, session.get_state(), session.reset(seed=None)])
            ended = results[-1][-2]
        assert results[0][-2] == results[1][-2]
        for one in results:
            del one[-2]
        assert_same(results[1], results[0])
        assert_same(results[2], results[0])
        if played[-1][2]:
            second.set_state(ended)
            check_reset_needed(second)


def test_a_state_is_one_of_the_same_keywords():
    with make_sessions(LAKES) as sessions, make_sessions(LAKES, size=8) as others:
        [session], [other] = open_started(sessions, 1), open_started(others, 1)
        before = session.get_state()
        two = roll_vec.VectorState.concatenate([before, before])
        for state, text in (
            (None, "VectorState"),
            (other.get_state(), "size"),
            (two, "of one environment"),
        ):
            with pytest.raises(errors.InvalidStateError, match=text):
                session.set_state(state)
        assert session.get_state() == before
        # A batch takes it as well.
        envs = roll_vec.make_vec(LAKES, 3, autoreset_mode="Disabled")
        grids = envs.set_state(before, rows=[0, 0, 0])
        np.testing.assert_array_equal(grids[2], session.reset(seed=0)[0])


def test_render_returns_the_frame_of_the_session():
    for more in ({"render_mode": "ansi"}, {}):
        with make_sessions(ROOMS, 3, **more) as sessions:
            single = gymnasium.make(ROOMS, **more)
            _, session = sessions.open(), sessions.open()
            session.reset(seed=4), single.reset(seed=4)
            assert session.render() == (single.render() if more else None)


# ------------------------------------------------------------- errors and faults


@pytest.mark.parametrize("action", [7, "left", None, -1, 1.5, True])
def test_an_invalid_action_raises_for_its_own_caller_alone(action):
    with make_sessions() as sessions:
        one, other = sessions.open(), sessions.open()
        single = gymnasium.make(LAKE)
        one.reset(seed=1)
        other.reset(seed=1), single.reset(seed=1)
        error, result = together(one.step_async(action), other.step_async(2))
        assert isinstance(error, errors.InvalidActionError)
        assert_same(result, single.step(2))
        # It has not moved: its next step is the first.
        single.reset(seed=1)
        assert_same(one.step(np.int32(2)), single.step(2))


def test_a_level_that_cannot_be_made_is_an_error_of_its_own_session_alone():
    keywords = {"num_boxes": 1, "dim_room": (6, 6), "search_depth": 30}
    with make_sessions(ROOMS, 2, **keywords) as sessions:
        engine = sessions.envs.engine
        reset = engine.reset

        def reset_unless(env_ids, seeds, options=None):
            if 13 in seeds:
                raise errors.LevelGenerationError("no level")
            reset(env_ids, seeds, options)

        engine.reset = reset_unless
        one, other = sessions.open(), sessions.open()
        error, result = together(one.reset_async(13), other.reset_async(5))
        assert isinstance(error, errors.LevelGenerationError)
        assert_same(result, gymnasium.make(ROOMS, **keywords).reset(seed=5))


@FAULTS_ON_PURPOSE
def test_errors_and_faults_end_no_episode_of_others(gates):
    one, other = open_started(gates[0], 2)
    error, well = together(one.step_async(99), other.step_async(2))
    assert isinstance(error, errors.InvalidActionError)
    assert well == (2, 1.0, False, False, {"value": 2, "number": 1})
    (*_, info), (*_, other_info) = together(one.step_async(0), other.step_async(2))
    assert info == {"value": 0.5, "number": 1}
    assert type(other_info["value"]) is int
    failed, well = together(one.step_async(9), other.step_async(2))
    # The last observation that it had.
    assert (failed[0], failed[3]) == (0, True)
    assert "nine" in failed[4]["error"]
    assert well == (2, 1.0, False, False, {"value": 2, "number": 3})
    check_reset_needed(one)
    other.step(1)
    one.reset(seed=1)
    assert one.step(1)[0] == 1


@FAULTS_ON_PURPOSE
@pytest.mark.parametrize("workers", [0, 1])
def test_the_last_environment_that_fails_fails_alone(workers):
    with make_sessions(GATE, 1, workers=workers) as sessions:
        (session,) = open_started(sessions, 1)
        # Its reset raises four times: the episode ends with its first step.
        _, info = session.reset(options={"message": "no luck"})
        assert "no luck" in info["error"]
        assert session.step(1)[3]
        check_reset_needed(session)
        session.reset(seed=1)
        assert session.step(1)[0] == 1


def test_a_step_needs_a_reset_and_a_bad_reset_changes_nothing(gates):
    session = gates[0].open()
    check_reset_needed(session)
    with pytest.raises(errors.ResetNeededError):
        session.render()
    session.reset()
    for seed in (-1, 1.5, "a"):
        with pytest.raises(errors.InvalidSeedError):
            session.reset(seed=seed)
    with pytest.raises(errors.InvalidOptionError):
        session.reset(options=[1])
    assert session.step(8)[2]
    check_reset_needed(session)


@in_batches
def test_an_interrupted_batch_asks_all_for_a_reset_and_hands_over(gates, monkeypatch):
    one, other, ended = open_started(gates[0], 3)
    assert ended.step(8)[2]

    def interrupt(calls):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(gates[0]._rows, "start", interrupt)
        with pytest.raises(KeyboardInterrupt):
            one.step(1)
    for session in (one, other, ended):
        check_reset_needed(session)
        # Also of an episode that had ended: nobody knows what has moved.
        with pytest.raises(errors.ResetNeededError):
            session.get_state()
        session.reset()
        assert session.step(2)[0] == 2


# -------------------------------------------------------------------- who waits


@in_batches
def test_calls_that_come_while_a_batch_runs_are_the_next_batch(gates, monkeypatch):
    sessions, envs = gates
    sizes, start = [], sessions._rows.start
    monkeypatch.setattr(
        sessions._rows, "start", lambda calls: (sizes.append(len(calls)), start(calls))
    )
    players = open_started(sessions, 4)
    sizes.clear()
    first = enter(players[0], envs[0])
    others = [run_in_thread(player.step, 3) for player in players[1:]]
    wait_until(lambda: len(sessions._calls._waiting) == 3)
    envs[0].may_go.set()
    assert [future.result(SECONDS)[0] for future in (first, *others)] == [5, 3, 3, 3]
    assert sizes == [1, 3]


@by_workers
def test_a_slow_step_holds_up_nobody_else(gates):
    sessions, envs = gates
    slow, other, third = open_started(sessions, 3)
    future = enter(slow, envs[0])
    # The thread that takes results waits for the slow one: it is woken.
    assert run_in_thread(other.step, 3).result(5)[0] == 3
    results = together(other.step_async(4), third.step_async(2))
    assert [result[0] for result in results] == [4, 2]
    # Nor do errors wait for it.
    assert isinstance(
        run_in_thread(other.step, 99).exception(5), errors.InvalidActionError
    )
    assert not future.done()
    envs[0].may_go.set()
    assert future.result(5)[0] == 5
    # The thread ends when nothing is left to do.
    wait_until(
        lambda: "roll_vec-sessions" not in {one.name for one in threading.enumerate()}
    )


def test_a_slow_process_holds_up_nobody_else(tmp_path):
    more = {"path": tmp_path / "gate", "workers": 2, "executor": "process"}
    with make_sessions(GATE, **more) as sessions:
        slow, other = open_started(sessions, 2)
        future = run_in_thread(slow.step, 5)
        wait_until(lambda: sessions._rows.active)
        for action in range(1, 4):
            assert run_in_thread(other.step, action).result(20)[0] == action
        assert not future.done()
        (tmp_path / "gate").touch()
        assert future.result(20)[0] == 5


def test_rendering_waits_until_nothing_is_active(tmp_path):
    # One worker: it renders after the step that it has begun.
    path = tmp_path / "gate"
    with make_sessions(GATE, path=path, workers=1) as sessions:
        slow, other = open_started(sessions, 2)
        future = run_in_thread(slow.step, 5)
        wait_until(lambda: sessions._rows.active)
        picture = run_in_thread(other.render)
        wait_until(lambda: sessions._calls._waiting)
        path.touch()
        assert picture.result(5) == "a picture"
        assert future.result(5)[0] == 5


def test_a_batch_that_cannot_serve_sessions_is_refused():
    plain, disabled = (
        roll_vec.make_vec(LAKE, 2, autoreset_mode=mode)
        for mode in ("NextStep", "Disabled")
    )
    wrapped = gymnasium.wrappers.vector.RecordEpisodeStatistics(disabled)
    for envs, told in (
        (plain, "autoreset_mode='Disabled'"),
        (roll_vec.JoinedVectorEnv([disabled]), "without wrappers"),
        (wrapped, "without wrappers"),
    ):
        with pytest.raises(errors.InvalidOptionError, match=f"^envs: .*{told}, got"):
            Sessions(envs)


def test_a_session_is_for_one_caller_at_a_time(gates):
    sessions, envs = gates
    [session] = open_started(sessions, 1)
    future = enter(session, envs[0])
    with pytest.raises(errors.PendingResultsError):
        session.step(1)
    # The environment is free when the call has ended, and not before.
    session.close()
    assert len(sessions._free_rows) == 3
    envs[0].may_go.set()
    assert future.result(5)[0] == 5
    wait_until(lambda: len(sessions._free_rows) == 4)
    with pytest.raises(errors.ClosedError):
        session.step(1)


@in_batches
def test_a_coroutine_that_is_cancelled_leaves_the_others_alone(gates):
    sessions, envs = gates
    players = open_started(sessions, 3)

    async def cancel_one():
        running = run_in_thread(players[0].step, 5)
        while not envs[0].entered.is_set():
            await asyncio.sleep(0.001)
        tasks = [asyncio.ensure_future(one.step_async(3)) for one in players[1:]]
        await asyncio.sleep(0)
        tasks[0].cancel()
        envs[0].may_go.set()
        result = await asyncio.wait_for(tasks[1], 5)
        assert running.result(5)[0] == 5
        return result

    assert asyncio.run(cancel_one())[0] == 3
    # The call that was cancelled was not made.
    assert players[1].step(4)[4]["number"] == 1


@by_workers
def test_an_environment_is_used_again_when_its_last_step_has_ended(gates):
    sessions, envs = gates
    opened = open_started(sessions, 4)
    cancel_step(opened[0], 5, envs[0].entered.is_set)
    opened[0].close()
    successor = sessions.open(timeout=5)
    future = run_in_thread(successor.reset, 7)
    # Others go on meanwhile.
    assert run_in_thread(opened[1].step, 3).result(5)[0] == 3
    assert not future.done()
    envs[0].may_go.set()
    assert future.result(5) == Gate().reset(seed=7)
    assert successor.step(2)[0] == 2


@in_batches
@pytest.mark.parametrize("way", ["coroutine", "thread"])
def test_a_coroutine_that_leads_and_is_cancelled_hands_over(gates, way):
    (first, second), calls = open_started(gates[0], 2), gates[0]._calls

    async def cancel_leader():
        leader = asyncio.ensure_future(first.step_async(1))
        await asyncio.sleep(0)
        if way == "coroutine":
            follower = asyncio.ensure_future(second.step_async(2))
            leader.cancel()
            return await asyncio.wait_for(follower, 5)
        future = run_in_thread(second.step, 2)
        wait_until(lambda: len(calls._waiting) == 2)
        leader.cancel()
        return await asyncio.wait_for(asyncio.wrap_future(future), 5)

    assert asyncio.run(cancel_leader())[0] == 2
    # The call that was cancelled was not made.
    assert first.step(4)[4]["number"] == 1


# ---------------------------------------------------------------- open and close


def test_close_wakes_all_that_wait(gates):
    sessions, envs = gates
    workers = sessions.envs.spec.kwargs.get("workers")
    players = open_started(sessions, 4)
    running = enter(players[0], envs[0])
    # Workers have begun the steps of all.
    waiting = [run_in_thread(player.step, 1) for player in players[1:] if not workers]
    opening = [run_in_thread(sessions.open) for _ in range(2)]
    wait_until(lambda: len(sessions._calls._waiting) == len(waiting))
    closing = run_in_thread(sessions.close)
    for future in [running] if workers else waiting:
        assert isinstance(future.exception(5), errors.ClosedError)
    assert not closing.done()
    envs[0].may_go.set()
    closing.result(10)
    if not workers:
        assert running.result(5)[0] == 5
    for future in opening:
        assert isinstance(future.exception(5), errors.ClosedError)
    assert sessions.envs.closed
    for call in (sessions.open, players[0].reset, lambda: players[1].step(1)):
        with pytest.raises(errors.ClosedError):
            call()
