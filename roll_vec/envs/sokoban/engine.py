"""N Sokoban rooms in stacked arrays, stepped together."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from roll_vec.envs.sokoban.dead_ends import mark_deadlocks
from roll_vec.envs.sokoban.env import Sokoban
from roll_vec.envs.sokoban.grid import SOKOBAN
from roll_vec.envs.sokoban.solver import refuse_unsolvable_levels, solve_positions
from roll_vec.kernels.sokoban import rules
from roll_vec.stacked.levels import LevelEngine
from roll_vec.text.turn import BatchStep

__all__ = ["SokobanEngine"]


class SokobanEngine(LevelEngine):
    """N rooms in stacked arrays; see `roll_vec.vector.engine.Engine`.

    Attributes
    ----------
    variables : tuple of arrays
        Those of `roll_vec.kernels.sokoban.rules.RoomState`: cells (n, H * W), which are
        the whole state of the rooms, players and boxes_left.
    """

    SINGLE: ClassVar[type[Sokoban]] = Sokoban
    PER_ENV_ATTRIBUTES: ClassVar[tuple[str, ...]] = (
        "boxes_on_target",
        "num_boxes",
        "player_position",
        "room_fixed",
        "room_state",
    )

    _kernels = rules

    def _allocate(self) -> None:
        super()._allocate()
        height, width = self.options.dim_room
        cells = np.zeros((self.num_envs, height * width), np.uint8)
        players, boxes_left = np.zeros((2, self.num_envs), np.int32)
        self.variables, self.constants = (cells, players, boxes_left), (width,)

    def _named_variables(self) -> dict[str, NDArray[Any]]:
        cells, players, boxes_left = self.variables
        return {"cells": cells, "players": players, "boxes_left": boxes_left}

    def _level_arrays(self) -> tuple[NDArray[Any], ...]:
        return self.variables[:1]

    def _step_batch(
        self, actions: Any, skip_mask: NDArray[np.bool_], max_steps: int
    ) -> BatchStep:
        outcome, options = (
            super()._step_batch(actions, skip_mask, max_steps),
            self.options,
        )
        if options.deadlock or options.terminate_on_deadlock:
            deadlocks = mark_deadlocks(self.grids(), self.num_threads)
            deadlocks[skip_mask] = False
            if options.terminate_on_deadlock:
                outcome[1][deadlocks] = True
            if options.deadlock:
                outcome[3]["deadlock"] = deadlocks
        return outcome

    def reset_infos(self, rows: NDArray[np.int64]) -> dict[str, Any]:
        """Return the infos of the last resets of some rows, with ``deadlock``."""
        infos = super().reset_infos(rows)
        if self.options.deadlock:
            infos["deadlock"] = mark_deadlocks(self.grids(rows), self.num_threads)
        return infos

    def _needs_single_steps(self) -> bool:
        options = self.options
        is_marked = options.deadlock or options.terminate_on_deadlock
        return super()._needs_single_steps() or is_marked

    def action_masks(self, rows: NDArray[np.int64]) -> NDArray[np.int8]:
        """Return 1 for the actions that move the player, (m, 4), new."""
        masks = np.empty((len(rows), len(SOKOBAN.action_names)), np.int8)
        state = *self.constants, *self.variables[:2]
        self.kernel_threads.run(
            rules.write_action_masks, len(rows), rows, *state, masks
        )
        return masks

    def grids(self, rows: NDArray[np.int64] | None = None) -> NDArray[np.uint8]:
        """Return the codes of all or some environments; see `GridEngine.grids`."""
        cells = self.variables[0]
        cells = cells if rows is None else cells[rows]
        return cells.reshape(-1, *self.options.dim_room)

    def solve(
        self, env_ids: NDArray[np.int64], objective: str
    ) -> list[NDArray[np.int64] | None]:
        """Return the actions that solve some rooms from here; see `Sokoban.solve`."""
        solutions = solve_positions(
            self.grids(env_ids),
            objective,
            self.first_action,
            self.num_threads,
            env_ids,
        )
        rows = env_ids[[actions is None for actions in solutions]]
        refuse_unsolvable_levels(self.options.levels, self.level_numbers[rows])
        return solutions
