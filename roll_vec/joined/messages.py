"""Calls of parts, the messages that carry them to actors, and their bytes.

Nothing here depends on Ray.  Ray's own way gives the receiver arrays that are read-only:
they lie in its object store.  Here arrays travel inside of one pickle, so that the
receiver has them for itself, writable.  One copy on each side costs less than that store:
the reply to a step of 4096 Sokoban environments, 218 kB, takes 2.1 ms either way, and
1.0 ms with `pack` where the cluster has `INLINE_VARIABLE`.
"""

from __future__ import annotations

import pickle
from typing import Any, NamedTuple, Protocol

import cloudpickle  # type: ignore[import-untyped]
from gymnasium.spaces import Space
from gymnasium.vector import AutoresetMode

from roll_vec.errors import InvalidStateError
from roll_vec.vector.env import RollVectorEnv
from roll_vec.vector.state import VectorState

MOVES = frozenset(("reset", "step", "unroll", "set_state"))
"""Calls after which another part's error demands a reset."""

SETTINGS = frozenset(("set_attr", "set_level_options"))
"""Calls whose effect a snapshot need not have."""

JOURNALED = MOVES | SETTINGS | {"call"}
"""Calls that a restored part makes again; all others only read."""

INLINE_VARIABLE = "RAY_max_direct_call_object_size"
"""The environment variable of a cluster's nodes by which Ray sends replies of up to so
many bytes at once.  Larger ones take a detour over the object store: by default those
from 100 KiB on, which costs about a millisecond.
"""

INLINE_SIZE = 1 << 20
"""A value for it, in bytes.  From 4 MB on the object store is as fast."""


class Call(NamedTuple):
    """A call of a method of a part's batch, or of a function of this module."""

    name: str
    arguments: tuple[Any, ...] = ()
    keywords: dict[str, Any] = {}  # noqa: RUF012

    def run(self, batch: RollVectorEnv) -> Any:
        """Make the call; an attribute that is no method is the value itself."""
        if self.name in _FUNCTIONS:
            return _FUNCTIONS[self.name](batch, *self.arguments)
        value = getattr(batch, self.name)
        return value(*self.arguments, **self.keywords) if callable(value) else value


class Description(NamedTuple):
    """The properties of a part's batch that the head needs."""

    num_envs: int
    observation_space: Space[Any]
    """Of one environment, as ``action_space``."""
    action_space: Space[Any]
    metadata: dict[str, Any]
    render_mode: str | None
    spec: Any
    autoreset_mode: AutoresetMode
    group_size: int
    digest: str
    """Batches with one digest can exchange snapshots."""
    has_objects: bool
    can_fail: bool
    """Whether it counts faults."""
    accepts_noop: bool
    """Of a pool; see `roll_vec.pool.actions.check_action_batch`."""


def describe(batch: RollVectorEnv) -> Description:
    """Return the description of a part's batch."""
    engine = batch.engine
    return Description(
        batch.num_envs,
        batch.single_observation_space,
        batch.single_action_space,
        dict(batch.metadata),
        batch.render_mode,
        batch.spec,
        batch.autoreset_mode,
        batch.group_size,
        batch._configuration()[1],
        engine.has_objects,
        engine.can_fail,
        getattr(engine, "accepts_noop", False),
    )


def check_state(batch: RollVectorEnv, state: VectorState) -> None:
    """Check that a batch can be set to a snapshot.

    Raises
    ------
    InvalidStateError
    """
    batch._check_state(state)


_FUNCTIONS = {"describe": describe, "check_state": check_state}


class Restore(NamedTuple):
    """The way to bring a new batch to the state of another one."""

    state: VectorState | None = None
    """The last snapshot; None: the batch as it is made."""
    calls: tuple[bytes, ...] = ()
    """The packed calls since the snapshot, in their order."""
    settings: tuple[bytes, ...] = ()
    """The packed calls to make first: a snapshot has no attributes that a user set."""


class Message(NamedTuple):
    """A request of the head to one actor."""

    call: bytes
    """A packed `Call`."""
    restore: Restore | None = None
    """What to do before the call, with a new batch; None: go on."""
    wants_state: bool = False
    """Whether the reply shall have a snapshot, taken after the call."""


class Reply(NamedTuple):
    """The answer of an actor to a message."""

    value: Any = None
    error: Exception | None = None
    """The exception of the call; the batch may have moved then."""
    trace: str = ""
    """The traceback of ``error``, as text."""
    is_restored: bool = True
    """False: ``error`` is of `Message.restore` or of the batch's construction."""
    needs_reset: bool = False
    """Whether the batch itself needs a reset after the error."""
    state: VectorState | None = None
    state_error: str = ""
    """The reason why there is no snapshot, if one was asked for."""
    warnings: tuple[tuple[type[Warning], str], ...] = ()
    pid: int = 0
    """The process of the actor."""


class ActorDiedError(Exception):
    """Raised by `Actors.result` when the process of an actor is gone."""


class CannotStartError(ActorDiedError):
    """Raised when a process cannot make its part, for instance without this package.

    Another process of the same node could not either.
    """


class Actors(Protocol):
    """The processes of parts; `roll_vec.joined.ray_actors` has Ray's."""

    def start(self, part: int) -> None:
        """Start a process for a part, a new one if there was one before."""

    def submit(self, part: int, message: bytes) -> Any:
        """Send a packed message, and return a ticket for its reply."""

    def result(self, ticket: Any, timeout: float | None) -> bytes | None:
        """Return the packed reply of a ticket; None if it is not there in time.

        Raises
        ------
        ActorDiedError
        """

    def explain_delay(self) -> str:
        """Return what may delay the start of processes."""

    def kill(self, part: int) -> None:
        """End the process of a part, if it lives."""

    def close(self) -> None:
        """End all processes; may be called twice."""


def pack(value: Any) -> bytes:
    """Return a value as bytes, also of a class of the program's main module.

    Raises
    ------
    Exception
        Those of pickle.
    """
    # It takes classes of the program's main module by value; pickle names them alone.
    data: bytes = cloudpickle.dumps(value, 5)
    return data


def unpack(data: bytes) -> Any:
    """Return the value of `pack`; it shares no memory with the bytes."""
    return pickle.loads(data)


def check_travels(state: VectorState) -> VectorState:
    """Return a snapshot that another process can use.

    Raises
    ------
    InvalidStateError
    """
    if state.objects is not None:
        message = (
            "the environments have no get_state and cannot be pickled, so that only "
            "their process can use a snapshot"
        )
        raise InvalidStateError(message)
    return state
