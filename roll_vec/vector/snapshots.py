"""Snapshots of a batch: `get_state` and `set_state`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium.vector import VectorEnv
from numpy.typing import NDArray

from roll_vec.errors import (
    InvalidOptionError,
    InvalidStateError,
)
from roll_vec.vector.autoreset import Autoreset
from roll_vec.vector.calls import one_at_a_time
from roll_vec.vector.engine import Engine
from roll_vec.vector.masks import check_mask
from roll_vec.vector.state import (
    VectorState,
    check_rows,
    digest_configuration,
)
from roll_vec.vector.stream_seeds import StreamSeeds

__all__ = ["BatchSnapshots"]


class BatchSnapshots(VectorEnv[Any, Any, Any]):
    """Base of `roll_vec.vector.env.RollVectorEnv`: its snapshots."""

    engine: Engine
    _autoreset: Autoreset
    _seeds: StreamSeeds
    _is_started: bool
    _cached_configuration: tuple[dict[str, Any], str] | None = None
    group_size: int
    group_id_info: bool
    episode_info: bool

    @one_at_a_time
    def get_state(self) -> VectorState:
        """Return a snapshot of all environments.

        It has everything that later steps and resets depend on: episodes, streams of
        seeds and random numbers, elapsed steps, ended episodes that a step or a reset
        will begin anew.

        Raises
        ------
        ResetNeededError
            Before the first reset.
        ClosedError
        """
        self._check_idle("get_state")
        self._check_started("get_state")
        state = self.engine.get_state()
        own = {"seeds": self._seeds.digits, **self._autoreset.get_state()}
        return VectorState.of_batch(
            self._snapshot_id(),
            self._configuration(),
            {**own, **state.arrays},
            state.shared,
            state.objects,
        )

    @one_at_a_time
    def set_state(
        self,
        state: VectorState,
        *,
        mask: NDArray[np.bool_] | None = None,
        rows: Sequence[int] | NDArray[np.integer[Any]] | None = None,
    ) -> Any:
        """Go back to a snapshot; what follows equals to the bit what followed it then.

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
        ClosedError
        """
        self._check_idle("set_state")
        if not isinstance(state, VectorState):
            raise InvalidStateError.expected("state", "a VectorState", state)
        configuration, digest = self._configuration()
        state.check_configuration(self._snapshot_id(), configuration, digest)
        engine_state = state.engine_state(self._autoreset.state_names | {"seeds"})
        self._drop_leftovers()
        if state._valid_for != digest:
            self._check_own_arrays(state)
            self.engine.check_state(engine_state)
            state._valid_for = digest
        env_ids = check_mask(mask, self.num_envs)
        self._check_others(env_ids, "set_state", "mask")
        indices = self._check_state_rows(state, rows)[env_ids]
        autoreset = self._autoreset
        was_ready = autoreset.is_ready
        try:
            autoreset.is_ready = False
            self.engine.set_state(engine_state, indices, env_ids)
        except InvalidStateError:
            autoreset.is_ready = was_ready  # nothing has moved
            raise
        autoreset.set_state(state.arrays, indices, env_ids)
        self._seeds = self._seeds.copy_rows(state.arrays["seeds"], indices, env_ids)
        self._is_started = True
        observations = self._observe()
        self._show_window()
        autoreset.is_ready = True
        return observations

    # ------------------------------------------------------------------ checks

    def _configuration(self) -> tuple[dict[str, Any], str]:
        """Return the configuration and its digest, computed once."""
        if self._cached_configuration is None:
            configuration = {
                "autoreset_mode": self._autoreset.mode.value,
                "group_size": self.group_size,
                "group_id_info": self.group_id_info,
                "episode_info": self.episode_info,
                **self.engine.configuration(),
            }
            digest = digest_configuration(self._snapshot_id(), configuration)
            self._cached_configuration = configuration, digest
        return self._cached_configuration

    def _snapshot_id(self) -> str:
        """Return the id of the environments, or the class of the engine."""
        return self.spec.id if self.spec is not None else type(self.engine).__name__

    def _check_state_rows(self, state: VectorState, rows: Any) -> NDArray[np.int64]:
        """Return the row of a snapshot for each environment."""
        if rows is None:
            if len(state) != self.num_envs:
                message = (
                    f"rows: the state has {len(state)} environments and this batch "
                    f"{self.num_envs}: rows must say which of them each environment "
                    "becomes a copy of"
                )
                raise InvalidOptionError(message)
            return np.arange(self.num_envs)
        indices = check_rows(rows, len(state))
        if len(indices) != self.num_envs:
            accepted = f"{self.num_envs} of them, one for each environment"
            raise InvalidOptionError.expected("rows", accepted, len(indices))
        return indices

    def _check_own_arrays(self, state: VectorState) -> None:
        """Check the arrays that are not the engine's, and the number of rows of all."""
        arrays = state.arrays
        shapes = [array.shape[:1] for array in arrays.values()]
        shape = max(shapes, key=shapes.count)
        for name, array in arrays.items():
            if array.shape[:1] != shape or not shape:
                accepted = f"one row for each of {shape} environments"
                raise InvalidStateError.of_array(name, accepted, array.shape)
        self._autoreset.check_state(arrays)
        StreamSeeds.check(arrays)

    # --------------------------------------------- methods of RollVectorEnv

    def _check_idle(self, name: str) -> None:
        raise NotImplementedError

    def _check_started(self, use: str) -> None:
        raise NotImplementedError

    def _check_others(
        self, env_ids: NDArray[np.int64], call: str, mask_name: str
    ) -> None:
        raise NotImplementedError

    def _drop_leftovers(self) -> None:
        raise NotImplementedError

    def _observe(self) -> Any:
        raise NotImplementedError

    def _show_window(self) -> None:
        raise NotImplementedError
