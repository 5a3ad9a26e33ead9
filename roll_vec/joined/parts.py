"""The parts of a joined batch: one in this process, one in an actor.

Both have the same methods.  The head lets all parts `begin` a call, and then each `end`
it, so that actors work at the same time.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import Any

from roll_vec.errors import InvalidOptionError, PartLostError, warn_caller
from roll_vec.joined.messages import (
    JOURNALED,
    SETTINGS,
    ActorDiedError,
    Call,
    Message,
    Reply,
    Restore,
    describe,
    pack,
    unpack,
)
from roll_vec.joined.options import RayOptions
from roll_vec.vector.env import RollVectorEnv
from roll_vec.vector.state import VectorState

_LOGGER = logging.getLogger(__name__)

_LATE = "it did not reply within its time limit"


class LocalPart:
    """A batch of this process.

    Parameters
    ----------
    batch : RollVectorEnv
        It belongs to the joined batch from now on.

    Attributes
    ----------
    check : callable
        Checks actions for a batch of any size; see `Engine.check_actions`.
    """

    is_elsewhere = False

    def __init__(self, batch: RollVectorEnv) -> None:
        self.batch, self.check = batch, batch.engine.check_actions
        self.description = describe(batch)

    def begin(self, call: Call) -> None:
        """Begin a call: it is made when it ends."""
        self._call = call

    def end(self) -> Any:
        """Return the result of the call, or raise its exception."""
        return self._call.run(self.batch)

    @property
    def needs_reset(self) -> bool:
        """Whether the part itself needs a reset."""
        return self.batch._needs_full_reset()

    def close(self) -> None:
        """Close the batch."""
        self.batch.close()


class ActorPart:
    """A batch in an actor, which is made anew if it dies.

    Parameters
    ----------
    actors : object
        The processes of all parts, as `roll_vec.joined.ray_actors.RayActors`.
    index : int
        The number of the part.
    options : RayOptions
    check : callable or None
        As of `LocalPart`; None: the head checks the actions as a pool does.

    Attributes
    ----------
    restarts : int
    pid : int
        The process of the last reply.
    needs_reset : bool
        Whether the part itself needs a reset.
    """

    is_elsewhere = True

    def __init__(
        self,
        actors: Any,
        index: int,
        options: RayOptions,
        check: Callable[..., Any] | None,
    ) -> None:
        self._actors, self._index, self._options = actors, index, options
        self.check, self.restarts, self.pid, self.needs_reset = check, 0, 0, False
        self._state: VectorState | None = None
        # The packed calls since the snapshot, and the number of their steps.
        self._calls: list[bytes] = []
        self._steps = 0
        # By subject, the packed calls before the snapshot that set something.
        self._settings: dict[Any, bytes] = {}
        # Why the part cannot be restored; empty: it can.
        self._obstacle = ""
        # Whether the actor has made the calls above and no others.
        self._is_current = False
        actors.start(index)
        self.begin(Call("describe"))

    def __getstate__(self) -> Any:
        message = "shards cannot be pickled: they belong to a connection to Ray"
        raise TypeError(message)

    def finish_start(self) -> None:
        """Wait until the actor has made its batch.

        Raises
        ------
        Exception
            That of the construction; a `PartLostError` if the process has died.
        """
        self.description = self.end()

    # --------------------------------------------------------------- one call

    def begin(self, call: Call) -> None:
        """Send a call to the actor."""
        self._call, self._packed = call, pack(call)
        self._deaths, self.needs_reset = 0, False
        self._send()

    def _send(self) -> None:
        restore, name = None, self._call.name
        if not self._is_current:
            settings = tuple(self._settings.values())
            restore = Restore(self._state, tuple(self._calls), settings)
        # After an interrupt nobody knows whether the actor has made the call.
        self._is_current = self._is_current and name not in JOURNALED
        wants_state = name in JOURNALED - SETTINGS and (
            self._steps >= self._options.snapshot_interval
            # What a reset has done takes long to repeat.
            or (
                name == "reset"
                and "reset_mask" not in (self._call.keywords["options"] or ())
            )
        )
        message = pack(Message(self._packed, restore, wants_state))
        self._ticket = self._actors.submit(self._index, message)
        self._sent_at = time.monotonic()

    def end(self) -> Any:
        """Return the result of the call; wait longer if the actor dies.

        Raises
        ------
        PartLostError
            If it cannot be restored; the batch needs a reset then.
        Exception
            That of the call.
        """
        while (reply := self._receive()) is None:
            self._send()
        self._is_current, self.pid, self.needs_reset = (
            True,
            reply.pid,
            reply.needs_reset,
        )
        self._commit(reply)
        for category, text in reply.warnings:
            warn_caller(text, category)
        if reply.error is not None:
            raise reply.error from RemoteTraceback(reply.trace)
        return reply.value

    def _receive(self) -> Reply | None:
        """Return the reply; None if the actor was started anew."""
        options = self._options
        limit = options.shard_timeout if self.pid else options.start_timeout
        waited = time.monotonic() - self._sent_at
        left = None if limit is None else max(limit - waited, 0.0)
        try:
            data = self._actors.result(self._ticket, left)
            if data is not None:
                reply: Reply = unpack(data)
                if reply.is_restored:
                    return reply
                if self._call.name == "describe" and reply.error is not None:
                    raise reply.error from RemoteTraceback(reply.trace)
            reason = _LATE if data is None else f"it was not restored: {reply.error}"
        except ActorDiedError as error:
            reason = str(error)
        self._restart(reason)
        return None

    def _restart(self, reason: str) -> None:
        """Start a new actor in the place of one that has died.

        Raises
        ------
        PartLostError
            If the part cannot be restored, or dies again and again.
        """
        self._actors.kill(self._index)
        self._is_current, self.pid = False, 0
        if self._call.name == "describe":
            # More attempts would take long, and end alike.
            text = f"num_shards: part {self._index} could not be started: {reason}"
            raise InvalidOptionError(text)
        self._deaths += 1
        self.restarts += 1
        self._actors.start(self._index)
        _LOGGER.warning("part %s died and is restarted: %s", self._index, reason)
        if self._obstacle:
            reason = f"{reason}; it cannot be restored: {self._obstacle}"
        elif 0 <= self._options.max_restarts < self._deaths:
            reason = f"{reason}, in {self._deaths} processes in a row"
        else:
            return
        self._set_base(None, "")
        self.needs_reset = True
        message = (
            f"part {self._index} has died, and its episodes are lost: {reason}; reset "
            "the batch with a seed, or close it"
        )
        raise PartLostError(message)

    # ------------------------------------------------------------ the journal

    def _commit(self, reply: Reply) -> None:
        """Note a call that the actor has made, also one that raised."""
        call = self._call
        if call.name == "get_state" and reply.error is None:
            self._set_base(reply.value, "")
        if call.name not in JOURNALED:
            return
        self._calls.append(self._packed)
        self._steps += len(call.arguments[0]) if call.name == "unroll" else 1
        if reply.state is not None or reply.state_error:
            self._set_base(reply.state, reply.state_error)
        elif self._obstacle:
            self._set_base(None, self._obstacle, self._steps)

    def _set_base(
        self, state: VectorState | None, obstacle: str, steps: int = 0
    ) -> None:
        """Take a snapshot, or the reason why there is none, and drop the calls.

        Of calls that set something the last one about each subject stays.
        """
        self._state, self._obstacle, self._steps = state, obstacle, steps
        for packed in self._calls:
            call: Call = unpack(packed)
            if call.name in SETTINGS:
                subject = call.arguments[:1], call.keywords if not call.arguments else 0
                key = pack((call.name, subject))
                self._settings.pop(key, None)
                self._settings[key] = packed
        self._calls.clear()

    def close(self) -> None:
        """End the processes of all parts."""
        self._actors.close()


class RemoteTraceback(Exception):
    """The traceback of an exception in an actor, shown as its cause."""

    def __str__(self) -> str:
        return f"\n\n{self.args[0]}"
