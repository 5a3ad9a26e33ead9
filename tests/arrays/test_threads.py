"""Ranges of rows on several threads.

Every row once; errors and Ctrl-C after all parts; kernels of large batches.
"""

import os
import signal
import sys
import threading
import time

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import roll_vec
from roll_vec import row_threads as threads
from roll_vec.errors import InvalidOptionError
from roll_vec.progress import listen
from roll_vec.row_threads import SliceSizer, for_row_ranges
from tests.conftest import JIT_OFF
from tests.splits import count_runs

VARIABLE = "ROLL_VEC_NUM_THREADS"
SECONDS = 60  # only a deadlock takes so long


@pytest.fixture(autouse=True)
def cores(monkeypatch):
    """Let tests use more threads than this machine has cores; no variable is set."""
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: range(8), raising=False)
    monkeypatch.delenv(VARIABLE, raising=False)


@pytest.fixture
def fresh_helpers(monkeypatch):
    """Let the work of a test begin without threads."""
    monkeypatch.setattr(threads, "_helpers", threads._Helpers())


def add_one(start, stop, counts):
    counts[start:stop] += 1


# ------------------------------------------------------------ how many threads


def threads_of(num_threads=None):
    """Return the number of threads that a batch uses."""
    env = roll_vec.make_vec("roll_vec/CartPole-v1", 1, num_threads=num_threads)
    return env.engine.num_threads


def test_what_is_given_comes_before_the_variable_and_the_cores(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {0, 5, 6})
    assert threads_of(None) == 3
    monkeypatch.delattr(os, "sched_getaffinity")
    for count, expected in ((9, 9), (None, 1)):
        monkeypatch.setattr(os, "cpu_count", lambda count=count: count)
        assert threads_of(None) == expected
    for text in ("1", "64", "007"):
        monkeypatch.setenv(VARIABLE, text)
        assert threads_of(None) == int(text)
        assert threads_of(1000) == 1000


@pytest.mark.parametrize("text", ["", "0", "-1", "two", "1.5", " 2", "²", "+2"])
def test_bad_variable_is_refused_and_named(text, monkeypatch):
    monkeypatch.setenv(VARIABLE, text)
    with pytest.raises(InvalidOptionError, match="ROLL_VEC_NUM_THREADS: expected a"):
        threads_of(None)
    # It is not looked at where a number is given.
    assert threads_of(2) == 2


# ------------------------------------------------------------------ the split


@given(st.integers(0, 1000), st.integers(1, 8), st.sampled_from([1, 3, 100, 10**6]))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_every_row_is_in_exactly_one_part(num_rows, num_threads, rows_per_thread):
    ranges = []
    counts = np.zeros(num_rows, np.int64)

    def work(start, stop):
        ranges.append((start, stop))
        counts[start:stop] += 1

    for_row_ranges(work, num_rows, num_threads, rows_per_thread)
    assert (counts == 1).all()
    assert 1 <= len(ranges) <= num_threads
    if len(ranges) > 1:
        assert all(stop - start >= rows_per_thread for start, stop in ranges)
    else:
        assert ranges == [(0, num_rows)]
    if num_rows >= num_threads * rows_per_thread:
        assert len(ranges) == num_threads


@pytest.mark.parametrize(
    ("num_rows", "rows_per_thread", "parts"), [(8, 1, 4), (9, 9, 1)]
)
def test_parts_run_beside_each_other_one_in_the_calling_thread(
    num_rows, rows_per_thread, parts
):
    # Each waits for the others: one after the other they would never pass.
    meeting, seen = threading.Barrier(parts), []

    def work(start, stop):
        meeting.wait(SECONDS)
        seen.append(threading.current_thread())

    for_row_ranges(work, num_rows, 4, rows_per_thread)
    assert len(set(seen)) == parts
    assert threading.current_thread() in seen


@pytest.mark.parametrize("possible", [0, 1, 100])
def test_threads_are_as_many_as_cores_or_as_can_be_started(
    monkeypatch, fresh_helpers, possible
):
    start, attempts = threading.Thread.start, iter(range(1000))

    def start_some(thread):
        if next(attempts) >= possible:
            raise RuntimeError("can't start new thread")
        start(thread)

    monkeypatch.setattr(threads, "count_cores", lambda: 3)
    monkeypatch.setattr(threading.Thread, "start", start_some)
    counts = np.zeros(64, np.int64)
    for _ in range(2):
        for_row_ranges(add_one, 64, 10**6, 1, None, (counts,))
    assert (counts == 2).all()
    # They are kept for the next call.
    assert len(threads._helpers.threads) == min(possible, 2)


@pytest.mark.parametrize("failing", [{0}, {3}, {1, 2, 3}, {0, 1, 2, 3}])
def test_the_first_error_is_raised_after_all_parts_have_ended(failing):
    # Otherwise a part would still write into arrays that the caller has again.
    release, meeting, ended = threading.Event(), threading.Barrier(4), []

    def work(start, stop):
        meeting.wait(SECONDS)
        if start in failing:
            raise ArithmeticError(f"part {start}")
        if start in (1, 2):
            release.wait(SECONDS)
        ended.append(start)

    # Time enough for a caller that does not wait to come back too early.
    timer = threading.Timer(0.1, release.set)
    timer.start()
    try:
        with pytest.raises(ArithmeticError, match=f"part {min(failing)}"):
            for_row_ranges(work, 4, 4, 1)
        assert release.is_set() or len(failing) >= 3
        assert set(ended) == {0, 1, 2, 3} - failing
    finally:
        release.set()
        timer.join()
    # The threads go on to serve.
    counts = np.zeros(4, np.int64)
    for_row_ranges(add_one, 4, 4, 1, None, (counts,))
    assert counts.all()
    with pytest.raises(ZeroDivisionError):
        for_row_ranges(lambda start, stop: 1 // 0, 3, 1, 1)


def test_callers_from_many_threads_do_not_meet():
    all_counts = np.zeros((6, 64), np.int64)

    def call(counts):
        for _ in range(20):
            for_row_ranges(add_one, 64, 3, 1, None, (counts,))

    callers = [threading.Thread(target=call, args=(row,)) for row in all_counts]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join(SECONDS)
    assert (all_counts == 20).all()


@pytest.mark.skipif(JIT_OFF, reason="plain Python runs on the calling thread")
@pytest.mark.parametrize(
    ("num_envs", "num_threads", "is_split"),
    [(16383, 8, False), (16384, 1, False), (16384, 8, True)],
)
def test_large_batches_share_a_step(num_envs, num_threads, is_split, monkeypatch):
    env = roll_vec.make_vec("roll_vec/CartPole-v1", num_envs, num_threads=num_threads)
    env.reset(seed=0)
    runs = count_runs(monkeypatch)
    env.step(np.zeros(num_envs, int))
    # The second part is left to one helper.
    assert runs == [1] * is_split


# ------------------------------------------------------------- slices and Ctrl-C


class FixedSlices(SliceSizer):
    """Slices of one size, so that a test knows where they end."""

    def __init__(self, rows):
        super().__init__("rows")
        self.rows = rows

    def add(self, num_rows, seconds):
        """Take no measure."""


@pytest.mark.parametrize("num_threads", [1, 3])
@pytest.mark.parametrize("rows", [1, 7, 1000])
def test_slices_cover_every_row_once_and_tell_how_far_they_are(num_threads, rows):
    counts = np.zeros(100, np.int64)
    reports = []

    def work(start, stop):
        assert stop - start <= max(rows, 100 // num_threads)
        counts[start:stop] += 1

    with listen(lambda *report: reports.append(report)):
        for_row_ranges(work, 100, num_threads, 10, FixedSlices(rows))
    assert (counts == 1).all()
    assert all(unit == "rows" and total == 100 for unit, _, total in reports)
    done = [report[1] for report in reports]
    assert done == sorted(done)
    if rows < 100 and num_threads == 1:
        assert done[-1] == 100
    # A part ends where the work returns False.
    begun = []
    for_row_ranges(lambda at, _: begun.append(at) or at != 2, 10, 1, 1, FixedSlices(1))
    assert begun == [0, 1, 2]


@pytest.mark.parametrize("num_threads", [1, 3])
def test_interrupt_ends_every_thread_after_its_slice(num_threads):
    begun, ended = [], []
    all_begun = threading.Barrier(num_threads)

    def work(start, stop):
        begun.append(start)
        if len(begun) <= num_threads:
            all_begun.wait(SECONDS)
        ended.append(start)
        if threading.current_thread() is threading.main_thread():
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        for_row_ranges(work, 10**9, num_threads, 1, FixedSlices(1))
    number = len(begun)
    assert len(ended) == number
    assert number < 10**8  # of a thousand million rows
    # The threads go on to serve, and nobody is at the old work any longer.
    for_row_ranges(lambda start, stop: None, 8, num_threads, 1)
    assert len(begun) == number


def test_interrupt_while_the_caller_waits_for_threads():
    # Its own part is short: the signal comes while it waits for the others.
    caller = threading.get_ident()
    begun = threading.Event()
    slices = []

    def work(start, stop):
        if threading.get_ident() == caller:
            begun.wait(SECONDS)
            return False
        slices.append(start)
        if len(slices) == 1:
            begun.set()
            signal.raise_signal(signal.SIGINT)
        return None

    with pytest.raises(KeyboardInterrupt):
        for_row_ranges(work, 10**9, 2, 1, FixedSlices(1))
    number = len(slices)
    assert number < 10**8
    for_row_ranges(lambda start, stop: None, 8, 2, 1)
    assert len(slices) == number


def test_a_second_interrupt_before_signals_wait(monkeypatch, fresh_helpers):
    caller = threading.get_ident()
    begun, slices = threading.Event(), []

    def interrupt():
        raise KeyboardInterrupt

    def work(start, stop):
        if threading.get_ident() == caller:
            begun.wait(SECONDS)
            monkeypatch.setattr(threads, "signal_delay", interrupt)
            interrupt()
        begun.set()
        time.sleep(0.1)
        slices.append(start)

    with pytest.raises(KeyboardInterrupt):
        for_row_ranges(work, 10**9, 2, 1, FixedSlices(1))
    assert len(slices) == 1


def test_interrupted_caller_does_not_wait_for_the_work_of_another(fresh_helpers):
    # The one thread is busy: the part of the second caller is never begun.
    busy, release = threading.Barrier(3), threading.Event()

    def occupy(start, stop):
        busy.wait(SECONDS)
        release.wait(SECONDS)

    first = threading.Thread(target=for_row_ranges, args=(occupy, 2, 2, 1))
    first.start()
    busy.wait(SECONDS)
    begun = []

    def work(start, stop):
        begun.append(start)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        for_row_ranges(work, 2, 2, 1)
    assert not release.is_set()
    release.set()
    first.join(SECONDS)
    assert begun == [0]


def test_ctrl_c_at_any_place_leaves_threads_that_serve(no_garbage_collection):
    # Python's own locks and pools stay locked after some of these places.
    places, own_trace = 0, sys.gettrace()

    def trace(frame, event, argument):
        nonlocal places
        places -= 1
        if places == 0:
            signal.raise_signal(signal.SIGINT)
        return trace

    for place in range(1, 10**4):
        counts, places = np.zeros(6, np.int64), place
        try:
            sys.settrace(trace)
            for_row_ranges(add_one, 6, 3, 1, FixedSlices(1), (counts,))
        except KeyboardInterrupt:
            pass
        finally:
            sys.settrace(own_trace)  # of a coverage report
        before = counts.copy()
        for_row_ranges(add_one, 6, 3, 1, FixedSlices(1), (np.zeros(6, np.int64),))
        assert (counts == before).all()
        if places > 0:
            break
    assert (counts == 1).all()
    assert place > 50
