"""N frozen lakes in stacked arrays, stepped together."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from roll_vec.envs.frozen_lake.env import FrozenLake, RandomFrozenLake
from roll_vec.envs.frozen_lake.grid import FROZEN_LAKE
from roll_vec.envs.frozen_lake.maps import (
    start_distribution,
    tile_codes,
)
from roll_vec.envs.frozen_lake.solver import LakeSolver, solve_positions
from roll_vec.kernels.frozen_lake import rules
from roll_vec.kernels.rng.pcg64 import PCG_WORDS
from roll_vec.seeding import generator_words
from roll_vec.stacked.coordinate_texts import START_MARK
from roll_vec.stacked.grid_engine import GridEngine
from roll_vec.stacked.levels import LevelEngine
from roll_vec.text.turn import BatchStep

__all__ = ["FrozenLakeEngine", "LakeEngine", "RandomFrozenLakeEngine"]


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

    def _make_outcome(self, shape: tuple[int, ...]) -> BatchStep:
        outcome = super()._make_outcome(shape)
        # Where it is no info, it is the kernel's own, of one step.
        outcome[3]["prob"] = np.empty(shape if self.HAS_PROB else self.num_envs)
        return outcome

    def _visible_infos(
        self, infos: dict[str, NDArray[Any]], ndim: int
    ) -> dict[str, NDArray[Any]]:
        if self.HAS_PROB:
            return infos
        return {key: each for key, each in infos.items() if key != "prob"}

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

    SINGLE: ClassVar[type[FrozenLake]] = FrozenLake
    HAS_RESET_INFOS: ClassVar[bool] = True
    PER_ENV_ATTRIBUTES: ClassVar[tuple[str, ...]] = ("s",)
    SHARED_ATTRIBUTES: ClassVar[tuple[str, ...]] = (
        "action_lookup",
        "desc",
        "initial_state_distrib",
        "ncol",
        "nrow",
        "P",
    )

    _kernels = SimpleNamespace(step_rows=rules.step_rows, unroll=rules.unroll_stream)

    def _allocate(self) -> None:
        desc = self.options.map
        self._set_rules(tile_codes(desc).reshape(1, -1), 0)
        self.start_chances = np.cumsum(start_distribution(desc))

    def _episodes(self) -> tuple[Any, ...]:
        return (self.start_chances,)

    def reset(
        self,
        rows: NDArray[np.int64],
        seeds: Sequence[int | None],
        options: dict[str, Any] | None = None,
    ) -> None:
        """Seed generators or let them go on; see `Engine.reset`."""
        new_seeds = {j: seed for j, seed in enumerate(seeds) if seed is not None}
        low_words = [seed & (1 << 64) - 1 for seed in new_seeds.values()]
        rules.seed_rows(
            rows[list(new_seeds)], np.array(low_words, np.uint64), self.rng_states
        )
        for j, seed in new_seeds.items():
            # The kernel takes 64 bits; numpy itself seeds from more.
            if seed >= 1 << 64:
                generator = np.random.Generator(np.random.PCG64(seed))
                self.rng_states[:, rows[j]] = generator_words(generator)
        self.advance(rows)

    def advance(self, rows: NDArray[np.int64]) -> None:
        """Draw the start cells of the next episodes in some environments."""
        self.kernel_threads.run(
            rules.start_rows, len(rows), rows, self._episodes(), self._state
        )

    def _start_marks(self, rows: NDArray[np.int64] | None) -> NDArray[np.uint8]:
        starts = self.options.map == b"S"
        return np.where(starts, np.uint8(START_MARK), np.uint8(0))[np.newaxis]

    def reset_infos(self, rows: NDArray[np.int64]) -> dict[str, Any]:
        """Return ``prob``, which is 1, and those of all games."""
        probs = np.empty(len(rows))
        probs.fill(1.0)  # `np.ones` takes twice as long
        return {"prob": probs, **super().reset_infos(rows)}

    def _visible_infos(
        self, infos: dict[str, NDArray[Any]], ndim: int
    ) -> dict[str, NDArray[Any]]:
        if self.action_parser is not None:
            return infos
        # With integer actions those of Gymnasium alone.
        return {key: infos[key] for key in ("prob", "action_mask") if key in infos}

    def observe(self, out: Any = None) -> Any:
        """Return positions or grids; see `Engine.observe`."""
        if self.options.obs_mode != "position":
            return super().observe(out)
        if out is None:
            return self.positions.copy()
        np.copyto(out, self.positions)
        return out

    def observe_envs(self, rows: NDArray[np.int64]) -> list[Any]:
        """Return the positions or grids of some environments."""
        if self.options.obs_mode != "position":
            return super().observe_envs(rows)
        return self.positions[rows].tolist()  # type: ignore[no-any-return]

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

    SINGLE: ClassVar[type[RandomFrozenLake]] = RandomFrozenLake
    PER_ENV_ATTRIBUTES: ClassVar[tuple[str, ...]] = ("desc", "s")
    SHARED_ATTRIBUTES: ClassVar[tuple[str, ...]] = ("ncol", "nrow")
    HAS_PROB: ClassVar[bool] = False  # as in ROLL

    _kernels = rules

    def _allocate(self) -> None:
        super()._allocate()
        height, width = self.options.grid_shape
        n = self.num_envs
        self._set_rules(np.zeros((n, height * width), np.uint8), n)

    def _named_variables(self) -> dict[str, NDArray[Any]]:
        maps, starts, _ = self.variables
        return {**super()._named_variables(), "maps": maps, "starts": starts}

    def _level_arrays(self) -> tuple[NDArray[Any], ...]:
        return self.variables[:2]

    def _start_marks(self, rows: NDArray[np.int64] | None) -> NDArray[np.uint8]:
        maps, starts, _ = self.variables
        starts = starts if rows is None else starts[rows]
        marks = np.zeros((len(starts), maps.shape[1]), np.uint8)
        marks[np.arange(len(starts)), starts] = START_MARK
        return marks.reshape(-1, *self.observer.shape)
