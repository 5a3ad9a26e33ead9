"""PutNear: two of several objects to bring together."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from roll_vec.arrays.rules import rule
from roll_vec.envs.minigrid.base import MiniGrid
from roll_vec.envs.minigrid.grids import (
    draw_another_object,
    draw_border,
    place_agent_anywhere,
)
from roll_vec.envs.minigrid.solver import NEAR, Task
from roll_vec.envs.minigrid.steps import (
    DROP,
    PICKUP,
    end_task,
    find_front,
    move,
)
from roll_vec.envs.minigrid.things import LOOKS, NUMBER_BIT, name_thing
from roll_vec.kernels.rows import Row
from roll_vec.options import check_int


@rule
def draw_lonely_cell(env: Any, rng: Any, k: int) -> Any:
    """Draw an empty cell (x, y) that touches none of the first k objects."""
    while True:
        x, y = rng.integers(env.width), rng.integers(env.height)
        is_lonely = env.grid[x, y] == 0
        for i in range(k):
            is_lonely &= abs(x - env.places[i, 0]) > 1 or abs(y - env.places[i, 1]) > 1
        if is_lonely:
            return x, y


class PutNear(MiniGrid):
    """Pick up one object of the mission, and drop it beside the other one.

    Objects are keys, balls and boxes; no two are equal, and none touches another one,
    also across corners.

    Parameters
    ----------
    size : int
        Columns and rows of the grid, at least 6.
    numObjs : int
        The number of objects, from 2 to 18 and at most (size // 3) ** 2.  So many
        always have a place; with more MiniGrid may look for one for ever.

    Rewards
    -------
    1 - 0.9 * steps / max_steps
        The right object is dropped on a cell that touches that where the other object
        was at first.
    0
        Any other step.

    Episode end
    -----------
    terminated
        An object is dropped, or should be dropped where there is no room: success, if
        it is dropped beside the other object of the mission.
    terminated
        A wrong object is picked up.
    """

    size: int = 6
    numObjs: int = 2
    see_through_walls: bool = True
    state: ClassVar[Any] = {
        **MiniGrid.state,
        "objects": (np.uint16, "numObjs"),
        "places": (np.int16, ("numObjs", 2)),
        "target_pos": (np.int16, 2),
    }
    MINIMA: ClassVar[Any] = {"size": 6}

    def check_options(self) -> None:
        """Refuse more objects than there are, or than there is always room for."""
        super().check_options()
        # An object takes 3 x 3 cells at most.
        check_int("numObjs", self.numObjs, 2, min(18, (self.size // 3) ** 2))

    @property
    def default_limit(self) -> int:
        """The limit of steps without ``max_steps``."""
        return 5 * self.size

    @rule
    def begin(env: Any, rng: Any) -> None:
        draw_border(env)
        for k in range(env.numObjs):
            env.objects[k] = draw_another_object(env, rng, k)
            x, y = draw_lonely_cell(env, rng, k)
            env.places[k] = x, y
            env.grid[x, y] = env.objects[k]
        place_agent_anywhere(env, rng)
        moved = target = rng.integers(env.numObjs)
        while target == moved:
            target = rng.integers(env.numObjs)
        env.target_pos[:] = env.places[target]
        env.mission = env.objects[moved] + (env.objects[target] << NUMBER_BIT)

    @rule
    def step(env: Any, action: int, rng: Any) -> Any:
        held = env.carrying
        move(env, action)
        if action == DROP and held != 0:
            x, y = find_front(env)
            i, j = env.target_pos
            is_near = abs(x - i) <= 1 and abs(y - j) <= 1 and env.carrying == 0
            return end_task(env, is_near, True)
        is_wrong = env.carrying not in (0, env.mission & LOOKS)
        return end_task(env, False, action == PICKUP and is_wrong)

    def tasks(self, env: Row) -> Any:
        """Return what the mission wants; see `MiniGrid.tasks`."""
        moved, target = env.mission & LOOKS, env.mission >> NUMBER_BIT
        return [[Task(NEAR, [moved], [target])]]

    def mission_text(self, mission: Any) -> str:
        """Return the text of a mission."""
        moved, target = name_thing(mission), name_thing(mission >> NUMBER_BIT)
        return f"put the {moved} near the {target}"
