"""`MiniGrid`: the base class of MiniGrid's games."""

from __future__ import annotations

import itertools
import os
from collections.abc import Mapping
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from gymnasium.spaces import Space
from numpy.typing import NDArray

from roll_vec.arrays.array_env import MAX_SCALE, METADATA, ArrayEnv, Ids
from roll_vec.arrays.attributes import StateAttribute
from roll_vec.arrays.rules import rule
from roll_vec.arrays.state_checks import check_each
from roll_vec.arrays.text_parts import values_of
from roll_vec.envs.minigrid.observations import (
    OBS_MODES,
    OBSERVERS,
    encode_letters,
    make_space,
)
from roll_vec.envs.minigrid.pictures import draw_picture
from roll_vec.envs.minigrid.solver import SEARCHES, Children, find_goals, find_plan
from roll_vec.envs.minigrid.steps import end, move
from roll_vec.envs.minigrid.texts import describe, print_grid
from roll_vec.envs.minigrid.things import BOX, COLOURS, KEY, LAVA, TYPE, WALL
from roll_vec.envs.minigrid.tiles import make_tiles
from roll_vec.errors import InvalidOptionError, InvalidStateError
from roll_vec.kernels.rows import Row
from roll_vec.options import check_int

# Columns and rows are variables of 16 bits.
MAX_SIZE = (1 << 15) - 1


def _write_position(value: Any) -> Mapping[str, Any]:
    """Return the variables of ``agent_pos``."""
    try:
        x, y = value
    except (TypeError, ValueError):
        accepted = "a column and a row"
        raise InvalidStateError.expected("agent_pos", accepted, value) from None
    return {"x": x, "y": y}


class MiniGrid(ArrayEnv):
    """Base class of MiniGrid's games.

    A game writes the rule ``begin``, a rule ``step`` where its ends are not those of
    `move`, and its mission: the text `MISSION`, or the method `mission_text`.

    `roll-vec info` and the page of the games read the sections below for every game; a
    section of a game's own docstring replaces that of this one.

    Instructions
    ------------
    You are in a grid of cells with walls, doors, keys, balls, boxes, lava and goals,
    and you see a part of it. Steps are counted from your cell, to the left, to the
    right and forward as you look now. left and right turn you to that side. forward
    moves you one cell. pickup takes the key, ball or box in the cell before you, if you
    carry nothing; drop puts what you carry there, if the cell is empty. toggle opens or
    closes the door before you, or opens the box; a locked door needs the key of its
    colour in your hands. done ends some missions. Do what the goal of the agent says,
    with few actions.

    Parameters
    ----------
    obs_mode : str
        Form of observations, that of a wrapper of MiniGrid each.  ``dict``: image,
        direction and mission; ``image``: the image alone; ``full``, ``one_hot``,
        ``symbolic``, ``rgb`` and ``rgb_view``: a Dict with another image; ``flat``: the
        image and the mission, of up to 96 letters, as one vector.  ``text``: the
        mission and what is seen, in the words of BabyAI-Text.
    agent_view_size : int
        Rows and columns of the view, odd, from 3 to 15.
    see_through_walls : bool
        True: walls and doors hide nothing.
    max_steps : int or None
        The limit of steps; None: the game's own.
    highlight : bool
        True: pictures of the grid show lighter what the agent sees.
    tile_size : int
        Pixels of a side of a cell in frames, from 1 to 64.
    obs_tile_size : int
        The same in observations ``rgb`` and ``rgb_view``.
    agent_pov : bool
        True: frames show the view of the agent.
    render_mode : str or None
        Form of frames.  ``rgb_array`` and ``human``: MiniGrid's picture; ``text``: the
        grid as two characters a cell; ``ansi``: this in colours, and the mission.

    Attributes
    ----------
    grid : (width, height) uint32
        The code of what stands in each cell; `roll_vec.envs.minigrid.things` has them.
    x, y : int16
        Column and row of the agent.
    direction : int8
        0 right, 1 down, 2 left, 3 up.
    carrying : uint32
        The code of what the agent carries; 0: nothing.
    step_count : int32
        Steps of the episode.
    mission : int32
        The number of the mission, which `mission_text` reads.
    success : bool
        Whether the episode ended with a reward.

    Actions
    -------
    A text without an action: the agent waits, and the step counts.

    Rewards
    -------
    1 - 0.9 * steps / max_steps
        The mission is done.
    0
        Any other step.

    Episode end
    -----------
    terminated
        The agent is on the goal: success.
    terminated
        The agent is in lava.

    Sources
    -------
    MiniGrid : 3.2.0; https://github.com/Farama-Foundation/Minigrid
        grids, missions, observations, rewards, ends and limits, from the same seed and
        in all episodes after it

    Differences
    -----------
    - ``mission`` is of a ``Text`` space, not of a ``MissionSpace``.
    - ``agent_view_size`` is at most 15.
    - ``grid`` and ``carrying`` are codes, not objects, and ``mission`` is the number
      of the text that observations have.
    - Not there: ``screen_size``, and methods such as ``front_pos`` or ``gen_obs_grid``.
    - Wrappers that change observations are values of ``obs_mode``.
    """

    obs_mode: str = "dict"
    agent_view_size: int = 7
    see_through_walls: bool = False
    max_steps: int | None = None
    highlight: bool = True
    tile_size: int = 32
    obs_tile_size: int = 8
    agent_pov: bool = False

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
    # So that an answer without an action counts for the limit of steps, as the agent
    # waits.
    takes_invalid_actions: ClassVar[bool] = True
    OBS_MODES: ClassVar[Mapping[str, str]] = OBS_MODES
    metadata: ClassVar[dict[str, Any]] = {**METADATA, "render_fps": 10}
    MISSION: ClassVar[Any] = ""
    # The least values of options: with less there is no level.
    MINIMA: ClassVar[Mapping[str, int]] = {}
    NEEDS_ODD_SIZE: ClassVar[bool] = False
    # `default_limit` for each cell of the grid.
    STEPS_PER_CELL: ClassVar[int] = 4
    attributes: ClassVar[Any] = {
        "agent_pos": StateAttribute(lambda env: (env.x, env.y), _write_position),
        "agent_dir": StateAttribute(
            lambda env: env.direction, lambda value: {"direction": value}
        ),
    }

    def check_options(self) -> None:
        """Refuse views that MiniGrid has not, large tiles, and grids without room."""
        size: Any = self.agent_view_size
        if size not in range(3, 16, 2):
            accepted = "an odd number from 3 to 15"
            raise InvalidOptionError.expected("agent_view_size", accepted, size)
        for name, minimum in self.MINIMA.items():
            check_int(name, getattr(self, name), minimum, MAX_SIZE)
        if self.NEEDS_ODD_SIZE and self.width % 2 == 0:
            accepted = f"an odd number, at least {self.MINIMA['size']}"
            raise InvalidOptionError.expected("size", accepted, self.width)
        for name in ("tile_size", "obs_tile_size"):
            check_int(name, getattr(self, name), 1, MAX_SCALE)
        if self.obs_mode == "flat" and isinstance(self.MISSION, str):
            encode_letters(self.MISSION)

    @property
    def width(self) -> int:
        """Columns of the grid."""
        return self._find_size()

    @property
    def height(self) -> int:
        """Rows of the grid."""
        return self._find_size()

    def _find_size(self) -> int:
        """Return the option ``size``."""
        name, size = f"{type(self).__name__}.size", getattr(self, "size", None)
        if size is None:
            accepted = "an option `size`, or `width` and `height`, of the class"
            raise InvalidOptionError.expected(name, accepted, size)
        return check_int("size", size, 1, MAX_SIZE)

    @property
    def state_limits(self) -> dict[str, Any]:
        """Limits of variables; nobody stands on the border, which is a wall."""
        columns, rows = (1, self.width - 2), (1, self.height - 2)
        return {"x": columns, "y": rows, "direction": (0, 3)}

    def check_rows(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Check that all codes are of things that there are."""
        for name, first, last in (
            ("grid", WALL & TYPE, LAVA & TYPE),
            ("carrying", KEY, BOX),
        ):
            codes = arrays[name].ravel()
            kinds, colours = codes & TYPE, codes >> 4 & 7
            is_thing = (first <= kinds) & (kinds <= last) & (colours < len(COLOURS))
            check_each(name, codes, is_thing | (codes == 0), "codes of things")

    @property
    def default_limit(self) -> int:
        """The limit of steps without ``max_steps``."""
        return self.STEPS_PER_CELL * self.width * self.height

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
        is_dict = self.obs_mode not in ("image", "text", "flat")
        return {"mission": "mission"} if is_dict else {}

    @property
    def text_variables(self) -> Mapping[str, str]:
        """The variables of texts, and of the end of observations that are vectors."""
        return {"letters": "mission"} if self.obs_mode == "flat" else self.texts

    def letters_text(self, mission: Any) -> NDArray[np.uint8]:
        """Return the letters of a mission."""
        return encode_letters(self.mission_text(mission))

    @cached_property
    def observation_space(self) -> Space[Any]:
        """The space of an observation."""
        return make_space(self)

    @property
    def tiles(self) -> NDArray[np.uint8]:
        """The tiles of observations that are pictures."""
        is_lighter = self.highlight or self.obs_mode == "rgb_view"
        return make_tiles(self.obs_tile_size, is_lighter)

    def draw_frame(self, env: Row, mode: str) -> Any:
        """Return a picture of an environment, or a text of it.

        ``text`` is the grid, ``ansi`` the grid in colours and the mission.
        """
        if mode == "rgb_array":
            return draw_picture(self, env)
        if mode == "text":
            return print_grid(env, colour=False)
        mission = self.mission_text(getattr(env.mission, "array", env.mission))
        is_coloured = not os.environ.get("NO_COLOR")
        return f"{print_grid(env, colour=is_coloured)}\n{mission}"

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

    def write_texts(self, engine: Any, env_ids: Ids) -> tuple[str, ...]:
        """Return the texts of some environments: the mission, and what is seen."""
        (images,) = engine.observe_arrays(env_ids)
        missions = values_of(engine.named_variables()["mission"][env_ids])
        pairs = zip(map(self.mission_text, missions), images, strict=True)
        return tuple(itertools.starmap(describe, pairs))
