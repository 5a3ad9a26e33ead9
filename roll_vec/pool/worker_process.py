"""What runs in a worker process of the pool."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import threading
from collections.abc import Callable, Mapping, Sequence
from multiprocessing.connection import Connection, wait
from typing import Any

from roll_vec.pool.env_runner import Fault, Members, Task, format_traceback

__all__ = ["READY", "STOP", "work"]

READY = b"ready"
STOP = b"stop"

# What an error is wanted for as it was raised, beside its text.
_RAISING = ("build", "call", "fetch", "load", "set")


def work(
    tasks: Connection,
    results: Connection,
    env_fns: Callable[[], Mapping[int, Any]],
    inherited: Sequence[Connection],
) -> None:
    """Run the tasks that arrive until told to stop; a worker process's main function.

    Parameters
    ----------
    tasks, results : Connection
        One message is a pickled list of pickled tasks, or one pickled result.
    env_fns : callable
        Returns how the environments are built, by row.
    inherited : sequence of Connection
        Ends of pipes that a fork brought along.
    """
    # Ctrl-C goes to the whole group: the parent decides what becomes of it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for connection in inherited:
        connection.close()
    threading.Thread(target=_watch_parent, daemon=True).start()
    members = Members(env_fns())
    try:
        results.send_bytes(READY)
        while True:
            message = tasks.recv_bytes()
            if message == STOP:
                break
            for pickled in pickle.loads(message):
                results.send_bytes(_run(members, pickled))
    except (EOFError, OSError):
        pass  # the parent is gone
    members.close_all()


def _watch_parent() -> None:
    """End this process when its parent has ended, whatever the environments do."""
    parent = multiprocessing.parent_process()
    if parent is None:
        return
    first = os.getppid()
    # A sibling that was forked later holds the sentinel open as well.
    while not wait([parent.sentinel], 2.0) and os.getppid() == first:
        pass
    os._exit(1)


def _run(members: Members, pickled: bytes) -> bytes:
    """Return the pickled outcome of a pickled task."""
    operation = "task"
    try:
        task: Task = pickle.loads(pickled)
        operation = task.operation
        value, fault = members.run(task)
        if fault is not None:
            fault = _portable(fault, operation)
        return pickle.dumps((value, fault))
    except BaseException as error:
        message = (
            f"exception in {operation}: what passes between the processes cannot be "
            f"pickled: {type(error).__name__}: {error}"
        )
        return pickle.dumps(
            (None, _portable(Fault("exception", message, error), operation))
        )


def _portable(fault: Fault, operation: str) -> Fault:
    """Return a fault that can be unpickled on the other side."""
    if fault.exception is not None:
        fault = fault._replace(traceback=format_traceback(fault.exception))
    if operation in _RAISING:
        try:
            pickle.loads(pickle.dumps(fault.exception))
        except Exception:
            return fault._replace(exception=None)
        return fault
    return fault._replace(exception=None)
