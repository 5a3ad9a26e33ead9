"""The parts of a joined batch: one in this process, one in an actor.

Both have the same methods.  The head lets all parts `begin` a call, and then each `end`
it, so that actors work at the same time.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from typing import Any

from gymnasium.vector.utils import batch_space

from roll_vec.errors import (
    EnvironmentFaultWarning,
    InvalidOptionError,
    PartLostError,
    warn_caller,
)
from roll_vec.joined.messages import (
    JOURNALED,
    SETTINGS,
    ActorDiedError,
    Actors,
    Call,
    CannotStartError,
    Description,
    Message,
    Reply,
    Restore,
    describe,
    pack,
    unpack,
)
from roll_vec.joined.options import RayOptions
from roll_vec.pool.actions import check_action_batch
from roll_vec.vector.env import RollVectorEnv
from roll_vec.vector.state import VectorState

_LOGGER = logging.getLogger(__name__)

# Seconds after which a log tells of an actor that is not there yet.
_NOTICE = 15.0
_LATE = "it did not reply within its time limit"
# Intervals after which the calls since a snapshot are dropped if snapshots fail.
_MOST_INTERVALS = 8

Check = Callable[[Any, Any], Any]
"""Raises an InvalidActionError for a batch of any size and a mask of those to skip."""


class LocalPart:
    """A batch of this process.

    Parameters
    ----------
    batch : RollVectorEnv
        It belongs to the joined batch from now on.

    Attributes
    ----------
    check : callable
        See `Check`.
    """

    is_elsewhere = False

    def __init__(self, batch: RollVectorEnv) -> None:
        self.batch, self.check = batch, batch.engine.check_actions
        self.description = describe(batch)
        self._call = Call("")

    def join(self, index: int, first_env_id: int) -> None:  # noqa: ARG002
        """Take a place in a joined batch."""
        self.batch.engine.become_part(first_env_id)

    def begin(self, call: Call) -> None:
        """Begin a call."""
        self._call = call

    def end(self) -> Any:
        """Return the result of the call, or raise its exception."""
        return self._call.run(self.batch)

    @property
    def needs_reset(self) -> bool:
        """Whether the part itself needs a reset."""
        return self.batch._needs_full_reset()

    def warn(self) -> None:
        """Give the warnings that were kept: none, since the batch gives them."""

    def close(self) -> None:
        """Close the batch."""
        self.batch.close()


class ActorPart:
    """A batch in an actor, which is made anew if it dies.

    Parameters
    ----------
    actors : Actors
        `start` of this part has been called.
    index : int
        The number of the part.
    options : RayOptions
    check : callable or None
        See `Check`; None: that of a pool.

    Attributes
    ----------
    restarts : int
    pid : int
        The process of the last reply.
    needs_reset : bool
        Whether the part itself needs a reset.

    Raises
    ------
    Exception
        That of the construction of the batch; a `PartLostError` for a process that
        cannot be started.
    """

    is_elsewhere = True

    def __init__(
        self, actors: Actors, index: int, options: RayOptions, check: Check | None
    ) -> None:
        self._actors, self._index, self._options = actors, index, options
        self._state: VectorState | None = None
        # The packed calls since the snapshot, and the number of their steps.
        self._calls: list[bytes] = []
        self._steps, self._next_snapshot = 0, options.snapshot_interval
        # By subject, the calls before the snapshot that set something.
        self._settings: dict[Any, bytes] = {}
        # Why the part cannot be restored; empty: it can.
        self._obstacle = ""
        # Whether the actor has made the calls above and no others.
        self._is_current = False
        self._has_replied, self._deaths, self.restarts, self.pid = False, 0, 0, 0
        self._call, self._packed, self._ticket, self._sent_at = Call(""), b"", None, 0.0
        self._warned: set[str] = set()
        self._warnings: list[tuple[type[Warning], str]] = []
        self.needs_reset = False
        self._check, self._batch_space = check, None
        self.begin(Call("describe"))

    def __getstate__(self) -> Any:
        message = "shards cannot be pickled: they belong to a connection to Ray"
        raise TypeError(message)

    def join(self, index: int, first_env_id: int) -> None:
        """Take a place in a joined batch: the actor knows its own."""

    @property
    def description(self) -> Description:
        """The description; waits for the actor's construction at its first use."""
        if not self._has_replied:
            self._description: Description = self.end()
        return self._description

    def check(self, actions: Any, skip_mask: Any) -> Any:
        """Check actions; see `Check`."""
        if self._check is not None:
            return self._check(actions, skip_mask)
        one = self.description
        if self._batch_space is None:
            self._batch_space = batch_space(one.action_space, len(skip_mask))
        spaces = one.action_space, self._batch_space
        return check_action_batch(*spaces, actions, skip_mask, one.accepts_noop)

    # --------------------------------------------------------------- one call

    def begin(self, call: Call) -> None:
        """Send a call to the actor."""
        self._call, self._packed = call, pack(call)
        self._deaths, self.needs_reset = 0, False
        self._send()

    def _send(self) -> None:
        call, restore = self._call, None
        if not self._is_current:
            calls, settings = tuple(self._calls), tuple(self._settings.values())
            restore = Restore(self._state, calls, settings)
        # After an interrupt nobody knows whether the actor has made the call.
        self._is_current = self._is_current and call.name not in JOURNALED
        message = pack(Message(self._packed, restore, self._wants_state(call)))
        self._ticket = self._actors.submit(self._index, message)
        self._sent_at = time.monotonic()

    def _wants_state(self, call: Call) -> bool:
        if call.name == "reset":
            # What a reset has done takes long to repeat.
            return "reset_mask" not in (call.keywords.get("options") or {})
        is_due = not self._obstacle and self._steps >= self._next_snapshot
        return is_due and call.name in JOURNALED - SETTINGS

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
        self._commit(reply)
        for category, text in reply.warnings:
            # As a pool, which warns of its first fault alone.
            is_fault = issubclass(category, EnvironmentFaultWarning)
            key = category.__name__ if is_fault else text
            if key not in self._warned:
                self._warned.add(key)
                self._warnings.append((category, text))
        if reply.error is not None:
            raise reply.error from RemoteTraceback(reply.trace)
        return reply.value

    def _receive(self) -> Reply | None:
        """Return the reply; None if the actor was restarted."""
        try:
            data = self._wait()
        except CannotStartError as error:
            if not self._has_replied:
                # More attempts would take long, and end alike.
                raise self._lose(str(error)) from error
            return self._restart(str(error))
        except ActorDiedError as error:
            return self._restart(str(error))
        if data is None:
            return self._restart(_LATE)
        reply: Reply = unpack(data)
        if not reply.is_restored:
            if not (self._has_replied or self.restarts):
                assert reply.error is not None
                raise reply.error from RemoteTraceback(reply.trace)
            return self._restart(f"it could not be restored: {reply.error}")
        self._has_replied, self._is_current, self.pid = True, True, reply.pid
        return reply

    def _wait(self) -> bytes | None:
        """Return the packed reply; None after the time limit.

        Raises
        ------
        InvalidOptionError
            If the actor could never be started.
        """
        is_starting = self.pid == 0
        limit = self._options.start_timeout if is_starting else self._options.shard_timeout
        end = None if limit is None else self._sent_at + limit
        if is_starting and (end is None or end - time.monotonic() > _NOTICE):
            data = self._actors.result(self._ticket, _NOTICE)
            if data is not None:
                return data
            delay = self._actors.explain_delay()
            message = "part %s is not there after %.0f seconds: %s"
            _LOGGER.warning(message, self._index, _NOTICE, delay)
        left = None if end is None else max(end - time.monotonic(), 0.0)
        data = self._actors.result(self._ticket, left)
        if data is None and is_starting and not self._has_replied:
            text = (
                f"num_shards: shard {self._index} was not there within "
                f"start_timeout={limit} seconds: {self._actors.explain_delay()}"
            )
            raise InvalidOptionError(text)
        return data

    # ---------------------------------------------------------- after a death

    def _restart(self, reason: str) -> None:
        """Start a new actor in the place of one that has died.

        Raises
        ------
        PartLostError
            If the part cannot be restored, or dies again and again.
        """
        self._actors.kill(self._index)
        self._is_current, self.pid = False, 0
        self._deaths += 1
        self._actors.start(self._index)
        self.restarts += 1
        _LOGGER.warning("part %s died and is restarted: %s", self._index, reason)
        if self._obstacle:
            reason = f"{reason}; it cannot be restored: {self._obstacle}"
            raise self._lose(reason)
        if 0 <= self._options.max_restarts < self._deaths:
            raise self._lose(f"{reason}, in {self._deaths} processes in a row")

    def _lose(self, reason: str) -> PartLostError:
        """Forget the state of the part; return the error."""
        self.needs_reset = True
        self._drop_calls()
        self._state, self._obstacle = None, ""
        return PartLostError(
            f"part {self._index} has died, and its episodes are lost: {reason}; reset "
            "the batch with a seed, or close it"
        )

    # ------------------------------------------------------------ the journal

    def _commit(self, reply: Reply) -> None:
        """Note a call that the actor has made, also one that raised."""
        call, self.needs_reset = self._call, reply.needs_reset
        if call.name == "get_state" and reply.error is None:
            self._set_base(reply.value)
        if call.name not in JOURNALED:
            return
        self._calls.append(self._packed)
        self._steps += len(call.arguments[0]) if call.name == "unroll" else 1
        if reply.state is not None:
            self._set_base(reply.state)
        elif reply.state_error:
            interval = self._options.snapshot_interval
            # An attempt is not free.
            self._next_snapshot = self._steps + interval
            is_first = self._state is None
            if is_first or self._steps >= _MOST_INTERVALS * interval:
                self._obstacle = reply.state_error
                self._state = None
        if self._obstacle:
            self._drop_calls()

    def _set_base(self, state: VectorState) -> None:
        """Take a snapshot, and drop the calls before it."""
        self._state, self._obstacle = state, ""
        self._drop_calls()

    def _drop_calls(self) -> None:
        """Drop the calls, and keep those that set something; later ones replace."""
        for packed in self._calls:
            call: Call = unpack(packed)
            if call.name in SETTINGS:
                subject = call.arguments[0] if call.arguments else call.keywords
                key = pack((call.name, subject))
                self._settings.pop(key, None)
                self._settings[key] = packed
        self._calls.clear()
        self._steps, self._next_snapshot = 0, self._options.snapshot_interval

    # ----------------------------------------------------------------- others

    def warn(self) -> None:
        """Give the warnings of the actor, each text once; a filter may raise."""
        while self._warnings:
            category, text = self._warnings.pop(0)
            warn_caller(text, category)

    def close(self) -> None:
        """End the processes of all parts."""
        self._actors.close()


Part = LocalPart | ActorPart


class RemoteTraceback(Exception):
    """The traceback of an exception in an actor, shown as its cause."""

    def __str__(self) -> str:
        return f"\n\n{self.args[0]}"


def make_actor_parts(
    actors: Actors, count: int, options: RayOptions, check: Check | None
) -> Sequence[ActorPart]:
    """Return parts in actors, whose processes start at the same time."""
    for index in range(count):
        actors.start(index)
    return [ActorPart(actors, index, options, check) for index in range(count)]
