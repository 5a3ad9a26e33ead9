"""FrozenLake as Gymnasium plays it: one map for all, streams that go on."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from gymnasium.spaces import Discrete
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray

from roll_vec.envs.frozen_lake.engine import (
    GRID_LOOKUP,
    STEP_ROWS_PER_THREAD,
    LakeEngine,
    make_view,
)
from roll_vec.envs.frozen_lake.maps import (
    FrozenLakeOptions,
    start_distribution,
    tile_codes,
)
from roll_vec.kernels.frozen_lake import rules as kernels
from roll_vec.kernels.frozen_lake.unroll import unroll_rows
from roll_vec.kernels.outcomes import NEEDS_RESET
from roll_vec.options import parse_options, takes_keywords_of
from roll_vec.seeding import check_seed, draw_entropy, generator_at
from roll_vec.stacked.rollout_buffer import Tape
from roll_vec.stacked.row_threads import run_rows
from roll_vec.stacked.single_env import BoardEnv
from roll_vec.vector.engine import Rollout

__all__ = ["FrozenLake", "FrozenLakeEngine", "FrozenLakeOptions"]


def _as_places_and_boards(seen: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return what a kernel writes positions or else boards into; one is empty."""
    if seen.ndim == 2:
        return seen, np.zeros((len(seen), 0, 0), np.uint8)
    return np.zeros((len(seen), 0), np.int64), seen


class FrozenLakeEngine(LakeEngine):
    """N lakes with one map; see `roll_vec.vector.engine.Engine`."""

    DISCRETE_INFOS: ClassVar[tuple[str, ...] | None] = ("prob",)
    STATE_QUERIES: ClassVar[tuple[str, ...]] = ("num_env_steps", "s")
    SHARED_QUERIES: ClassVar[tuple[str, ...]] = (
        "action_lookup",
        "desc",
        "get_all_actions",
        "get_instructions",
        "initial_state_distrib",
        "ncol",
        "nrow",
        "P",
    )

    def __init__(
        self,
        options: FrozenLakeOptions,
        num_envs: int,
        max_episode_steps: int | None,
        num_threads: int,
    ) -> None:
        desc = options.map
        grids = options.obs_mode != "position"
        view = make_view(
            desc.shape, GRID_LOOKUP, options.obs_mode if grids else "grid", num_threads
        )
        super().__init__(
            options,
            num_envs,
            max_episode_steps,
            num_threads,
            view,
            None if grids else Discrete(desc.size),
        )
        self._allocate(
            kernels.make_slip(options.is_slippery, options.success_rate),
            options.reward_schedule,
        )
        self.maps = tile_codes(desc).reshape(1, -1)
        self.start_chances = np.cumsum(start_distribution(desc))

    def reset(
        self,
        rows: NDArray[np.int64],
        seeds: Sequence[int | None],
        options: dict[str, Any] | None = None,
    ) -> None:
        """Seed streams or let them go on; see `Engine.reset`."""
        given = [j for j, seed in enumerate(seeds) if seed is not None]
        small = np.array([(seeds[j] or 0) & (2**64 - 1) for j in given], np.uint64)
        kernels.seed_rows(rows[given], small, self.noise)
        for j in given:
            # The kernel takes 64 bits; numpy itself seeds from more.
            if (seed := seeds[j]) is not None and seed >= 1 << 64:
                state = np.random.PCG64(seed).state["state"]
                words = [
                    number >> shift & (1 << 64) - 1
                    for number in (state["state"], state["inc"])
                    for shift in (64, 0)
                ]
                self.noise[:, rows[j]] = np.array([*words, 0, 0], np.uint64)
        self.advance(rows)

    def advance(self, rows: NDArray[np.int64]) -> None:
        """Go on to the next episode in some rows: draw their start cells."""
        kernels.start_rows(
            rows,
            self.start_chances,
            self.noise,
            self.positions,
            self.elapsed_steps,
        )

    def generators(self) -> tuple[np.random.Generator, ...]:
        """Return copies of the streams that starts and slips are drawn from."""
        return tuple(map(generator_at, self.noise.T.tolist()))

    def reset_infos(self, rows: NDArray[np.int64]) -> dict[str, NDArray[Any]]:
        """Return ``prob`` 1.0 for some rows, and what is there with text."""
        return {"prob": np.ones(len(rows)), **super().reset_infos(rows)}

    def observe(self, out: Any = None) -> Any:
        """Return positions or boards; see `Engine.observe`."""
        if self.options.obs_mode != "position":
            return super().observe(out)
        if out is None:
            return self.positions.copy()
        np.copyto(out, self.positions)
        return out

    def observe_rows(self, rows: NDArray[np.int64]) -> list[Any]:
        """Return the positions or boards of some rows."""
        if self.options.obs_mode != "position":
            return super().observe_rows(rows)
        return self.positions[rows].tolist()  # type: ignore[no-any-return]

    def _make_tape(
        self,
        actions: NDArray[np.int64],
        finished: NDArray[np.bool_],
        mode: AutoresetMode,
        out: Rollout | None,
    ) -> Tape:
        if self.options.obs_mode != "position":
            return super()._make_tape(actions, finished, mode, out)
        shown = out and out.observations
        shown_next = out and out.infos.get("final_obs")
        return Tape(actions, finished, mode, (), np.int64, shown, shown_next, out)

    def _play_out(self, tape: Tape) -> None:
        seen = *_as_places_and_boards(tape.seen), *_as_places_and_boards(tape.seen_next)
        ended = tape.states == NEEDS_RESET
        run_rows(
            lambda start, stop: unroll_rows(
                start,
                stop,
                tape.mode is not AutoresetMode.DISABLED,
                tape.same_step,
                tape.actions,
                self.first_action,
                self.max_steps,
                self.maps,
                self.neighbours,
                self.slip,
                self.schedule,
                self.start_chances,
                self.positions,
                self.elapsed_steps,
                self.noise,
                ended,
                tape.times,
                tape.rewards,
                tape.terminations,
                tape.truncations,
                tape.effective,
                tape.valid,
                tape.successes,
                tape.probs,
                *seen,
            ),
            self.num_envs,
            self.num_threads,
            1 + STEP_ROWS_PER_THREAD // len(tape.actions),
            self.unroll_slices,
        )

    def _show_tape(self, seen: NDArray[Any], out: Any) -> Any:
        if self.options.obs_mode != "position":
            return super()._show_tape(seen, out)
        return seen

    def _tape_infos(self, tape: Tape) -> dict[str, NDArray[Any]]:
        return {"prob": tape.probs}

    def single_form(self) -> FrozenLake:
        """Return a single form with these options."""
        fields = dataclasses.fields(self.options)
        return FrozenLake(**{f.name: getattr(self.options, f.name) for f in fields})

    def pose(self, env: FrozenLake, row: int) -> None:
        """Put a single form into the state of one row."""
        env.s = int(self.positions[row])
        env.num_env_steps = int(self.elapsed_steps[row])


class FrozenLake(BoardEnv):
    """One lake: the form that `gymnasium.make("roll_vec/FrozenLake-v1")` gives.

    Equal to Gymnasium 1.4's FrozenLake-v1, step for step from the same seeds.

    Parameters
    ----------
    **keywords
        Those of `FrozenLakeOptions`.

    Notes
    -----
    Actions: 0 left, 1 down, 2 right, 3 up.  Info of a reset and a step: ``prob``, the
    probability of what happened.  With ``action_mode="text"`` a text without a valid
    action moves and draws nothing, for sure and for a reward of 0; infos then are those
    of `roll_vec.stacked.text_actions` as well.

    Attributes
    ----------
    desc : (H, W) array of bytes
        The map.
    nrow, ncol : int
    s : int
        The player's cell, row * ncol + column; may be set.
    lastaction : int or None
    initial_state_distrib : (H * W,) float64
    """

    @takes_keywords_of(FrozenLakeOptions)
    def __init__(self, **keywords: Any) -> None:
        options = parse_options(FrozenLakeOptions, keywords)
        self.desc = options.map
        self.nrow, self.ncol = self.desc.shape
        grids = options.obs_mode != "position"
        view = make_view(
            self.desc.shape, GRID_LOOKUP, options.obs_mode if grids else "grid"
        )
        super().__init__(options, view)
        if not grids:
            self.observation_space = Discrete(self.desc.size)
        schedule = options.reward_schedule
        self.reward_range = (min(schedule), max(schedule))
        self.initial_state_distrib = start_distribution(self.desc)
        self.s = 0
        self.lastaction: int | None = None
        self._tiles = tile_codes(self.desc).reshape(1, -1)
        self._neighbours = kernels.make_neighbours(self.nrow, self.ncol)
        self._slip = kernels.make_slip(options.is_slippery, options.success_rate)
        self._schedule = options.schedule
        self._start_chances = np.cumsum(self.initial_state_distrib)

    @cached_property
    def P(self) -> dict[int, dict[int, list[tuple[float, int, float, bool]]]]:
        """Transitions, ``P[s][a]``: (probability, next s, reward, terminated) each."""
        schedule = self.options.reward_schedule
        rewards = {
            kernels.GOAL: schedule[0],
            kernels.HOLE: schedule[1],
            kernels.ICE: schedule[2],
        }
        chances = list(enumerate(self._slip[0].tolist()))
        if not self.options.is_slippery:
            chances = chances[1:2]
        flat = self._tiles.ravel().tolist()

        def outcomes(state: int, action: int) -> list[tuple[float, int, float, bool]]:
            if flat[state] != kernels.ICE:
                return [(1.0, state, 0, True)]
            found = []
            for outcome, chance in chances:
                turned = (action + outcome - 1) % 4
                ahead = int(self._neighbours[state, turned])
                ended = flat[ahead] != kernels.ICE
                found.append((chance, ahead, rewards[flat[ahead]], ended))
            return found

        return {s: {a: outcomes(s, a) for a in range(4)} for s in range(len(flat))}

    def _grid(self) -> NDArray[np.uint8]:
        grid = np.empty((1, self.desc.size), np.uint8)
        kernels.write_grids(0, 1, self._tiles, np.array([self.s], np.int64), grid)
        return grid.reshape(self.desc.shape)

    def _observe(self) -> Any:
        if self.options.obs_mode == "position":
            return self.s
        return super()._observe()

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Start a new episode, as Gymnasium does.

        Parameters
        ----------
        seed : int or None
            An int seeds ``np_random``; None lets it go on.
        options : dict or None
            Ignored.

        Raises
        ------
        InvalidSeedError, ClosedError
        """
        self._check_open()
        if seed is not None:
            seed = check_seed(seed)
        elif self._np_random is None:
            seed = draw_entropy()
        super().reset(seed=seed)
        self.s = int(kernels.draw(self._start_chances, self.np_random.random()))
        self.lastaction = None
        self.num_env_steps = 0
        self._started = True
        self._show()
        return self._observe(), {"prob": 1.0, **self._reset_info()}

    def _play(self, action: int) -> tuple[float, bool, dict[str, Any]]:
        before, reward, terminated, prob = self.s, 0.0, False, 1.0
        if action >= self.first_action:
            position, paid, ended, chance = kernels.step_row(
                self._tiles,
                0,
                self._neighbours,
                self.s,
                action,
                self.np_random.random(),
                self._slip,
                self._schedule,
            )
            self.s, self.lastaction = int(position), action
            reward, terminated, prob = float(paid), bool(ended), float(chance)
        if self.text_actions is None:
            return reward, terminated, {"prob": prob}
        info = {
            "action_is_effective": self.s != before,
            "action_is_valid": action >= self.first_action,
            "success": bool(self._tiles[0, self.s] == kernels.GOAL),
            "prob": prob,
        }
        return reward, terminated, info
