"""Sessions: who gets an environment, when, and what the next one finds."""

import asyncio
import gc
import threading

import pytest

from roll_vec.errors import SessionsFullError
from tests.pool.cases import wait_until
from tests.sessions.test_sessions import (
    LAKES,
    SECONDS,
    check_reset_needed,
    make_sessions,
    run_in_thread,
)


@pytest.mark.parametrize("way", ["close", "with", "garbage"])
def test_a_session_that_goes_frees_its_environment(way):
    with make_sessions(num_envs=1) as sessions:
        session = sessions.open()
        session.reset(seed=1)
        for timeout in (0, 0.01):
            with pytest.raises(SessionsFullError, match="all 1 environments"):
                sessions.open(timeout=timeout)
        if way == "close":
            session.close(), session.close()
        elif way == "with":
            with session:
                pass
        del session
        gc.collect()
        session = sessions.open(timeout=0)
        check_reset_needed(session)


def test_open_waits_for_an_environment_and_begins_a_stream_of_its_own():
    with make_sessions(LAKES, 1, size=8) as sessions:
        lakes = []
        for seed in (1, None) * 2:
            with sessions.open() as session:
                lakes.append(session.reset(seed=seed)[0].tolist())
        assert lakes[0] == lakes[2]
        assert lakes[1] != lakes[3]
        session = sessions.open()
        future = run_in_thread(sessions.open)
        session.close()
        session = future.result(5)
        assert session.reset(seed=1)[0].tolist() == lakes[0]
        session.close()
        # A timeout may be longer than a clock can measure.
        for timeout in (2e9, float("inf"), 10**300):
            sessions.open(timeout).close()
            asyncio.run(sessions.open_async(timeout)).close()


def test_callers_that_wait_are_served_in_their_order():
    with make_sessions(num_envs=1) as sessions:
        session, order, may_close = sessions.open(), [], threading.Event()

        def wait(number):
            if number % 2:
                session = asyncio.run(sessions.open_async(SECONDS))
            else:
                session = sessions.open(SECONDS)
            order.append(number)
            may_close.wait(SECONDS)
            session.close()

        # One that goes away is no obstacle.
        with pytest.raises(asyncio.TimeoutError):
            asyncio.run(asyncio.wait_for(sessions.open_async(), 0.05))
        futures = []
        for number in range(6):
            futures.append(run_in_thread(wait, number))
            wait_until(lambda: len(sessions._free_rows._waiting) == len(futures))
        session.close()
        # The row is that of the first one, even before its thread wakes.
        with pytest.raises(SessionsFullError):
            sessions.open(timeout=0)
        may_close.set()
        for future in futures:
            future.result(SECONDS)
        assert order == [*range(6)]
        sessions.open(timeout=0).close()
