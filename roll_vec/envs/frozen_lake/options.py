"""The keywords of the two FrozenLake families, validated."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from gymnasium.spaces import Discrete
from numpy.typing import NDArray

from roll_vec.arrays.grid_family import GridFamily
from roll_vec.arrays.level_sets import LevelSet, refuse_beside_levels
from roll_vec.arrays.options import GridOptions, LevelOptions, check_cells
from roll_vec.envs.frozen_lake.grid import FROZEN_LAKE
from roll_vec.envs.frozen_lake.level_files import LakeSet
from roll_vec.envs.frozen_lake.maps import MAPS, parse_map
from roll_vec.envs.frozen_lake.solver import MAX_LINKS
from roll_vec.errors import InvalidOptionError
from roll_vec.options import (
    check_choice,
    check_int,
    check_number,
)


def describe_lake(is_slippery: bool) -> str:
    """Return a description of the game, for the instructions."""
    text = (
        "Walk over a frozen lake from where you are to the goal. "
        "Who steps into a hole has lost; there is no way past the edge of the lake."
    )
    if not is_slippery:
        return text
    return text + (
        " The ice is slippery: a step may take you to the left or to the right of "
        "where it was meant to go."
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class FrozenLakeOptions(GridOptions):
    """The keywords of `roll_vec/FrozenLake-v1`: Gymnasium's and ours.

    They have those of `roll_vec.arrays.options.ArrayOptions`, too.

    Parameters
    ----------
    desc : list of str, or None
        A map that replaces the one of ``map_name``: rows of the letters S, F, H and G.
    map_name : str or None
        Gymnasium's map: ``4x4`` or ``8x8``.
    is_slippery : bool
        True: a step may lead to the left or to the right of its direction.
    success_rate : float
        Chance, from 0 to 1, of moving in the direction chosen on slippery ice.
    reward_schedule : (float, float, float)
        Rewards for entering the goal, a hole and ice.
    obs_mode : str
        Form of observations: ``position``, Gymnasium's, or a mode of the grid.  The
        modes of the grid are ``grid``, ``planes``, ``tiny_rgb``, ``rgb`` and ``text``.

    Raises
    ------
    InvalidOptionError
    """

    FAMILY: ClassVar[GridFamily] = FROZEN_LAKE
    OBS_MODES: ClassVar[Mapping[str, str]] = {
        "position": "the player's cell: row * columns + column",
        **GridOptions.OBS_MODES,
    }

    desc: Any = None
    map_name: str | None = "4x4"
    is_slippery: bool = True
    success_rate: float = 1.0 / 3.0
    reward_schedule: Sequence[float] = (1, 0, 0)
    obs_mode: str = "position"

    def __post_init__(self) -> None:
        super().__post_init__()
        # Copies: the caller may change arrays and lists later.
        if self.desc is not None:
            rows = parse_map(self.desc)
            self._set(desc=tuple(b"".join(row).decode() for row in rows.tolist()))
        elif self.map_name is None:
            message = (
                "desc and map_name: both are None, which would be a random map; "
                "roll_vec/RandomFrozenLake-v0 has a new one from the seed each episode"
            )
            raise InvalidOptionError(message)
        else:
            check_choice("map_name", self.map_name, MAPS)
        chance = check_number("success_rate", self.success_rate, 0.0, 1.0)
        try:
            rewards = tuple(self.reward_schedule)
            numbers = [float(reward) for reward in rewards]
        except (TypeError, ValueError, OverflowError):
            rewards, numbers = (), []
        texts = any(isinstance(reward, str) for reward in rewards)
        if len(numbers) != 3 or texts or not np.isfinite(numbers).all():
            accepted = "three finite numbers for goal, hole and ice"
            raise InvalidOptionError.expected(
                "reward_schedule", accepted, self.reward_schedule
            )
        self._set(success_rate=chance, reward_schedule=rewards)

    @property
    def map(self) -> NDArray[np.bytes_]:
        """The (H, W) map of bytes, new."""
        if self.desc is not None:
            return np.asarray(self.desc, dtype="c")
        return np.asarray(MAPS[self.map_name or ""], dtype="c")

    @property
    def grid_shape(self) -> tuple[int, int]:
        """Height and width of a grid."""
        height, width = self.map.shape
        return height, width

    @property
    def own_space(self) -> Discrete[Any] | None:
        """The space of positions."""
        return Discrete(self.map.size) if self.obs_mode == "position" else None

    def describe(self) -> str:
        """Return a description of the game, for the instructions."""
        text = describe_lake(self.is_slippery)
        if self.obs_mode != "position":
            return text
        height, width = self.grid_shape
        return (
            f"{text} You are told the number of your cell: 0 is the first of {height} "
            f"rows of {width} cells, {width} the first of the second row."
        )


@dataclasses.dataclass(frozen=True, kw_only=True)
class RandomFrozenLakeOptions(LevelOptions):
    """The keywords of `roll_vec/RandomFrozenLake-v0`, beside those of `LevelOptions`.

    Parameters
    ----------
    size : int
        Rows and columns of the map, 2 to 1024.
    p : float
        Chance, from 0 to 1, that a cell is ice and not a hole.
    is_slippery : bool
        True: a step may lead to the left or to the right of its direction.
    success_rate : float
        Chance, from 0 to 1, of moving in the direction chosen on slippery ice.
    levels : array, str, PathLike, list, or None
        Maps of yours to play: arrays of codes or letters, lists of rows, texts, a file
        or a folder.  `roll_vec.envs.frozen_lake.level_files.load_levels` reads them;
        they become a `LakeSet`.  ``size`` becomes their number of rows, and ``p`` must
        stay at its default.  Slips are drawn as on a random map.
    success_probability : (float or None, float or None), or None
        Band of the highest chance ever to reach the goal: (low, high), None is open.
        Both ends are inside.  Other maps are drawn again, from the seed alone.  The
        chance is rounded to 12 decimals, so that a chance of one half is inside a band
        that ends at 0.5; see `roll_vec.arrays.bands`.

    Raises
    ------
    InvalidOptionError
    """

    FAMILY: ClassVar[GridFamily] = FROZEN_LAKE
    LEVEL_SET: ClassVar[type[LevelSet]] = LakeSet
    LEVEL_OPTIONS: ClassVar[tuple[str, ...]] = (
        "p",
        "success_probability",
        *LevelOptions.LEVEL_OPTIONS,
    )
    DIFFICULTY: ClassVar[Mapping[str, float]] = {"success_probability": 1.0}
    SPACE_OPTIONS: ClassVar[tuple[str, ...]] = ("size", *LevelOptions.SPACE_OPTIONS)

    # ROLL's lakes have Gymnasium's own values, which are no keywords here.
    reward_schedule: ClassVar[Sequence[float]] = FrozenLakeOptions.reward_schedule

    size: int = 4
    p: float = 0.8
    is_slippery: bool = True
    # Gymnasium's; RAGEN's default is 0.8.
    success_rate: float = FrozenLakeOptions.success_rate
    success_probability: tuple[float | None, float | None] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        self._set(
            p=check_number("p", self.p, 0.0, 1.0),
            success_rate=check_number("success_rate", self.success_rate, 0.0, 1.0),
        )
        if self.levels is None:
            size = check_int("size", self.size, 2)
            check_cells("size", (size, size))
        else:
            size, _ = self.levels.shape
            refuse_beside_levels(self, ("p",), "size", size)
        self._set(size=size)
        height, width = self.grid_shape
        if self.measures and self.is_slippery and height * width**2 > MAX_LINKS:
            message = (
                "success_probability, difficulty_info and oracle_return_info: expected "
                f"maps of at most rows * columns**2 = {MAX_LINKS}, such as 161 x 161, "
                f"on slippery ice, got {height} x {width}"
            )
            raise InvalidOptionError(message)

    @property
    def grid_shape(self) -> tuple[int, int]:
        """Height and width of a grid."""
        if self.levels is not None:
            return self.levels.shape  # type: ignore[no-any-return]
        return self.size, self.size

    def describe(self) -> str:
        """Return a description of the game, for the instructions."""
        return describe_lake(self.is_slippery)
