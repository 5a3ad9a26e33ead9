"""The split of kernels: by measured times, never more than asked for, any result."""

import copy
import pickle

import numpy as np
import pytest

from roll_vec.kernels.grids import write_planes
from roll_vec.stacked import kernel_threads
from roll_vec.stacked.kernel_threads import MIN_ROWS, PART_SECONDS, KernelThreads
from tests.conftest import JIT_OFF
from tests.splits import split_all

AWAKE, ASLEEP = 1e-6, 20e-6


class Clock:
    """The time of a test."""

    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


class Team:
    """A team that takes note of its jobs instead of doing them."""

    def __init__(self, clock):
        self.clock = clock
        self.last_use = self.last_split = -1.0
        self.is_asleep = False
        self.jobs = []
        self.speed = 1.5

    def seconds(self):
        return AWAKE, ASLEEP

    def are_asleep(self):
        return self.is_asleep

    def run(self, runner, num_rows, chunk_rows, num_threads, arguments):
        self.jobs.append((num_rows, chunk_rows, num_threads))
        self.clock.now += arguments[0] * num_rows / self.speed


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(kernel_threads, "perf_counter", clock)
    return clock


@pytest.fixture
def team(monkeypatch, clock):
    team = Team(clock)
    monkeypatch.setattr(kernel_threads, "process_team", lambda: team)
    monkeypatch.setattr(kernel_threads, "make_runner", lambda kernel: kernel)
    monkeypatch.setattr(kernel_threads, "_runners", {})
    monkeypatch.setattr(kernel_threads, "count_cores", lambda: 8)
    monkeypatch.setattr(kernel_threads, "IS_COMPILED", True)
    return team


@pytest.fixture
def kernel(clock):
    """A kernel on one thread, whose first argument is the time of a row."""

    def kernel(start, stop, row_seconds):
        kernel.calls.append((start, stop))
        clock.now += row_seconds * (stop - start)

    kernel.calls = []
    kernel.py_func = kernel  # as a compiled one
    return kernel


def run_often(threads, kernel, num_rows, row_seconds, number=20):
    for _ in range(number):
        threads.run(kernel, num_rows, row_seconds)


@pytest.mark.parametrize("kind", ["few rows", "short", "uncompiled", "of Python"])
def test_work_that_stays_on_the_calling_thread(team, kernel, kind, monkeypatch):
    num_rows, seconds = 6400, 1.0
    if kind == "few rows":
        num_rows = MIN_ROWS - 1
    elif kind == "short":
        seconds = 1.9 * PART_SECONDS / num_rows
    elif kind == "uncompiled":
        monkeypatch.setattr(kernel_threads, "IS_COMPILED", False)
    else:
        del kernel.py_func
    run_often(KernelThreads(8), kernel, num_rows, seconds)
    assert kernel.calls == [(0, num_rows)] * 20
    assert not team.jobs


@pytest.mark.parametrize(
    ("seconds", "asked", "threads"),
    [
        (2.1 * PART_SECONDS, 8, 2),
        (4.1 * PART_SECONDS, 8, 4),
        (1.0, 8, 8),
        (1.0, 3, 3),
        (1.0, 100, 8),  # as there are cores
    ],
)
def test_threads_are_as_many_as_have_a_part(team, kernel, seconds, asked, threads):
    run_often(KernelThreads(asked), kernel, 6400, seconds / 6400)
    # The call that may compile and five more are for measuring.
    assert len(kernel.calls) == 6
    assert {job[2] for job in team.jobs} == {threads}
    assert len(team.jobs) == 14
    for num_rows, chunk_rows, _ in team.jobs:
        assert num_rows == 6400
        assert chunk_rows % 64 == 0
        assert -(-num_rows // chunk_rows) <= 4 * threads


def test_the_call_that_compiles_is_not_measured(team, kernel):
    threads = KernelThreads(8)
    threads.run(kernel, 6400, 1.0)
    run_often(threads, kernel, 6400, 1e-9)
    assert not team.jobs


def test_threads_that_draw_levels_keep_their_cores(team, kernel, monkeypatch):
    drawing = set()
    monkeypatch.setattr(kernel_threads, "background_threads", drawing)
    threads = KernelThreads(3)
    for num_drawing, num_used in ((1, {2}), (2, set()), (0, {3})):
        drawing.clear()
        drawing.update(range(num_drawing))
        team.jobs.clear()
        run_often(threads, kernel, 6400, 1e-3)
        assert {job[2] for job in team.jobs} == num_used


def test_sleeping_threads_wake_for_long_work_or_frequent_work(team, kernel, clock):
    threads = KernelThreads(2)
    team.is_asleep = True
    run_often(threads, kernel, 6400, 5 * ASLEEP / 6400)
    assert team.jobs
    team.jobs.clear()
    for pause, splits in ((1.0, False), (1e-6, True)):
        other = KernelThreads(2)
        for _ in range(20):
            clock.now += pause
            other.run(kernel, 6400, 2 * ASLEEP / 6400)
        assert bool(team.jobs) == splits


def test_splits_that_do_not_pay_become_rare(team, kernel):
    threads = KernelThreads(2)
    team.speed = 0.9
    run_often(threads, kernel, 6400, 1e-6, 1000)
    assert 3 <= len(team.jobs) <= 10
    # They are frequent again when they pay.
    team.speed = 1.5
    run_often(threads, kernel, 6400, 1e-6, 1000)
    assert len(team.jobs) > 700


def test_threads_that_do_not_wake_are_rarely_woken(team, kernel, clock):
    # As where other processes have the cores.
    threads = KernelThreads(2)
    team.is_asleep, team.speed = True, 0.9
    for _ in range(1000):
        clock.now += 1e-6
        threads.run(kernel, 6400, 5 * ASLEEP / 6400)
    assert 3 <= len(team.jobs) <= 25


def test_estimates_follow_a_change_and_not_an_interruption(team, kernel):
    threads = KernelThreads(2)
    run_often(threads, kernel, 1000, 2.5 * PART_SECONDS / 1000, 6)
    timing = threads._timings[kernel, 10]
    before = timing.row_seconds
    timing.add(1.0)
    assert timing.row_seconds < 1.2 * before
    for row_seconds in (1e-6, 1e-9):
        for _ in range(600):
            timing.add(row_seconds)
        assert timing.row_seconds == pytest.approx(row_seconds, rel=0.01)


def test_copies_begin_anew(team, kernel):
    threads = KernelThreads(3)
    run_often(threads, kernel, 6400, 1.0)
    for twin in (copy.deepcopy(threads), pickle.loads(pickle.dumps(threads))):
        assert twin.num_threads == 3
        assert not twin._timings


@pytest.mark.skipif(JIT_OFF, reason="nothing is compiled")
@pytest.mark.parametrize("num_threads", [2, 7])
def test_results_are_those_of_one_thread(monkeypatch, num_threads):
    grids = np.random.default_rng(0).integers(0, 7, (200, 6, 6)).astype(np.uint8)
    expected = np.zeros((200, 7, 6, 6), np.uint8)
    write_planes(0, 200, grids, expected)
    split_all(monkeypatch, num_threads)
    planes = np.zeros_like(expected)
    KernelThreads(num_threads).run(write_planes, 200, grids, planes)
    np.testing.assert_array_equal(planes, expected)
    assert kernel_threads._runners[write_planes].signatures
