"""FrozenLake as ROLL plays it: a new map with a random start in each episode."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from roll_vec.envs.frozen_lake.engine import (
    DIRECTIONS,
    GRID_LOOKUP,
    GRID_VOCAB,
    STEP_ROWS_PER_THREAD,
    LakeEngine,
    describe_lake,
    make_view,
)
from roll_vec.errors import LevelGenerationError
from roll_vec.kernels.frozen_lake import random_maps as map_kernels
from roll_vec.kernels.frozen_lake import rules as kernels
from roll_vec.kernels.frozen_lake.unroll_random import unroll_rows
from roll_vec.kernels.rng.pcg64 import PCG_WORDS
from roll_vec.options import (
    check_bool,
    check_int,
    check_number,
    parse_options,
    takes_keywords_of,
)
from roll_vec.stacked.levels import LevelEngine, Levels, LevelSource
from roll_vec.stacked.options import LevelOptions, check_cells
from roll_vec.stacked.rollout_buffer import Tape
from roll_vec.stacked.row_threads import SliceSizer, run_rows
from roll_vec.stacked.single_env import LevelEnv
from roll_vec.stacked.text_actions import BatchResult

__all__ = ["RandomFrozenLake", "RandomFrozenLakeEngine", "RandomFrozenLakeOptions"]

ACTION_LOOKUP = dict(enumerate(DIRECTIONS, start=1))
REWARD_SCHEDULE = (1.0, 0.0, 0.0)
SUCCESS_RATE = 1.0 / 3.0

# A map takes some 1 us and more.
_MAPS_PER_THREAD = 64


@dataclasses.dataclass(frozen=True, kw_only=True)
class RandomFrozenLakeOptions(LevelOptions):
    """The keywords of `roll_vec/RandomFrozenLake-v0`.

    Parameters
    ----------
    size : int
        Rows and columns of the map, 2 to 1024.
    p : float
        Probability, from 0 to 1, that a cell is ice and not a hole.
    is_slippery : bool
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

    size: int = 4
    p: float = 0.8
    is_slippery: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        self._put("size", check_int("size", self.size, 2))
        check_cells("size", (self.size, self.size))
        self._put("p", check_number("p", self.p, 0.0, 1.0))
        self._put("is_slippery", check_bool("is_slippery", self.is_slippery))

    def describe(self) -> str:
        """Return what the game is about, for the instructions."""
        return describe_lake(self.is_slippery)


class MapGenerator:
    """The `LevelSource` function of an environment: maps or an error."""

    def __init__(self, options: RandomFrozenLakeOptions, num_threads: int) -> None:
        self.options, self.num_threads = options, num_threads
        self._slices = SliceSizer("maps")

    def __call__(self, seeds: NDArray[np.uint64]) -> Levels:
        """Return maps (m, size * size) uint8 and start cells (m,) int64."""
        size, p = self.options.size, self.options.p
        maps = np.zeros((len(seeds), size * size), np.uint8)
        starts = np.zeros(len(seeds), np.int64)
        ok = np.zeros(len(seeds), np.bool_)
        # Generator.choice compares with the normalised sum of its probabilities.
        cumulative = np.cumsum([p, 1 - p])
        frozen = float(cumulative[0] / cumulative[1])

        neighbours = kernels.make_neighbours(size, size)

        def work(start: int, stop: int) -> bool:
            stream = np.zeros((PCG_WORDS, 1), np.uint64)
            frontier = np.zeros(size * size, np.int64)
            seen = np.zeros(size * size, np.bool_)
            map_kernels.generate_maps(
                start,
                stop,
                seeds,
                size,
                frozen,
                neighbours,
                stream,
                frontier,
                seen,
                maps,
                starts,
                ok,
            )
            return bool(ok[start:stop].all())

        run_rows(work, len(seeds), self.num_threads, _MAPS_PER_THREAD, self._slices)
        if not ok.all():
            seed = seeds[np.flatnonzero(~ok)[0]]
            message = (
                f"no solvable map was found for level seed {seed} within "
                f"{map_kernels.MAX_DRAWS} draws or {map_kernels.MAX_CELLS} drawn "
                f"cells: size={size}, p={p} hardly has any; take a higher p or a "
                "smaller size"
            )
            raise LevelGenerationError(message)
        return maps, starts


def _make_source(options: RandomFrozenLakeOptions, num_threads: int = 1) -> LevelSource:
    return LevelSource(
        MapGenerator(options, num_threads),
        options.num_levels,
        options.start_level,
        options.size**2 + 8,
    )


def _make_view(options: RandomFrozenLakeOptions, num_threads: int = 1) -> Any:
    shape = (options.size, options.size)
    return make_view(shape, options.grid_lookup or {}, options.obs_mode, num_threads)


class RandomFrozenLakeEngine(LakeEngine, LevelEngine):
    """N lakes, each with a map of its own; see `roll_vec.vector.engine.Engine`.

    The slips of an episode are drawn from PCG64 seeded with the episode's seed, which
    is the level's seed where levels are unlimited, as in ROLL.

    Attributes
    ----------
    starts : (n,) int64
        The start cells of the maps.
    """

    STATE: ClassVar[tuple[str, ...]] = (
        *LakeEngine.STATE,
        *LevelEngine.STREAMS,
        "maps",
        "starts",
    )
    STATE_QUERIES: ClassVar[tuple[str, ...]] = ("desc", "num_env_steps", "s")
    SHARED_QUERIES: ClassVar[tuple[str, ...]] = (
        "get_all_actions",
        "get_instructions",
        "ncol",
        "nrow",
    )

    def __init__(
        self,
        options: RandomFrozenLakeOptions,
        num_envs: int,
        max_episode_steps: int | None,
        num_threads: int,
    ) -> None:
        view = _make_view(options, num_threads)
        super().__init__(options, num_envs, max_episode_steps, num_threads, view)
        self.source = _make_source(options, num_threads)
        self._allocate(
            kernels.make_slip(options.is_slippery, SUCCESS_RATE), REWARD_SCHEDULE
        )
        self.maps = np.zeros((num_envs, options.size**2), np.uint8)
        self.starts = np.zeros(num_envs, np.int64)

    def _place(
        self,
        rows: NDArray[np.int64],
        levels: Levels,
        picks: NDArray[np.int64],
        seeds: NDArray[np.uint64],
    ) -> None:
        maps, cells = levels
        self.maps[rows] = maps[picks]
        self.starts[rows] = cells[picks]
        kernels.seed_rows(rows, seeds, self.noise)
        # Gymnasium's reset uses up one draw for the start cell.
        kernels.start_rows(
            rows, _ANYWHERE, self.noise, self.positions, self.elapsed_steps
        )
        self.positions[rows] = self.starts[rows]

    def _play(
        self, actions: NDArray[np.int64], skip_mask: NDArray[np.bool_], max_steps: int
    ) -> BatchResult:
        result = super()._play(actions, skip_mask, max_steps)
        # ROLL's infos have none.
        del result[3]["prob"]
        return result

    def _play_on(self, rows: NDArray[np.int64], until: int, tape: Tape) -> None:
        run_rows(
            lambda start, stop: unroll_rows(
                start,
                stop,
                rows,
                until,
                tape.same_step,
                tape.actions,
                self.first_action,
                self.max_steps,
                self.maps,
                self.neighbours,
                self.slip,
                self.schedule,
                self.positions,
                self.elapsed_steps,
                self.noise,
                tape.times,
                tape.states,
                tape.rewards,
                tape.terminations,
                tape.truncations,
                tape.effective,
                tape.valid,
                tape.successes,
                tape.probs,
                tape.seen,
                tape.seen_next,
            ),
            len(rows),
            self.num_threads,
            1 + STEP_ROWS_PER_THREAD // len(tape.actions),
            self.unroll_slices,
        )

    def single_form(self) -> RandomFrozenLake:
        """Return a single form with these options."""
        return RandomFrozenLake(**dataclasses.asdict(self.options))

    def pose(self, env: RandomFrozenLake, row: int) -> None:
        """Put a single form into the state of one row."""
        env.tiles = self.maps[row].reshape(self.view.shape).copy()
        env.start = int(self.starts[row])
        env.s = int(self.positions[row])
        env.num_env_steps = int(self.elapsed_steps[row])


_ANYWHERE = np.ones(1)


class RandomFrozenLake(LevelEnv):
    """One lake of ROLL: what `gymnasium.make("roll_vec/RandomFrozenLake-v0")` gives.

    Maps and slips are those of ROLL's FrozenLakeEnv (35bea6a2).

    Parameters
    ----------
    **keywords
        Those of `RandomFrozenLakeOptions`.

    Notes
    -----
    Actions: 1 left, 2 down, 3 right, 4 up; 0 is accepted as "no valid action":
    nothing moves, nothing is drawn, the reward is 0, the step counts.  It gives a
    warning, once, unless ``action_start=1``.  An agent that counts from 0 plays
    action + ``action_space.start``, or with ``action_start=0``: 0 left, 1 down,
    2 right, 3 up.  Reward: 1 on the goal.  Info of a step: ``action_is_effective``
    (the player moved), ``action_is_valid``, ``success``.

    Attributes
    ----------
    tiles : (size, size) uint8
        1 ice, 2 hole, 3 goal.
    start, s : int
        The start cell and the player's, row * size + column.
    """

    @takes_keywords_of(RandomFrozenLakeOptions)
    def __init__(self, **keywords: Any) -> None:
        options = parse_options(RandomFrozenLakeOptions, keywords)
        super().__init__(options, _make_view(options))
        self._source = _make_source(options)
        self._slip = kernels.make_slip(options.is_slippery, SUCCESS_RATE)
        self._schedule = np.array(REWARD_SCHEDULE)
        self._noise = np.random.Generator(np.random.PCG64(0))
        self.nrow = self.ncol = options.size
        self._neighbours = kernels.make_neighbours(self.nrow, self.ncol)
        self.tiles = np.full((options.size, options.size), kernels.ICE, np.uint8)
        self.start = 0
        self.s = 0

    @property
    def desc(self) -> NDArray[np.bytes_]:
        """The (size, size) map of bytes: S, F, H, G."""
        letters = np.array([b"?", b"F", b"H", b"G"])[self.tiles]
        letters[divmod(self.start, self.ncol)] = b"S"
        return letters

    def _grid(self) -> NDArray[np.uint8]:
        grid = np.empty((1, self.tiles.size), np.uint8)
        tiles = self.tiles.reshape(1, -1)
        kernels.write_grids(0, 1, tiles, np.array([self.s], np.int64), grid)
        return grid.reshape(self.tiles.shape)

    def _begin(self, episode_seed: int) -> None:
        (maps, cells), picks = self._source.pick(np.array([episode_seed], np.uint64))
        self.tiles = maps[picks[0]].reshape(self.nrow, self.ncol).copy()
        self.start = self.s = int(cells[picks[0]])
        self._noise = np.random.Generator(np.random.PCG64(episode_seed))
        self._noise.random()  # Gymnasium's reset uses one up for the start cell.

    def _play(self, action: int) -> tuple[float, bool, dict[str, Any]]:
        before, reward, terminated = self.s, 0.0, False
        if action >= self.first_action:
            position, paid, ended, _ = kernels.step_row(
                self.tiles.reshape(1, -1),
                0,
                self._neighbours,
                self.s,
                action - self.first_action,
                self._noise.random(),
                self._slip,
                self._schedule,
            )
            self.s, reward, terminated = int(position), float(paid), bool(ended)
        tile = self.tiles[divmod(self.s, self.ncol)]
        info = {
            "action_is_effective": self.s != before,
            "action_is_valid": action >= self.first_action,
            "success": bool(tile == kernels.GOAL),
        }
        return reward, terminated, info
