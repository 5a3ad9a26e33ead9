"""N frozen lakes in stacked arrays: with Gymnasium's map, or with random maps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray

from roll_vec.envs.frozen_lake.env import FrozenLake, RandomFrozenLake
from roll_vec.envs.frozen_lake.grid import FROZEN_LAKE
from roll_vec.envs.frozen_lake.maps import (
    start_distribution,
    tile_codes,
)
from roll_vec.envs.frozen_lake.solver import LakeSolver, solve_positions
from roll_vec.kernels.frozen_lake import rules as kernels
from roll_vec.kernels.frozen_lake import unroll as gymnasium_unroll
from roll_vec.kernels.frozen_lake import unroll_random
from roll_vec.kernels.outcomes import NEEDS_RESET
from roll_vec.kernels.rng.pcg64 import PCG_WORDS
from roll_vec.seeding import generator_at, generator_words
from roll_vec.stacked.coordinate_texts import START_MARK
from roll_vec.stacked.engine import StackedEngine
from roll_vec.stacked.level_providers import NO_LEVELS, Levels
from roll_vec.stacked.levels import LevelEngine
from roll_vec.stacked.rollout_buffer import RolloutBuffer, make_outcome, to_batch_step
from roll_vec.stacked.row_threads import for_row_ranges
from roll_vec.text.turn import BatchStep
from roll_vec.vector.rollout import Rollout

__all__ = ["FrozenLakeEngine", "LakeEngine", "RandomFrozenLakeEngine"]

# Each thread of an unroll takes at least this many steps of environments: handing work
# to a thread takes 20 to 130 us, a step 4 ns.
STEP_ROWS_PER_THREAD = 1 << 16
# The info ``prob`` of a reset.
RESET_PROB = 1.0


class LakeEngine(StackedEngine):
    """N lakes: the step and the grids of both families.

    Attributes
    ----------
    maps : (n, H * W) or (1, H * W) uint8
        Tile codes of `roll_vec.kernels.frozen_lake.rules`; a single row is the map of
        all environments.
    positions : (n,) int64
        Row * W + column.
    rng_states : (6, n) uint64
        States of the PCG64 generators that slips are drawn from.
    """

    STATE: ClassVar[tuple[str, ...]] = ("positions", "generator_states")
    HAS_PROB: ClassVar[bool] = True
    """Whether infos have ``prob``, the probability of the slip."""

    options: Any

    def _set_rules(self, maps: NDArray[np.uint8]) -> None:
        options, self.maps = self.options, maps
        self.positions = np.zeros(self.num_envs, np.int64)
        self.rng_states = np.zeros((PCG_WORDS, self.num_envs), np.uint64)
        # The items of the kernels' `LakeParameters` and `LakeState`.
        self._lakes = (
            self.first_action,
            maps,
            kernels.make_neighbours(*self.observer.shape),
            kernels.make_slip(options.is_slippery, options.success_rate),
            np.array(options.reward_schedule, np.float64),
        )
        self._state = (self.positions, self.elapsed_steps, self.rng_states)

    def solve(self, env_ids: NDArray[np.int64], objective: str) -> list[Any]:
        """Return the best play of some lakes from here; see `LakeEnv.solve`."""
        slip = self._lakes[3]
        maps = self.maps if len(self.maps) < self.num_envs else self.maps[env_ids]
        return solve_positions(
            LakeSolver(self.observer.shape, slip, self.num_threads),
            maps,
            self.positions[env_ids],
            objective,
            self.first_action,
        )

    @property
    def generator_states(self) -> NDArray[np.uint64]:
        """(n, 6) uint64: a view of ``rng_states``."""
        return self.rng_states.T

    def _step_batch(
        self, actions: NDArray[np.int64], skip_mask: NDArray[np.bool_], max_steps: int
    ) -> BatchStep:
        outcome, probs = make_outcome(self.num_envs), np.empty(self.num_envs)
        lakes, state = self._lakes, self._state
        self.kernel_threads.run(
            kernels.step_rows,
            self.num_envs,
            actions,
            skip_mask,
            max_steps,
            lakes,
            state,
            outcome,
            probs,
        )
        result = to_batch_step(outcome)
        if self.HAS_PROB:
            result[3]["prob"] = probs
        return result

    def _action_masks(self, rows: NDArray[np.int64]) -> NDArray[np.int8]:
        _, maps, neighbours, slip, _ = self._lakes
        masks = np.empty((len(rows), len(FROZEN_LAKE.action_names)), np.int8)
        self.kernel_threads.run(
            kernels.write_action_masks,
            len(rows),
            rows,
            maps,
            neighbours,
            slip,
            self.positions,
            masks,
        )
        return masks

    def grids(self, rows: NDArray[np.int64] | None = None) -> NDArray[np.uint8]:
        """Return the codes of all or some environments; see `StackedEngine.grids`."""
        maps, positions = self.maps, self.positions
        if rows is not None:
            positions = positions[rows]
            maps = maps if len(maps) < self.num_envs else maps[rows]
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
        self.kernel_threads.run(kernels.write_grids, len(out), maps, positions, cells)

    def _copy_grids(self, out: NDArray[np.uint8] | None) -> NDArray[np.uint8]:
        if out is None:
            return self.grids()
        self._write_grids(self.maps, self.positions, out)
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


def _positions_and_grids(out: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return ``out`` as the items of the kernel's `LakeObservations`."""
    if out.ndim == 2:
        return out, np.zeros((len(out), 0, 0), np.uint8)
    return np.zeros((len(out), 0), np.int64), out


class FrozenLakeEngine(LakeEngine):
    """N lakes with one map; see `roll_vec.vector.engine.Engine`."""

    SINGLE: ClassVar[type[FrozenLake]] = FrozenLake
    DISCRETE_INFO_KEYS: ClassVar[tuple[str, ...] | None] = ("prob",)
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
        self._set_rules(tile_codes(desc).reshape(1, -1))
        self.start_chances = np.cumsum(start_distribution(desc))

    def reset(
        self,
        rows: NDArray[np.int64],
        seeds: Sequence[int | None],
        options: dict[str, Any] | None = None,
    ) -> None:
        """Seed generators or let them go on; see `Engine.reset`."""
        new_seeds = {j: seed for j, seed in enumerate(seeds) if seed is not None}
        low_words = [seed & (1 << 64) - 1 for seed in new_seeds.values()]
        kernels.seed_rows(
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
            kernels.start_rows, len(rows), rows, self.start_chances, self._state
        )

    def _start_marks(self, rows: NDArray[np.int64] | None) -> NDArray[np.uint8]:
        starts = self.options.map == b"S"
        return np.where(starts, np.uint8(START_MARK), np.uint8(0))[np.newaxis]

    def generators(self) -> tuple[np.random.Generator, ...]:
        """Return copies of the generators that starts and slips are drawn from."""
        return tuple(map(generator_at, self.rng_states.T.tolist()))

    def reset_infos(self, rows: NDArray[np.int64]) -> dict[str, NDArray[Any]]:
        """Return ``prob`` 1.0, and with text ``env_instruction``."""
        probs = np.empty(len(rows))
        probs.fill(RESET_PROB)  # `np.ones` takes twice as long
        return {"prob": probs, **super().reset_infos(rows)}

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

    def _make_buffer(
        self,
        actions: NDArray[np.int64],
        has_ended: NDArray[np.bool_],
        mode: AutoresetMode,
        out: Rollout | None,
    ) -> RolloutBuffer:
        if self.options.obs_mode != "position":
            return super()._make_buffer(actions, has_ended, mode, out)
        arrays = []
        if out is not None:
            arrays = [out.observations, out.infos.get("final_obs")]
        return RolloutBuffer(actions, has_ended, mode, (), np.int64, out, *arrays)

    def _unroll(self, buffer: RolloutBuffer) -> None:
        observations = _positions_and_grids(buffer.observations)
        next_observations = _positions_and_grids(buffer.next_observations)
        times, states = buffer.progress
        needs_reset = states == NEEDS_RESET
        buffer.has_reset_infos = buffer.mode is AutoresetMode.NEXT_STEP
        for_row_ranges(
            lambda start, stop: gymnasium_unroll.unroll_rows(
                start,
                stop,
                buffer.mode is not AutoresetMode.DISABLED,
                buffer.same_step,
                buffer.actions,
                self.max_steps,
                self.start_chances,
                RESET_PROB,
                self._lakes,
                self._state,
                needs_reset,
                times,
                buffer.kernel_arguments[1],
                buffer.probs,
                observations,
                next_observations,
            ),
            self.num_envs,
            self.num_threads,
            1 + STEP_ROWS_PER_THREAD // len(buffer.actions),
            self.unroll_slices,
        )

    def _observe_buffer(self, cells: NDArray[Any], out: Any) -> Any:
        if self.options.obs_mode != "position":
            return super()._observe_buffer(cells, out)
        return cells


class RandomFrozenLakeEngine(LakeEngine, LevelEngine):
    """N lakes, each with a map of its own; see `roll_vec.vector.engine.Engine`.

    The slips of an episode are drawn from a PCG64 generator seeded with the episode's
    seed.  With unlimited levels this is also the level's seed, as in ROLL.

    Attributes
    ----------
    starts : (n,) int64
        The start cells of the maps.
    """

    SINGLE: ClassVar[type[RandomFrozenLake]] = RandomFrozenLake
    STATE: ClassVar[tuple[str, ...]] = ("maps", "starts")
    PER_ENV_ATTRIBUTES: ClassVar[tuple[str, ...]] = ("desc", "s")
    SHARED_ATTRIBUTES: ClassVar[tuple[str, ...]] = ("ncol", "nrow")
    HAS_PROB: ClassVar[bool] = False  # as in ROLL

    def _allocate(self) -> None:
        super()._allocate()
        options = self.options
        height, width = options.grid_shape
        self._set_rules(np.zeros((self.num_envs, height * width), np.uint8))
        self.starts = np.zeros(self.num_envs, np.int64)

    def _place(
        self,
        rows: NDArray[np.int64],
        levels: Levels,
        level_indices: NDArray[np.int64],
        seeds: NDArray[np.uint64],
    ) -> None:
        kernels.place_rows(
            rows, *levels, level_indices, seeds, self.maps, self.starts, self._state
        )

    def _begin_rows(self, rows: NDArray[np.int64], levels: Levels, *args: Any) -> bool:
        self.kernel_threads.run(
            kernels.begin_rows,
            len(rows),
            rows,
            levels[:2],
            *args,
            self.maps,
            self.starts,
            self._state,
        )
        return True

    def _start_marks(self, rows: NDArray[np.int64] | None) -> NDArray[np.uint8]:
        starts = self.starts if rows is None else self.starts[rows]
        marks = np.zeros((len(starts), self.maps.shape[1]), np.uint8)
        marks[np.arange(len(starts)), starts] = START_MARK
        return marks.reshape(-1, *self.observer.shape)

    def _unroll_range(self, first_step: int, until: int, buffer: RolloutBuffer) -> None:
        no_levels = (self.maps[:0], self.starts[:0]), NO_LEVELS
        levels, table = self._level_table(buffer.mode) or no_levels
        for_row_ranges(
            lambda start, stop: unroll_random.unroll_range(
                start,
                stop,
                first_step,
                until,
                buffer.same_step,
                buffer.actions,
                self.max_steps,
                levels[:2],
                table,
                (self.episodes.first_seeds, self.episodes.numbers),
                self._lakes,
                self.starts,
                self._state,
                *buffer.kernel_arguments,
                buffer.observations,
                buffer.next_observations,
            ),
            self.num_envs,
            self.num_threads,
            1 + STEP_ROWS_PER_THREAD // (until - first_step),
            self.unroll_slices,
        )

    def _unroll_rows(
        self, rows: NDArray[np.int64], until: int, buffer: RolloutBuffer
    ) -> None:
        for_row_ranges(
            lambda start, stop: unroll_random.unroll_rows(
                start,
                stop,
                rows,
                until,
                buffer.same_step,
                buffer.actions,
                self.max_steps,
                self._lakes,
                self._state,
                *buffer.kernel_arguments,
                buffer.probs,
                buffer.observations,
                buffer.next_observations,
            ),
            len(rows),
            self.num_threads,
            1 + STEP_ROWS_PER_THREAD // len(buffer.actions),
            self.unroll_slices,
        )
