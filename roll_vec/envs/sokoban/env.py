"""Sokoban, with the rules of ROLL: one room as a `gymnasium.Env`."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from roll_vec.arrays.single_env import LevelEnv, read_only
from roll_vec.envs.sokoban.options import SokobanOptions
from roll_vec.kernels.sokoban import rules
from roll_vec.options import accepts_keywords_of, parse_options


class Sokoban(LevelEnv):
    """Push every box onto a target.

    The player walks one cell at a time and pushes the box in its way, if the cell
    behind it is free.  Nothing can be pulled.  Each episode has a new room, which has a
    solution.

    Parameters
    ----------
    **keywords
        Those of `SokobanOptions`.

    Actions
    -------
    0 is "no valid action" unless ``action_start=0``: nothing moves, the step counts.
    So does a text without the name of an action.

    Rewards
    -------
    -0.1
        Each step.
    1
        A box is pushed onto a target.
    -1
        A box is pushed off a target.
    10
        All boxes are on targets.

    Episode end
    -----------
    terminated
        All boxes are on targets: success.
    terminated
        With ``terminate_on_deadlock``: the room is a recognised dead end.

    Attributes
    ----------
    grid : (H, W) uint8
        0 wall, 1 floor, 2 target, 3 box on target, 4 box, 5 player, 6 player on target.
    player : int
        The player's cell, row * W + column.
    boxes_left : int
        Boxes that are not on targets.

    Infos
    -----
    action_is_effective : bool; step
        The player has moved.
    action_is_valid : bool; step
        The action was not "no valid action".
    success : bool; step
        The step has solved the room.
    deadlock : bool; reset, step; deadlock=True
        The room surely cannot be solved any more.

    Sources
    -------
    ROLL, SokobanEnv : commit 35bea6a2; https://github.com/alibaba/ROLL
        rooms from the same seeds, steps, rewards, boards as text
    gym-sokoban : 0.0.6; https://github.com/mpSchrader/gym-sokoban
        push actions, rewards, the colours of ``tiny_rgb``

    Differences
    -----------
    - The instruction has other words.
    - The step limit truncates an episode; ROLL has one flag for both ends.
    - After an attempt that gave no room, ROLL takes the seed ``hash(str(seed))``, which
      differs between processes; the next seed here is
      ``roll_vec.seeding.retry_seed(seed, t)``.
    """

    @accepts_keywords_of(SokobanOptions)
    def __init__(self, **keywords: Any) -> None:
        options = parse_options(SokobanOptions, keywords)
        super().__init__(options)

    @property
    def grid(self) -> NDArray[np.uint8]:
        """(H, W) uint8: the codes; it cannot be written."""
        cells: NDArray[np.uint8] = self._engine.variables[0][0]
        return read_only(cells.reshape(self.options.dim_room))

    @property
    def player(self) -> int:
        """The player's cell, row * W + column."""
        return int(self._engine.variables[1][0])

    @property
    def num_boxes(self) -> int:
        """Number of boxes, and of targets, in the level that is played."""
        if self.options.levels is None and not self.grid.any():
            return self.options.num_boxes  # type: ignore[no-any-return]
        return self.boxes_on_target + int(self.boxes_left)

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
