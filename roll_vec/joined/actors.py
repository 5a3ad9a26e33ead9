"""The part in an actor: its two ends, and its restarts.

`Host` is the actor's end: it has the batch and makes calls.  `ActorPart` is the head's
end: it keeps the journal, from which a new actor gets to the state of a dead one.

Nothing here depends on Ray.  Ray's own way gives the receiver read-only arrays in its
object store.  Here arrays travel inside of one pickle, so that the receiver has them
for itself, writable.  One copy on each side costs less than that store: the reply to a
step of 4096 Sokoban environments, 218 kB, takes 2.1 ms either way, and 1.0 ms with
`pack` where the cluster sends replies of that size at once
(`roll_vec.joined.ray_actors.INLINE_VARIABLE`).
"""

from __future__ import annotations

import logging
import os
import pickle
import socket
import traceback
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import cloudpickle  # type: ignore[import-untyped]

from roll_vec.errors import (
    ActionStartWarning,
    InvalidOptionError,
    PartLostError,
    warn_caller,
)
from roll_vec.joined.parts import JOURNALED, SETTINGS, Call

MAX_RESTARTS = 10
"""Actors of a part that may die one after the other in one call."""

_LOGGER = logging.getLogger(__name__)


class ActorDiedError(Exception):
    """Raised when the process of an actor is gone, or does not start in time."""


class RemoteTraceback(Exception):
    """The traceback of an exception in an actor, shown as its cause."""


@dataclass
class Reply:
    """The answer of an actor to a message.

    ``pid`` is the process of the actor; 0: its batch was not made, or not restored.
    ``error`` is the exception of the call, after which the batch may have moved, or of
    the restoration, and ``trace`` its traceback as text.  ``base`` is the packed call
    of `set_state` with a snapshot, if one was asked for, or ``obstacle`` the reason why
    there is none.
    """

    pid: int = 0
    value: Any = None
    error: Exception | None = None
    trace: str = ""
    base: bytes = b""
    obstacle: str = ""
    warnings: tuple[tuple[type[Warning], str], ...] = ()

    def fail(self, error: Exception) -> None:
        """Reply an exception in the place of a value; it may become a text."""
        self.trace = f"on the node {socket.gethostname()}:\n{traceback.format_exc()}"
        try:
            unpack(pack(error))
        except Exception:
            error = RuntimeError(f"{type(error).__name__}: {error}")
        self.value, self.error = None, error


def pack(value: Any) -> bytes:
    """Return a value as bytes, also of a class of the program's main module.

    Raises
    ------
    Exception
        Those of pickle.
    """
    # It sends classes of the program's main module by value; pickle names them alone.
    return cloudpickle.dumps(value, 5)  # type: ignore[no-any-return]


# Returns the value of `pack`, which shares no memory with the bytes.
unpack = pickle.loads


class Host:
    """A batch of environments that executes the messages of a head.

    A message is a packed tuple: the journal, the call, and whether the reply shall have
    a snapshot, made after the call.  A journal is a sequence of packed calls that a new
    batch makes first; None: go on with the same batch.

    Parameters
    ----------
    make_batch : bytes
        The packed function that returns the batch.
    first_env_id : int
        The number of its first environment in the whole batch, for messages.
    """

    def __init__(self, make_batch: bytes, first_env_id: int) -> None:
        self._make_batch, self._first_env_id = make_batch, first_env_id
        self._batch: Any = None

    def answer(self, message: bytes) -> bytes:
        """Execute a packed message; return the packed `Reply`."""
        journal, packed, wants_state = unpack(message)
        reply = Reply()
        with warnings.catch_warnings(record=True) as records:
            warnings.simplefilter("always")
            # The head has checked the actions, and warned.
            warnings.simplefilter("ignore", ActionStartWarning)
            try:
                if journal is not None:
                    self._restore(journal)
                reply.pid = os.getpid()
                reply.value = unpack(packed).run(self._batch)
            except Exception as error:
                reply.fail(error)
                wants_state = False
            try:
                if wants_state:
                    reply.base = pack(Call("set_state", (self._batch.get_state(),)))
            except Exception as error:
                reply.obstacle = str(error) or type(error).__name__
        reply.warnings = tuple((one.category, str(one.message)) for one in records)
        try:
            return pack(reply)
        except Exception as error:
            reply.fail(error)
            return pack(reply)

    def _restore(self, journal: Sequence[bytes]) -> None:
        """Make a new batch, and the calls of a journal."""
        self.close()
        self._batch = unpack(self._make_batch)()
        self._batch._become_part(self._first_env_id)
        for packed in journal:
            call: Call = unpack(packed)
            try:
                call.run(self._batch)
            except Exception:
                # Other calls raised before, too; a snapshot has to fit.
                if call.name == "set_state":
                    raise

    def close(self) -> None:
        """Close the batch."""
        if self._batch is not None:
            self._batch.close()


class ActorPart:
    """A batch in an actor, which is made anew if it dies.

    The head lets all parts `begin` a call, and then each `end` it, so that actors work
    at the same time.

    Parameters
    ----------
    index : int
        The number of the part.
    start_actor : callable
        Returns a new actor, as `roll_vec.joined.ray_actors.RayActor`.
    engine : Engine or None
        Of a batch of the same environments in this process, which checks actions; None:
        the head checks them as a pool does.
    interval : int
        The ``snapshot_interval`` of `make_shards`.
    start_timeout : float or None

    Attributes
    ----------
    description : types.SimpleNamespace
        Of `roll_vec.joined.parts.describe`: the result of the first call, which the
        constructor begins.
    restarts : int
    pid : int
        The process of the last reply; 0: none since the last start.
    """

    description: Any

    def __init__(
        self,
        index: int,
        start_actor: Callable[[], Any],
        engine: Any,
        interval: int,
        start_timeout: float | None,
    ) -> None:
        self._index, self._start_actor, self.engine = index, start_actor, engine
        self._interval, self._start_timeout = interval, start_timeout
        self.restarts = self.pid = 0
        # Names of calls, and the packed calls: all that set something, and the others
        # since the last snapshot, which begin with `set_state` to the snapshot.
        self._journal: list[tuple[str, bytes]] = []
        # The steps among them, and why the part cannot be restored; empty: it can.
        self._steps, self._obstacle = 0, ""
        # Whether the actor has made the calls above and no others.
        self._is_current = False
        self._actor = start_actor()
        self.begin(Call("describe"))

    def __getstate__(self) -> Any:
        message = "shards cannot be pickled: they belong to a connection to Ray"
        raise TypeError(message)

    def begin(self, call: Call) -> None:
        """Send a call to the actor."""
        self._call, self._packed, self._deaths = call, pack(call), 0
        self._send()

    def _send(self) -> None:
        journal, name = None, self._call.name
        if not self._is_current:
            journal = [packed for _, packed in self._journal]
        # After an interrupt nobody knows whether the actor has made the call.
        self._is_current = self._is_current and name not in JOURNALED
        options = self._call.keywords.get("options")
        is_whole_reset = name == "reset" and "reset_mask" not in (options or ())
        # What a whole reset has done takes long to repeat.
        is_due = is_whole_reset or self._steps >= self._interval
        wants_state = is_due and name in JOURNALED
        self._actor.submit(pack((journal, self._packed, wants_state)))

    def end(self) -> Any:
        """Return the result of the call; wait longer if the actor dies.

        Raises
        ------
        PartLostError
            If it cannot be restored; the batch needs a reset then.
        Exception
            That of the call.
        """
        is_first = self._call.name == "describe"
        while True:
            try:
                timeout = self._start_timeout if is_first else None
                reply: Reply = unpack(self._actor.result(timeout))
                if reply.pid or is_first:
                    break
                reason = f"it was not restored: {reply.error}"
            except ActorDiedError as error:
                reason = str(error)
            self._restart(reason)
            self._send()
        self._is_current, self.pid = True, reply.pid
        if self._call.name in JOURNALED:
            self._commit(reply)
        for category, text in reply.warnings:
            warn_caller(text, category)
        if reply.error is not None:
            raise reply.error from RemoteTraceback(reply.trace)
        return reply.value

    def _restart(self, reason: str) -> None:
        """Start a new actor in the place of one that has died.

        Raises
        ------
        InvalidOptionError
            If it was the first one.
        PartLostError
            If the part cannot be restored, or dies again and again.
        """
        self.close()
        if self._call.name == "describe":
            # More attempts would take long, and end alike.
            text = f"num_shards: part {self._index} could not be started: {reason}"
            raise InvalidOptionError(text)
        self._actor, self._is_current, self.pid = self._start_actor(), False, 0
        self._deaths += 1
        self.restarts += 1
        _LOGGER.warning("part %s died and is restarted: %s", self._index, reason)
        if not self._obstacle and self._deaths <= MAX_RESTARTS:
            return
        if self._obstacle:
            reason = f"{reason}; it cannot be restored: {self._obstacle}"
        self._begin_journal("")
        message = (
            f"part {self._index} has died, in {self._deaths} processes in a row, and "
            f"its episodes are lost: {reason}; reset the batch with a seed, or close it"
        )
        raise PartLostError(message)

    def _commit(self, reply: Reply) -> None:
        """Note a call that the actor has made, also one that raised."""
        name, arguments, _ = self._call
        self._journal.append((name, self._packed))
        self._steps += len(arguments[0]) if name == "unroll" else 1
        if reply.base or reply.obstacle:
            self._begin_journal(reply.obstacle)
            if reply.base:
                self._journal.append(("set_state", reply.base))

    def _begin_journal(self, obstacle: str) -> None:
        """Begin with the calls whose effect snapshots lack."""
        self._journal = [one for one in self._journal if one[0] in SETTINGS]
        self._steps, self._obstacle = 0, obstacle

    def close(self) -> None:
        """End the actor, if it lives: two of one part must never answer."""
        self._actor.kill()
