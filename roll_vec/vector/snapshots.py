"""Snapshots of a batch: `get_state` and `set_state`; and solutions, by `solve`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium.vector import VectorEnv
from numpy.typing import NDArray

from roll_vec.errors import InvalidStateError, ResetNeededError, list_env_ids
from roll_vec.options import check_choice
from roll_vec.vector.autoreset import Autoreset
from roll_vec.vector.engine import Engine
from roll_vec.vector.state import (
    VectorState,
    check_rows,
    digest_configuration,
)
from roll_vec.vector.stream_seeds import StreamSeeds

__all__ = ["OBJECTIVES", "BatchSnapshots"]

OBJECTIVES = ("moves", "pushes")


class BatchSnapshots(VectorEnv[Any, Any, Any]):
    """Base of `roll_vec.vector.env.RollVectorEnv`: snapshots and solutions."""

    engine: Engine
    _autoreset: Autoreset
    _seeds: StreamSeeds
    _is_started: bool
    _cached_configuration: tuple[dict[str, Any], str] | None = None
    group_size: int
    group_id_info: bool
    episode_info: bool

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
        own = {"seeds": self._seeds.encoded, **self._autoreset.get_state()}
        return VectorState(
            self._snapshot_id(),
            self._configuration()[0],
            {**own, **state.arrays},
            state.shared,
            state.objects,
            digest=self._configuration()[1],
            checked_by=self._configuration()[1],
        )

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
            If the snapshot is of another configuration or was changed, or ``mask`` or
            ``rows`` do not fit.  No environment has moved then.
        ResetNeededError
            If a mask leaves out environments that were never reset.
        ClosedError
        """
        self._check_idle("set_state")
        if not isinstance(state, VectorState):
            raise InvalidStateError.expected("state", "a VectorState", state)
        configuration, digest = self._configuration()
        state.check_configuration(self._snapshot_id(), configuration, digest)
        engine_state = state.engine_state(self._autoreset.state_names | {"seeds"})
        if state._checked_by != digest:
            self._check_own_arrays(state)
            self.engine.check_state(engine_state)
            state._checked_by = digest
        env_ids = self._masked_ids(mask, "set_state")
        indices = self._check_state_rows(state, rows)[env_ids]
        try:
            self.engine.set_state(engine_state, indices, env_ids)
            self._autoreset.set_state(state.arrays, indices, env_ids)
            self._seeds = self._seeds.copied(state.arrays["seeds"], indices, env_ids)
        except InvalidStateError:
            raise  # nothing has moved
        except BaseException:
            # Ctrl-C, or a fault in a pool: some environments may have moved.
            self._is_started = False
            raise
        self._is_started = True
        observations = self._observe()
        self._show_window()
        return observations

    def solve(
        self, objective: str = "moves", *, mask: NDArray[np.bool_] | None = None
    ) -> tuple[Any, ...]:
        """Return a solution of each environment, from where it stands now.

        Parameters
        ----------
        objective : str
            ``moves``: the fewest actions.  ``pushes``: the fewest pushes of boxes, in
            Sokoban.
        mask : (num_envs,) bool, or None
            The environments to solve; None: all.

        Returns
        -------
        tuple of num_envs
            Sokoban and FrozenLake: an array of actions, (k,) int64, which
            ``action_lookup`` names for environments that act by text; on slippery ice a
            `roll_vec.envs.frozen_lake.LakeSolution`.  Environments that are objects: a
            list of their actions.  None where there is no solution, and outside of the
            mask.

        Raises
        ------
        ResetNeededError
            Before the first reset.
        InvalidOptionError
            If the game does not know the objective.
        SolverLimitError
            If a search was too long; names the environments.
        UnsolvableLevelError
            If a level that the user gave has no solution from its start.
        UnsupportedError
            If the environments have no solver.
        ClosedError
        """
        self._check_idle("solve")
        self._check_started("solve")
        check_choice("objective", objective, OBJECTIVES)
        env_ids = self._masked_ids(mask, "solve")
        solutions: list[Any] = [None] * self.num_envs
        results = self.engine.solve(env_ids, objective)
        for env_id, solution in zip(env_ids.tolist(), results, strict=True):
            solutions[env_id] = solution
        return tuple(solutions)

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

    def _masked_ids(self, mask: Any, name: str) -> NDArray[np.int64]:
        """Return the environments of a mask, all for None."""
        if mask is None:
            return np.arange(self.num_envs)
        array = np.asarray(mask)
        if array.dtype != np.bool_ or array.shape != (self.num_envs,):
            accepted = f"None or an array of bool of shape ({self.num_envs},)"
            raise InvalidStateError.expected("mask", accepted, mask)
        if name == "set_state" and not self._is_started and not array.all():
            message = (
                f"environments {list_env_ids(np.flatnonzero(~array))} were never "
                "reset: set_state cannot leave any out by mask"
            )
            raise ResetNeededError(message)
        return array.nonzero()[0]

    def _check_state_rows(self, state: VectorState, rows: Any) -> NDArray[np.int64]:
        """Return the row of a snapshot for each environment."""
        if rows is None:
            if len(state) != self.num_envs:
                message = (
                    f"rows: the state has {len(state)} environments and this batch "
                    f"{self.num_envs}: rows must say which of them each environment "
                    "becomes a copy of"
                )
                raise InvalidStateError(message)
            return np.arange(self.num_envs)
        indices = check_rows(rows, len(state))
        if len(indices) != self.num_envs:
            accepted = f"{self.num_envs} of them, one for each environment"
            raise InvalidStateError.expected("rows", accepted, len(indices))
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

    def _observe(self) -> Any:
        raise NotImplementedError

    def _show_window(self) -> None:
        raise NotImplementedError
