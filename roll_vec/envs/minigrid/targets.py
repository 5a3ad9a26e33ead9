"""`TargetGame`: the base of games in which the agent goes to a thing and says so."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from roll_vec.arrays.rules import rule
from roll_vec.envs.minigrid.base import MiniGrid
from roll_vec.envs.minigrid.solver import REACH, Task
from roll_vec.envs.minigrid.steps import DONE, TOGGLE, end_task, move
from roll_vec.envs.minigrid.things import name_thing
from roll_vec.kernels.rows import Row


class TargetGame(MiniGrid):
    """Base class of games in which the agent goes beside a thing, then says done.

    The variable ``mission`` is the code of the thing, ``target_pos`` its cell.

    Rewards
    -------
    1 - 0.9 * steps / max_steps
        The action done beside the cell where the thing of the mission was at first.
    0
        Any other step.

    Episode end
    -----------
    terminated
        The action done: success beside the cell.
    terminated
        The action toggle.
    """

    see_through_walls: bool = True
    state: ClassVar[Any] = {**MiniGrid.state, "target_pos": (np.int16, 2)}

    @rule
    def step(env: Any, action: int, rng: Any) -> Any:
        move(env, action)
        x, y = env.target_pos
        is_right = action == DONE and abs(env.x - x) + abs(env.y - y) == 1
        return end_task(env, is_right, action in (TOGGLE, DONE))

    def tasks(self, env: Row) -> Any:
        """Return what the mission wants; see `MiniGrid.tasks`."""
        x, y = env.target_pos
        cells = [(x + 1, y), (x - 1, y), (x, y + 1), (x, y - 1)]
        return [[Task(REACH, [i * self.height + j for i, j in cells])]]

    def mission_text(self, mission: Any) -> str:
        """Return the text of a mission."""
        return f"go to the {name_thing(mission)}"
