"""Teams of threads: every row once, seats, sleep, errors, the end of threads."""

import hashlib
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from roll_vec.arrays.kernel_threads import ThreadTeam
from roll_vec.kernels import thread_team as kernels
from roll_vec.kernels.thread_team import (
    FUTEX_NUMBER,
    atomic_add,
    atomic_load,
    yield_core,
)
from tests.conftest import JIT_OFF

pytestmark = pytest.mark.skipif(JIT_OFF, reason="nothing is compiled")

SECONDS = 60  # only a deadlock takes so long


# A file in the cache is for one version of this file.
kernel = kernels.kernel(key=hashlib.sha256(Path(__file__).read_bytes()).hexdigest()[:8])


@kernel
def count(start, stop, step, bad_row, counts):
    """Add to the counts of rows; item 0 has the number of calls that run.

    A call with the bad row raises an error.
    """
    atomic_add(counts, 0, 1)
    for i in range(start, stop):
        counts[1 + i] += step
    atomic_add(counts, 0, -1)
    if start <= bad_row < stop:
        raise IndexError


@kernel
def meet(start, stop, num_threads, counts):
    """Wait until so many threads are here, or for long; record how many they were."""
    present = atomic_add(counts, 0, 1) + 1
    for _ in range(300):
        if present >= num_threads:
            break
        yield_core()
        present = max(present, atomic_load(counts, 0))
    counts[1 + start] = present
    atomic_add(counts, 0, -1)


@pytest.fixture(scope="module")
def runners():
    return {function: kernels.make_runner(function) for function in (count, meet)}


@pytest.fixture(params=[True, False], ids=["futex", "python"])
def team(request):
    """A team whose workers sleep in compiled code, or in Python."""
    if request.param and not FUTEX_NUMBER:
        pytest.skip("there is no futex here")
    team = ThreadTeam(request.param)
    yield team
    team.stop()
    assert not any(thread.is_alive() for thread in team.threads)


def wait_until(condition):
    end = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.001)


@pytest.mark.parametrize("num_threads", [1, 2, 5])
def test_every_row_is_done_once(team, runners, num_threads):
    for num_rows in (1, 2, 64, 65, 1000):
        for chunk_rows in (1, 7, 64):
            counts = np.zeros(1 + num_rows, np.int64)
            team.run(runners[count], num_rows, chunk_rows, num_threads, (3, -1, counts))
            assert (counts[1:] == 3).all()
            assert counts[0] == 0  # nobody works on them any longer
    assert len(team.threads) == num_threads - 1


def test_callers_work_alone_where_no_thread_can_be_started(team, runners, monkeypatch):
    def refuse(thread):
        message = "can't start new thread"
        raise RuntimeError(message)

    monkeypatch.setattr(threading.Thread, "start", refuse)
    counts = np.zeros(1 + 1000, np.int64)
    team.run(runners[count], 1000, 64, 3, (3, -1, counts))
    assert (counts[1:] == 3).all()
    assert team.threads == []


@pytest.mark.parametrize("num_seats", [0, 1, 2])
def test_no_more_workers_than_seats(team, runners, num_seats):
    team.wake(3)
    for _ in range(10):
        counts = np.zeros(1 + 40, np.int64)
        team.run(runners[meet], 40, 1, 1 + num_seats, (4, counts))
        assert counts[1:].min() >= 1
        assert counts.max() <= 1 + num_seats


def test_workers_take_the_last_chunks_and_the_caller_the_first_ones(team, runners):
    def is_shared():
        team.run(runners[meet], 2, 1, 2, (2, np.zeros(1 + 2, np.int64)))
        return team.control[kernels.TICKET] & 0xFFFFFFFF == 1 << 16 | 1

    wait_until(is_shared)


def test_idle_workers_sleep(team, runners):
    def states():
        """Return what the system says of the threads; nothing but on Linux."""
        paths = [
            Path(f"/proc/self/task/{thread.native_id}/stat") for thread in team.threads
        ]
        texts = [path.read_text() for path in paths if path.exists()]
        return {text.rpartition(")")[2].split()[0] for text in texts}

    counts = np.zeros(1 + 100, np.int64)
    for number in (1, 2):
        team.run(runners[count], 100, 1, 4, (1, -1, counts))
        assert (counts[1:] == number).all()
        wait_until(lambda: team.control[kernels.PARKED] == 3)
        wait_until(lambda: states() <= {"S"})
    assert len(team.threads) == 3


def test_caller_of_a_team_in_use_does_its_rows_alone(team, runners):
    counts = np.zeros(1 + 100, np.int64)
    team.control[kernels.IN_USE] = 1
    before = team.control.copy()
    team.run(runners[count], 100, 1, 2, (1, -1, counts))
    assert (counts[1:] == 1).all()
    for word in (kernels.TICKET, kernels.SEATS, kernels.FINISHED, kernels.IN_USE):
        assert team.control[word] == before[word]
    team.control[kernels.IN_USE] = 0


def test_callers_from_several_threads(team, runners):
    """Jobs of random sizes, with pauses in which workers fall asleep."""
    errors = []

    def call(number):
        rng = np.random.default_rng(number)
        for _ in range(30):
            num_rows, chunk_rows = map(int, rng.integers(1, (3000, 400)))
            counts = np.zeros(1 + num_rows, np.int64)
            for _ in range(5):
                team.run(runners[count], num_rows, chunk_rows, 4, (number, -1, counts))
            if (counts[1:] != 5 * number).any() or counts[0]:
                errors.append(number)
            time.sleep(rng.choice([0, 0, 1e-4, 2e-3]))

    callers = [threading.Thread(target=call, args=(k,)) for k in range(1, 5)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join(SECONDS)
        assert not caller.is_alive()
    assert not errors
    wait_until(lambda: team.control[kernels.PARKED] == len(team.threads))


@pytest.mark.parametrize("bad_row", [0, 50, 99])
def test_error_of_a_kernel_is_raised_after_all_rows(team, runners, bad_row):
    counts = np.zeros(1 + 100, np.int64)
    for in_use in (0, 1):
        team.control[kernels.IN_USE] = in_use
        with pytest.raises(
            RuntimeError, match=r"count.*: the kernel has raised an error"
        ):
            team.run(runners[count], 100, 10, 2, (1, bad_row, counts))
        assert (counts[1:] >= 1).all()
    team.control[kernels.IN_USE] = 0
    team.run(runners[count], 100, 10, 2, (1, -1, counts))
    assert (counts[1:] >= 2).all()


def test_jobs_after_the_end_of_the_threads(runners, monkeypatch):
    wake = kernels.kernel(kernels.wake.py_func)
    monkeypatch.setattr(kernels, "wake", wake)
    team, counts = ThreadTeam(), np.zeros(1 + 100, np.int64)
    team.run(runners[count], 100, 10, 3, (1, -1, counts))
    signatures = list(wake.signatures)
    team.stop()
    # Nothing is compiled while an interpreter exits.
    assert wake.signatures == signatures
    assert not any(thread.is_alive() for thread in team.threads)
    team.run(runners[count], 100, 10, 3, (1, -1, counts))
    assert (counts[1:] == 2).all()
