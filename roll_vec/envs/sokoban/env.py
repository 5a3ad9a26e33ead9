"""One Sokoban room, with the rules of ROLL."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from roll_vec.envs.sokoban.dead_ends import mark_deadlocks
from roll_vec.envs.sokoban.grid import SOKOBAN
from roll_vec.envs.sokoban.options import SokobanOptions
from roll_vec.envs.sokoban.rooms import make_level_provider
from roll_vec.envs.sokoban.solver import refuse_unsolvable_levels, solve_positions
from roll_vec.errors import InvalidStateError, SolverLimitError, UnsolvableLevelError
from roll_vec.kernels.sokoban import rules as kernels
from roll_vec.options import parse_options, takes_keywords_of
from roll_vec.stacked.level_providers import LevelProvider
from roll_vec.stacked.single_env import LevelEnv
from roll_vec.stacked.single_state import check_array

__all__ = ["Sokoban"]


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
        super().__init__(options)
        self._ends_dead = options.terminate_on_deadlock
        self.grid = np.zeros(options.dim_room, np.uint8)
        self.player = 0
        self.boxes_left = 0

    @staticmethod
    def make_level_provider(
        options: SokobanOptions, num_threads: int = 1
    ) -> LevelProvider:
        """Return the provider of the levels of some options."""
        return make_level_provider(options, num_threads)

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
        return int(np.count_nonzero(self.grid == kernels.BOX_ON_TARGET))

    @property
    def room_fixed(self) -> NDArray[np.uint8]:
        """(H, W) uint8: 0 wall, 1 floor, 2 target."""
        return kernels.WITHOUT_PIECES[self.grid]

    @property
    def room_state(self) -> NDArray[np.uint8]:
        """(H, W) uint8: the codes 0 to 5; the player is 5 on a target as well."""
        return np.minimum(self.grid, kernels.PLAYER)

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
        grids = self.grid[np.newaxis]
        (actions,) = solve_positions(grids, objective, self.first_action)
        if actions is None:
            refuse_unsolvable_levels(self.options.levels, np.array([self.level_number]))
        return actions

    @property
    def oracle_action(self) -> int | None:
        """The first action of `solve`; None if the room is solved, or not solvable."""
        try:
            actions = self.solve()
        except (SolverLimitError, UnsolvableLevelError):
            return None
        return None if actions is None or not len(actions) else int(actions[0])

    def _grid(self) -> NDArray[np.uint8]:
        return self.grid

    def _begin(self, level: tuple[Any, ...], episode_seed: int) -> None:
        # A batch of one room; the environment itself counts the elapsed steps.
        self.grid, only = np.empty_like(level[0]), np.zeros(1, np.int64)
        players, boxes_left, elapsed_steps = np.zeros((3, 1), np.int32)
        room = self.grid.reshape(1, -1), players, boxes_left
        state = room, self.dim_room[1:], np.zeros((6, 0), np.uint64), elapsed_steps
        boards, seeds = (level[0].reshape(1, -1),), only.astype(np.uint64)
        kernels.place_rows(0, 1, only, boards, only, seeds, state)
        self.player, self.boxes_left = int(players[0]), int(boxes_left[0])

    def _action_mask(self) -> NDArray[np.int8]:
        mask = np.empty((1, len(SOKOBAN.action_names)), np.int8)
        kernels.write_action_masks(
            0,
            1,
            np.zeros(1, np.int64),
            self.dim_room[1],
            self.grid.reshape(1, -1),
            np.array([self.player], np.int32),
            mask,
        )
        row: NDArray[np.int8] = mask[0]
        return row

    def _take_action(self, action: int) -> tuple[float, bool, dict[str, Any]]:
        player, boxes_left, reward, success = kernels.step_row(
            self.grid.reshape(1, -1),
            0,
            self.dim_room[1],
            self.player,
            self.boxes_left,
            action - self.first_action + kernels.UP,
        )
        effective = bool(player != self.player)
        self.player, self.boxes_left = int(player), int(boxes_left)
        info = {
            "action_is_effective": effective,
            "action_is_valid": action >= self.first_action,
            "success": bool(success),
        }
        terminated = info["success"]
        if self._ends_dead and not terminated:
            terminated = self._is_deadlock()
        return float(reward), terminated, info

    def _is_deadlock(self) -> bool:
        return bool(mark_deadlocks(self.grid[np.newaxis])[0])

    def _state_infos(self) -> dict[str, Any]:
        infos = super()._state_infos()
        if self.options.deadlock:
            infos["deadlock"] = self._is_deadlock()
        return infos

    # -------------------------------------------------------------------- state

    def state_values(self) -> dict[str, Any]:
        """Return the state with the cells of the room, and what follows from them."""
        return {
            **super().state_values(),
            "cells": self.grid.reshape(-1).copy(),
            "players": np.int32(self.player),
            "boxes_left": np.int32(self.boxes_left),
        }

    def load_values(self, values: Mapping[str, Any]) -> None:
        """Take over checked values."""
        super().load_values(values)
        self.grid = values["cells"].reshape(self.dim_room).copy()
        self.player = int(values["players"])
        self.boxes_left = int(values["boxes_left"])

    def check_values(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Check that every row is a room with one player within walls."""
        super().check_values(arrays)
        cells = arrays["cells"]
        check_array(arrays, "cells", 0, kernels.PLAYER_ON_TARGET)
        rooms = cells.reshape(-1, *self.dim_room)
        edges = (rooms[:, 0], rooms[:, -1], rooms[:, :, 0], rooms[:, :, -1])
        if any((edge != kernels.WALL).any() for edge in edges):
            message = "state: cells: expected walls on the border of every room"
            raise InvalidStateError(message)
        is_player = cells >= kernels.PLAYER
        players, boxes = is_player.argmax(1), (cells == kernels.BOX).sum(1)
        if (is_player.sum(1) != 1).any() or (players != arrays["players"]).any():
            message = "state: players: expected the cell of the one player of each room"
            raise InvalidStateError(message)
        if (boxes != arrays["boxes_left"]).any():
            message = "state: boxes_left: expected the number of boxes off targets"
            raise InvalidStateError(message)

    def _is_over(self) -> bool:
        has_started = self.num_env_steps > 0
        return super()._is_over() or (
            has_started and self._ends_dead and self._is_deadlock()
        )

    def _is_success(self) -> bool:
        return self.boxes_left == 0
