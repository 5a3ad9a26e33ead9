"""The messages between the head and its shards, one each way for a call, and as bytes.

They hold plain Python values and numpy arrays.  Nothing here depends on Ray.

Ray's own way gives the receiver arrays that are read-only: they lie in its object
store.  Here arrays travel inside of one pickle, so that the receiver has them for
itself, writable where the sender's were.  (A kernel is compiled once more for read-only
arrays.)  One copy on each side costs less than that store: the reply to a step of 4096
Sokoban environments, 218 kB, takes 2.1 ms either way, and 1.0 ms with `pack` where the
cluster has `INLINE_VARIABLE`.

Texts are compressed if the caller says so.  The pages of 256 WebShop environments
shrink from 380 to 101 kB, in 2.4 ms for the sender and 0.9 ms for the receiver.  That
pays on a connection of less than 0.7 Gbit/s; or of less than 2.5 Gbit/s where many
shards compress side by side and the head's connection is the limit.  It never pays on
one machine, nor for codes of cells and rewards.
"""

from __future__ import annotations

import pickle
import zlib
from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import cloudpickle  # type: ignore[import-untyped]
import numpy as np
from numpy.typing import NDArray

from roll_vec.vector.composite import PartCall
from roll_vec.vector.engine import EngineState
from roll_vec.vector.infos import AnyInfos


class Restore(NamedTuple):
    """The way to bring a new batch to the state of a lost one."""

    state: EngineState | None
    """The last snapshot; None: the batch as it is made."""
    calls: tuple[PartCall, ...]
    """The calls since the snapshot, in their order."""
    settings: tuple[PartCall, ...] = ()
    """What to do first: a snapshot has no attributes that the user has set."""


class Message(NamedTuple):
    """A request of the head to one shard."""

    call: PartCall
    """A call of a method of `roll_vec.distributed.shard.Shard`."""
    restore: Restore | None = None
    """What to do before the call, with a new batch; None: go on."""
    wants_state: bool = False
    """Whether the reply shall have a snapshot, taken after the call."""


class Reply(NamedTuple):
    """The answer of a shard to a message."""

    value: Any = None
    error: Exception | None = None
    """The exception of the call; the batch may have moved then."""
    trace: str = ""
    """The traceback of ``error``, as text."""
    is_restored: bool = True
    """False: ``error`` is of `Message.restore` or of the batch's construction."""
    state: EngineState | None = None
    state_error: str = ""
    """The reason why there is no snapshot, if one was asked for."""
    warnings: tuple[tuple[type[Warning], str], ...] = ()
    pid: int = 0
    """The process of the shard."""


class Description(NamedTuple):
    """The properties of a shard's batch that the head needs."""

    single_observation_space: Any
    single_action_space: Any
    metadata: dict[str, Any]
    render_mode: str | None
    configuration: dict[str, Any]
    accepts_noop: bool
    """Of a pool; see `roll_vec.pool.actions.check_action_batch`."""
    raises_faults: bool
    """Whether a fault of one environment is an error of all; see `PoolEngine`."""
    spec: Any


class ResetResult(NamedTuple):
    """The results of a reset of some environments of a shard."""

    infos: AnyInfos
    """Of those that were reset."""
    observations: Any
    """Of all environments: an array of the batch, or a list with one of each."""
    successes: NDArray[np.bool_]
    failed_resets: dict[int, str]
    """Of all environments: those whose last reset has failed, and the errors."""


class ShardStep(NamedTuple):
    """One step of all n environments of a shard."""

    advance_ids: NDArray[np.int64]
    """Environments whose next episode begins before the step."""
    actions: Any
    """Checked: (n,) integers, or a list of n."""
    skip_mask: NDArray[np.bool_]
    """(n,) environments that do not step."""
    advances_ended: bool
    """Whether the next episodes of those that end begin within the step (SAME_STEP)."""


class ShardStepResult(NamedTuple):
    """The results of a `ShardStep`; arrays have one entry an environment."""

    rewards: NDArray[np.float64]
    terminations: NDArray[np.bool_]
    truncations: NDArray[np.bool_]
    infos: AnyInfos
    reset_infos: AnyInfos
    """Of ``advance_ids``; with ``advances_ended``, of those that ended."""
    final_observations: Any
    """With ``advances_ended``: the last observations of those that ended."""
    observations: Any
    successes: NDArray[np.bool_]
    failed_resets: dict[int, str]
    """As in `ResetResult`."""
    advance_error: Exception | None = None
    """Why the next episodes of those that ended could not begin."""


class ShardDiedError(Exception):
    """Raised by `Actors.result` when the process of a shard is gone."""


class CannotStartError(ShardDiedError):
    """Raised when a process cannot make its shard, for instance without this package.

    Another process of the same node could not either.
    """


class Actors(Protocol):
    """The processes of the shards; `roll_vec.distributed.ray_actors` has Ray's."""

    def start(self, shard: int) -> None:
        """Start a process for a shard, a new one if there was one before."""

    def submit(self, shard: int, message: Message) -> Any:
        """Send a message, and return a ticket for its reply."""

    def wait(self, tickets: Sequence[Any], timeout: float | None) -> list[Any]:
        """Wait at most so long for the first reply, and return the tickets of all."""

    def result(self, ticket: Any) -> Reply:
        """Return the reply of a ticket that is ready.

        Raises
        ------
        ShardDiedError
        """

    def explain_delay(self) -> str:
        """Return what may delay the start of processes."""

    def kill(self, shard: int) -> None:
        """End the process of a shard, if it lives."""

    def close(self) -> None:
        """End all processes."""


COMPRESSED_SIZE = 1 << 16
"""Bytes from which on a value is compressed, if the caller says so."""

INLINE_VARIABLE = "RAY_max_direct_call_object_size"
"""The environment variable of a cluster's nodes by which Ray sends replies of up to so
many bytes at once.  Larger ones take a detour over the object store: by default those
from 100 KiB on, which costs about a millisecond.  In the ``runtime_env`` of an actor it
has the same effect, but that actor starts seconds later.
"""

INLINE_SIZE = 1 << 20
"""A value for it, in bytes.  From 4 MB on the object store is as fast."""

_ZLIB_START = 0x78  # of a pickle: 0x80
_FASTEST = 1


def pack(value: Any, *, compress: bool = False) -> bytes:
    """Return a value as bytes.

    Parameters
    ----------
    value : object
        One that can be pickled, also with classes of the program's main module.
    compress : bool
        Whether the connection is so slow that long texts shall be compressed.

    Raises
    ------
    Exception
        Those of pickle.
    """
    # It takes classes of the program's main module by value; pickle names them alone.
    data: bytes = cloudpickle.dumps(value, 5)
    if compress and len(data) >= COMPRESSED_SIZE:
        return zlib.compress(data, _FASTEST)
    return data


def unpack(data: bytes) -> Any:
    """Return the value of `pack`; it shares no memory with the bytes."""
    if data[0] == _ZLIB_START:
        data = zlib.decompress(data)
    return pickle.loads(data)
