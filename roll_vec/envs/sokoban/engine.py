"""N Sokoban rooms in stacked arrays, stepped together."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from roll_vec.envs.sokoban.dead_ends import mark_deadlocks
from roll_vec.envs.sokoban.env import Sokoban
from roll_vec.envs.sokoban.grid import SOKOBAN
from roll_vec.envs.sokoban.solver import refuse_unsolvable_levels, solve_positions
from roll_vec.kernels.sokoban import rules as kernels
from roll_vec.kernels.sokoban.unroll import unroll_range, unroll_rows
from roll_vec.stacked.level_providers import NO_LEVELS, Levels
from roll_vec.stacked.levels import LevelEngine
from roll_vec.stacked.rollout_buffer import RolloutBuffer, make_outcome, to_batch_step
from roll_vec.stacked.row_threads import for_row_ranges
from roll_vec.text.turn import BatchStep

__all__ = ["SokobanEngine"]

# Each thread of an unroll takes at least this many steps of environments: handing work
# to a thread takes 20 to 130 us, a step 7 ns.
STEP_ROWS_PER_THREAD = 1 << 15


class SokobanEngine(LevelEngine):
    """N rooms in stacked arrays; see `roll_vec.vector.engine.Engine`.

    Attributes
    ----------
    cells : (n, H * W) uint8
        Codes of `roll_vec.kernels.sokoban.rules`: the whole state of the rooms.
    players, boxes_left : (n,) int32
        Derived from the cells: the player's cell, row * W + column, and the number of
        boxes that are not on targets.
    elapsed_steps : (n,) int32
    """

    SINGLE: ClassVar[type[Sokoban]] = Sokoban
    STATE: ClassVar[tuple[str, ...]] = ("cells", "players", "boxes_left")
    PER_ENV_ATTRIBUTES: ClassVar[tuple[str, ...]] = (
        "boxes_on_target",
        "num_boxes",
        "player_position",
        "room_fixed",
        "room_state",
    )

    def _allocate(self) -> None:
        super()._allocate()
        height, width = self.options.dim_room
        self.cells = np.zeros((self.num_envs, height * width), np.uint8)
        self.players = np.zeros(self.num_envs, np.int32)
        self.boxes_left = np.zeros(self.num_envs, np.int32)

    def _room_state(self) -> tuple[NDArray[Any], ...]:
        """Return the arrays of `roll_vec.kernels.sokoban.rules.RoomState`."""
        return self.cells, self.players, self.boxes_left, self.elapsed_steps

    def _place(
        self,
        rows: NDArray[np.int64],
        levels: Levels,
        level_indices: NDArray[np.int64],
        seeds: NDArray[np.uint64],
    ) -> None:
        flat, rooms = levels[0].reshape(len(levels[0]), -1), self._room_state()
        self.kernel_threads.run(
            kernels.place_rows, len(rows), rows, flat, level_indices, rooms
        )

    def _begin_rows(self, rows: NDArray[np.int64], levels: Levels, *args: Any) -> bool:
        flat = levels[0].reshape(len(levels[0]), -1)
        self.kernel_threads.run(
            kernels.begin_rows, len(rows), rows, flat, *args, self._room_state()
        )
        return True

    def _step_batch(
        self, actions: NDArray[np.int64], skip_mask: NDArray[np.bool_], max_steps: int
    ) -> BatchStep:
        outcome = make_outcome(self.num_envs)
        rules = self.first_action, self.options.dim_room[1], max_steps
        self.kernel_threads.run(
            kernels.step_rows,
            self.num_envs,
            actions,
            skip_mask,
            *rules,
            self._room_state(),
            outcome,
        )
        result = to_batch_step(outcome)
        options = self.options
        if options.deadlock or options.terminate_on_deadlock:
            deadlocks = mark_deadlocks(self.grids(), self.num_threads)
            deadlocks[skip_mask] = False
            if options.terminate_on_deadlock:
                result[1][deadlocks] = True
            if options.deadlock:
                result[3]["deadlock"] = deadlocks
        return result

    def _state_infos(self, rows: NDArray[np.int64]) -> dict[str, NDArray[Any]]:
        infos = super()._state_infos(rows)
        if self.options.deadlock:
            infos["deadlock"] = mark_deadlocks(self.grids(rows), self.num_threads)
        return infos

    def _needs_single_steps(self) -> bool:
        options = self.options
        return (
            super()._needs_single_steps()
            or options.deadlock
            or options.terminate_on_deadlock
        )

    def _action_masks(self, rows: NDArray[np.int64]) -> NDArray[np.int8]:
        masks = np.empty((len(rows), len(SOKOBAN.action_names)), np.int8)
        self.kernel_threads.run(
            kernels.write_action_masks,
            len(rows),
            rows,
            self.options.dim_room[1],
            self.cells,
            self.players,
            masks,
        )
        return masks

    def _unroll_range(self, first_step: int, until: int, buffer: RolloutBuffer) -> None:
        no_levels = (self.cells[:0],), NO_LEVELS
        levels, table = self._level_table(buffer.mode) or no_levels
        flat = levels[0].reshape(-1, self.cells.shape[1])
        rooms, (progress, outcome) = self._room_state(), buffer.kernel_arguments
        for_row_ranges(
            lambda start, stop: unroll_range(
                start,
                stop,
                first_step,
                until,
                buffer.same_step,
                buffer.actions,
                self.first_action,
                self.options.dim_room[1],
                self.max_steps,
                flat,
                table,
                (self.episodes.first_seeds, self.episodes.numbers),
                rooms,
                progress,
                outcome,
                buffer.observations,
                buffer.next_observations,
            ),
            self.num_envs,
            self.num_threads,
            1 + STEP_ROWS_PER_THREAD // (until - first_step),
            self.unroll_slices,
        )

    def _unroll_rows(
        self, rows: NDArray[np.int64], until: int, buffer: RolloutBuffer
    ) -> None:
        rooms, (progress, outcome) = self._room_state(), buffer.kernel_arguments
        for_row_ranges(
            lambda start, stop: unroll_rows(
                start,
                stop,
                rows,
                until,
                buffer.same_step,
                buffer.actions,
                self.first_action,
                self.options.dim_room[1],
                self.max_steps,
                rooms,
                progress,
                outcome,
                buffer.observations,
                buffer.next_observations,
            ),
            len(rows),
            self.num_threads,
            1 + STEP_ROWS_PER_THREAD // len(buffer.actions),
            self.unroll_slices,
        )

    def grids(self, rows: NDArray[np.int64] | None = None) -> NDArray[np.uint8]:
        """Return the codes of all or some environments; see `StackedEngine.grids`."""
        cells = self.cells if rows is None else self.cells[rows]
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
