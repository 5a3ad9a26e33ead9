"""Frozen lakes, with Gymnasium's map or ROLL's random maps: N in arrays, and one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from roll_vec.arrays.coordinate_texts import START_MARK
from roll_vec.arrays.grid_engine import GridEngine
from roll_vec.arrays.levels import LevelEngine
from roll_vec.arrays.single_env import LevelEnv, SingleEnv
from roll_vec.envs.frozen_lake.grid import FROZEN_LAKE
from roll_vec.envs.frozen_lake.maps import (
    make_level_provider,
    start_distribution,
    tile_codes,
)
from roll_vec.envs.frozen_lake.options import FrozenLakeOptions, RandomFrozenLakeOptions
from roll_vec.envs.frozen_lake.solver import (
    LakeSolution,
    LakeSolver,
    solve_positions,
)
from roll_vec.errors import SolverLimitError
from roll_vec.kernels.frozen_lake import rules
from roll_vec.kernels.rng.pcg64 import PCG_WORDS
from roll_vec.options import parse_options, takes_keywords_of
from roll_vec.seeding import generator_words


class LakeEngine(GridEngine):
    """N lakes: the step and the grids of both families.

    Attributes
    ----------
    variables : tuple of arrays
        Those of `roll_vec.kernels.frozen_lake.rules.LakeState`: maps, starts and
        positions.
    """

    HAS_PROB: ClassVar[bool] = True
    """Whether infos have ``prob``, the probability of the slip."""

    options: Any

    @property
    def positions(self) -> NDArray[np.int64]:
        """(n,) int64: the players' cells, row * W + column."""
        return self.variables[2]

    def _set_rules(self, maps: NDArray[np.uint8], num_starts: int) -> None:
        options, n = self.options, self.num_envs
        starts, positions = np.zeros(num_starts, np.int64), np.zeros(n, np.int64)
        self.variables = maps, starts, positions
        self.rng_states = np.zeros((PCG_WORDS, n), np.uint64)
        # The items of the kernels' `LakeOptions`.
        self.constants = (
            rules.make_neighbours(*self.observer.shape),
            rules.make_slip(options.is_slippery, options.success_rate),
            np.array(options.reward_schedule, np.float64),
        )

    def _named_variables(self) -> dict[str, NDArray[Any]]:
        return {"positions": self.positions, "generator_states": self.rng_states.T}

    def _limits(self) -> dict[str, tuple[int, int]]:
        return {**super()._limits(), "positions": (0, self.variables[0].shape[1] - 1)}

    def _maps(self, rows: NDArray[np.int64]) -> NDArray[np.uint8]:
        """Return the maps of some environments, or the one of all."""
        maps = self.variables[0]
        return maps if len(maps) < self.num_envs else maps[rows]

    def solve(self, env_ids: NDArray[np.int64], objective: str) -> list[Any]:
        """Return the best play of some lakes from here; see `LakeEnv.solve`."""
        return solve_positions(
            LakeSolver(self.observer.shape, self.constants[1], self.num_threads),
            self._maps(env_ids),
            self.positions[env_ids],
            objective,
            self.first_action,
        )

    def _make_infos(self, shape: tuple[int, ...]) -> dict[str, NDArray[Any]]:
        # Where it is no info, it is the kernel's own, of one step.
        return {"prob": np.empty(shape if self.HAS_PROB else self.num_envs)}

    def action_masks(self, rows: NDArray[np.int64]) -> NDArray[np.int8]:
        """Return 1 for the actions that may move the player, (m, 4), new."""
        neighbours, slip, _ = self.constants
        masks = np.empty((len(rows), len(FROZEN_LAKE.action_names)), np.int8)
        self.kernel_threads.run(
            rules.write_action_masks,
            len(rows),
            rows,
            self.variables[0],
            neighbours,
            slip,
            self.positions,
            masks,
        )
        return masks

    def grids(self, rows: NDArray[np.int64] | None = None) -> NDArray[np.uint8]:
        """Return the codes of all or some environments; see `GridEngine.grids`."""
        maps, positions = self.variables[0], self.positions
        if rows is not None:
            maps, positions = self._maps(rows), positions[rows]
        grids = np.empty((len(positions), *self.observer.shape), np.uint8)
        self._write_grids(maps, positions, grids)
        return grids

    def _write_grids(
        self,
        maps: NDArray[np.uint8],
        positions: NDArray[np.int64],
        out: NDArray[np.uint8],
    ) -> None:
        cells = out.reshape(len(out), maps.shape[1])
        self.kernel_threads.run(rules.write_grids, len(out), 0, maps, positions, cells)

    def _copy_grids(self, out: NDArray[np.uint8] | None) -> NDArray[np.uint8]:
        if out is None:
            return self.grids()
        self._write_grids(self.variables[0], self.positions, out)
        return out

    def _start_marks(self, rows: NDArray[np.int64] | None) -> NDArray[np.uint8]:
        """Return `START_MARK` at start cells, else 0, (n, H, W) or (1, H, W)."""
        raise NotImplementedError

    def _observed_grids(
        self, rows: NDArray[np.int64] | None = None
    ) -> NDArray[np.uint8]:
        grids = self.grids(rows)
        if self.observer.text_format != "grid":
            grids |= self._start_marks(rows)
        return grids

    def _needs_single_steps(self) -> bool:
        # The buffer of an unroll has codes alone, without the starts.
        return super()._needs_single_steps() or self.observer.text_format != "grid"


class FrozenLakeEngine(LakeEngine):
    """N lakes with one map; see `roll_vec.vector.engine.Engine`."""

    HAS_RESET_INFOS: ClassVar[bool] = True
    _kernels = rules.LAKE
    PER_ENV_ATTRIBUTES: ClassVar[tuple[str, ...]] = ("s",)
    SHARED_ATTRIBUTES: ClassVar[tuple[str, ...]] = (
        "action_lookup",
        "desc",
        "initial_state_distrib",
        "ncol",
        "nrow",
        "P",
    )

    def _allocate(self) -> None:
        desc = self.options.map
        self._set_rules(tile_codes(desc).reshape(1, -1), 0)
        self.start_chances = np.cumsum(start_distribution(desc))

    def _episodes(self) -> tuple[Any, ...]:
        return (self.start_chances,)

    def reset(
        self,
        env_ids: NDArray[np.int64],
        seeds: Sequence[int | None],
        options: dict[str, Any] | None = None,
    ) -> None:
        """Seed generators or let them go on; see `Engine.reset`."""
        new_seeds = {j: seed for j, seed in enumerate(seeds) if seed is not None}
        low_words = [seed & (1 << 64) - 1 for seed in new_seeds.values()]
        rules.seed_rows(
            env_ids[list(new_seeds)], np.array(low_words, np.uint64), self.rng_states
        )
        for j, seed in new_seeds.items():
            # The kernel takes 64 bits; numpy itself seeds from more.
            if seed >= 1 << 64:
                generator = np.random.Generator(np.random.PCG64(seed))
                self.rng_states[:, env_ids[j]] = generator_words(generator)
        self.advance(env_ids)

    def advance(self, env_ids: NDArray[np.int64]) -> None:
        """Draw the start cells of the next episodes in some environments."""
        self.kernel_threads.run(
            self._kernels.advance_rows,
            len(env_ids),
            env_ids,
            self._episodes(),
            self._state,
        )

    def _start_marks(self, rows: NDArray[np.int64] | None) -> NDArray[np.uint8]:
        starts = self.options.map == b"S"
        return np.where(starts, np.uint8(START_MARK), np.uint8(0))[np.newaxis]

    def reset_infos(self, env_ids: NDArray[np.int64]) -> dict[str, Any]:
        """Return ``prob``, which is 1, and those of all games."""
        probs = np.empty(len(env_ids))
        probs.fill(1.0)  # `np.ones` takes twice as long
        return {"prob": probs, **super().reset_infos(env_ids)}

    def _visible_infos(self, infos: dict[str, Any], ndim: int) -> dict[str, Any]:
        if self.action_parser is not None:
            return infos
        # With integer actions those of Gymnasium alone.
        visible = {"prob": infos["prob"]}
        if "action_mask" in infos:
            visible["action_mask"] = infos["action_mask"]
        return visible

    def observe(self, out: Any = None) -> Any:
        """Return positions or grids; see `Engine.observe`."""
        if self.options.obs_mode != "position":
            return super().observe(out)
        if out is None:
            return self.positions.copy()
        np.copyto(out, self.positions)
        return out

    def observe_envs(self, env_ids: NDArray[np.int64]) -> list[Any]:
        """Return the positions or grids of some environments."""
        if self.options.obs_mode != "position":
            return super().observe_envs(env_ids)
        return self.positions[env_ids].tolist()  # type: ignore[no-any-return]

    def observe_one(self) -> Any:
        """Return the position or grid of the one environment."""
        if self.options.obs_mode != "position":
            return super().observe_one()
        return self.positions.item()

    def _make_observations(
        self, shape: tuple[int, int], out: Any
    ) -> tuple[NDArray[Any], ...]:
        if self.options.obs_mode != "position":
            return super()._make_observations(shape, out)
        positions = np.empty(shape, np.int64) if out is None else out
        return (positions.reshape(-1),)

    def _shape_observations(
        self, arrays: tuple[NDArray[Any], ...], shape: tuple[int, ...], out: Any
    ) -> Any:
        if self.options.obs_mode != "position":
            return super()._shape_observations(arrays, shape, out)
        return arrays[0].reshape(shape)


class RandomFrozenLakeEngine(LakeEngine, LevelEngine):
    """N lakes, each with a map of its own; see `roll_vec.vector.engine.Engine`.

    The slips of an episode are drawn from a PCG64 generator seeded with the episode's
    seed.  With unlimited levels this is also the level's seed, as in ROLL.
    """

    PER_ENV_ATTRIBUTES: ClassVar[tuple[str, ...]] = ("desc", "s")
    SHARED_ATTRIBUTES: ClassVar[tuple[str, ...]] = ("ncol", "nrow")
    HAS_PROB: ClassVar[bool] = False  # as in ROLL
    _kernels = rules.RANDOM_LAKE

    make_level_provider = staticmethod(make_level_provider)

    def _allocate(self) -> None:
        super()._allocate()
        height, width = self.options.grid_shape
        n = self.num_envs
        self._set_rules(np.full((n, height * width), rules.ICE, np.uint8), n)

    def _named_variables(self) -> dict[str, NDArray[Any]]:
        maps, starts, _ = self.variables
        return {**super()._named_variables(), "maps": maps, "starts": starts}

    def _limits(self) -> dict[str, tuple[int, int]]:
        limits = super()._limits()
        maps, starts = (rules.ICE, rules.GOAL), limits["positions"]
        return {**limits, "maps": maps, "starts": starts}

    def _visible_infos(self, infos: dict[str, Any], ndim: int) -> dict[str, Any]:
        del infos["prob"]
        return infos

    def _level_arrays(self) -> tuple[NDArray[Any], ...]:
        return self.variables[:2]

    def _start_marks(self, rows: NDArray[np.int64] | None) -> NDArray[np.uint8]:
        maps, starts, _ = self.variables
        starts = starts if rows is None else starts[rows]
        marks = np.zeros((len(starts), maps.shape[1]), np.uint8)
        marks[np.arange(len(starts)), starts] = START_MARK
        return marks.reshape(-1, *self.observer.shape)


class LakeEnv(SingleEnv):
    """One lake: what both families have."""

    @property
    def tiles(self) -> NDArray[np.uint8]:
        """(H, W) uint8: 1 ice, 2 hole, 3 goal; not to be written."""
        maps = self._engine.variables[0]
        tiles: NDArray[np.uint8] = maps[self._row % len(maps)]
        return tiles.reshape(self.nrow, self.ncol)

    @property
    def nrow(self) -> int:
        """Rows of the map."""
        return int(self._engine.observer.shape[0])

    @property
    def ncol(self) -> int:
        """Columns of the map."""
        return int(self._engine.observer.shape[1])

    @property
    def s(self) -> int:
        """The player's cell, row * ncol + column; may be set."""
        return int(self._engine.positions[self._row])

    @s.setter
    def s(self, cell: int) -> None:
        self._engine.positions[self._row] = cell

    def solve(
        self, objective: str = "moves"
    ) -> LakeSolution | NDArray[np.int64] | None:
        """Return the best play from the present cell, without regard to step limits.

        Parameters
        ----------
        objective : str
            ``moves``, the only one.

        Returns
        -------
        LakeSolution, (k,) int64, or None
            On slippery ice a `LakeSolution`.  Without slips the fewest actions that
            lead to a goal, none on a goal; None if there is no way.

        Raises
        ------
        InvalidOptionError
            For another objective.
        SolverLimitError
            For slippery maps of more than 161 x 161 cells.
        ResetNeededError, ClosedError
        """
        self._check_started()
        (solution,) = self._engine.solve(np.zeros(1, np.int64), objective)
        return solution  # type: ignore[no-any-return]

    @property
    def oracle_action(self) -> int | None:
        """The best action; None where the episode has ended, and without any chance."""
        try:
            solution = self.solve()
        except SolverLimitError:
            return None
        if isinstance(solution, LakeSolution):
            is_over = rules.is_terminal(self.tiles.flat[self.s])
            is_lost = solution.value == 0.0 or is_over
            return None if is_lost else int(solution.policy[self.s])
        return None if solution is None or not len(solution) else int(solution[0])


class FrozenLake(LakeEnv):
    """One lake: the environment of `gymnasium.make("roll_vec/FrozenLake-v1")`.

    Equal to Gymnasium 1.4's FrozenLake-v1, step for step from the same seeds.

    Parameters
    ----------
    **keywords
        Those of `FrozenLakeOptions`.

    Notes
    -----
    Actions: 0 left, 1 down, 2 right, 3 up.  Info of a reset and a step: ``prob``, the
    probability of the outcome.  With ``action_mode="text"`` a text without a valid
    action moves and draws nothing, with ``prob`` 1 and a reward of 0; the infos of
    `roll_vec.text.turn` are then added.

    Attributes
    ----------
    desc : (H, W) array of bytes
        The map.
    nrow, ncol : int
    tiles : (H, W) uint8
        1 ice, 2 hole, 3 goal.
    s : int
        The player's cell, row * ncol + column; may be set.
    lastaction : int or None
    initial_state_distrib : (H * W,) float64
    """

    lastaction: int | None = None

    @takes_keywords_of(FrozenLakeOptions)
    def __init__(self, **keywords: Any) -> None:
        options = parse_options(FrozenLakeOptions, keywords)
        super().__init__(FrozenLakeEngine(options, 1, None, 1))

    @property
    def desc(self) -> NDArray[np.bytes_]:
        """The (H, W) map of bytes."""
        return self.options.map  # type: ignore[no-any-return]

    @property
    def reward_range(self) -> tuple[float, float]:
        """The lowest and the highest reward."""
        return min(self.options.reward_schedule), max(self.options.reward_schedule)

    @property
    def initial_state_distrib(self) -> NDArray[np.float64]:
        """(H * W,) float64: the probability of each start cell."""
        return start_distribution(self.desc)

    @cached_property
    def P(self) -> dict[int, dict[int, list[tuple[float, int, float, bool]]]]:
        """Transitions, ``P[s][a]``: (probability, next s, reward, terminated) each."""
        neighbours, slip, _ = self._engine.constants
        rewards = dict(
            zip(rules.REWARD_TILES, self.options.reward_schedule, strict=True)
        )
        chances = list(enumerate(slip[0].tolist()))
        if not self.options.is_slippery:
            chances = chances[1:2]
        tiles = self.tiles.reshape(-1).tolist()

        def transitions(
            state: int, action: int
        ) -> list[tuple[float, int, float, bool]]:
            if rules.is_terminal(tiles[state]):
                return [(1.0, state, 0, True)]
            cells = [
                int(neighbours[state, rules.turn(action, outcome)])
                for outcome, _ in chances
            ]
            return [
                (chance, cell, rewards[tiles[cell]], rules.is_terminal(tiles[cell]))
                for cell, (_, chance) in zip(cells, chances, strict=True)
            ]

        return {s: {a: transitions(s, a) for a in range(4)} for s in range(len(tiles))}

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Start a new episode, as Gymnasium does; see `SingleEnv.reset`."""
        result = super().reset(seed=seed, options=options)
        self.lastaction = None
        return result

    def _take_action(self, action: int) -> tuple[float, bool, dict[str, Any]]:
        if action >= self.first_action:
            self.lastaction = action
        return super()._take_action(action)

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Go to a state; ``lastaction`` is None then.  See `SingleEnv.set_state`."""
        super().set_state(state)
        self.lastaction = None


class RandomFrozenLake(LakeEnv, LevelEnv):
    """One lake of ROLL: `gymnasium.make("roll_vec/RandomFrozenLake-v0")`.

    Maps and slips are those of ROLL's FrozenLakeEnv (35bea6a2).

    Parameters
    ----------
    **keywords
        Those of `RandomFrozenLakeOptions`.

    Notes
    -----
    Actions: 1 left, 2 down, 3 right, 4 up.  0 is "no valid action": nothing moves,
    nothing is drawn, the reward is 0, the step counts; the first one gives a warning
    unless ``action_start=1``.  An agent that counts from 0 plays action +
    ``action_space.start``, or uses ``action_start=0``: 0 left, 1 down, 2 right, 3 up.

    Reward: 1 on the goal.  Info of a step: ``action_is_effective`` (the player moved),
    ``action_is_valid``, ``success``.

    Attributes
    ----------
    tiles : (nrow, ncol) uint8
        1 ice, 2 hole, 3 goal.
    start, s : int
        The start cell and the player's, row * size + column.
    """

    @takes_keywords_of(RandomFrozenLakeOptions)
    def __init__(self, **keywords: Any) -> None:
        options = parse_options(RandomFrozenLakeOptions, keywords)
        super().__init__(RandomFrozenLakeEngine(options, 1, None, 1, prefetch=False))

    @property
    def start(self) -> int:
        """The start cell, row * ncol + column."""
        return int(self._engine.variables[1][self._row])

    @property
    def desc(self) -> NDArray[np.bytes_]:
        """The (nrow, ncol) map of bytes: S, F, H, G."""
        letters = np.array([b"?", b"F", b"H", b"G"])[self.tiles]
        letters[divmod(self.start, self.ncol)] = b"S"
        return letters


FrozenLakeEngine.SINGLE = FrozenLake
RandomFrozenLakeEngine.SINGLE = RandomFrozenLake
