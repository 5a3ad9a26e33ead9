"""`MiniGrid`: the base class of MiniGrid's games."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from gymnasium.spaces import Space

from roll_vec.arrays.array_env import ArrayEnv
from roll_vec.arrays.attributes import StateAttribute
from roll_vec.arrays.rules import rule
from roll_vec.envs.minigrid.observations import OBS_MODES, OBSERVERS, make_space
from roll_vec.envs.minigrid.solver import SEARCHES, Children, find_goals, find_plan
from roll_vec.envs.minigrid.steps import end, move
from roll_vec.errors import InvalidOptionError
from roll_vec.kernels.rows import Row
from roll_vec.options import check_int

# Columns and rows are variables of 16 bits.
MAX_SIZE = (1 << 15) - 1


class MiniGrid(ArrayEnv):
    """Base class of MiniGrid's games.

    A game writes the rule ``begin``, a rule ``step`` where its ends are not those of
    `move`, and its mission: the text `MISSION`, or the method `mission_text`.

    Parameters
    ----------
    obs_mode : str
        ``dict``: image, direction and mission; ``image``: the image alone.
    agent_view_size : int
        Rows and columns of the view, odd, from 3 to 15.
    see_through_walls : bool
        True: walls and doors hide nothing.
    max_steps : int or None
        The limit of steps; None: `default_limit`.
    """

    obs_mode: str = "dict"
    agent_view_size: int = 7
    see_through_walls: bool = False
    max_steps: int | None = None

    state: ClassVar[Mapping[str, Any]] = {
        "grid": (np.uint32, ("width", "height")),
        "x": np.int16,
        "y": np.int16,
        "direction": np.int8,
        "carrying": np.uint32,
        "step_count": np.int32,
        "mission": np.int32,
        "success": np.bool_,
    }
    actions: ClassVar[Any] = (
        "left",
        "right",
        "forward",
        "pickup",
        "drop",
        "toggle",
        "done",
    )
    infos: ClassVar[Any] = ("success",)
    hidden_infos: ClassVar[Any] = ("success",)  # MiniGrid has none
    seeding: ClassVar[str] = "stream"
    OBS_MODES: ClassVar[Mapping[str, str]] = OBS_MODES
    MISSION: ClassVar[Any] = ""
    # The least values of options: with less there is no level.
    MINIMA: ClassVar[Mapping[str, int]] = {}
    attributes: ClassVar[Any] = {
        "agent_pos": StateAttribute(
            lambda env: (env.x, env.y),
            lambda value: {"x": value[0], "y": value[1]},
        ),
        "agent_dir": StateAttribute(
            lambda env: env.direction, lambda value: {"direction": value}
        ),
    }

    def check_options(self) -> None:
        """Refuse views that MiniGrid has not, and grids without room for a level."""
        size: Any = self.agent_view_size
        if size not in range(3, 16, 2):
            accepted = "an odd number from 3 to 15"
            raise InvalidOptionError.expected("agent_view_size", accepted, size)
        for name, minimum in self.MINIMA.items():
            check_int(name, getattr(self, name), minimum, MAX_SIZE)

    @property
    def width(self) -> int:
        """Columns of the grid."""
        return self.size  # type: ignore[attr-defined, no-any-return]

    @property
    def height(self) -> int:
        """Rows of the grid."""
        return self.size  # type: ignore[attr-defined, no-any-return]

    @property
    def default_limit(self) -> int:
        """The limit of steps without ``max_steps``."""
        return 4 * self.width * self.height

    @property
    def limit(self) -> int:
        """The limit of steps."""
        return self.max_steps or self.default_limit

    def rules(self) -> list[Any]:
        """Return the rules, with the one that writes these observations."""
        begin, step, _, legal = super().rules()
        return [begin, step, OBSERVERS[self.obs_mode], legal]

    @property
    def texts(self) -> Mapping[str, str]:  # type: ignore[override]
        """The parts of observations that are texts."""
        return {"mission": "mission"} if self.obs_mode == "dict" else {}

    @cached_property
    def observation_space(self) -> Space[Any]:
        """The space of an observation."""
        return make_space(self)

    @rule
    def step(env: Any, action: int, rng: Any) -> Any:
        reward, terminated = move(env, action)
        return end(env, reward, terminated)

    def tasks(self, env: Row) -> Any:
        """Return what the mission wants, for the solver: here to go to a goal.

        Returns
        -------
        sequence of sequences of roll_vec.envs.minigrid.solver.Task
            The tasks of a stage have any order, and come before those of the next one.
            Without any the search looks everywhere.
        """
        return find_goals(env)

    def solve(self, env: Row) -> list[int] | None:
        """Return a short plan to an end with a reward, the shortest if it is simple."""
        return find_plan(self, env, self.tasks(env))

    @cached_property
    def children(self) -> list[Children]:
        """States for searches, those that no search uses."""
        return []

    def solve_exactly(self, env: Row) -> list[int] | None:
        """Return the shortest plan to an end with a reward."""
        return find_plan(self, env, self.tasks(env), SEARCHES[:1])

    @property
    def solution_variables(self) -> tuple[str, ...]:  # type: ignore[override]
        """The variables on which plans depend."""
        return tuple(name for name in self.variables if name != "step_count")

    def mission_text(self, mission: Any) -> str:
        """Return the text of a mission, from the variable ``mission``."""
        return str(self.MISSION)

    def text(self, env: Row) -> str:
        """Return the mission."""
        return self.mission_text(env.mission)
