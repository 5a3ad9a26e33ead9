"""Levels of a batch: their solutions, and which of them are played next."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from roll_vec.options import check_choice
from roll_vec.vector.attributes import BatchAttributes
from roll_vec.vector.calls import one_at_a_time
from roll_vec.vector.masks import check_mask

OBJECTIVES = ("moves", "pushes")


class BatchLevels(BatchAttributes):
    """Base of `roll_vec.vector.env.RollVectorEnv`: `solve`, `set_level_options`."""

    @one_at_a_time
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
            If the game does not know the objective, or the mask does not fit.
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
        env_ids = check_mask(mask, self.num_envs)
        solutions: list[Any] = [None] * self.num_envs
        with self._interruptible():
            results = self.engine.solve(env_ids, objective)
        for env_id, solution in zip(env_ids.tolist(), results, strict=True):
            solutions[env_id] = solution
        return tuple(solutions)

    @one_at_a_time
    def set_level_options(
        self, *, mask: NDArray[np.bool_] | None = None, **level_options: Any
    ) -> None:
        """Change the levels from each environment's next episode on: a curriculum.

        The present episodes go on.  Snapshots have the level options of each
        environment: ``get_state().row(i)["level_options"]``.  `get_attr` reads them as
        well, except ``num_boxes``: the number in the room that is played.

        Parameters
        ----------
        mask : (num_envs,) bool, or None
            The environments to change; None: all.
        **level_options
            Keywords of the environments that choose their levels, such as
            ``num_levels``, ``start_level``, and in Sokoban ``num_boxes``.  Those that
            are not named keep their values.

        Raises
        ------
        UnknownOptionError
            For another keyword, such as one that would change the spaces; lists those
            that are accepted.  Nothing has changed then.
        InvalidOptionError
            For a value that cannot be used, or a bad mask.
        UnsupportedError
            If the environments have no level options.
        ClosedError
        """
        self._check_idle("set_level_options")
        env_ids = check_mask(mask, self.num_envs)
        with self._interruptible():
            self.engine.set_level_options(env_ids, level_options)
