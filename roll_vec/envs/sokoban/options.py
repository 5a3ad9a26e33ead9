"""Sokoban as a family of array environments: its keywords, and what it declares."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from functools import cached_property, partial
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray

from roll_vec.arrays.grid_family import GridFamily
from roll_vec.arrays.level_providers import LevelProvider
from roll_vec.arrays.level_sets import LevelSet, refuse_beside_levels
from roll_vec.arrays.options import (
    MAX_CELLS,
    Arrays,
    Ids,
    Infos,
    LevelOptions,
    check_cells,
)
from roll_vec.arrays.row_threads import SliceSizer
from roll_vec.envs.sokoban.grid import SOKOBAN
from roll_vec.envs.sokoban.level_files import RoomSet
from roll_vec.envs.sokoban.rooms import generate_rooms
from roll_vec.envs.sokoban.solver import mark_deadlocks, measure_rooms, solve_positions
from roll_vec.errors import InvalidOptionError, InvalidStateError
from roll_vec.kernels.sokoban import rules
from roll_vec.kernels.unroll import GameKernels
from roll_vec.options import MAX_INT, check_int, check_optional, option

Mask: TypeAlias = NDArray[np.bool_]
# The room generator keeps the distance from each target to each cell: this many take
# 2 GB.
_MAX_DISTANCES = 1 << 28


@dataclasses.dataclass(frozen=True, kw_only=True)
class SokobanOptions(LevelOptions):
    """The keywords of `roll_vec/Sokoban-v0`, beside those of `LevelOptions`.

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
        Levels of yours to play: an array of codes, a file, a folder, a text or a list
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

    Raises
    ------
    InvalidOptionError
    """

    # Those of `roll_vec.kernels.sokoban.rules.RoomState`.
    state: ClassVar[Mapping[str, Any]] = {
        "cells": (np.uint8, "num_cells"),
        "players": np.int32,
        "boxes_left": np.int32,
    }
    state_limits: ClassVar[Any] = {"cells": (0, rules.PLAYER_ON_TARGET)}
    DRAWS: ClassVar[bool] = False
    NUM_LEVEL_ARRAYS: ClassVar[int] = 1
    FAMILY: ClassVar[GridFamily] = SOKOBAN
    OBS_MODES: ClassVar[Mapping[str, str]] = {
        **LevelOptions.OBS_MODES,
        **{name: mode.meaning for name, mode in SOKOBAN.more_modes.items()},
    }
    LEVEL_SET: ClassVar[type[LevelSet]] = RoomSet
    MEASURES: ClassVar[Mapping[str, float]] = {
        "solution_steps": MAX_INT,
        "solution_pushes": MAX_INT,
    }
    LEVEL_OPTIONS: ClassVar[tuple[str, ...]] = (
        "num_boxes",
        "search_depth",
        "num_gen_steps",
        *LevelOptions.LEVEL_OPTIONS,
    )

    dim_room: tuple[int, int] = (6, 6)
    dim_x: int | None = None
    dim_y: int | None = None
    num_boxes: int = option(3, check_int, 1)
    search_depth: int = option(300, check_int, 1)
    num_gen_steps: int | None = option(None, check_optional, check_int, 1, MAX_CELLS)
    deadlock: bool = False
    terminate_on_deadlock: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
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

    @property
    def grid_shape(self) -> tuple[int, int]:
        """Height and width of a grid."""
        return self.dim_room

    def describe(self) -> str:
        """Return a description of the game, for the instructions."""
        return (
            "Push every box onto a target. You walk one cell at a time, and a box in "
            "your way is pushed along if the cell behind it is free of walls and other "
            "boxes. Nothing can be pulled."
        )

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

    # ---------------------------------------------------------------- the family

    @property
    def constants(self) -> dict[str, int]:
        """What kernels read beside variables."""
        return {"width": self.dim_room[1]}

    def family(self) -> GameKernels:
        """Return the kernels of rooms."""
        return rules.ROOM  # type: ignore[no-any-return]

    def observed_array(self, variables: Arrays) -> NDArray[Any] | None:
        """Return the grids of the state."""
        if self.obs_mode != "grid":
            return None
        return variables[0].reshape(-1, *self.grid_shape)

    def make_provider(self, num_threads: int) -> LevelProvider:
        """Return the provider of the rooms of these options."""
        generate = partial(generate_rooms, self, num_threads, SliceSizer("rooms"))
        return LevelProvider(self, generate)

    def make_level_set(self, arrays: Arrays) -> RoomSet:
        """Return rooms that a `LevelProvider` has drawn as a set."""
        (cells,) = arrays
        return RoomSet(cells.reshape(-1, *self.dim_room))

    def measure(self, levels: LevelSet, num_threads: int) -> dict[str, NDArray[Any]]:
        """Return the fewest moves and pushes; see `LevelOptions.measure`."""
        lengths = measure_rooms(levels.grids, num_threads=num_threads)
        return dict(zip(self.MEASURES, lengths, strict=True))

    @cached_property
    def finish_step(self) -> Callable[..., None] | None:
        """What ends episodes in dead ends, or tells them; None: nothing."""
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
        rooms = engine.variables[0][env_ids].reshape(-1, *self.dim_room)
        return mark_deadlocks(rooms, engine.num_threads)

    @property
    def adds_reset_infos(self) -> bool:
        """Whether resets have ``deadlock``."""
        return self.deadlock

    def add_reset_infos(self, engine: Any, env_ids: Ids, infos: Infos) -> Infos:
        """Return the infos of resets of some environments, with ``deadlock``."""
        if self.deadlock:
            infos["deadlock"] = self._deadlocks(engine, env_ids)
        return infos

    def check_rows(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Check that every row is a room with one player within walls."""
        cells = arrays["cells"]
        rooms = cells.reshape(-1, *self.dim_room)
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

    def solve_envs(self, engine: Any, env_ids: Ids, objective: str) -> list[Any]:
        """Return the actions that solve some rooms from here; see `Sokoban.solve`."""
        return solve_positions(engine, env_ids, objective)
