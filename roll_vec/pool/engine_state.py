"""The state of a pool as arrays: environment objects, and what the pool knows of them.

The arrays, with a row for each environment::

    states               bytes                 snapshots of the environment objects
    records              bytes                 a dict: see `_RECORD`
    first_seeds          bytes, hexadecimal    see `pool.env_record`; empty: none
    episode_numbers      int64                 from 0
    elapsed_steps        int64                 see `pool.env_record`
    needs_replacement    bool                  the next reset builds a new object
    successes            bool                  of the last step

See `roll_vec.vector.values` about the first two.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from roll_vec.errors import InvalidStateError, UnsupportedError
from roll_vec.pool.faults import raise_faults
from roll_vec.pool.observations import Observations, same_data
from roll_vec.pool.pool_envs import PoolEnvs
from roll_vec.pool.snapshots import EnvSnapshot
from roll_vec.pool.tasks import LEVEL_OPTIONS, StateRequest
from roll_vec.seeding import MAX_COUNT
from roll_vec.vector.columns import (
    StreamSeeds,
    check_numbers,
    decode_seed,
    encode_seeds,
)
from roll_vec.vector.engine import EngineState
from roll_vec.vector.values import (
    LOST,
    OBJECT,
    PICKLED,
    PICKLED_ENV,
    PLAIN,
    RECORDS,
    STATES,
    check_values,
    from_bytes,
    to_bytes,
)

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
_NAMES = {STATES, RECORDS, "first_seeds", *_LIMITS}


def get_state(
    envs: PoolEnvs, env_ids: Sequence[int]
) -> tuple[dict[str, NDArray[Any]], tuple[Any, ...] | None]:
    """Return the arrays but ``successes``, and the objects that are copies.

    Counts of faults are no part of it, nor are attributes that the user has set.

    Parameters
    ----------
    envs : PoolEnvs
    env_ids : sequence of int
        The environments whose rows are returned.

    Raises
    ------
    UnsupportedError
        If an environment has no state that can be kept; see `pool.snapshots`.
    EnvironmentFaultError
        If a worker died.  An exception of an environment is raised as it is.
    """
    able_ids = sorted({*envs.able_ids} & {*env_ids})
    arguments = [envs.in_caller_process] * len(able_ids)
    able = envs.run("get_state", arguments, able_ids)
    by_id = dict(zip(able_ids, able, strict=True))
    snapshots = [by_id.get(env_id) for env_id in env_ids]
    contents = [
        LOST if one is None else one if isinstance(one, bytes) else OBJECT
        for one in snapshots
    ]
    pairs = zip(snapshots, contents, strict=True)
    objects = tuple(one if content == OBJECT else None for one, content in pairs)
    records = [envs.records[env_id] for env_id in env_ids]
    arrays = {
        STATES: np.array(contents),
        RECORDS: _write_records(envs, env_ids),
        "first_seeds": encode_seeds([one.first_seed for one in records]),
        "episode_numbers": np.array([one.episode for one in records], np.int64),
        "elapsed_steps": np.array([one.elapsed_steps for one in records], np.int64),
        "needs_replacement": np.array([env_id not in by_id for env_id in env_ids]),
    }
    return arrays, objects if OBJECT in contents else None


def _write_records(envs: PoolEnvs, env_ids: Sequence[int]) -> NDArray[np.bytes_]:
    contents = []
    observations = envs.observations.batch_parts()
    errors = envs.faults.lost | envs.faults.stalled
    for env_id in env_ids:
        record = {
            "observation": observations[env_id],
            "error": errors.get(env_id),
            "level_options": envs.records[env_id].level_options,
        }
        try:
            contents.append(to_bytes(record))
        except Exception as error:
            message = (
                f"get_state: the observation or the level options of environment "
                f"{env_id} cannot be pickled: {type(error).__name__}: {error}"
            )
            raise UnsupportedError(message) from error
    return np.array(contents)


def check_state(state: EngineState, envs: PoolEnvs, any_object: bool) -> None:
    """Check a state, by the environments' own `check_state` where they have one.

    The content of pickled records and objects is not checked, nor is a state whose
    environment has no object now.

    Parameters
    ----------
    state : EngineState
    envs : PoolEnvs
    any_object : bool
        Whether all environments are alike.  If not, row i is for environment i.

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
    kinds = PLAIN, PICKLED, PICKLED_ENV, OBJECT, LOST
    check_values(STATES, arrays[STATES], kinds)
    check_values(RECORDS, arrays[RECORDS], kinds[:2])
    for name, (dtype, lowest, highest) in _LIMITS.items():
        check_numbers(name, arrays[name], dtype, lowest, highest)
    StreamSeeds.check(arrays, "first_seeds")
    is_lost = arrays[STATES] == LOST
    if (arrays["needs_replacement"] & ~is_lost).any():
        raise InvalidStateError.of_array(
            "needs_replacement", "True only where no object is left", "others"
        )
    able_ids = envs.able_ids
    parts: dict[int, dict[int, bytes]] = {env_id: {} for env_id in able_ids}
    objects = state.objects or ()
    for row, content in enumerate(arrays[STATES].tolist()):
        kind = content[:1]
        if kind == PLAIN:
            from_bytes(content, f"{STATES}[{row}]")
        if kind in (PLAIN, PICKLED):
            env_id = able_ids[row % len(able_ids)] if any_object and able_ids else row
            if env_id in parts:
                parts[env_id][row] = content
        elif kind == OBJECT and (objects[row : row + 1] or (None,))[0] is None:
            message = (
                f"state: environment {row} is a copy of an object, which only the "
                "process that has made it can use"
            )
            raise InvalidStateError(message)
    for row, content in enumerate(arrays[RECORDS].tolist()):
        if content[:1] == PLAIN:
            _read_record(envs.observations, row, content)
    envs.run("check_states", list(parts.values()), able_ids)


def _read_record(
    observations: Observations, row: int, content: bytes
) -> dict[str, Any]:
    """Return a record, checked."""
    name = f"{RECORDS}[{row}]"
    record = from_bytes(content, name)
    if not isinstance(record, dict) or record.keys() != _RECORD:
        accepted = f"a dict with {sorted(_RECORD)}"
        raise InvalidStateError.of_array(name, accepted, record)
    if not isinstance(record["error"], (str, type(None))):
        raise InvalidStateError.of_array(name, "an error, or None", record["error"])
    if not isinstance(record["level_options"], (dict, type(None))):
        accepted = "a dict of level options, or None"
        raise InvalidStateError.of_array(name, accepted, record["level_options"])
    if not observations.fits(record["observation"]):
        accepted = f"an observation of {observations.space}"
        raise InvalidStateError.of_array(name, accepted, record["observation"])
    return record


def set_state(
    state: EngineState,
    pairs: Sequence[tuple[int, int]],
    envs: PoolEnvs,
) -> None:
    """Make environments copies of rows of a checked state.

    Parameters
    ----------
    state : EngineState
    pairs : sequence of (row, env_id)
    envs : PoolEnvs

    Raises
    ------
    InvalidStateError
        For a copy of an object that a process cannot get; nothing has changed then.
    EnvironmentFaultError
        If some fail, after all others have ended; every environment must be reset
        then, and those that failed get new objects.
    """
    arrays = state.arrays
    snapshots: list[EnvSnapshot] = []
    for row, _ in pairs:
        snapshot: EnvSnapshot = bytes(arrays[STATES][row])
        if snapshot == OBJECT and state.objects is not None:
            if not envs.in_caller_process:
                message = (
                    f"state: environment {row} is a copy of an object, which "
                    "cannot be pickled for the processes of this pool"
                )
                raise InvalidStateError(message)
            snapshot = state.objects[row]
        snapshots.append(snapshot)
    records: list[dict[str, Any]] = []
    for row, _ in pairs:
        content = bytes(arrays[RECORDS][row])
        # `check_state` has read plain data.
        is_checked = content[:1] == PLAIN
        records.append(
            from_bytes(content)
            if is_checked
            else _read_record(envs.observations, row, content)
        )
    _set_snapshots(envs, [env_id for _, env_id in pairs], snapshots, records)
    for (row, env_id), entries in zip(pairs, records, strict=True):
        record = envs.records[env_id]
        record.start_episode()
        record.first_seed = decode_seed(arrays["first_seeds"][row])
        record.episode = int(arrays["episode_numbers"][row])
        record.elapsed_steps = int(arrays["elapsed_steps"][row])
        record.needs_replacement = bool(arrays["needs_replacement"][row])
        envs.observations.set_latest(env_id, entries["observation"])
        envs.faults.stalled.pop(env_id, None)
        envs.faults.lost.pop(env_id, None)
        if entries["error"] is not None:
            envs.faults.stalled[env_id] = entries["error"]


def _set_snapshots(
    envs: PoolEnvs,
    env_ids: Sequence[int],
    snapshots: Sequence[EnvSnapshot],
    records: Sequence[Mapping[str, Any]],
) -> None:
    """Bring environment objects into the states of snapshots.

    A state goes into a new object where the present one is lost, or has other level
    options, which its state need not have.
    """
    requests = []
    for env_id, snapshot, entries in zip(env_ids, snapshots, records, strict=True):
        record, options = envs.records[env_id], entries["level_options"]
        replace_env = record.needs_replacement
        if not same_data(record.level_options, options):
            replace_env = True
            record.attributes.pop(LEVEL_OPTIONS, None)
            if options is not None:
                record.attributes[LEVEL_OPTIONS] = options
        requests.append(StateRequest(snapshot, dict(record.attributes), replace_env))
    faults = envs.run_each("set_state", requests, env_ids)[1]
    if faults:
        for env_id in faults:
            envs.records[env_id].needs_replacement = True
        envs.demand_reset()
        raise_faults(faults)
