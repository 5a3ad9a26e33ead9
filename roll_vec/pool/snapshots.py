"""The state of a pool as arrays: environment objects, and what the pool knows of them.

There are two arrays of bytes, with a row for each environment, see
`roll_vec.vector.values`: ``states``, of the environment objects, and ``records``, which
are dicts, see `_NAMES`.  `PoolEngine` adds ``kinds``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from roll_vec.errors import InvalidStateError
from roll_vec.pool.faults import raise_faults
from roll_vec.pool.pool_envs import PoolEnvs
from roll_vec.pool.tasks import StateRequest
from roll_vec.vector.engine import StateArrays
from roll_vec.vector.known_infos import read_success
from roll_vec.vector.values import (
    KINDS,
    LOST,
    PICKLED,
    PICKLED_ENV,
    PLAIN,
    RECORDS,
    STATES,
    check_values,
    from_bytes,
    to_bytes,
)

# The entries of a record; `success` is that of the last step.  A stalled environment
# has the entry `error` as well.  See `pool.env_record` for the others.
_NAMES = {"observation", "first_seed", "episode", "elapsed_steps", "success"}


def get_state(envs: PoolEnvs, env_ids: Sequence[int]) -> dict[str, NDArray[Any]]:
    """Return the arrays of some environments.

    Counts of faults are no part of it, nor are attributes that the user has set.

    Raises
    ------
    UnsupportedError
        If an environment has no state that can be kept; see `EnvRunner.get_state`.
    EnvironmentFaultError
        If a worker died.  An exception of an environment is raised as it is.
    """
    able_ids = sorted({*envs.able_ids} & {*env_ids})
    contents = envs.run("get_state", [None] * len(able_ids), able_ids)
    by_id = dict(zip(able_ids, contents, strict=True))
    observations = envs.observations.batch_parts()
    errors = envs.faults.lost | envs.faults.stalled
    records = []
    for env_id in env_ids:
        record = envs.records[env_id]
        entries: dict[str, Any] = {
            "observation": observations[env_id],
            "first_seed": record.first_seed,
            "episode": record.episode,
            "elapsed_steps": record.elapsed_steps,
            "success": read_success(envs.results[env_id][4]) is True,
        }
        if env_id in errors:
            entries["error"] = errors[env_id]
        records.append(to_bytes(entries))
    states = [by_id.get(env_id, LOST) for env_id in env_ids]
    return {STATES: np.array(states), RECORDS: np.array(records)}


def check_state(arrays: StateArrays, envs: PoolEnvs) -> None:
    """Check the form of a state, and its plain data.

    What the environment objects make of their states is known when they are set.

    Parameters
    ----------
    arrays : mapping from str to array
    envs : PoolEnvs

    Raises
    ------
    InvalidStateError
    """
    names = STATES, RECORDS, KINDS
    if arrays.keys() != {*names}:
        accepted = f"the arrays {names}"
        raise InvalidStateError.expected("state", accepted, sorted(arrays))
    kinds = arrays[KINDS]
    if kinds.dtype != np.int64 or kinds.ndim != 1:
        value = f"{kinds.dtype} of shape {kinds.shape}"
        raise InvalidStateError.of_array(KINDS, "int64 of shape (n,)", value)
    check_values(STATES, arrays[STATES], (PLAIN, PICKLED, PICKLED_ENV, LOST))
    check_values(RECORDS, arrays[RECORDS], (PLAIN, PICKLED))
    for row, content in enumerate(arrays[STATES].tolist()):
        if content[:1] == PLAIN:
            from_bytes(content, f"{STATES}[{row}]")
    for row, content in enumerate(arrays[RECORDS].tolist()):
        if content[:1] == PLAIN:
            _read_record(envs, row, content)


def _read_record(envs: PoolEnvs, row: int, content: bytes) -> dict[str, Any]:
    """Return a record; its numbers are not checked."""
    name = f"{RECORDS}[{row}]"
    record: dict[str, Any] = from_bytes(content, name)
    has_names = isinstance(record, dict) and record.keys() >= _NAMES
    if not has_names or not envs.observations.fits(record["observation"]):
        accepted = f"a record with an observation of {envs.observations.space}"
        raise InvalidStateError.of_array(name, accepted, record)
    return record


def set_state(
    arrays: StateArrays, pairs: Sequence[tuple[int, int]], envs: PoolEnvs
) -> None:
    """Make environments copies of rows of a checked state.

    Parameters
    ----------
    arrays : mapping from str to array
    pairs : sequence of (row, env_id)
    envs : PoolEnvs

    Raises
    ------
    InvalidStateError
        For a pickled record that cannot be read; nothing has changed then.
    EnvironmentFaultError
        If some fail, after all others have ended; every environment must be reset
        then, and those that failed get new objects.
    """
    rows = [row for row, _ in pairs]
    env_ids = [env_id for _, env_id in pairs]
    states: list[bytes] = arrays[STATES][rows].tolist()
    records: list[dict[str, Any]] = []
    for row, content in zip(rows, arrays[RECORDS][rows].tolist(), strict=True):
        # `check_state` has read plain data.
        is_checked = content[:1] == PLAIN
        records.append(
            from_bytes(content) if is_checked else _read_record(envs, row, content)
        )
    requests = [
        StateRequest(state, dict(one.attributes), one.needs_replacement)
        for state, one in zip(
            states, map(envs.records.__getitem__, env_ids), strict=True
        )
    ]
    faults = envs.run_each("set_state", requests, env_ids)[1]
    if faults:
        for env_id in faults:
            envs.records[env_id].needs_replacement = True
        envs.demand_reset()
        raise_faults(faults)
    for env_id, content, entries in zip(env_ids, states, records, strict=True):
        record = envs.records[env_id]
        record.start_episode()
        record.first_seed = entries["first_seed"]
        record.episode = entries["episode"]
        record.elapsed_steps = entries["elapsed_steps"]
        record.needs_replacement = content == LOST
        info = {"success": entries["success"]}
        envs.results[env_id] = None, 0.0, False, False, info
        envs.observations.set_latest(env_id, entries["observation"])
        envs.faults.stalled.pop(env_id, None)
        envs.faults.lost.pop(env_id, None)
        if "error" in entries:
            envs.faults.stalled[env_id] = entries["error"]
