"""Threads that share the rows of one kernel call, without the interpreter lock.

The workers of a team and the threads that call it meet in a *control block*, an int64
array of `CONTROL_WORDS`.  A *job* is a kernel with its arguments and a number of rows
in *chunks* of equal size.  Whoever is free takes the next chunk, the caller too: a
worker that wakes late finds nothing left, and nobody waits for it::

    chunks of a job    0  1  2  3  4  5  6  7
    the caller takes   --->  low    high  <---  workers take
                                                          TICKET
    bits of a ticket   63..32: number of the job   31..16: high   15..0: low

So the caller and a single worker keep the same rows, and their caches, from call to
call.  A chunk is taken by a compare-and-swap of the ticket, which succeeds only while
the job that the ticket names is open.  The other words of a job change only while it is
closed (low == high), so a thread that read words of two jobs takes no chunk.  The
caller returns when as many chunks are finished as there are.

A job has *seats*: at most so many workers may take its chunks.  A team serves one job
at a time; who finds it in use does all rows alone.

A worker without a job looks at the ticket for some time and then sleeps: on Linux in
the system call ``futex``, so that it never needs the interpreter lock, elsewhere in
Python, see `roll_vec.arrays.kernel_threads`.  A wake-up that comes too early or too
late changes no result.

Measured with two cores: 0.4 us until a worker that looks has done a job, 5 to 11 us for
one that sleeps; 20 to 130 us with Python's ThreadPoolExecutor.
"""

import functools

import numba

from ._atomics import (
    FUTEX_NUMBER,
    atomic_add,
    atomic_load,
    atomic_store,
    call_job,
    compare_and_swap,
    futex_wait,
    futex_wake,
    item_address,
    job_address,
    pause,
    stack_address,
    yield_core,
)
from ._cache import KernelCache
from ._jit import kernel

# Each of these words has two cache lines of its own, as processors load lines in pairs.
_LINE = 16
(
    TICKET,
    SEATS,  # number of the job << 32 | free seats
    FINISHED,  # chunks of the job
    IN_USE,  # 1 while a caller has the team
    PARKED,  # workers that sleep
    SIGNAL,  # counts wake-ups; sleeping workers wait for its change
    STOPPED,  # 1: workers are to return
    _JOB,
) = range(0, 8 * _LINE, _LINE)
# Words of the job, which stay as they are while it is open.
_ADDRESS, _DATA, _NUM_ROWS, _CHUNK_ROWS, _FAILED = range(_JOB, _JOB + 5)
CONTROL_WORDS = 8 * _LINE
MAX_CHUNKS = 0xFFFF

_CALLER_STEP, _WORKER_STEP = 1, -(1 << 16)
# Pauses of a caller that waits for the last chunks; then it offers its core to others.
_PAUSES_BEFORE_YIELD = 1000


@kernel
def _take_chunks(control, job, step):
    """Take chunks of a job until none is left, and do their rows.

    Parameters
    ----------
    control : (CONTROL_WORDS,) int64, updated
    job : int
        Its number.
    step : int
        `_CALLER_STEP` or `_WORKER_STEP`.
    """
    while True:
        ticket = atomic_load(control, TICKET)
        low, high = ticket & 0xFFFF, ticket >> 16 & 0xFFFF
        if ticket >> 32 != job or low >= high:
            return
        address, data = atomic_load(control, _ADDRESS), atomic_load(control, _DATA)
        num_rows = atomic_load(control, _NUM_ROWS)
        chunk_rows = atomic_load(control, _CHUNK_ROWS)
        if compare_and_swap(control, TICKET, ticket, ticket + step):
            chunk = low if step == _CALLER_STEP else high - 1
            start = chunk * chunk_rows
            stop = min(start + chunk_rows, num_rows)
            if call_job(address, data, start, stop) != 0:
                atomic_store(control, _FAILED, 1)
            atomic_add(control, FINISHED, 1)


@kernel
def serve(control, num_pauses, sleeps):
    """Take part in jobs, until the team is stopped.

    Parameters
    ----------
    control : (CONTROL_WORDS,) int64, updated
    num_pauses : int
        A worker looks so often for a job before it sleeps.
    sleeps : bool
        True: it sleeps in this call, by `futex_wait`.  False: it adds itself to the
        word PARKED and returns, to sleep in Python.
    """
    idle_pauses, last_job = 0, -1
    while atomic_load(control, STOPPED) == 0:
        ticket = atomic_load(control, TICKET)
        job = ticket >> 32
        seats = atomic_load(control, SEATS)
        if (
            job != last_job
            and (ticket & 0xFFFF) < (ticket >> 16 & 0xFFFF)
            and seats >> 32 == job
            and seats & 0xFFFFFFFF > 0
        ):
            if compare_and_swap(control, SEATS, seats, seats - 1):
                _take_chunks(control, job, _WORKER_STEP)
                idle_pauses, last_job = 0, job
            continue
        pause()
        idle_pauses += 1
        if idle_pauses >= num_pauses:
            idle_pauses = 0
            signal = atomic_load(control, SIGNAL)
            atomic_add(control, PARKED, 1)
            if not sleeps:
                return
            if atomic_load(control, TICKET) == ticket and not atomic_load(
                control, STOPPED
            ):
                futex_wait(item_address(control, SIGNAL), signal)
            atomic_add(control, PARKED, -1)


@kernel
def wake(control, num_workers, sleeps):
    """Wake workers that sleep.

    Parameters
    ----------
    control : (CONTROL_WORDS,) int64, updated
    num_workers : int
        At most so many.
    sleeps : bool
        As for `serve`.

    Returns
    -------
    int : the workers that Python has to wake, which are PARKED no longer
    """
    if sleeps:
        atomic_add(control, SIGNAL, 1)
        futex_wake(item_address(control, SIGNAL), num_workers)
        return 0
    while True:
        parked = atomic_load(control, PARKED)
        number = min(parked, num_workers)
        if compare_and_swap(control, PARKED, parked, parked - number):
            return number


@kernel
def run_job(control, address, data, num_rows, chunk_rows, num_seats):
    """Do all rows of a job together with the team.

    Parameters
    ----------
    control : (CONTROL_WORDS,) int64, updated
    address, data : int
        Of a function of `job_address` and of its arguments.
    num_rows, chunk_rows : int
        At most `MAX_CHUNKS` chunks.
    num_seats : int
        The largest number of workers; those that sleep by `futex_wait` are woken.

    Returns
    -------
    bool : whether the kernel has failed
    """
    if not compare_and_swap(control, IN_USE, 0, 1):
        return call_job(address, data, 0, num_rows) != 0
    num_chunks = (num_rows + chunk_rows - 1) // chunk_rows
    job = (atomic_load(control, TICKET) >> 32) + 1 & 0x7FFFFFFF
    atomic_store(control, _ADDRESS, address)
    atomic_store(control, _DATA, data)
    atomic_store(control, _NUM_ROWS, num_rows)
    atomic_store(control, _CHUNK_ROWS, chunk_rows)
    atomic_store(control, _FAILED, 0)
    atomic_store(control, FINISHED, 0)
    atomic_store(control, SEATS, job << 32 | num_seats)
    atomic_store(control, TICKET, job << 32 | num_chunks << 16)
    if FUTEX_NUMBER and atomic_load(control, PARKED) > 0:
        wake(control, num_seats, True)
    _take_chunks(control, job, _CALLER_STEP)
    pauses = 0
    while atomic_load(control, FINISHED) < num_chunks:
        pause()
        pauses += 1
        if pauses > _PAUSES_BEFORE_YIELD:
            yield_core()
    failed = atomic_load(control, _FAILED) != 0
    atomic_store(control, IN_USE, 0)
    return failed


@kernel
def wait_pauses(number):
    """Wait for a number of pauses, to time them."""
    for _ in range(number):
        pause()


IS_COMPILED = hasattr(wait_pauses, "py_func")  # with the JIT off: no teams


@functools.cache
def make_runner(function):
    """Return a kernel that calls another one on chunks of rows, together with a team.

    Parameters
    ----------
    function : Dispatcher
        A kernel with the arguments ``start, stop, *arguments``.

    Returns
    -------
    Dispatcher : of (control, num_rows, chunk_rows, num_seats, arguments); the last is a
        tuple, the others are those of `run_job`
    """

    def run(control, num_rows, chunk_rows, num_seats, arguments):
        address, data = job_address(function, arguments), stack_address(arguments)
        return run_job(control, address, data, num_rows, chunk_rows, num_seats)

    original = function.py_func
    # The notice of a compilation names the kernel; the cache names a file by module and
    # `__qualname__`.
    run.__module__, run.__name__ = original.__module__, original.__name__
    run.__qualname__ = f"run_{original.__qualname__}"
    # The cache tells edits of the files of this layer alone.
    if not isinstance(function._cache, KernelCache):
        return numba.njit(nogil=True)(run)
    return kernel(run)
