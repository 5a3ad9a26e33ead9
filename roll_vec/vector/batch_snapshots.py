"""Snapshots of a batch: `get_state` and `set_state`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Sized
from typing import Any

import numpy as np
from numpy.typing import NDArray

from roll_vec.errors import (
    InvalidOptionError,
    InvalidStateError,
)
from roll_vec.vector.attributes import BatchAttributes
from roll_vec.vector.batch import one_at_a_time
from roll_vec.vector.masks import check_indices, check_mask
from roll_vec.vector.vector_state import (
    ROWS,
    VectorState,
    check_batch_arrays,
    digest_configuration,
)


class BatchSnapshots(BatchAttributes):
    """Base of `roll_vec.vector.env.RollVectorEnv`: its snapshots."""

    @one_at_a_time
    def get_state(self) -> VectorState:
        """Return a snapshot of all environments.

        It has everything that later steps and resets depend on: episodes, streams of
        seeds and random numbers, elapsed steps, ended episodes that a step or a reset
        will begin anew.

        The state of an object is what its `get_state` returns.  An object without
        one is pickled.  Counts of faults, and attributes of `set_attr`, are no part of
        a snapshot, unless an object itself is pickled.  There is no time limit.

        Raises
        ------
        UnsupportedError
            Names an environment that allows neither.
        PendingResultsError
            If results were not received.
        ResetNeededError
            Before the first reset, or if a fault demands one.
        EnvironmentFaultError
            If a worker died.  An exception of an environment is raised as it is.
        ClosedError
        """
        self._check_idle("get_state")
        self._check_started("get_state")
        arrays = self.engine.get_state()
        return self._make_state(self._autoreset.has_ended, arrays)

    def _make_state(
        self, has_ended: NDArray[np.bool_], arrays: Mapping[str, NDArray[Any]]
    ) -> VectorState:
        """Return the snapshot of arrays of this class and of the engine."""
        arrays = {"has_ended": has_ended, **arrays}
        return VectorState.of_batch(self._snapshot_id(), self._configuration(), arrays)

    def _next_seeds(
        self, env_ids: NDArray[np.int64], seeds: list[int | None]
    ) -> list[int | None]:
        """Return the seeds of all streams after a reset; None keeps a seed."""
        if seeds.count(None) == len(seeds):
            return self._seeds
        result = list(self._seeds)
        for env_id, seed in zip(env_ids.tolist(), seeds, strict=True):
            if seed is not None:
                result[env_id] = seed
        return result

    def _begin_seeds(self, name: str) -> tuple[bool, str]:
        """Note that method ``name`` begins to change streams of seeds.

        An interrupt leaves those of arrays unknown: the next reset draws new seeds.

        Returns
        -------
        (is_started, unfinished_call)
            As they were, for a call that moves nothing.
        """
        before = self._is_started, self._autoreset.unfinished_call
        self._autoreset.unfinished_call = name
        self._is_started = self._is_started and self._has_objects
        return before

    @one_at_a_time
    def set_state(
        self,
        state: VectorState,
        *,
        mask: NDArray[np.bool_] | None = None,
        rows: Sequence[int] | NDArray[np.integer[Any]] | None = None,
    ) -> Any:
        """Go back to a snapshot; what follows equals to the bit what followed it then.

        Objects with a method `set_state` stay the same objects, others are replaced.
        With different environments in a batch each goes to rows of its like.

        Parameters
        ----------
        state : VectorState
            Of a batch of the same id and the same keywords; the number of environments,
            threads and workers may differ.
        mask : (num_envs,) bool, or None
            The environments to set; None: all.
        rows : (num_envs,) integers, or None
            Environment i becomes a copy of the snapshot's environment ``rows[i]``.
            None: of its environment i; the snapshot then has num_envs environments.

        Returns
        -------
        observations
            The batch of all present observations.

        Raises
        ------
        InvalidStateError
            If the snapshot is of another configuration or was changed.  No environment
            has moved then.
        InvalidOptionError
            If ``mask`` or ``rows`` do not fit.  No environment has moved then.
        ResetNeededError
            If a mask leaves out environments that were never reset, or must be.
        PendingResultsError
            If results were not received.
        EnvironmentFaultError
            If `set_state` of environments fails, or a worker dies.
            The others have moved then, and every environment must be reset, or set
            without a mask.
        ClosedError
        """
        self._check_idle("set_state")
        arrays = self._check_state(state)
        env_ids = check_mask(mask, self.num_envs)
        self._check_others(env_ids, "set_state", "mask")
        indices = check_state_rows(state, rows, self.num_envs)[env_ids]
        autoreset = self._autoreset
        before = self._begin_seeds("set_state")
        try:
            self.engine.set_state(arrays, indices, env_ids)
        except InvalidStateError:  # nothing has moved
            self._is_started, autoreset.unfinished_call = before
            raise
        has_ended = autoreset.has_ended.copy()
        has_ended[env_ids] = state.arrays["has_ended"][indices]
        autoreset.has_ended = has_ended
        self._seeds = list(self._seeds)
        for env_id in env_ids.tolist():
            self._seeds[env_id] = None
        self._is_started = True
        observations = self._observe()
        autoreset.unfinished_call = ""
        return observations

    # --------------------------------------------- one environment, for sessions

    def _get_env_state(self, env_id: int, *, has_ended: bool) -> VectorState:
        """Return the snapshot of one environment, the only one that need be started.

        Sessions reset and step the engine: they know whether its episode has ended.
        """
        arrays = self.engine.get_state(np.array([env_id]))
        return self._make_state(np.array([has_ended]), arrays)

    def _set_env_state(self, env_id: int, state: VectorState) -> None:
        """Go to the snapshot of one environment, which has one row."""
        arrays = self._check_state(state)
        if len(state) != 1:
            accepted = "the state of one environment; `select_rows` returns one of many"
            raise InvalidStateError.expected("state", accepted, state)
        self.engine.set_state(arrays, np.zeros(1, np.int64), np.array([env_id]))

    # ------------------------------------------------------------------ checks

    def _check_state(self, state: VectorState) -> dict[str, NDArray[Any]]:
        """Check a snapshot, and return the arrays of the engine."""
        if not isinstance(state, VectorState):
            raise InvalidStateError.expected("state", "a VectorState", state)
        configuration, digest = self._configuration()
        state.check_configuration(self._snapshot_id(), configuration, digest)
        arrays = state.engine_arrays()
        self._drop_leftovers()
        if state._valid_for != digest:
            check_batch_arrays(state.arrays)
            self.engine.check_state(arrays)
            state._valid_for = digest
        return arrays

    def _configuration(self) -> tuple[dict[str, Any], str]:
        """Return the configuration and its digest, computed once."""
        if self._cached_configuration is None:
            configuration = {
                **self._options,
                "autoreset_mode": self._autoreset.mode.value,
                **self.engine.configuration(),
            }
            del configuration["copy"]
            digest = digest_configuration(self._snapshot_id(), configuration)
            self._cached_configuration = configuration, digest
        return self._cached_configuration

    def _snapshot_id(self) -> str:
        """Return the id of the environments, or the name of the engine."""
        return self.spec.id if self.spec is not None else self.engine.name


def check_state_rows(state: Sized, rows: Any, num_envs: int) -> NDArray[np.int64]:
    """Return the row of a snapshot for each environment of a batch, (num_envs,).

    Raises
    ------
    InvalidOptionError
    """
    if rows is None:
        if len(state) != num_envs:
            message = (
                f"rows: the state has {len(state)} environments and this batch "
                f"{num_envs}: rows must say which of them each environment becomes a "
                "copy of"
            )
            raise InvalidOptionError(message)
        return np.arange(num_envs)
    indices = check_indices("rows", rows, len(state), ROWS)
    if len(indices) != num_envs:
        accepted = f"{num_envs} of them, one for each environment"
        raise InvalidOptionError.expected("rows", accepted, len(indices))
    return indices
