"""Sokoban, with the rules of ROLL: one room as a `gymnasium.Env`."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from roll_vec.arrays.single_env import LevelEnv, read_only
from roll_vec.envs.sokoban.options import SokobanOptions
from roll_vec.kernels.sokoban import rules
from roll_vec.options import parse_options, takes_keywords_of


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

    @property
    def grid(self) -> NDArray[np.uint8]:
        """(H, W) uint8: the codes; it cannot be written."""
        cells: NDArray[np.uint8] = self._engine.variables[0][self._row]
        return read_only(cells.reshape(self.options.dim_room))

    @property
    def player(self) -> int:
        """The player's cell, row * W + column."""
        return int(self._engine.variables[1][self._row])

    @property
    def boxes_left(self) -> int:
        """Boxes that are not on targets."""
        return int(self._engine.variables[2][self._row])

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
        return np.array(divmod(self.player, self.options.dim_room[1]))

    def solve(self, objective: str = "moves") -> NDArray[np.int64] | None:
        """Return actions that solve the room from where it stands now.

        Empty if the room is solved, None if it has no solution any more.  With
        ``objective="pushes"`` no other way takes fewer pushes.  See `SingleEnv.solve`,
        and for the limits `roll_vec.envs.sokoban.solver.solve_rooms`.
        """
        return super().solve(objective)  # type: ignore[no-any-return]


SokobanOptions.SINGLE = Sokoban
