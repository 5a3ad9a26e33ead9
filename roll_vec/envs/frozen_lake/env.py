"""One frozen lake: with Gymnasium's map, or with ROLL's random maps."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

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
from roll_vec.kernels.frozen_lake import rules as kernels
from roll_vec.options import parse_options, takes_keywords_of
from roll_vec.seeding import (
    check_seed,
    draw_entropy,
    generator_at,
    generator_words,
)
from roll_vec.stacked.coordinate_texts import START_MARK
from roll_vec.stacked.level_providers import LevelProvider
from roll_vec.stacked.single_env import GridEnv, LevelEnv
from roll_vec.stacked.single_state import check_array

__all__ = ["FrozenLake", "RandomFrozenLake"]


class LakeEnv(GridEnv):
    """One lake: the step and the grid of both families."""

    def _set_rules(self) -> None:
        options = self.options
        height, width = options.grid_shape
        self._tiles = np.full((1, height * width), kernels.ICE, np.uint8)
        self.s = 0
        # The items of `LakeOptions`.
        self._parameters = (
            kernels.make_neighbours(height, width),
            kernels.make_slip(options.is_slippery, options.success_rate),
            np.array(options.reward_schedule, np.float64),
        )

    @property
    def tiles(self) -> NDArray[np.uint8]:
        """(H, W) uint8: 1 ice, 2 hole, 3 goal."""
        return self._tiles.reshape(self.observer.shape)

    @tiles.setter
    def tiles(self, tiles: NDArray[np.uint8]) -> None:
        self._tiles = tiles.reshape(1, -1).copy()

    def _grid(self) -> NDArray[np.uint8]:
        grid = np.empty_like(self._tiles)
        kernels.write_grids(0, 1, 0, self._tiles, np.array([self.s], np.int64), grid)
        return grid.reshape(self.observer.shape)

    def _observed_grid(self) -> NDArray[np.uint8]:
        grid = self._grid()
        if self.observer.text_format != "grid":
            # Each family has `desc`, one as an attribute, one as a property.
            grid[self.desc == b"S"] |= START_MARK  # type: ignore[attr-defined]
        return grid

    def _action_mask(self) -> NDArray[np.int8]:
        neighbours, slip, _ = self._parameters
        masks = np.empty((1, len(FROZEN_LAKE.action_names)), np.int8)
        kernels.write_action_masks(
            0,
            1,
            np.zeros(1, np.int64),
            self._tiles,
            neighbours,
            slip,
            np.array([self.s], np.int64),
            masks,
        )
        mask: NDArray[np.int8] = masks[0]
        return mask

    def _move(
        self, action: int, rng: np.random.Generator
    ) -> tuple[float, bool, bool, float]:
        """Take one action; return reward, terminated, success, the slip's chance."""
        is_valid = action >= self.first_action
        neighbours, slip, reward_schedule = self._parameters
        position, reward, terminated, success, prob = kernels.step_row(
            0,
            self.s,
            action,
            rng.random() if is_valid else 0.0,
            self.first_action,
            self._tiles,
            neighbours,
            slip,
            reward_schedule,
        )
        self.s = int(position)
        return float(reward), bool(terminated), bool(success), float(prob)

    def _info(self, action: int, before: int, success: bool) -> dict[str, Any]:
        """Return the info of an action, with the player's cell before it."""
        return {
            "action_is_effective": self.s != before,
            "action_is_valid": action >= self.first_action,
            "success": success,
        }

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
        _, slip, _ = self._parameters
        (solution,) = solve_positions(
            LakeSolver(self.observer.shape, slip),
            self._tiles,
            np.array([self.s], np.int64),
            objective,
            self.first_action,
        )
        return solution  # type: ignore[no-any-return]

    @property
    def oracle_action(self) -> int | None:
        """The best action; None where the episode has ended, and without any chance."""
        try:
            solution = self.solve()
        except SolverLimitError:
            return None
        if isinstance(solution, LakeSolution):
            is_lost = solution.value == 0.0 or self._is_over()
            return None if is_lost else int(solution.policy[self.s])
        return None if solution is None or not len(solution) else int(solution[0])

    # -------------------------------------------------------------------- state

    def state_values(self) -> dict[str, Any]:
        """Return the state with the player's cell and the generator of slips."""
        return {
            **super().state_values(),
            "positions": np.int64(self.s),
            "generator_states": generator_words(self._slips),
        }

    def load_values(self, values: Mapping[str, Any]) -> None:
        """Take over checked values."""
        super().load_values(values)
        self.s = int(values["positions"])

    def check_values(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Check that every player is on the map."""
        super().check_values(arrays)
        check_array(arrays, "positions", 0, self._tiles.size - 1)

    def _is_over(self) -> bool:
        return bool(kernels.is_terminal(self._tiles[0, self.s]))

    def _is_success(self) -> bool:
        return bool(self._tiles[0, self.s] == kernels.GOAL)

    @property
    def _slips(self) -> np.random.Generator:
        """The generator that slips are drawn from."""
        raise NotImplementedError


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

    @takes_keywords_of(FrozenLakeOptions)
    def __init__(self, **keywords: Any) -> None:
        options = parse_options(FrozenLakeOptions, keywords)
        super().__init__(options)
        self._set_rules()
        self.desc = options.map
        self.nrow, self.ncol = self.desc.shape
        self.tiles = tile_codes(self.desc)
        self.reward_range = min(options.reward_schedule), max(options.reward_schedule)
        self.initial_state_distrib = start_distribution(self.desc)
        self.lastaction: int | None = None
        self._start_chances = np.cumsum(self.initial_state_distrib)

    @cached_property
    def P(self) -> dict[int, dict[int, list[tuple[float, int, float, bool]]]]:
        """Transitions, ``P[s][a]``: (probability, next s, reward, terminated) each."""
        neighbours, slip, _ = self._parameters
        rewards = dict(
            zip(kernels.REWARD_TILES, self.options.reward_schedule, strict=True)
        )
        chances = list(enumerate(slip[0].tolist()))
        if not self.options.is_slippery:
            chances = chances[1:2]
        tiles = self._tiles[0].tolist()

        def transitions(
            state: int, action: int
        ) -> list[tuple[float, int, float, bool]]:
            if kernels.is_terminal(tiles[state]):
                return [(1.0, state, 0, True)]
            cells = [
                int(neighbours[state, kernels.turn(action, outcome)])
                for outcome, _ in chances
            ]
            return [
                (chance, cell, rewards[tiles[cell]], kernels.is_terminal(tiles[cell]))
                for cell, (_, chance) in zip(cells, chances, strict=True)
            ]

        return {s: {a: transitions(s, a) for a in range(4)} for s in range(len(tiles))}

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
        uniform = self.np_random.random()
        self.s = int(kernels.categorical_sample(self._start_chances, uniform))
        self.lastaction = None
        observation, info = self._start_episode()
        return observation, {"prob": 1.0, **info}

    def _take_action(self, action: int) -> tuple[float, bool, dict[str, Any]]:
        before = self.s
        reward, terminated, success, prob = self._move(action, self.np_random)
        if action >= self.first_action:
            self.lastaction = action
        if self.action_parser is None:
            return reward, terminated, {"prob": prob}
        return reward, terminated, {**self._info(action, before, success), "prob": prob}

    def load_values(self, values: Mapping[str, Any]) -> None:
        """Take over checked values; ``lastaction`` is None then."""
        super().load_values(values)
        self.lastaction = None

    def _load_generator(self, values: Mapping[str, Any]) -> None:
        self.np_random = generator_at(values["generator_states"].tolist())

    @property
    def _slips(self) -> np.random.Generator:
        return self.np_random


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
        super().__init__(options)
        self._set_rules()
        self._slip_generator = np.random.Generator(np.random.PCG64(0))
        self.nrow, self.ncol = options.grid_shape
        self.start = 0

    @staticmethod
    def make_level_provider(
        options: RandomFrozenLakeOptions, num_threads: int = 1
    ) -> LevelProvider:
        """Return the provider of the maps of some options."""
        return make_level_provider(options, num_threads)

    @property
    def desc(self) -> NDArray[np.bytes_]:
        """The (nrow, ncol) map of bytes: S, F, H, G."""
        letters = np.array([b"?", b"F", b"H", b"G"])[self.tiles]
        letters[divmod(self.start, self.ncol)] = b"S"
        return letters

    def _begin(self, level: tuple[Any, ...], episode_seed: int) -> None:
        tiles, start = level
        self.tiles = tiles
        self.start = self.s = int(start)
        self._slip_generator = np.random.Generator(np.random.PCG64(episode_seed))
        # Gymnasium's reset uses one draw up for the start cell.
        self._slip_generator.random()

    def _take_action(self, action: int) -> tuple[float, bool, dict[str, Any]]:
        before = self.s
        reward, terminated, success, _ = self._move(action, self._slip_generator)
        return reward, terminated, self._info(action, before, success)

    def state_values(self) -> dict[str, Any]:
        """Return the state with the map and its start cell."""
        return {
            **super().state_values(),
            "maps": self._tiles[0].copy(),
            "starts": np.int64(self.start),
        }

    def load_values(self, values: Mapping[str, Any]) -> None:
        """Take over checked values."""
        super().load_values(values)
        self.tiles, self.start = values["maps"], int(values["starts"])

    def check_values(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Check the maps and their start cells."""
        super().check_values(arrays)
        check_array(arrays, "maps", kernels.ICE, kernels.GOAL)
        check_array(arrays, "starts", 0, self._tiles.size - 1)

    def _load_generator(self, values: Mapping[str, Any]) -> None:
        self._slip_generator = generator_at(values["generator_states"].tolist())

    @property
    def _slips(self) -> np.random.Generator:
        return self._slip_generator
