"""Calls of parts, the messages that carry them to actors, and their bytes.

Nothing here depends on Ray.  Ray's own way gives the receiver read-only arrays in its
object store.  Here arrays travel inside of one pickle, so that the receiver has them
for itself, writable.  One copy on each side costs less than that store: the reply to a
step of 4096 Sokoban environments, 218 kB, takes 2.1 ms either way, and 1.0 ms with
`pack` where the cluster sends replies of that size at once
(`roll_vec.joined.ray_actors.INLINE_VARIABLE`).
"""

from __future__ import annotations

import pickle
from types import SimpleNamespace
from typing import Any, NamedTuple

import cloudpickle  # type: ignore[import-untyped]

from roll_vec.vector.env import RollVectorEnv
from roll_vec.vector.state import VectorState

MOVES = frozenset(("reset", "step", "_step_some", "unroll", "set_state"))
"""Calls that move environments."""
SETTINGS = frozenset(("set_attr", "set_level_options"))
"""Calls whose effect a snapshot need not have."""
JOURNALED = MOVES | SETTINGS | {"call"}
"""Calls that a restored part makes again; all others only read."""

_ATTRIBUTES = (
    *("num_envs", "single_observation_space", "single_action_space", "metadata"),
    *("render_mode", "spec", "autoreset_mode", "group_size"),
)


class Call(NamedTuple):
    """A call of a method of a part's batch, or of a function of this module."""

    name: str
    arguments: tuple[Any, ...] = ()
    keywords: dict[str, Any] = {}  # noqa: RUF012

    def run(self, batch: RollVectorEnv) -> Any:
        """Make the call; an attribute that is no method is the value itself."""
        if self.name == "describe":
            return describe(batch)
        if self.name == "_check_state":
            batch._check_state(*self.arguments)
            return None
        value = getattr(batch, self.name)
        return value(*self.arguments, **self.keywords) if callable(value) else value


def describe(batch: RollVectorEnv) -> SimpleNamespace:
    """Return the attributes of a batch that the head needs, and some of its engine.

    ``digest``: batches with one digest can exchange snapshots.  ``has_objects``:
    whether all environments are objects, whose faults are counted.
    ``accepts_noop``: see `roll_vec.pool.actions.check_action_batch`.  ``has_success``:
    whether the game defines success.
    """
    engine = batch.engine
    return SimpleNamespace(
        **{name: getattr(batch, name) for name in _ATTRIBUTES},
        digest=batch._configuration()[1],
        has_objects=batch._has_objects,
        accepts_noop=getattr(engine, "accepts_noop", False),
        has_success=getattr(getattr(engine, "options", None), "has_success", True),
    )


class Restore(NamedTuple):
    """The way to bring a new batch to the state of another one."""

    state: VectorState | None
    """The last snapshot; None: the batch as it is made."""
    calls: tuple[bytes, ...]
    """The packed calls since the snapshot, in their order."""
    settings: tuple[bytes, ...]
    """The packed calls to make first: a snapshot has no attributes that a user set."""


class Message(NamedTuple):
    """A request of the head to one actor."""

    call: bytes
    """A packed `Call`."""
    restore: Restore | None
    """What to do before the call, with a new batch; None: go on."""
    wants_state: bool
    """Whether the reply shall have a snapshot, taken after the call."""


class Reply(NamedTuple):
    """The answer of an actor to a message."""

    value: Any = None
    error: Exception | None = None
    """The exception of the call; the batch may have moved then."""
    trace: str = ""
    """The traceback of ``error``, as text."""
    is_restored: bool = True
    """False: ``error`` is of `Message.restore`, or of the batch's construction."""
    needs_reset: bool = False
    """Whether the batch itself needs a reset after the error."""
    state: VectorState | None = None
    state_error: str = ""
    """The reason why there is no snapshot, if one was asked for."""
    warnings: tuple[tuple[type[Warning], str], ...] = ()
    pid: int = 0
    """The process of the actor."""


class ActorDiedError(Exception):
    """Raised when the process of an actor is gone."""


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
