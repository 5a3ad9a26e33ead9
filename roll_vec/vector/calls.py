"""Calls of a batch: one at a time, and whole or broken off."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import get_ident
from typing import Any, TypeVar, cast

from roll_vec.errors import BatchInUseError

ALL_NEED_RESET = (
    "every environment must be reset: the call before was interrupted, or a fault "
    "was raised"
)

Method = TypeVar("Method", bound=Callable[..., Any])


def one_at_a_time(method: Method) -> Method:
    """Let only one thread be in such methods of a batch; each may call the others.

    The batch has the attributes ``_caller``, the identifier of that thread, or 0, and
    ``_process_id``, the process that has made the batch.

    Raises
    ------
    BatchInUseError
        In a second thread; nothing has moved.
    """

    @functools.wraps(method)
    def call(self: Any, *args: Any, **keywords: Any) -> Any:
        # `RollVectorEnv.step` has these lines, too: a call costs it 0.1 us.
        caller, outer = get_ident(), self._caller
        if not outer:
            self._caller = caller
        elif outer != caller:
            check_caller(self, outer)
            outer, self._caller = 0, caller
        try:
            return method(self, *args, **keywords)
        finally:
            self._caller = outer

    return cast(Method, call)


def check_caller(envs: Any, caller: int) -> None:
    """Raise an error for a batch that another thread was in a call of.

    It returns in a fork of the process where the call is, in which that thread does not
    exist: nobody ends the call, and all environments must be reset.

    Parameters
    ----------
    envs : RollVectorEnv
    caller : int
        The identifier of that thread.  The call may have ended since: to look once more
        would not tell whether a third one has begun.

    Raises
    ------
    BatchInUseError
    """
    is_fork = os.getpid() != envs._process_id
    if is_fork and caller == envs._caller and caller not in sys._current_frames():
        envs._autoreset.demand_reset()
        return
    message = (
        f"{envs!r} is in use by another thread: a batch belongs to one thread at a "
        "time; make one for each, or let them share `roll_vec.sessions.Sessions`"
    )
    raise BatchInUseError(message)


@contextmanager
def interruptible(demand_reset: Callable[[], None]) -> Iterator[None]:
    """Demand a reset of all environments if Ctrl-C strikes in the block.

    An `Exception` demands none: the block says what has moved then.
    """
    try:
        yield
    except (Exception, GeneratorExit):
        # Ctrl-C within `contextlib` leaves this generator to garbage collection,
        # perhaps long after a reset.
        raise
    except BaseException:
        demand_reset()
        raise
