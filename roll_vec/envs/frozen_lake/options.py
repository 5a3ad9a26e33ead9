"""The two FrozenLake families: their keywords, and what they declare."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from functools import cached_property, partial
from typing import Any, ClassVar, TypeAlias

import numpy as np
from gymnasium.spaces import Discrete, Space
from numpy.typing import NDArray

from roll_vec.arrays.attributes import StateAttribute
from roll_vec.arrays.grid_family import GridFamily
from roll_vec.arrays.level_providers import LevelProvider
from roll_vec.arrays.level_sets import LevelSet, refuse_beside_levels
from roll_vec.arrays.options import (
    ACTION_FLAGS,
    Arrays,
    GridOptions,
    Ids,
    Infos,
    LevelOptions,
    check_cells,
)
from roll_vec.arrays.row_threads import SliceSizer
from roll_vec.envs.frozen_lake.grid import FROZEN_LAKE
from roll_vec.envs.frozen_lake.map_sets import LakeSet
from roll_vec.envs.frozen_lake.maps import (
    MAPS,
    generate_maps,
    parse_map,
    start_distribution,
    tile_codes,
)
from roll_vec.envs.frozen_lake.solver import measure_maps, solve_positions
from roll_vec.errors import InvalidOptionError
from roll_vec.kernels.frozen_lake import rules
from roll_vec.kernels.unroll import GameKernels
from roll_vec.options import (
    check_choice,
    check_int,
    check_number,
    option,
    refuse_unused,
)
from roll_vec.render.gymnasium_renderers import GymnasiumRenderer

Transitions: TypeAlias = dict[int, dict[int, list[tuple[float, int, float, bool]]]]


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


# The player's cell by Gymnasium's name.
_CELL = StateAttribute(lambda env: env.positions, lambda cell: {"positions": cell})


class LakeFamily(GridOptions):
    """What both families declare."""

    # Those of `roll_vec.kernels.frozen_lake.rules.LakeState`.
    state: ClassVar[Mapping[str, Any]] = {
        "maps": (np.uint8, "num_cells"),
        "starts": np.int64,
        "positions": np.int64,
    }
    FLAG_INFOS: ClassVar[tuple[str, ...]] = ACTION_FLAGS
    FAMILY: ClassVar[GridFamily] = FROZEN_LAKE
    info_arrays: ClassVar[Any] = {"prob": (np.dtype(np.float64), ())}
    attributes: ClassVar[Any] = {"s": _CELL}

    def __post_init__(self) -> None:
        super().__post_init__()
        options: Any = self
        if not options.is_slippery:
            names, reason = ("success_rate",), "is ignored with is_slippery=False"
            refuse_unused(self, names, reason, warns=True)

    @property
    def constants(self) -> dict[str, Any]:
        """The items of the kernels' `LakeOptions`."""
        options: Any = self
        return {
            "neighbours": rules.make_neighbours(*self.grid_shape),
            "slip": rules.make_slip(options.is_slippery, options.success_rate),
            "reward_schedule": np.array(options.reward_schedule, np.float64),
        }

    @property
    def state_limits(self) -> dict[str, tuple[int, int]]:
        """The lowest and the highest value of variables of a state."""
        cells, tiles = (0, self.num_cells - 1), (rules.ICE, rules.GOAL)
        return {"positions": cells, "starts": cells, "maps": tiles}

    @property
    def nrow(self) -> int:
        """Rows of the map."""
        return self.grid_shape[0]

    @property
    def ncol(self) -> int:
        """Columns of the map."""
        return self.grid_shape[1]

    def solve_envs(self, engine: Any, env_ids: Ids, objective: str) -> list[Any]:
        """Return the best play of some lakes from here; see `LakeEnv.solve`."""
        return solve_positions(engine, env_ids, objective)


@dataclasses.dataclass(frozen=True, kw_only=True)
class FrozenLakeOptions(LakeFamily):
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

    LEVEL_OPTIONS: ClassVar[tuple[str, ...]] = ()
    seeding: ClassVar[str] = "stream"
    HAS_RESET_INFOS: ClassVar[bool] = True
    OBS_MODES: ClassVar[Mapping[str, str]] = {
        "position": "the player's cell: row * columns + column",
        **GridOptions.OBS_MODES,
    }
    # A step takes 9 ns: two threads play 16,384 0.95 times as fast as one, 32,768 1.2.
    ROWS_PER_THREAD: ClassVar[int] = 1 << 14

    desc: Any = None
    map_name: str | None = "4x4"
    is_slippery: bool = True
    success_rate: float = option(1.0 / 3.0, check_number, 0.0, 1.0)
    reward_schedule: Sequence[float] = (1, 0, 0)
    obs_mode: str = "position"

    def __post_init__(self) -> None:
        super().__post_init__()
        # Copies: the caller may change arrays and lists later.
        if self.desc is not None:
            rows = parse_map(self.desc)
            self._set(desc=tuple(b"".join(row).decode() for row in rows.tolist()))
            if self.map_name is not None:
                reason = "is ignored beside desc, as in Gymnasium"
                refuse_unused(self, ("map_name",), reason, warns=True)
        elif self.map_name is None:
            message = (
                "desc and map_name: both are None, which would be a random map; "
                "roll_vec/RandomFrozenLake-v0 has a new one from the seed each episode"
            )
            raise InvalidOptionError(message)
        else:
            check_choice("map_name", self.map_name, MAPS)
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
        self._set(reward_schedule=rewards)

    @cached_property
    def map(self) -> NDArray[np.bytes_]:
        """The (H, W) map of bytes, not to be written."""
        if self.desc is not None:
            return np.asarray(self.desc, dtype="c")
        return np.asarray(MAPS[self.map_name or ""], dtype="c")

    @property
    def grid_shape(self) -> tuple[int, int]:
        """Height and width of a grid."""
        height, width = self.map.shape
        return height, width

    # The names of Gymnasium.

    @property
    def attributes(self) -> dict[str, Any]:  # type: ignore[override]
        """The player's cell, and the map in place of the keyword of that name."""
        return {"s": _CELL, "desc": self.map.copy()}

    @property
    def reward_range(self) -> tuple[float, float]:
        """The lowest and the highest reward."""
        return min(self.reward_schedule), max(self.reward_schedule)

    @property
    def initial_state_distrib(self) -> NDArray[np.float64]:
        """(H * W,) float64: the probability of each start cell."""
        return start_distribution(self.map)

    @cached_property
    def P(self) -> Transitions:
        """Transitions, ``P[s][a]``: (probability, next s, reward, terminated) each."""
        neighbours, slip, _ = self.constants.values()
        rewards = dict(zip(rules.REWARD_TILES, self.reward_schedule, strict=True))
        chances = list(enumerate(slip[0].tolist()))
        if not self.is_slippery:
            chances = chances[1:2]
        tiles = tile_codes(self.map).reshape(-1).tolist()

        def transitions(s: int, a: int) -> list[tuple[float, int, float, bool]]:
            if rules.is_terminal(tiles[s]):
                return [(1.0, s, 0, True)]
            results = []
            for outcome, chance in chances:
                cell = int(neighbours[s, rules.turn(a, outcome)])
                is_end = rules.is_terminal(tiles[cell])
                results.append((chance, cell, rewards[tiles[cell]], is_end))
            return results

        return {s: {a: transitions(s, a) for a in range(4)} for s in range(len(tiles))}

    @cached_property
    def gymnasium_renderer(self) -> GymnasiumRenderer:
        """Gymnasium's renderer of the map."""
        rows = tuple(b"".join(row).decode() for row in self.map.tolist())
        return GymnasiumRenderer(
            "toy_text.frozen_lake:FrozenLakeEnv",
            lambda env: {"s": env.positions, "lastaction": None},
            (("desc", rows),),
        )

    @cached_property
    def observation_space(self) -> Space[Any]:
        """The space of positions, or of cell codes."""
        is_position = self.obs_mode == "position"
        return Discrete(self.num_cells) if is_position else super().observation_space

    def allocate_observations(self, num_envs: int) -> Arrays:
        """Return an array for so many positions, or for the cell codes."""
        if self.obs_mode == "position":
            return (np.empty(num_envs, np.int64),)
        return super().allocate_observations(num_envs)

    def observed_array(self, variables: Arrays) -> NDArray[Any] | None:
        """Return the positions of the state."""
        return variables[2] if self.obs_mode == "position" else None

    def family(self) -> GameKernels:
        """Return the kernels of lakes with one map."""
        return rules.LAKE  # type: ignore[no-any-return]

    def allocate(self, num_envs: int) -> Arrays:
        """Return the one map, no starts, and the positions of the players."""
        maps = tile_codes(self.map).reshape(1, -1)
        return maps, np.zeros(0, np.int64), np.zeros(num_envs, np.int64)

    def named(self, variables: Arrays) -> dict[str, NDArray[Any]]:
        """Return the variables that differ between environments, by name."""
        return {"positions": variables[2]}

    def next_episodes(self, begins: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return the cumulative probabilities of the start cells."""
        return (self.start_chances,)

    @cached_property
    def start_chances(self) -> NDArray[np.float64]:
        """(H * W,) float64: the cumulative probabilities of the start cells."""
        return np.cumsum(start_distribution(self.map))

    @property
    def hidden_infos(self) -> tuple[str, ...]:
        """Those that Gymnasium has not, with integer actions."""
        return () if self.action_mode == "text" else ACTION_FLAGS

    def add_reset_infos(self, engine: Any, env_ids: Ids, infos: Infos) -> Infos:
        """Return the infos of some resets, with ``prob``, which is 1."""
        probs = np.empty(len(env_ids))
        probs.fill(1.0)  # `np.ones` takes twice as long
        return {"prob": probs, **infos}

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
class RandomFrozenLakeOptions(LakeFamily, LevelOptions):
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
    levels : array, list, or None
        Maps of yours to play: an array of codes or letters, or a list of maps, each a
        list of rows.  They become a `LakeSet`.  ``size`` becomes their number of rows,
        and ``p`` must stay at its default.  Slips are drawn as on a random map.

    Raises
    ------
    InvalidOptionError
    """

    NUM_LEVEL_ARRAYS: ClassVar[int] = 2
    # It is the kernel's own: ROLL has none.
    hidden_infos: ClassVar[tuple[str, ...]] = ("prob",)
    LEVEL_SET: ClassVar[type[LevelSet]] = LakeSet
    LEVEL_OPTIONS: ClassVar[tuple[str, ...]] = (
        "p",
        *LevelOptions.LEVEL_OPTIONS,
    )
    MEASURES: ClassVar[Mapping[str, float]] = {"success_probability": 1.0}

    # ROLL's lakes have Gymnasium's own values, which are no keywords here.
    reward_schedule: ClassVar[Sequence[float]] = FrozenLakeOptions.reward_schedule

    size: int = 4
    p: float = option(0.8, check_number, 0.0, 1.0)
    is_slippery: bool = True
    # Gymnasium's; RAGEN's default is 0.8.
    success_rate: float = option(1.0 / 3.0, check_number, 0.0, 1.0)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.levels is None:
            size = check_int("size", self.size, 2)
            check_cells("size", (size, size))
        else:
            size, _ = self.levels.shape
            refuse_beside_levels(self, ("p",), "size", size)
        self._set(size=size)

    @property
    def grid_shape(self) -> tuple[int, int]:
        """Height and width of a grid."""
        if self.levels is not None:
            return self.levels.shape  # type: ignore[no-any-return]
        return self.size, self.size

    def describe(self) -> str:
        """Return a description of the game, for the instructions."""
        return describe_lake(self.is_slippery)

    def family(self) -> GameKernels:
        """Return the kernels of lakes with a map each."""
        return rules.RANDOM_LAKE  # type: ignore[no-any-return]

    def make_provider(self, num_threads: int) -> LevelProvider:
        """Return the provider of the maps of these options."""
        arguments = self.size, self.p, num_threads, SliceSizer("maps")
        return LevelProvider(self, partial(generate_maps, *arguments))

    def make_level_set(self, arrays: Arrays) -> LakeSet:
        """Return maps that a `LevelProvider` has drawn as a set."""
        maps, starts = arrays
        grids = maps.copy()
        grids[np.arange(len(grids)), starts] = rules.PLAYER
        return LakeSet(grids.reshape(-1, *self.grid_shape))

    def measure(self, levels: LevelSet, num_threads: int) -> dict[str, NDArray[Any]]:
        """Return the highest chance ever to reach the goal; see `LevelOptions.measure`.

        It is rounded to 12 decimals, so that a chance of one half is inside a band that
        ends at 0.5: the solver's last digits are not exact.
        """
        maps, starts = levels.arrays
        chances = measure_maps(
            maps,
            starts,
            self.grid_shape,
            is_slippery=self.is_slippery,
            success_rate=self.success_rate,
            num_threads=num_threads,
        )
        return {"success_probability": chances.round(12)}
