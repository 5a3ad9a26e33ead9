"""What Sokoban rooms there are: the keywords, and rooms drawn from seeds."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from roll_vec.envs.sokoban.level_files import load_levels
from roll_vec.errors import InvalidOptionError, LevelGenerationError
from roll_vec.kernels.sokoban import rooms
from roll_vec.options import check_int
from roll_vec.stacked.options import MAX_CELLS, LevelOptions, check_cells
from roll_vec.stacked.row_threads import SliceSizer, run_rows

__all__ = ["RoomGenerator", "SokobanOptions", "draw_rooms"]

GRID_LOOKUP = {0: "#", 1: "_", 2: "O", 3: "√", 4: "X", 5: "P", 6: "S"}
GRID_VOCAB = {
    "#": "wall",
    "_": "empty",
    "O": "target",
    "√": "box on target",
    "X": "box",
    "P": "player",
    "S": "player on target",
}
ACTION_LOOKUP = {1: "Up", 2: "Down", 3: "Left", 4: "Right"}

# A room takes some 30 us; handing a part of the work over takes about as much.
_ROOMS_PER_THREAD = 4


# The kernels keep the distance from each target to each cell: these take 2 GB.
_MAX_DISTANCES = 1 << 28


@dataclasses.dataclass(frozen=True, kw_only=True)
class SokobanOptions(LevelOptions):
    """The keywords of `roll_vec/Sokoban-v0`.

    Parameters
    ----------
    dim_room : (int, int)
        Rows and columns, walls included; at least 3 each, and at most 2**20 cells.
    dim_x, dim_y : int or None
        Rows and columns in another way, only together.
    num_boxes : int
        At least 1; the room must have more inner cells than ``num_boxes + 1``.
    search_depth : int
        Depth of the generator's reverse search, at least 1.
    num_gen_steps : int or None
        Steps of the generator's walk; None: ``int(1.7 * (rows + columns))``.
    levels : array, str, PathLike, list of str, or None
        Levels to play instead of generated ones, see
        `roll_vec.envs.sokoban.level_files.load_levels`, which a `LevelSet` is made
        of.  ``dim_room`` becomes their size, the other keywords above must stay at
        their defaults; ``num_levels`` of 0 becomes the number of all from
        ``start_level`` on.
    max_steps, grid_lookup, grid_vocab, action_start, action_lookup, obs_mode, \
num_levels, start_level, render_mode, render_scale
        See `LevelOptions`, which has those of text as well.

    Raises
    ------
    InvalidOptionError
    """

    GRID_LOOKUP: ClassVar[Mapping[int, str]] = GRID_LOOKUP
    GRID_VOCAB: ClassVar[Mapping[str, str]] = GRID_VOCAB
    ACTION_LOOKUP: ClassVar[Mapping[int, str]] = ACTION_LOOKUP

    dim_room: tuple[int, int] = (6, 6)
    dim_x: int | None = None
    dim_y: int | None = None
    num_boxes: int = 3
    search_depth: int = 300
    num_gen_steps: int | None = None
    levels: Any = None

    def __post_init__(self) -> None:
        if self.levels is not None:
            self._take_levels()
        super().__post_init__()
        self._put("dim_room", self._check_dimensions())
        self._put("num_boxes", check_int("num_boxes", self.num_boxes, 1))
        self._put("search_depth", check_int("search_depth", self.search_depth, 1))
        walk = self.num_gen_steps
        if walk is not None:
            walk = check_int("num_gen_steps", walk, 1, MAX_CELLS)
            self._put("num_gen_steps", walk)
        if self.levels is not None:
            self._refuse_generation()
            self._put("dim_room", self.levels.shape)
            return
        if walk is None:
            self._put("num_gen_steps", int(1.7 * sum(self.dim_room)))
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

    def _take_levels(self) -> None:
        """Load given levels; which of them are played is made explicit."""
        levels = load_levels(self.levels)
        start = check_int("start_level", self.start_level, 0, len(levels) - 1)
        most = len(levels) - start
        number = check_int("num_levels", self.num_levels, 0, most)
        self._put("levels", levels)
        self._put("num_levels", number or most)

    def _refuse_generation(self) -> None:
        """Refuse keywords of generated rooms beside given levels."""
        fields = type(self).__dataclass_fields__
        given = [
            name
            for name in ("dim_x", "dim_y", "num_boxes", "search_depth", "num_gen_steps")
            if getattr(self, name) != fields[name].default
        ]
        # Their own size is no contradiction: options are made from options.
        if self.dim_room not in (fields["dim_room"].default, self.levels.shape):
            given.insert(0, "dim_room")
        if given:
            shown = ", ".join(f"{name}={getattr(self, name)}" for name in given)
            message = (
                f"{', '.join(given)}: cannot be given beside levels, which are there "
                f"already and have dim_room={self.levels.shape}; got {shown}"
            )
            raise InvalidOptionError(message)

    def describe(self) -> str:
        """Return what the game is about, for the instructions."""
        return (
            "Push every box onto a target. You walk one cell at a time, and a box in "
            "your way is pushed along if the cell behind it is free of walls and other "
            "boxes. Nothing can be pulled."
        )

    def _check_dimensions(self) -> tuple[int, int]:
        try:
            height, width = room = tuple(self.dim_room)
        except (TypeError, ValueError):
            message = f"dim_room: expected (rows, columns), got {self.dim_room!r}"
            raise InvalidOptionError(message) from None
        if (self.dim_x is None) != (self.dim_y is None):
            message = "dim_x and dim_y: expected both or neither, "
            raise InvalidOptionError(message + f"got {self.dim_x} and {self.dim_y}")
        if self.dim_x is not None:
            given = (
                check_int("dim_x", self.dim_x, 3),
                check_int("dim_y", self.dim_y, 3),
            )
            default = type(self).__dataclass_fields__["dim_room"].default
            if room not in (default, given):
                message = (
                    f"dim_room: {room} contradicts dim_x={self.dim_x} and "
                    f"dim_y={self.dim_y}"
                )
                raise InvalidOptionError(message)
            return given
        return check_int("dim_room", height, 3), check_int("dim_room", width, 3)


# Scratch memory of the room generator, one for each thread that ever drew rooms.
_workspaces = threading.local()


def _workspace(options: SokobanOptions) -> rooms.RoomWorkspace:
    key = (options.dim_room, options.num_boxes, options.search_depth)
    if getattr(_workspaces, "key", None) != key:
        try:
            _workspaces.space = rooms.make_workspace(*key)
        except MemoryError as error:
            message = (
                f"dim_room: {options.dim_room} is too large to search rooms in, here: "
                f"{error}; take a smaller one, or give levels"
            )
            raise InvalidOptionError(message) from None
        _workspaces.key = key
    space: rooms.RoomWorkspace = _workspaces.space
    return space


def draw_rooms(
    options: SokobanOptions,
    seeds: NDArray[np.uint64],
    num_threads: int = 1,
    max_attempts: int = rooms.MAX_ATTEMPTS,
    slices: SliceSizer | None = None,
) -> tuple[NDArray[np.uint8], NDArray[np.int8]]:
    """Return one room a seed, and what became of its last attempt.

    Parameters
    ----------
    options : SokobanOptions
    seeds : (m,) uint64
        Below 2**32.
    num_threads : int
    max_attempts : int
        1 shows what ROLL's generator makes of the seeds themselves.
    slices : SliceSizer or None
        What earlier calls with these options have measured.

    Returns
    -------
    grids : (m, H, W) uint8
    statuses : (m,) int8
        0 a room, 1 too few floor cells, 2 no box could be moved off its target, -1
        not tried because another seed of the same part found no room.
    """
    grids = np.zeros((len(seeds), *options.dim_room), np.uint8)
    statuses = np.full(len(seeds), -1, np.int8)

    def work(start: int, stop: int) -> bool:
        rooms.generate_rooms(
            start,
            stop,
            seeds,
            options.num_boxes,
            options.search_depth,
            options.num_gen_steps,
            max_attempts,
            _workspace(options),
            grids,
            statuses,
        )
        return not (statuses[start:stop] > rooms.ROOM).any()

    slices = slices or SliceSizer("rooms")
    run_rows(work, len(seeds), num_threads, _ROOMS_PER_THREAD, slices)
    return grids, statuses


class RoomGenerator:
    """The `LevelSource` function of an environment: rooms or an error."""

    def __init__(self, options: SokobanOptions, num_threads: int) -> None:
        self.options, self.num_threads = options, num_threads
        self._slices = SliceSizer("rooms")

    def __call__(self, seeds: NDArray[np.uint64]) -> tuple[NDArray[np.uint8]]:
        """Return the rooms of some level seeds, (m, H, W) uint8."""
        grids, statuses = draw_rooms(
            self.options, seeds, self.num_threads, slices=self._slices
        )
        if statuses.any():
            seed = seeds[np.flatnonzero(statuses > 0)[0]]
            options = self.options
            message = (
                f"no room was found for level seed {seed} within "
                f"{rooms.MAX_ATTEMPTS} attempts or {rooms.MAX_SEARCHED} searched "
                f"states: dim_room={options.dim_room}, num_boxes={options.num_boxes}, "
                f"search_depth={options.search_depth}, "
                f"num_gen_steps={options.num_gen_steps} hardly has any; take fewer "
                "boxes, a larger room or a deeper search"
            )
            raise LevelGenerationError(message)
        return (grids,)
