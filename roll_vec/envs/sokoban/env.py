"""Sokoban, with the rules of ROLL: push every box onto a target."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray

from roll_vec.arrays.attributes import StateAttribute
from roll_vec.arrays.grid_env import MAX_CELLS, check_cells
from roll_vec.arrays.grid_family import ArrayMode, Cell
from roll_vec.arrays.grid_observations import OBS_MODES
from roll_vec.arrays.rules import rule
from roll_vec.arrays.state_checks import check_each
from roll_vec.envs.level_sets import LevelSet, refuse_beside_levels
from roll_vec.envs.roll_grids import RollGridEnv
from roll_vec.envs.sokoban.level_files import RoomSet, room_arrays
from roll_vec.envs.sokoban.rooms import generate_rooms
from roll_vec.envs.sokoban.solver import (
    count_moves,
    mark_deadlocks,
    measure_rooms,
    solve_positions,
)
from roll_vec.errors import InvalidOptionError
from roll_vec.kernels.sokoban.moves import (
    BOX,
    BOX_ON_TARGET,
    FLOOR,
    PENALTY_STEP,
    PLAYER,
    PLAYER_ON_TARGET,
    REWARD_BOX_ON_TARGET,
    REWARD_FINISHED,
    TARGET,
    WALL,
    WITHOUT_PIECES,
    step_rooms,
    write_features,
)
from roll_vec.options import MAX_INT, check_int, check_optional, option
from roll_vec.render.tiles import SOKOBAN_TILES
from roll_vec.row_threads import SliceSizer

Ids: TypeAlias = NDArray[np.int64]
Mask: TypeAlias = NDArray[np.bool_]
Infos: TypeAlias = dict[str, Any]
# The room generator keeps the distance from each target to each cell: this many take
# 2 GB.
_MAX_DISTANCES = 1 << 28
_FEATURES = ArrayMode(
    "a plane each for the player, walls, boxes and targets: 1 where they are",
    lambda _, h, w, _s: (4, h, w),
    1,
    write_features,
)


@rule
def is_free(code: int) -> Any:
    """Return whether the player or a box can come to a cell."""
    return code in (FLOOR, TARGET)


@rule
def is_box(code: int) -> Any:
    """Return whether a box is on a cell."""
    return code in (BOX, BOX_ON_TARGET)


@rule
def is_target(code: int) -> Any:
    """Return whether a cell is a target, whatever stands there."""
    return code in (TARGET, BOX_ON_TARGET, PLAYER_ON_TARGET)


@rule
def look_ahead(env: Any, action: int) -> tuple[int, int, int, int]:
    """Return the rows and columns of the cell ahead, and of the one that must be free.

    That is the cell ahead, or the one behind the box there: the border is wall, so that
    it is inside of the room.
    """
    down, right = (action == 1) - (action == 0), (action == 3) - (action == 2)
    row = env.player // env.width + down
    column = env.player % env.width + right
    if is_box(env.grid[row, column]):
        return row, column, row + down, column + right
    return row, column, row, column


class Sokoban(RollGridEnv):
    """Push every box onto a target.

    The player walks one cell at a time and pushes the box in its way, if the cell
    behind it is free.  Nothing can be pulled.  Each episode has a new room, which has a
    solution.

    Instructions
    ------------
    Push every box onto a target. You walk one cell at a time, and a box in your way is
    pushed along if the cell behind it is free of walls and other boxes. Nothing can be
    pulled.

    Parameters
    ----------
    dim_room : (int, int)
        Rows and columns, walls included; at least 3 each, and at most 2**20 cells.
    dim_x : int or None
        Rows, in place of ``dim_room``; together with ``dim_y``.
    dim_y : int or None
        Columns, in place of ``dim_room``; together with ``dim_x``.
    num_boxes : int
        Boxes of a room, at least 1.  The room must have more inner cells than
        ``num_boxes + 1``.
    search_depth : int
        Depth of the generator's reverse search, at least 1.
    num_gen_steps : int or None
        Steps of the generator's walk; None: ``int(1.7 * (rows + columns))``.
    levels : array, str, PathLike, list of str, or None
        Your own levels to play: an array of codes, a file, a folder, a text or a list
        of texts.  `roll_vec.envs.sokoban.level_files.load_levels` reads them; they
        become a `RoomSet`.  ``dim_room`` becomes their size; ``dim_x``, ``dim_y``,
        ``num_boxes``, ``search_depth`` and ``num_gen_steps`` must stay at their
        defaults.
    obs_mode : str
        ``grid``, ``planes``, ``planes4``, ``tiny_rgb``, ``rgb`` or ``text``.
    deadlock : bool
        True: infos have ``deadlock``, True in rooms that surely cannot be solved.
        Those of resets and steps have it.  Some dead ends are not recognised, see
        `roll_vec.kernels.sokoban.deadlocks`.
    terminate_on_deadlock : bool
        True: a step into a recognised dead end ends the episode.  It is terminated,
        with the same reward and no success.

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
    boxes_on_target : int
    num_boxes : int
        The keyword; of ``levels`` the boxes of the level that is played.
    room_fixed : (H, W) uint8
        0 wall, 1 floor, 2 target.
    room_state : (H, W) uint8
        The codes 0 to 5; the player is 5 on a target as well.
    player_position : (2,) int64
        Row and column.

    Infos
    -----
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

    Raises
    ------
    InvalidOptionError
    """

    state: ClassVar[Mapping[str, Any]] = {
        "grid": (np.uint8, ("height", "width")),
        "player": np.int32,
        "boxes_left": np.int32,
        "action_is_effective": np.bool_,
        "action_is_valid": np.bool_,
        "success": np.bool_,
    }
    level_variables = ("grid", "player", "boxes_left")
    observation = "grid"
    actions = ("Up", "Down", "Left", "Right")
    # By code.  The glyphs are ROLL's; the pixels are those of gym-sokoban 0.0.6's tiny
    # worlds, so that what was trained on those sees the same colours.
    cells = (
        Cell("#", "wall", (0, 0, 0), "90"),
        Cell("_", "empty", (243, 248, 238), "2"),
        Cell("O", "target", (254, 126, 125), "1;31"),
        Cell("√", "box on target", (254, 95, 56), "1;32"),
        Cell("X", "box", (142, 121, 56), "1;33"),
        Cell("P", "player", (160, 212, 56), "1;36"),
        Cell("S", "player on target", (219, 212, 56), "1;35"),
    )
    tiles = SOKOBAN_TILES
    more_modes: ClassVar[Mapping[str, ArrayMode]] = {"planes4": _FEATURES}
    OBS_MODES: ClassVar[Mapping[str, str]] = {**OBS_MODES, "planes4": _FEATURES.meaning}
    LEVEL_OPTIONS = (
        "num_boxes",
        "search_depth",
        "num_gen_steps",
        *RollGridEnv.LEVEL_OPTIONS,
    )
    # The measures of a level's difficulty, each with the highest bound of a band; see
    # `roll_vec.evaluation.draw_levels`.  An int: the measure is an integer.
    MEASURES: ClassVar[Mapping[str, float]] = {
        "solution_steps": MAX_INT,
        "solution_pushes": MAX_INT,
    }
    solution_variables = ("grid",)
    tuned_step = step_rooms  # 4,096 rooms: 6 ns each, with the rule 16

    dim_room: tuple[int, int] = (6, 6)
    dim_x: int | None = None
    dim_y: int | None = None
    num_boxes: int = option(3, check_int, 1)
    search_depth: int = option(300, check_int, 1)
    num_gen_steps: int | None = option(None, check_optional, check_int, 1, MAX_CELLS)
    deadlock: bool = False
    terminate_on_deadlock: bool = False

    def check_options(self) -> None:
        """Check the size of the room, and that the boxes have room in it."""
        super().check_options()
        self._set(dim_room=self._check_dimensions())
        if self.levels is not None:
            names = ("dim_x", "dim_y", "num_boxes", "search_depth", "num_gen_steps")
            refuse_beside_levels(self, names, "dim_room", self.levels.shape)
            self._set(dim_room=self.levels.shape)
            return
        if self.num_gen_steps is None:
            self._set(num_gen_steps=int(1.7 * sum(self.dim_room)))
        check_cells("dim_room", self.dim_room)
        inner = (self.dim_room[0] - 2) * (self.dim_room[1] - 2)
        if inner <= self.num_boxes + 1:
            message = (
                f"num_boxes: a room of dim_room={self.dim_room} has {inner} inner "
                f"cells, which is room for at most {max(inner - 2, 0)} boxes, "
                f"got {self.num_boxes}"
            )
            raise InvalidOptionError(message)
        if inner * self.num_boxes > _MAX_DISTANCES:
            message = (
                f"num_boxes: a room of dim_room={self.dim_room} takes at most "
                f"{_MAX_DISTANCES // inner} boxes, got {self.num_boxes}"
            )
            raise InvalidOptionError(message)

    def _check_dimensions(self) -> tuple[int, int]:
        try:
            height, width = room = tuple(self.dim_room)
        except (TypeError, ValueError):
            accepted = "(rows, columns)"
            error = InvalidOptionError.expected("dim_room", accepted, self.dim_room)
            raise error from None
        if (self.dim_x is None) != (self.dim_y is None):
            message = (
                "dim_x and dim_y: expected both or neither, got "
                f"{self.dim_x} and {self.dim_y}"
            )
            raise InvalidOptionError(message)
        if self.dim_x is not None:
            dim_x = check_int("dim_x", self.dim_x, 3)
            dim_y = check_int("dim_y", self.dim_y, 3)
            default = type(self).__dataclass_fields__["dim_room"].default
            if room not in (default, (dim_x, dim_y)):
                message = (
                    f"dim_room: {room} contradicts dim_x={self.dim_x} and "
                    f"dim_y={self.dim_y}"
                )
                raise InvalidOptionError(message)
            return dim_x, dim_y
        return check_int("dim_room", height, 3), check_int("dim_room", width, 3)

    @property
    def height(self) -> int:
        """Rows of the room."""
        return self.dim_room[0]

    @property
    def width(self) -> int:
        """Columns of the room."""
        return self.dim_room[1]

    # ---------------------------------------------------------------- the rules

    @rule
    def begin(env: Any, rng: Any) -> None:
        """Begin an episode: the level has all variables."""

    @rule
    def step(env: Any, action: int, rng: Any) -> tuple[float, bool]:
        env.action_is_valid = action >= 0
        env.action_is_effective = False
        delta = 0
        if action >= 0:
            row, column, far_row, far_column = look_ahead(env, action)
            ahead, far = env.grid[row, column], env.grid[far_row, far_column]
            if is_free(far):
                if is_box(ahead):
                    delta = is_target(far) - is_target(ahead)
                    on_target = is_target(far)
                    env.grid[far_row, far_column] = BOX_ON_TARGET if on_target else BOX
                y, x = env.player // env.width, env.player % env.width
                env.grid[y, x] = TARGET if is_target(env.grid[y, x]) else FLOOR
                on_target = is_target(ahead)
                env.grid[row, column] = PLAYER_ON_TARGET if on_target else PLAYER
                env.player = row * env.width + column
                env.action_is_effective = True
        env.boxes_left -= delta
        env.success = env.boxes_left == 0
        reward = PENALTY_STEP + REWARD_BOX_ON_TARGET * delta
        return reward + REWARD_FINISHED * env.success, env.success

    @rule
    def legal(env: Any, mask: Any) -> None:
        for action in range(4):
            _, _, row, column = look_ahead(env, action)
            mask[action] = is_free(env.grid[row, column])

    # ---------------------------------------------------------------- levels

    def read_levels(self, levels: Any) -> LevelSet:
        """Return the levels of the keyword ``levels`` as a set."""
        return RoomSet.load(levels)

    def draw_levels(
        self, num_threads: int, slices: SliceSizer, seeds: NDArray[np.uint64]
    ) -> tuple[NDArray[Any], ...]:
        """Return the rooms of some seeds; see `ArrayEnv.draw_levels`."""
        return room_arrays(generate_rooms(self, num_threads, slices, seeds))

    def make_level_set(self, arrays: tuple[NDArray[Any], ...]) -> RoomSet:
        """Return rooms that `draw_levels` has drawn as a set."""
        return RoomSet(arrays[0])

    def measure(self, levels: LevelSet, num_threads: int) -> dict[str, NDArray[Any]]:
        """Return the fewest moves and pushes of each level, (L,) each.

        Below 0: -1 without a solution, -2 where the solver gave up.
        """
        lengths = measure_rooms(levels.grids, num_threads=num_threads)
        return dict(zip(self.MEASURES, lengths, strict=True))

    # ---------------------------------------------------------------- dead ends

    @cached_property
    def finish_step(self) -> Callable[..., None] | None:
        """The function that marks dead ends and ends their episodes; None: nothing."""
        return self._mark_steps if self.deadlock or self.terminate_on_deadlock else None

    def _mark_steps(
        self, engine: Any, skip_mask: Mask, terminations: Mask, infos: Infos
    ) -> None:
        deadlocks = self._deadlocks(engine, slice(None))
        deadlocks[skip_mask] = False
        if self.terminate_on_deadlock:
            terminations |= deadlocks
        if self.deadlock:
            infos["deadlock"] = deadlocks

    def _deadlocks(self, engine: Any, env_ids: Any) -> Mask:
        return mark_deadlocks(engine.variables[0][env_ids], engine.num_threads)

    def add_reset_infos(self, engine: Any, env_ids: Ids, infos: Infos) -> Infos:
        """Return the infos of resets of some environments, with ``deadlock``."""
        if self.deadlock:
            infos["deadlock"] = self._deadlocks(engine, env_ids)
        return infos

    # ---------------------------------------------------------------- the state

    @property
    def state_limits(self) -> dict[str, Any]:
        """The lowest and the highest value of variables of a state."""
        last = self.height * self.width - 1
        return {"grid": (0, PLAYER_ON_TARGET), "player": (0, last)}

    def check_rows(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Check that every row is a room with one player within walls."""
        rooms = arrays["grid"]
        cells = rooms.reshape(len(rooms), -1)
        edges = (rooms[:, 0], rooms[:, -1], rooms[:, :, 0], rooms[:, :, -1])
        is_right = np.all([(edge == WALL).all(1) for edge in edges], axis=0)
        check_each("grid", rooms, is_right, "walls on the border of every room")
        is_player = cells >= PLAYER
        player, boxes = arrays["player"], (cells == BOX).sum(1)
        is_right = (is_player.sum(1) == 1) & (is_player.argmax(1) == player)
        check_each("player", player, is_right, "the cell of the one player of the room")
        is_right = boxes == arrays["boxes_left"]
        accepted = "the number of boxes off targets"
        check_each("boxes_left", arrays["boxes_left"], is_right, accepted)

    @property
    def attributes(self) -> Mapping[str, Any]:
        """What users read beside variables and options."""
        return _ATTRIBUTES if self.levels is None else _ATTRIBUTES_OF_LEVELS

    def solve_envs(self, engine: Any, env_ids: Ids, objective: str) -> list[Any]:
        """Return the actions that solve some rooms from where they stand now.

        Empty if the room is solved, None if it has no solution any more.  With
        ``objective="pushes"`` no other way takes fewer pushes.  For the limits see
        `roll_vec.envs.sokoban.solver.solve_rooms`.
        """
        return solve_positions(engine, env_ids, objective)

    def count_moves(
        self, variables: Mapping[str, NDArray[Any]], num_threads: int
    ) -> NDArray[np.float64]:
        """Return the fewest moves that solve some rooms; see `ArrayEnv.count_moves`."""
        return count_moves(variables["grid"], num_threads)


def _count(env: Any, *codes: int) -> int:
    return int(np.isin(env.grid, codes).sum())


_ATTRIBUTES = {
    "boxes_on_target": StateAttribute(lambda env: _count(env, BOX_ON_TARGET)),
    "room_fixed": StateAttribute(lambda env: WITHOUT_PIECES[env.grid]),
    "room_state": StateAttribute(lambda env: np.minimum(env.grid, PLAYER)),
    "player_position": StateAttribute(
        lambda env: np.argwhere(env.grid >= PLAYER).reshape(-1)
    ),
}
_ATTRIBUTES_OF_LEVELS = {
    **_ATTRIBUTES,
    "num_boxes": StateAttribute(lambda env: _count(env, BOX, BOX_ON_TARGET)),
}
