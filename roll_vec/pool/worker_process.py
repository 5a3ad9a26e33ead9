"""The main function of a worker process of the pool."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import random
import signal
import threading
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection, wait
from typing import Any

import numpy as np

from roll_vec.pool.env_runner import EnvRunner
from roll_vec.pool.tasks import (
    EnvFnsById,
    Fault,
    Task,
    make_picklable,
    unsendable_fault,
)
from roll_vec.seeding import draw_entropy

READY = b"ready"
STOP = b"stop"


def run_worker(
    task_pipe: Connection,
    result_pipe: Connection,
    env_fns: Callable[[], EnvFnsById],
    inherited_pipes: Sequence[Connection],
) -> None:
    """Run the tasks that arrive, until `STOP` does.

    Parameters
    ----------
    task_pipe, result_pipe : Connection
        A message is a pickled list of pickled tasks, or one pickled result.
    env_fns : callable
        Returns the constructors of the environments, by environment; it may import
        modules, and take long.
    inherited_pipes : sequence of Connection
        The parent's ends of pipes, which a fork has too.
    """
    # Ctrl-C goes to all processes of the group: the parent decides what happens here.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for connection in inherited_pipes:
        connection.close()
    threading.Thread(target=_watch_parent, daemon=True).start()
    # A fork has those of its parent: all workers would draw the same numbers.
    seed_global_generators(draw_entropy())
    runner = EnvRunner(env_fns(), on_seed=seed_global_generators)
    try:
        result_pipe.send_bytes(READY)
        while True:
            message = task_pipe.recv_bytes()
            if message == STOP:
                break
            for pickled in pickle.loads(message):
                result_pipe.send_bytes(_run_task(runner, pickled))
    except (EOFError, OSError):
        pass  # the parent has ended
    runner.close_all()


def seed_global_generators(seed: int) -> None:
    """Seed the global generators of Python and numpy, of this worker process alone.

    Environments that draw from them then differ between workers, and do the same again
    for the same seed.  No other code of this package seeds or reads them.

    Parameters
    ----------
    seed : int
        Of any size, not negative.
    """
    words = np.random.SeedSequence(seed).generate_state(8)
    random.seed(words.tobytes())
    np.random.seed(words)  # noqa: NPY002


def _watch_parent() -> None:
    """End this process when its parent has ended, whatever the environments do."""
    parent: Any = multiprocessing.parent_process()
    first_id = os.getppid()
    # The sentinel alone is not enough: a sibling that was forked later holds it open.
    while not wait([parent.sentinel], 2.0) and os.getppid() == first_id:
        pass
    os._exit(1)


def _run_task(runner: EnvRunner, pickled: bytes) -> bytes:
    """Return the pickled result, or fault, of a pickled task; of a fault itself."""
    operation = "task"
    try:
        task: Task | Fault = pickle.loads(pickled)
        if isinstance(task, Fault):
            return pickled
        operation = task[1]
        value = runner.run(task)
        if isinstance(value, Fault):
            value = make_picklable(value, operation)
        return pickle.dumps(value)
    except BaseException as error:
        return pickle.dumps(
            make_picklable(unsendable_fault(operation, error), operation)
        )
