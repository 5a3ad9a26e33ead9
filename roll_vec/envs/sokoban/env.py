"""Sokoban, with the rules of ROLL: N rooms in stacked arrays, and one room."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from roll_vec.arrays.levels import LevelEngine
from roll_vec.arrays.single_env import LevelEnv
from roll_vec.envs.sokoban.grid import SOKOBAN
from roll_vec.envs.sokoban.options import SokobanOptions
from roll_vec.envs.sokoban.rooms import make_level_provider
from roll_vec.envs.sokoban.solver import (
    mark_deadlocks,
    refuse_unsolvable_levels,
    solve_positions,
)
from roll_vec.errors import InvalidStateError, SolverLimitError, UnsolvableLevelError
from roll_vec.kernels.sokoban import rules
from roll_vec.options import parse_options, takes_keywords_of
from roll_vec.text.turn import BatchStep
from roll_vec.vector.engine import EngineState


class SokobanEngine(LevelEngine):
    """N rooms in stacked arrays; see `roll_vec.vector.engine.Engine`.

    Attributes
    ----------
    variables : tuple of arrays
        Those of `roll_vec.kernels.sokoban.rules.RoomState`: cells (n, H * W), which are
        the whole state of the rooms, players and boxes_left.
    """

    PER_ENV_ATTRIBUTES: ClassVar[tuple[str, ...]] = (
        "boxes_on_target",
        "num_boxes",
        "player_position",
        "room_fixed",
        "room_state",
    )

    _kernels = rules.ROOM
    make_level_provider = staticmethod(make_level_provider)

    def _allocate(self) -> None:
        super()._allocate()
        height, width = self.options.dim_room
        cells = np.zeros((self.num_envs, height * width), np.uint8)
        players, boxes_left = np.zeros((2, self.num_envs), np.int32)
        self.variables, self.constants = (cells, players, boxes_left), (width,)
        self._grids_shape = -1, height, width
        options = self.options
        self._marks_deadlocks = options.deadlock or options.terminate_on_deadlock

    def _named_variables(self) -> dict[str, NDArray[Any]]:
        cells, players, boxes_left = self.variables
        return {"cells": cells, "players": players, "boxes_left": boxes_left}

    def _level_arrays(self) -> tuple[NDArray[Any], ...]:
        return self.variables[:1]

    def _step_batch(
        self, actions: Any, skip_mask: NDArray[np.bool_], *more: Any
    ) -> tuple[BatchStep, NDArray[np.bool_]]:
        outcome, masks = super()._step_batch(actions, skip_mask, *more)
        if self._marks_deadlocks:
            deadlocks = mark_deadlocks(self.grids(), self.num_threads)
            deadlocks[skip_mask] = False
            if self.options.terminate_on_deadlock:
                outcome[1][deadlocks] = True
            if self.options.deadlock:
                outcome[3]["deadlock"] = deadlocks
        return outcome, masks

    def _limits(self) -> dict[str, tuple[int, int]]:
        return {**super()._limits(), "cells": (0, rules.PLAYER_ON_TARGET)}

    def check_state(self, state: EngineState) -> None:
        """Check that every row is a room with one player within walls, too."""
        super().check_state(state)
        arrays = state.arrays
        cells = arrays["cells"]
        rooms = cells.reshape(-1, *self.options.dim_room)
        edges = (rooms[:, 0], rooms[:, -1], rooms[:, :, 0], rooms[:, :, -1])
        if any((edge != rules.WALL).any() for edge in edges):
            message = "state: cells: expected walls on the border of every room"
            raise InvalidStateError(message)
        is_player = cells >= rules.PLAYER
        players, boxes = is_player.argmax(1), (cells == rules.BOX).sum(1)
        if (is_player.sum(1) != 1).any() or (players != arrays["players"]).any():
            message = "state: players: expected the cell of the one player of each room"
            raise InvalidStateError(message)
        if (boxes != arrays["boxes_left"]).any():
            message = "state: boxes_left: expected the number of boxes off targets"
            raise InvalidStateError(message)

    def play_one(self, actions: NDArray[Any]) -> tuple[float, bool, dict[str, Any]]:
        """Take one action in the one environment; see `StackedEngine.play_one`."""
        result = super().play_one(actions)
        if not self._marks_deadlocks:
            return result
        reward, terminated, infos = result
        is_dead = bool(mark_deadlocks(self.grids(), self.num_threads)[0])
        terminated = terminated or (self.options.terminate_on_deadlock and is_dead)
        if self.options.deadlock:
            infos["deadlock"] = is_dead
        return reward, terminated, infos

    def reset_infos(self, rows: NDArray[np.int64]) -> dict[str, Any]:
        """Return the infos of the last resets of some rows, with ``deadlock``."""
        infos = super().reset_infos(rows)
        if self.options.deadlock:
            infos["deadlock"] = mark_deadlocks(self.grids(rows), self.num_threads)
        return infos

    def _needs_single_steps(self) -> bool:
        return super()._needs_single_steps() or self._marks_deadlocks

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
        if rows is not None:
            cells = cells[rows]
        return cells.reshape(self._grids_shape)

    def solve(
        self, env_ids: NDArray[np.int64], objective: str
    ) -> list[NDArray[np.int64] | None]:
        """Return the actions that solve some rooms from here; see `Sokoban.solve`."""
        solutions = solve_positions(
            self.grids(env_ids),
            objective,
            self.first_action,
            self.num_threads,
            env_ids if self.num_envs > 1 else None,
        )
        rows = env_ids[[actions is None for actions in solutions]]
        refuse_unsolvable_levels(self.options.levels, self.level_numbers[rows])
        return solutions


class Sokoban(LevelEnv):
    """One room: the environment of `gymnasium.make("roll_vec/Sokoban-v0")`.

    Rules, levels and rewards are those of ROLL's SokobanEnv (35bea6a2).

    Parameters
    ----------
    **keywords
        Those of `SokobanOptions`.

    Notes
    -----
    Actions: 1 up, 2 down, 3 left, 4 right.  0 is "no valid action": nothing moves, the
    step counts; the first one gives a warning unless ``action_start=1``.  An agent that
    counts from 0 plays action + ``action_space.start``, or uses ``action_start=0``:
    0 up, 1 down, 2 left, 3 right.

    Reward: -0.1 a step, +1 and -1 for a box pushed on and off a target, +10 with all
    boxes on targets, which ends the episode.  Info of a step: ``action_is_effective``
    (the player moved), ``action_is_valid``, ``success``.

    Attributes
    ----------
    grid : (H, W) uint8
        0 wall, 1 floor, 2 target, 3 box on target, 4 box, 5 player, 6 player on target.
    player : int
        The player's cell, row * W + column.
    boxes_left : int
        Boxes that are not on targets.
    """

    @takes_keywords_of(SokobanOptions)
    def __init__(self, **keywords: Any) -> None:
        options = parse_options(SokobanOptions, keywords)
        super().__init__(SokobanEngine(options, 1, None, 1, prefetch=False))

    @property
    def grid(self) -> NDArray[np.uint8]:
        """(H, W) uint8: the codes; not to be written."""
        grid: NDArray[np.uint8] = self._engine.grids()[self._row]
        return grid

    @property
    def player(self) -> int:
        """The player's cell, row * W + column."""
        return int(self._engine.variables[1][self._row])

    @property
    def boxes_left(self) -> int:
        """Boxes that are not on targets."""
        return int(self._engine.variables[2][self._row])

    @property
    def dim_room(self) -> tuple[int, int]:
        """Rows and columns of the room."""
        return self.options.dim_room  # type: ignore[no-any-return]

    @property
    def num_boxes(self) -> int:
        """Number of boxes, and of targets, in the level that is played."""
        if self.options.levels is None and not self.grid.any():
            return self.options.num_boxes  # type: ignore[no-any-return]
        return self.boxes_on_target + self.boxes_left

    @property
    def boxes_on_target(self) -> int:
        """Number of boxes that are on targets."""
        return int(np.count_nonzero(self.grid == rules.BOX_ON_TARGET))

    @property
    def room_fixed(self) -> NDArray[np.uint8]:
        """(H, W) uint8: 0 wall, 1 floor, 2 target."""
        return rules.WITHOUT_PIECES[self.grid]

    @property
    def room_state(self) -> NDArray[np.uint8]:
        """(H, W) uint8: the codes 0 to 5; the player is 5 on a target as well."""
        return np.minimum(self.grid, rules.PLAYER)

    @property
    def player_position(self) -> NDArray[np.int64]:
        """(2,) int64: row and column."""
        return np.array(divmod(self.player, self.dim_room[1]))

    def solve(self, objective: str = "moves") -> NDArray[np.int64] | None:
        """Return actions that solve the room from where it stands now.

        Parameters
        ----------
        objective : str
            ``moves``: no other way takes fewer steps.  ``pushes``: no other way takes
            fewer pushes.

        Returns
        -------
        (num_moves,) int64 or None
            Integers of the action space: `step` with each of them in turn ends in a
            success.  Empty if the room is solved, None if it has no solution any more.

        Raises
        ------
        InvalidOptionError
            For another objective.
        SolverLimitError
            If the search gave up; see `roll_vec.envs.sokoban.solver.solve_rooms`.
        UnsolvableLevelError
            If the level was given with ``levels`` and has no solution from its start.
        ResetNeededError, ClosedError
        """
        self._check_started()
        (actions,) = self._engine.solve(np.zeros(1, np.int64), objective)
        return actions  # type: ignore[no-any-return]

    @property
    def oracle_action(self) -> int | None:
        """The first action of `solve`; None if the room is solved, or not solvable."""
        try:
            actions = self.solve()
        except (SolverLimitError, UnsolvableLevelError):
            return None
        return None if actions is None or not len(actions) else int(actions[0])


SokobanEngine.SINGLE = Sokoban
