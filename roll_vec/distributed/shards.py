"""The shards as the head sees them: their messages, deaths, restarts and replays.

The head keeps, for each shard, the last snapshot and the calls since.  When a
shard dies, a new one gets both and repeats the calls, and then the call whose
reply was lost.  So the caller only waits longer.  A call is added to the list
when all shards have replied to it: an error or Ctrl-C in between leaves no trace, since
the shards that have moved are brought back in the same way.

A shard whose environments allow no snapshot cannot come back: it is *renewed*, its
episodes are over.  A shard that has died more than ``max_restarts`` times is *lost*.
"""

from __future__ import annotations

import logging
import pickle
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from roll_vec.distributed.messages import (
    Actors,
    CannotStartError,
    Message,
    Reply,
    Restore,
    ShardDiedError,
)
from roll_vec.distributed.options import RayOptions
from roll_vec.errors import (
    EnvironmentFaultError,
    EnvironmentFaultWarning,
    InvalidOptionError,
    warn_caller,
)
from roll_vec.vector.composite import Lost, PartCall
from roll_vec.vector.engine import EngineState

Point = tuple[EngineState | None, list[PartCall], dict[Any, PartCall], float]

_LOGGER = logging.getLogger(__name__)

# Calls that move nothing, and need no repetition.
_QUESTIONS = frozenset(
    (
        "describe",
        "get_state",
        "get_env_state",
        "check_state",
        "get_attribute",
        "get_array",
        "solve",
        "grids",
        "frames",
        "count_faults",
    )
)
# Seconds after which a log tells of a shard that is not there yet.
_NOTICE = 15.0
LATE = "it did not reply within its time limit"
"""The reason why a shard is replaced that does not answer."""

# Calls whose effect a snapshot need not have.
_SETTINGS = frozenset(("set_level_options", "set_attribute"))
# Calls that end no episode if they raise, as in a local pool.
_CALLS = _SETTINGS | {"call"}


class ShardTraceback(Exception):
    """The traceback of an exception in a shard, shown as its cause."""

    def __str__(self) -> str:
        return f"\n\n{self.args[0]}"


@dataclass
class ShardRecord:
    """What the head knows of a shard."""

    state: EngineState | None = None
    calls: list[PartCall] = field(default_factory=list)
    """Since ``state``."""
    settings: dict[Any, PartCall] = field(default_factory=dict)
    """The calls before ``state`` that set attributes and level options; later ones
    replace alike.
    """
    steps: float = 0.0
    """Since ``state``."""
    num_failures: int = 0
    """Snapshots that failed since ``state``."""
    has_moved: bool = False
    """Whether it has done what is not in ``calls``, or is new."""
    is_restorable: bool = True
    needs_reset: bool = False
    """Whether it was interrupted, and is not restorable."""
    restarts: int = 0
    is_starting: bool = True
    """Whether its process has not replied yet."""
    is_noticed: bool = False
    """Whether a long start was logged."""
    pid: int = 0
    """Its process, of its last reply."""
    loss: str = ""
    """Why it is lost; empty: it is not."""

    def restore(self) -> Restore:
        """Return the way to bring a new batch to the present state."""
        settings = tuple(self.settings.values())
        return Restore(self.state, tuple(self.calls), settings)

    def drop_calls(self, count: int | None = None) -> None:
        """Drop the first calls, all by default; keep what they have set."""
        for call in self.calls[:count]:
            if call.name in _SETTINGS:
                key = pickle.dumps(_subject(call))
                self.settings.pop(key, None)
                self.settings[key] = call
        del self.calls[:count]
        self.steps = sum(map(_count_steps, self.calls))


class Shards:
    """The shards of a batch, numbered from 0.

    Parameters
    ----------
    actors : Actors
        Of as many shards, not started.
    count : int
    options : RayOptions
    renewal : callable
        Returns for a shard without snapshots the call that begins new episodes.
    translate : callable
        Returns the exception for the caller, for a shard and its exception.
    """

    def __init__(
        self,
        actors: Actors,
        count: int,
        options: RayOptions,
        renewal: Callable[[int], PartCall | None],
        translate: Callable[[int, Exception], Exception],
    ) -> None:
        self.actors, self._options = actors, options
        self._renewal, self._translate = renewal, translate
        self.records = [ShardRecord() for _ in range(count)]
        self._warned: set[str] = set()
        self._warnings: list[tuple[type[Warning], str]] = []
        for shard in range(count):
            actors.start(shard)

    def __len__(self) -> int:
        return len(self.records)

    @property
    def live(self) -> list[int]:
        """The shards that are not lost."""
        return [i for i, record in enumerate(self.records) if not record.loss]

    def ask(self, calls: Mapping[int, PartCall]) -> dict[int, Any]:
        """Let some shards execute one call each.

        Parameters
        ----------
        calls : mapping from shard to PartCall

        Returns
        -------
        dict
            By shard, the value; a `Lost` for a shard that is lost, and for one that has
            died and cannot be restored.

        Raises
        ------
        Exception
            The first shard's that raised one.  No shard has moved then, if its
            environments allow snapshots.
        """
        values: dict[int, Any] = {
            shard: Lost(self.records[shard].loss)
            for shard in calls
            if self.records[shard].loss
        }
        replies: dict[int, Reply] = {}
        moving = [s for s, one in calls.items() if one.name not in _QUESTIONS]
        try:
            self._gather(calls, values, replies)
        except BaseException:
            self.mark_moved(moving)
            raise
        for shard in sorted(replies):
            if replies[shard].error is not None:
                self.mark_moved(
                    [
                        s
                        for s in moving
                        if self.records[s].is_restorable or calls[s].name not in _CALLS
                    ]
                )
                self.raise_error(shard, replies[shard])
        for shard, reply in replies.items():
            self.commit(shard, calls[shard], reply)
            self.keep_warnings(reply)
        if not moving:
            self.warn()
        return values | {shard: reply.value for shard, reply in replies.items()}

    def _gather(
        self,
        calls: Mapping[int, PartCall],
        values: dict[int, Any],
        replies: dict[int, Reply],
    ) -> None:
        """Send calls, and wait until each shard has a reply or a value."""
        tickets: dict[Any, tuple[int, float]] = {}
        to_send = [shard for shard in calls if shard not in values]
        while to_send or tickets:
            for shard in to_send:
                ticket = self.submit(shard, calls[shard])
                tickets[ticket] = shard, time.monotonic()
            to_send = []
            ready = self.actors.wait(list(tickets), self.patience(tickets.values()))
            outcomes: list[tuple[int, Callable[[int, Any], Any], Any]]
            outcomes = [(tickets.pop(t)[0], self.result, t) for t in ready]
            for ticket, (shard, sent_at) in list(tickets.items()):
                if self.is_late(shard, sent_at):
                    del tickets[ticket]
                    outcomes.append((shard, self.replace, LATE))
            for shard, finish, argument in outcomes:
                outcome = finish(shard, argument)
                if outcome is None:
                    to_send.append(shard)
                elif isinstance(outcome, Reply):
                    replies[shard] = outcome
                else:
                    values[shard] = outcome

    # ------------------------------------------------------------ time limits

    def patience(self, waits: Iterable[tuple[int, float]]) -> float:
        """Return the seconds to wait for some shards, before `is_late` is asked.

        Parameters
        ----------
        waits : iterable of (shard, time of the message)
        """
        ends = [
            sent_at + limit
            for shard, sent_at in waits
            if (limit := self._limit(shard)) is not None
        ]
        return max(min([*ends, time.monotonic() + _NOTICE]) - time.monotonic(), 0.0)

    def is_late(self, shard: int, sent_at: float) -> bool:
        """Return whether a shard has exceeded its time limit.

        Raises
        ------
        InvalidOptionError
            If it could never be started.
        """
        record, limit = self.records[shard], self._limit(shard)
        seconds = time.monotonic() - sent_at
        if record.is_starting and seconds > _NOTICE and not record.is_noticed:
            record.is_noticed = True
            _LOGGER.warning(
                "shard %s is not there after %.0f seconds: %s",
                shard,
                seconds,
                self.actors.explain_delay(),
            )
        if limit is None or seconds <= limit:
            return False
        if record.is_starting and record.restarts == 0:
            message = (
                f"num_shards: shard {shard} of {len(self)} was not there within "
                f"start_timeout={limit} seconds: {self.actors.explain_delay()}"
            )
            raise InvalidOptionError(message)
        return True

    def _limit(self, shard: int) -> float | None:
        is_starting = self.records[shard].is_starting
        options = self._options
        return options.start_timeout if is_starting else options.shard_timeout

    # ------------------------------------------------------------ one message

    def raise_error(self, shard: int, reply: Reply) -> None:
        """Raise the exception of a reply."""
        assert reply.error is not None
        error = self._translate(shard, reply.error)
        raise error from ShardTraceback(reply.trace)

    def submit(self, shard: int, call: PartCall) -> Any:
        """Send a call to a shard, restored before if need be; return a ticket."""
        record = self.records[shard]
        restore = record.restore() if record.has_moved else None
        ticket = self.actors.submit(
            shard, Message(call, restore, self._wants_state(record, call))
        )
        # Last: Ctrl-C before it sends the way back once more.
        record.has_moved = False
        return ticket

    def _wants_state(self, record: ShardRecord, call: PartCall) -> bool:
        # After an exchange some environments are in a step: `ShardsSteps` asks apart.
        without = _QUESTIONS | _SETTINGS | {"exchange"}
        if not record.is_restorable or call.name in without:
            return False
        # What a reset or a set_state has done takes long to repeat.
        is_start = call.name in ("reset", "set_state")
        return is_start or self.is_snapshot_due(record)

    def is_snapshot_due(self, record: ShardRecord, num_intervals: int = 1) -> bool:
        """Return whether so many intervals have passed since the last snapshot."""
        # After a failure at twice the distance: an attempt is not free.
        interval = self._options.snapshot_interval << record.num_failures
        return record.is_restorable and record.steps >= num_intervals * interval

    def result(self, shard: int, ticket: Any) -> Reply | Lost | None:
        """Return the reply of a shard; None if it is to be asked again."""
        try:
            reply = self.actors.result(ticket)
        except CannotStartError as error:
            if self.records[shard].pid:
                return self.replace(shard, str(error))
            # It never was there: more attempts would take long, and end alike.
            raise self._translate(
                shard, EnvironmentFaultError({0: str(error)})
            ) from error
        except ShardDiedError as error:
            return self.replace(shard, str(error))
        record = self.records[shard]
        record.is_starting, record.pid = False, reply.pid
        if not reply.is_restored and (record.state is not None or record.restarts):
            return self.replace(shard, f"it could not be restored: {reply.error}")
        return reply

    def replace(self, shard: int, error: str) -> Lost | None:
        """Replace a shard that has died.

        Returns
        -------
        Lost or None
            None: ask it again.  Lost: it is lost, or its episodes are.
        """
        record = self.records[shard]
        self.actors.kill(shard)
        record.has_moved = True
        if 0 <= self._options.max_restarts <= record.restarts:
            record.loss = (
                f"shard {shard} is lost after {record.restarts} restarts: {error}"
            )
            _LOGGER.error(record.loss)
            record.state, record.calls = None, []
            record.needs_reset = False
            return Lost(record.loss)
        record.restarts += 1
        record.is_starting = True
        self.actors.start(shard)
        _LOGGER.warning(
            "shard %s died and is restarted (%s): %s", shard, record.restarts, error
        )
        if record.is_restorable:
            return None
        renewal = self._renewal(shard)
        record.calls = [renewal] if renewal else []
        record.needs_reset = False
        return Lost(
            f"shard {shard} died: {error}; its environments allow no snapshots, so "
            "that their episodes are over"
        )

    def commit(self, shard: int, call: PartCall, reply: Reply) -> None:
        """Note what a shard has done."""
        record = self.records[shard]
        if call.name in _QUESTIONS:
            return
        record.calls.append(call)
        record.steps += _count_steps(call)
        if call.name == "reset":
            record.needs_reset = False
        if reply.state is not None:
            self.set_base(shard, reply.state)
        elif reply.state_error and record.state is None:
            # It never had a snapshot, and keeps no calls for one.
            record.is_restorable = False
        elif reply.state_error:
            record.num_failures += 1
        if not record.is_restorable:
            record.drop_calls()

    def set_base(
        self, shard: int, state: EngineState, count: int | None = None
    ) -> None:
        """Take a snapshot of a shard, and drop the calls that it has.

        Parameters
        ----------
        shard : int
        state : EngineState
        count : int or None
            The number of calls that it has; None: all.
        """
        record = self.records[shard]
        record.state, record.num_failures = state, 0
        record.drop_calls(count)

    def mark_moved(self, shards: Sequence[int]) -> None:
        """Note that some shards may have done what is not among their calls."""
        for record in [self.records[shard] for shard in shards]:
            record.has_moved = True
            record.needs_reset = not record.is_restorable and not record.loss

    # ------------------------------------------------------------ going back

    def save_point(self) -> list[Point]:
        """Return a point in time that `go_back` can go back to."""
        return [
            (one.state, list(one.calls), dict(one.settings), one.steps)
            for one in self.records
        ]

    def go_back(self, point: list[Point]) -> None:
        """Undo all calls since a point; shards without snapshots stay."""
        for record, values in zip(self.records, point, strict=True):
            if record.is_restorable and not record.loss:
                record.state, calls, settings, record.steps = values
                record.calls, record.settings = list(calls), dict(settings)
                record.has_moved = True

    @property
    def need_reset(self) -> bool:
        """Whether a shard without snapshots was interrupted."""
        return any(record.needs_reset for record in self.records)

    def keep_warnings(self, reply: Reply) -> None:
        """Keep the warnings of a shard until the head has taken its results."""
        for category, text in reply.warnings:
            # As a pool, which warns of its first fault alone.
            is_fault = issubclass(category, EnvironmentFaultWarning)
            key = category.__name__ if is_fault else text
            if key not in self._warned:
                self._warned.add(key)
                self._warnings.append((category, text))

    def drop_fault_warnings(self) -> None:
        """Drop kept warnings of faults: an error reports them."""
        self._warnings = [
            one for one in self._warnings if one[0] is not EnvironmentFaultWarning
        ]

    def warn(self) -> None:
        """Give the warnings that were kept, each text once; a filter may raise."""
        while self._warnings:
            category, text = self._warnings.pop(0)
            warn_caller(text, category)


def _subject(call: PartCall) -> Any:
    """Return what a setting is about; a later one about the same replaces it."""
    name, arguments = call
    if name == "set_attribute":
        return name, arguments[0]
    (level_options,) = arguments
    return name, sorted(level_options)


def _count_steps(call: PartCall) -> float:
    """Return the steps of a whole shard that a call has taken."""
    if call.name == "unroll":
        return len(call.arguments[0])
    if call.name == "play":
        return float(call.arguments[2])
    return float(call.name not in _SETTINGS)
