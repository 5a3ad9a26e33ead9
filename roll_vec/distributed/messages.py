"""The messages between the head and its shards: one each way for a call.

They hold plain Python values and numpy arrays.  Nothing here depends on Ray.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from roll_vec.vector.composite import PartCall
from roll_vec.vector.engine import EngineState
from roll_vec.vector.infos import AnyInfos


class Restore(NamedTuple):
    """The way to bring a new batch to the state of a lost one."""

    state: EngineState | None
    """The last snapshot; None: the batch as it is made."""
    operations: tuple[PartCall, ...]
    """The operations since the snapshot, in their order."""
    settings: tuple[PartCall, ...] = ()
    """What to do first: a snapshot has no attributes that the user has set."""


class Message(NamedTuple):
    """A request of the head to one shard."""

    operation: PartCall
    """A call of a method of `roll_vec.distributed.shard.Shard`."""
    restore: Restore | None = None
    """What to do before the operation, with a new batch; None: go on."""
    wants_state: bool = False
    """Whether the reply shall have a snapshot, taken after the operation."""


class Reply(NamedTuple):
    """The answer of a shard to a message."""

    value: Any = None
    error: Exception | None = None
    """The exception of the operation; the batch may have moved then."""
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


class Turn(NamedTuple):
    """One step of all n environments of a shard."""

    advance_ids: NDArray[np.int64]
    """Environments whose next episode begins before the step."""
    actions: Any
    """Checked: (n,) integers, or a list of n."""
    skip_mask: NDArray[np.bool_]
    """(n,) environments that do not step."""
    idle_mask: NDArray[np.bool_] | None
    """See `Engine.step`."""
    advances_ended: bool
    """Whether the next episodes of those that end begin within the step (SAME_STEP)."""


class TurnResult(NamedTuple):
    """The results of a `Turn`; arrays have one entry an environment."""

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
