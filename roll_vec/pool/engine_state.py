"""The state of a pool as arrays: environment objects, and what the pool knows of them.

The arrays, with a row for each environment::

    states, state_lengths, state_kinds         snapshots of the environment objects
    records, record_lengths, record_kinds      a dict: see `_RECORD`
    first_seeds          bytes, hexadecimal    see `pool.episodes`; empty: none
    episode_numbers      int64                 from 0
    elapsed_steps        int64                 see `pool.operations`
    needs_replacement    bool                  the next reset builds a new object
    successes            bool                  of the last step

See `roll_vec.vector.packed_values` about the first six.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from roll_vec.errors import InvalidStateError, UnsupportedError
from roll_vec.plain_data import decode
from roll_vec.pool.env_handles import EnvHandles
from roll_vec.pool.episodes import Episodes
from roll_vec.pool.fault_handling import FaultHandler
from roll_vec.pool.observations import Observations
from roll_vec.pool.operations import EnvOperations
from roll_vec.pool.snapshots import EnvSnapshot
from roll_vec.seeding import MAX_COUNT
from roll_vec.vector.engine import EngineState
from roll_vec.vector.packed_values import (
    COPY,
    LOST,
    PICKLED,
    PLAIN,
    array_names,
    check_numbers,
    check_packed,
    from_bytes,
    pack,
    to_bytes,
    unpack,
)
from roll_vec.vector.stream_seeds import StreamSeeds, decode_seed, encode_seeds

__all__ = ["PoolSnapshots"]

# Dtypes, and the lowest and the highest value.
_LIMITS = {
    "episode_numbers": (np.int64, -1, MAX_COUNT),
    "elapsed_steps": (np.int64, 0, MAX_COUNT),
    "needs_replacement": (np.bool_, 0, 1),
    "successes": (np.bool_, 0, 1),
}
_RECORD = {"observation", "error", "level_options"}
"""The latest observation; the error of a stalled environment, or None; the keywords of
`set_level_options` for new objects, or None."""
_NAMES = {*array_names("state"), *array_names("record"), "first_seeds", *_LIMITS}


class PoolSnapshots:
    """Takes, checks and restores the state of all environments of a pool.

    Counts of faults are no part of it, nor are attributes that the user has set.

    Parameters
    ----------
    handles : EnvHandles
    faults : FaultHandler
    episodes : Episodes
    operations : EnvOperations
    observations : Observations
    descriptions : sequence
        The description of each environment, or a single one of all that are alike.
    """

    def __init__(
        self,
        handles: EnvHandles,
        faults: FaultHandler,
        episodes: Episodes,
        operations: EnvOperations,
        observations: Observations,
        descriptions: Sequence[Any],
    ) -> None:
        self._handles, self._faults, self._episodes = handles, faults, episodes
        self._operations, self._observations = operations, observations
        self._descriptions = descriptions

    # ------------------------------------------------------------------- get

    def get_state(self, successes: NDArray[np.bool_]) -> EngineState:
        """Return the state of all environments; see `PoolEngine.get_state`."""
        needs_replacement = self._faults.needs_replacement
        env_ids = [i for i, is_lost in enumerate(needs_replacement) if not is_lost]
        snapshots = [EnvSnapshot(LOST)] * len(needs_replacement)
        for env_id, snapshot in zip(
            env_ids, self._handles.get_snapshots(env_ids), strict=True
        ):
            snapshots[env_id] = snapshot
        kinds = [snapshot.kind for snapshot in snapshots]
        contents = [b"" if one.kind == COPY else one.content for one in snapshots]
        objects = None
        if COPY in kinds:
            objects = tuple(
                one.content if one.kind == COPY else None for one in snapshots
            )
        positions = [self._episodes.position(i) for i in range(len(kinds))]
        arrays = {
            **pack("state", kinds, contents),
            **self._pack_records(),
            "first_seeds": encode_seeds([seed for seed, _ in positions]),
            "episode_numbers": np.array([number for _, number in positions], np.int64),
            "elapsed_steps": self._operations.elapsed_steps.copy(),
            "needs_replacement": np.array(needs_replacement, np.bool_),
            "successes": successes,
        }
        return EngineState(arrays, objects=objects)

    def _pack_records(self) -> dict[str, NDArray[Any]]:
        stalled = self._faults.stalled
        kinds, contents = [], []
        for env_id, observation in enumerate(self._observations.batch_parts()):
            record = {
                "observation": observation,
                "error": stalled.get(env_id),
                "level_options": self._handles.level_options(env_id),
            }
            try:
                kind, content = to_bytes(record)
            except Exception as error:
                message = (
                    f"get_state: the observation or the level options of environment "
                    f"{env_id} cannot be pickled: {type(error).__name__}: {error}"
                )
                raise UnsupportedError(message) from error
            kinds.append(kind)
            contents.append(content)
        return pack("record", kinds, contents)

    # ----------------------------------------------------------------- check

    def check_state(self, state: EngineState) -> None:
        """Check a state, by the environments' own `check_state` where they have one.

        The content of pickled records and objects is not checked.

        Raises
        ------
        InvalidStateError
            And other exceptions of an environment.
        EnvironmentFaultError
            If a worker died.
        """
        arrays = state.arrays
        if arrays.keys() != _NAMES:
            raise InvalidStateError.expected(
                "state", f"the arrays {sorted(_NAMES)}", sorted(arrays)
            )
        check_packed("state", arrays, LOST)
        check_packed("record", arrays, PICKLED)
        for name, (dtype, lowest, highest) in _LIMITS.items():
            check_numbers(name, arrays[name], dtype, lowest, highest)
        StreamSeeds.check(arrays, "first_seeds")
        is_lost = arrays["state_kinds"] == LOST
        if (arrays["needs_replacement"] & ~is_lost).any():
            raise InvalidStateError.of_array(
                "needs_replacement", "True only where no object is left", "others"
            )
        rows, objects = np.arange(len(is_lost)), state.objects or ()
        snapshots: dict[int, EnvSnapshot] = {}
        for row, (kind, content) in enumerate(unpack("state", arrays, rows)):
            if kind == PLAIN:
                from_bytes(kind, content, f"states[{row}]")
            if kind in (PLAIN, PICKLED):
                snapshots[row] = EnvSnapshot(kind, content)
            elif kind == COPY and (objects[row : row + 1] or (None,))[0] is None:
                message = (
                    f"state: environment {row} is a copy of an object, which only the "
                    "process that has made it can use"
                )
                raise InvalidStateError(message)
        for row, (kind, content) in enumerate(unpack("record", arrays, rows)):
            if kind == PLAIN:
                self._read_record(row, kind, content)
        self._handles.check_snapshots(snapshots, len(self._descriptions) == 1)

    def _read_record(self, row: int, kind: int, content: bytes) -> dict[str, Any]:
        """Return a record, checked."""
        name = f"records[{row}]"
        record = from_bytes(kind, content, name)
        if not isinstance(record, dict) or record.keys() != _RECORD:
            accepted = f"a dict with {sorted(_RECORD)}"
            raise InvalidStateError.of_array(name, accepted, record)
        if not isinstance(record["error"], (str, type(None))):
            raise InvalidStateError.of_array(name, "an error, or None", record["error"])
        if not isinstance(record["level_options"], (dict, type(None))):
            accepted = "a dict of level options, or None"
            raise InvalidStateError.of_array(name, accepted, record["level_options"])
        if not self._observations.fits(record["observation"]):
            accepted = f"an observation of {self._observations.space}"
            raise InvalidStateError.of_array(name, accepted, record["observation"])
        return record

    # ------------------------------------------------------------------- set

    def set_state(
        self, state: EngineState, rows: NDArray[np.int64], env_ids: NDArray[np.int64]
    ) -> None:
        """Make environments copies of rows of a checked state; see `PoolEngine`.

        Raises
        ------
        InvalidStateError
            For a row of another kind of environment, or a copy of an object that a
            process cannot get; nothing has changed then.
        EnvironmentFaultError
        """
        arrays, faults = state.arrays, self._faults
        ids, row_list = env_ids.tolist(), rows.tolist()
        self._check_alike(ids, row_list)
        snapshots = [EnvSnapshot(*pair) for pair in unpack("state", arrays, rows)]
        if state.objects is not None:
            for j, row in enumerate(row_list):
                if snapshots[j].kind != COPY:
                    continue
                if not self._handles.in_caller_process:
                    message = (
                        f"state: environment {row} is a copy of an object, which "
                        "cannot be pickled for the processes of this pool"
                    )
                    raise InvalidStateError(message)
                snapshots[j] = EnvSnapshot(COPY, state.objects[row])
        records = [
            decode(content) if kind == PLAIN else self._read_record(row, kind, content)
            for row, (kind, content) in zip(
                row_list, unpack("record", arrays, rows), strict=True
            )
        ]
        seeds = [decode_seed(one) for one in arrays["first_seeds"][rows].tolist()]
        numbers = arrays["episode_numbers"][rows].tolist()
        needs_replacement = arrays["needs_replacement"][rows].tolist()

        level_options = [record["level_options"] for record in records]
        self._handles.set_snapshots(ids, snapshots, level_options)
        for j, env_id in enumerate(ids):
            self._episodes.move_to(env_id, seeds[j], numbers[j])
            self._observations.set_latest(env_id, records[j]["observation"])
            faults.restore(env_id, needs_replacement[j], records[j]["error"])
        self._operations.elapsed_steps[env_ids] = arrays["elapsed_steps"][rows]
        if len(env_ids) == len(faults.needs_replacement):
            faults.needs_full_reset = False

    def _check_alike(self, env_ids: list[int], rows: list[int]) -> None:
        descriptions = self._descriptions
        if len(descriptions) == 1:
            return
        for env_id, row in zip(env_ids, rows, strict=True):
            if descriptions[env_id] != descriptions[row]:
                message = (
                    f"rows: environment {env_id} cannot become a copy of environment "
                    f"{row}: they are different"
                )
                raise InvalidStateError(message)
