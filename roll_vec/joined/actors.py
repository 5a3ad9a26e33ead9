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
from types import SimpleNamespace
from typing import Any, NamedTuple

import cloudpickle  # type: ignore[import-untyped]

from roll_vec.errors import (
    ActionStartWarning,
    InvalidOptionError,
    PartLostError,
    warn_caller,
)
from roll_vec.joined.calls import JOURNALED, SETTINGS, Call
from roll_vec.vector.env import RollVectorEnv

_LOGGER = logging.getLogger(__name__)


class ActorDiedError(Exception):
    """Raised when the process of an actor is gone, or does not reply in time."""


class RemoteTraceback(Exception):
    """The traceback of an exception in an actor, shown as its cause."""


class Reply(NamedTuple):
    """The answer of an actor to a message.

    ``error`` is the exception of the call, after which the batch may have moved, and
    ``trace`` its traceback as text; unless ``is_restored``, they are those of the
    construction of the batch, or of the journal.  ``base`` is the packed call of
    `set_state` with a snapshot, if one was asked for, or ``obstacle`` the reason why
    there is none.  ``pid`` is the process of the actor.
    """

    value: Any = None
    error: Exception | None = None
    trace: str = ""
    is_restored: bool = True
    base: bytes = b""
    obstacle: str = ""
    warnings: tuple[tuple[type[Warning], str], ...] = ()
    pid: int = 0


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
        with warnings.catch_warnings(record=True) as records:
            warnings.simplefilter("always")
            # The head has checked the actions, and warned.
            warnings.simplefilter("ignore", ActionStartWarning)
            reply = self._handle(*unpack(message))
        texts = tuple((one.category, str(one.message)) for one in records)
        try:
            return pack(reply._replace(warnings=texts, pid=os.getpid()))
        except Exception as error:
            return pack(_failure(error)._replace(pid=os.getpid()))

    def _handle(
        self, journal: Sequence[bytes] | None, packed: bytes, wants_state: bool
    ) -> Reply:
        try:
            if journal is not None:
                self._restore(journal)
        except Exception as error:
            self.close()
            return _failure(error)._replace(is_restored=False)
        assert self._batch is not None
        try:
            value = unpack(packed).run(self._batch)
        except Exception as error:
            return _failure(error)
        if not wants_state:
            return Reply(value)
        try:
            base = pack(Call("set_state", (self._batch.get_state(),)))
            return Reply(value, base=base)
        except Exception as error:
            return Reply(value, obstacle=str(error) or type(error).__name__)

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


def _failure(error: Exception) -> Reply:
    """Return the reply for an exception; one that cannot travel becomes a text."""
    trace = f"on the node {socket.gethostname()}:\n{traceback.format_exc()}"
    try:
        unpack(pack(error))
    except Exception:
        error = RuntimeError(f"{type(error).__name__}: {error}")
    return Reply(error=error, trace=trace)


class ActorPart:
    """A batch in an actor, which is made anew if it dies.

    It has the methods of `roll_vec.joined.calls.LocalPart`.  The head lets all parts
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
        Of `roll_vec.joined.calls.describe`.
    restarts : int
    pid : int
        The process of the last reply.
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
        # The packed calls since the last snapshot, which is the first call; each with
        # its subject, if it sets something.
        self._journal: list[tuple[Any, bytes]] = []
        self._steps = 0
        # By subject, the last calls before the snapshot that set something.
        self._settings: dict[Any, bytes] = {}
        self._level_options: dict[str, Any] = {}
        # Why the part cannot be restored; empty: it can.
        self._obstacle = ""
        # Whether the actor has made the calls above and no others.
        self._is_current = False
        self._actor = start_actor()
        self.begin(Call("describe"))

    def __getstate__(self) -> Any:
        message = "shards cannot be pickled: they belong to a connection to Ray"
        raise TypeError(message)

    # --------------------------------------------------------------- one call

    def begin(self, call: Call) -> None:
        """Send a call to the actor."""
        self._call, self._packed, self._deaths = call, pack(call), 0
        self._send()

    def _send(self) -> None:
        journal, name = None, self._call.name
        if not self._is_current:
            calls = [packed for _, packed in self._journal]
            journal = (*self._settings.values(), *calls)
        # After an interrupt nobody knows whether the actor has made the call.
        self._is_current = self._is_current and name not in JOURNALED
        # What a reset has done takes long to repeat.
        options = self._call.keywords.get("options") or ()
        is_whole_reset = name == "reset" and "reset_mask" not in options
        wants_state = name in JOURNALED - SETTINGS and (
            is_whole_reset or self._steps >= self._options.snapshot_interval
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
        elif self._deaths > self._options.max_restarts:
            reason = f"{reason}, in {self._deaths} processes in a row"
        else:
            return
        self._begin_journal(b"", "")
        message = (
            f"part {self._index} has died, and its episodes are lost: {reason}; reset "
            "the batch with a seed, or close it"
        )
        raise PartLostError(message)

    # ------------------------------------------------------------ the journal

    def _commit(self, reply: Reply) -> None:
        """Note a call that the actor has made, also one that raised."""
        name, arguments, keywords = self._call
        if name not in JOURNALED:
            return
        subject, packed, is_done = (), self._packed, reply.error is None
        if name == "set_level_options" and is_done:
            # All of them: some are refused without others.
            self._level_options |= keywords
            packed = pack(Call(name, (), self._level_options))
        if name in SETTINGS:
            # One that raised may have changed some environments; none is forgotten
            # for it.
            subject = (name, *arguments[:1], is_done)
        self._journal.append((subject, packed))
        self._steps += len(arguments[0]) if name == "unroll" else 1
        if reply.base or reply.obstacle:
            self._begin_journal(reply.base, reply.obstacle)

    def _begin_journal(self, base: bytes, obstacle: str) -> None:
        """Begin with a snapshot, or note the reason why there is none.

        Of calls that set something the last one about each subject stays.
        """
        for subject, packed in self._journal:
            if subject:
                self._settings.pop(subject, None)
                self._settings[subject] = packed
        self._journal = [((), base)] if base else []
        self._steps, self._obstacle = 0, obstacle

    def close(self) -> None:
        """End the actor, if it lives: two of one part must never answer."""
        self._actor.kill()
