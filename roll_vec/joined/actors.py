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
from types import SimpleNamespace
from typing import Any

import cloudpickle  # type: ignore[import-untyped]

from roll_vec.errors import (
    ActionStartWarning,
    InvalidOptionError,
    PartLostError,
    warn_caller,
)
from roll_vec.joined.parts import JOURNALED, SETTINGS, Call
from roll_vec.vector.env import RollVectorEnv

MAX_RESTARTS = 10
"""Actors of a part that may die one after the other in one call."""

_LOGGER = logging.getLogger(__name__)


class ActorDiedError(Exception):
    """Raised when the process of an actor is gone, or does not reply in time."""


class RemoteTraceback(Exception):
    """The traceback of an exception in an actor, shown as its cause."""


@dataclass
class Reply:
    """The answer of an actor to a message.

    ``pid`` is the process of the actor.  ``error`` is the exception of the call, after
    which the batch may have moved, and ``trace`` its traceback as text; unless
    ``is_restored``, they are those of the construction of the batch, or of the journal.
    ``base`` is the packed call of `set_state` with a snapshot, if one was asked for, or
    ``obstacle`` the reason why there is none.
    """

    pid: int
    value: Any = None
    error: Exception | None = None
    trace: str = ""
    is_restored: bool = False
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
    data: bytes = cloudpickle.dumps(value, 5)
    return data


def unpack(data: bytes) -> Any:
    """Return the value of `pack`; it shares no memory with the bytes."""
    return pickle.loads(data)


class Host:
    """A batch of environments that executes the messages of a head.

    A message is a packed tuple: the journal, the call, and whether the reply shall have
    a snapshot, made after the call.  A journal is a sequence of packed calls that a new
    batch makes first; None: go on with the same batch.

    Parameters
    ----------
    make_batch : bytes
        The packed function that returns a batch of ``num_envs`` environments.
    num_envs : int
    first_env_id : int
        The number of its first environment in the whole batch, for messages.
    """

    def __init__(self, make_batch: bytes, num_envs: int, first_env_id: int) -> None:
        self._make_batch, self._num_envs = make_batch, num_envs
        self._first_env_id = first_env_id
        self._batch: RollVectorEnv | None = None

    def answer(self, message: bytes) -> bytes:
        """Execute a packed message; return the packed `Reply`."""
        reply = Reply(os.getpid())
        with warnings.catch_warnings(record=True) as records:
            warnings.simplefilter("always")
            # The head has checked the actions, and warned.
            warnings.simplefilter("ignore", ActionStartWarning)
            try:
                self._handle(reply, *unpack(message))
            except Exception as error:
                reply.fail(error)
        reply.warnings = tuple((one.category, str(one.message)) for one in records)
        try:
            return pack(reply)
        except Exception as error:
            reply.fail(error)
            return pack(reply)

    def _handle(
        self,
        reply: Reply,
        journal: Sequence[bytes] | None,
        packed: bytes,
        wants_state: bool,
    ) -> None:
        if journal is not None:
            self._restore(journal)
        reply.is_restored = True
        assert self._batch is not None
        reply.value = unpack(packed).run(self._batch)
        try:
            if wants_state:
                reply.base = pack(Call("set_state", (self._batch.get_state(),)))
        except Exception as error:
            reply.obstacle = str(error) or type(error).__name__

    def _restore(self, journal: Sequence[bytes]) -> None:
        """Make a new batch, and the calls of a journal."""
        self.close()
        self._batch = unpack(self._make_batch)(self._num_envs)
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
        self._batch = None


class ActorPart:
    """A batch in an actor, which is made anew if it dies.

    It has the methods of `roll_vec.joined.parts.LocalPart`.  The head lets all parts
    `begin` a call, and then each `end` it, so that actors work at the same time.

    Parameters
    ----------
    index : int
        The number of the part.
    start_actor : callable
        Returns a new actor, as `roll_vec.joined.ray_actors.RayActor`.
    options : roll_vec.joined.shards.RayOptions
    check : callable or None
        As of `LocalPart`; None: the head checks the actions as a pool does.

    Attributes
    ----------
    description : types.SimpleNamespace
        Of `roll_vec.joined.parts.describe`: the result of the first call, which the
        constructor begins.
    restarts : int
    pid : int
        The process of the last reply; 0: none since the last start.
    """

    description: SimpleNamespace

    def __init__(
        self,
        index: int,
        start_actor: Callable[[], Any],
        options: Any,
        check: Callable[..., Any] | None,
    ) -> None:
        self._index, self._start_actor, self._options = index, start_actor, options
        self.check, self.restarts, self.pid = check, 0, 0
        # By subject, the calls that set something and that succeeded.
        self._settings: dict[Any, bytes] = {}
        # The last snapshot, as the call that goes back to it, and the calls since then.
        self._journal: list[bytes] = []
        self._steps = 0
        # Why the part cannot be restored; empty: it can.
        self._obstacle = ""
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
            journal = [*self._settings.values(), *self._journal]
        # After an interrupt nobody knows whether the actor has made the call.
        self._is_current = self._is_current and name not in JOURNALED
        options = self._call.keywords.get("options") or ()
        wants_state = name in JOURNALED and (
            self._steps >= self._options.snapshot_interval
            # What a whole reset has done takes long to repeat.
            or (name == "reset" and "reset_mask" not in options)
            # The calls of the journal came before the setting.
            or (name in SETTINGS and bool(self._journal))
        )
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
        while True:
            options = self._options
            limit = options.shard_timeout if self.pid else options.start_timeout
            try:
                reply: Reply = unpack(self._actor.result(limit))
                if reply.is_restored or self._call.name == "describe":
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
        if self._obstacle:
            reason = f"{reason}; it cannot be restored: {self._obstacle}"
        elif self._deaths > MAX_RESTARTS:
            reason = f"{reason}, in {self._deaths} processes in a row"
        else:
            return
        self._journal, self._steps, self._obstacle = [], 0, ""
        message = (
            f"part {self._index} has died, and its episodes are lost: {reason}; reset "
            "the batch with a seed, or close it"
        )
        raise PartLostError(message)

    def _commit(self, reply: Reply) -> None:
        """Note a call that the actor has made, also one that raised."""
        name, arguments, keywords = self._call
        if name in SETTINGS and reply.error is None:
            # All level options together: some are refused without others.
            subject = name, *arguments[:1]
            before: Call = unpack(self._settings.pop(subject, self._packed))
            call = Call(name, arguments, before.keywords | keywords)
            self._settings[subject] = pack(call)
        else:
            self._journal.append(self._packed)
        self._steps += len(arguments[0]) if name == "unroll" else 1
        if reply.base or reply.obstacle:
            self._journal = [reply.base] if reply.base else []
            self._steps, self._obstacle = 0, reply.obstacle

    def close(self) -> None:
        """End the actor, if it lives: two of one part must never answer."""
        self._actor.kill()
