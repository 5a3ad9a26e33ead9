"""The bases of the single environments: actions, rendering, limits, levels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

from roll_vec.errors import ResetNeededError
from roll_vec.stacked.action_codes import ActionCodes
from roll_vec.stacked.grid_observations import GridObserver
from roll_vec.stacked.level_providers import LevelProvider, describe_levels
from roll_vec.stacked.option_sets import (
    change_level_options,
    describe_options,
    read_options,
)
from roll_vec.stacked.options import METADATA
from roll_vec.stacked.rendered_env import RenderedEnv
from roll_vec.stacked.single_state import LevelState, SingleState
from roll_vec.stacked.text_actions import (
    describe_game,
    make_action_parser,
    symbol_meanings,
    text_action_space,
)
from roll_vec.text.turn import MULTIPLIED_INFOS, EnvStep, step_text

__all__ = ["GridEnv", "LevelEnv"]


class GridEnv(RenderedEnv, SingleState):
    """One environment that is a grid: actions, rendering, ROLL's step limit.

    A subclass gives `_grid`, `_take_action` and what `SingleState` asks for.

    Parameters
    ----------
    options : GridOptions

    Attributes
    ----------
    options
        The validated keywords.
    num_env_steps : int
        Steps of the current episode.
    """

    metadata = METADATA

    def __init__(self, options: Any) -> None:
        self.options, self.observer = options, GridObserver(options)
        self.render_mode = options.render_mode
        self.observation_space = self.observer.space
        self._action_codes = ActionCodes(options)
        self.first_action = options.first_action
        self.action_space: gymnasium.Space[Any] = gymnasium.spaces.Discrete(
            options.FAMILY.num_actions, start=self.first_action
        )
        self.action_parser = make_action_parser(options)
        if self.action_parser is not None:
            self.action_space = text_action_space(self.action_parser)
        self._max_steps = getattr(options, "max_steps", None)
        self.num_env_steps = 0
        # Computed once: a step takes 2 us.
        self._has_state_infos = options.has_state_infos
        self._has_started = False

    @property
    def action_lookup(self) -> dict[int, str]:
        """Names of the actions."""
        return dict(self.options.action_lookup)

    @property
    def accepts_noop(self) -> bool:
        """True if `step` accepts 0, "no valid action", below the action space."""
        return self.action_parser is None and self.first_action > 0

    @property
    def symbol_meanings(self) -> list[tuple[str, str]]:
        """Symbols of a grid as text, each with its meaning."""
        return symbol_meanings(self.options)

    def get_all_actions(self) -> list[int]:
        """Return all valid actions."""
        return list(self.options.action_lookup)

    def get_instructions(self) -> str:
        """Return the game, the symbols, the actions and the form of an answer."""
        return describe_game(self.options, self.action_parser)

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Take an action.

        Parameters
        ----------
        action : int, or str with ``action_mode="text"``
            An integer of the action space: action + ``action_space.start`` for an agent
            that counts from 0.  If the space starts at 1, also 0, "no valid action".
            Any str.

        Returns
        -------
        observation, reward, terminated, truncated, info
            Terminated by the rules of the game, truncated at the option ``max_steps``.

        Raises
        ------
        InvalidActionError, ResetNeededError, ClosedError
            Nothing has changed then.
        """
        self._check_started()
        if self.action_parser is None:
            code = self._action_codes.check_one(action)
            reward, terminated, info = self._take_action(code)
        else:
            _, reward, terminated, _, info = step_text(
                self.action_parser, action, self._take_code, MULTIPLIED_INFOS
            )
        self.num_env_steps += 1
        # As the kernel `reaches_limit`, without the time of a call.
        limit = self._max_steps
        truncated = limit is not None and self.num_env_steps >= limit
        self._show()
        if self._has_state_infos:
            info.update(self._state_infos())
        return self._observe(), reward, terminated, truncated, info

    def _state_infos(self) -> dict[str, Any]:
        """Return the infos of resets and steps that the options ask for."""
        return {"action_mask": self._action_mask()} if self.options.action_mask else {}

    def _action_mask(self) -> NDArray[np.int8]:
        """Return 1 for the actions that can change something, (A,), new."""
        raise NotImplementedError

    def _take_action(self, action: int) -> tuple[float, bool, dict[str, Any]]:
        """Take one action; return reward, terminated, info."""
        raise NotImplementedError

    def _take_code(self, code: int) -> EnvStep:
        """Take one action of a text; the observation follows at the end of the turn."""
        reward, terminated, info = self._take_action(code)
        return None, reward, terminated, False, info

    def _start_episode(self) -> tuple[Any, dict[str, Any]]:
        """Count steps from 0; return the first observation and the reset's info."""
        self.num_env_steps = 0
        self._has_started = True
        self._show()
        info = self._state_infos()
        if self.action_parser is not None:
            info["env_instruction"] = self.get_instructions()
        return self._observe(), info

    def _check_started(self) -> None:
        self._check_open()
        if not self._has_started:
            message = "the environment must be reset before it is stepped or rendered"
            raise ResetNeededError(message)

    def _grid(self) -> NDArray[np.uint8]:
        """Return the (H, W) codes; not to be written."""
        raise NotImplementedError

    def _observed_grid(self) -> NDArray[np.uint8]:
        """Return the (H, W) codes to observe; `START_MARK` where texts name starts."""
        return self._grid()

    def _observe(self) -> Any:
        return self.observer.observe_one(self._observed_grid())

    def _frame(self, mode: str) -> Any:
        grids = self._grid()[np.newaxis]
        return self.observer.frames(grids, mode, self.options.render_scale)[0]


class LevelEnv(GridEnv, LevelState):
    """One environment that plays a new level in each episode.

    The seeds of its episodes are those of `SeededEnv`, so it plays the same levels as
    an environment of a batch; it draws from ``level_seed`` alone.

    A subclass gives `make_level_provider`, `_begin`, `_grid` and `_take_action`.

    Attributes
    ----------
    level_number : int
        The level that is played, or 0: see `LevelEngine.level_numbers`.
    """

    def __init__(self, options: Any) -> None:
        super().__init__(options)
        self.level_number = 0
        self._level_provider = self.make_level_provider(options)
        self._has_level_infos = options.has_level_infos

    @staticmethod
    def make_level_provider(options: Any, num_threads: int = 1) -> LevelProvider:
        """Return the provider of the levels of some options."""
        raise NotImplementedError

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Start a new episode.

        Parameters
        ----------
        seed : int or None
            An int starts a sequence of episodes; None starts the next episode (the
            first time, of a sequence from an entropy seed).
        options : dict or None
            Ignored.

        Returns
        -------
        observation, info
            The info has ``env_instruction`` with ``action_mode="text"``, and what the
            options ask for; else it is empty.

        Raises
        ------
        InvalidSeedError, ClosedError
        LevelGenerationError
            If no level was found; nothing has changed then.
        """
        episode = self._plan_episode(seed)
        seeds = np.array([episode.level_seed], np.uint64)
        provider = self._level_provider
        levels, level_indices = provider.get(seeds)
        (index,), num_measures = level_indices, len(provider.measures)
        numbers = np.zeros(1, np.int64)
        if self.options.needs_level_numbers:
            numbers = provider.level_numbers(seeds, level_indices)
        infos: dict[str, Any] = {}
        if self._has_level_infos:
            parts = provider, numbers, seeds, levels, level_indices
            infos = describe_levels(self.options, *parts)
        level = tuple(part[index] for part in levels[: len(levels) - num_measures])
        self._begin(level, episode.level_seed)
        self._commit_episode(episode)
        self.level_number = int(numbers[0])
        observation, info = self._start_episode()
        return observation, {**info, **_first_item(infos)}

    def set_level_options(self, **level_options: Any) -> None:
        """Change the levels from the next episode on; the present one goes on.

        Parameters
        ----------
        **level_options
            Keywords of the environment that choose its levels: ``num_levels``,
            ``start_level`` and those of the game.

        Raises
        ------
        UnknownOptionError
            For another keyword; lists those that are accepted.
        InvalidOptionError
            For a value that cannot be used.
        ClosedError
        """
        self._check_open()
        self._change_options(change_level_options(self.options, level_options))

    def _change_options(self, options: Any) -> None:
        if options != self.options:
            self._level_provider = self.make_level_provider(options)
            self.options = options

    def get_state(self) -> dict[str, Any]:
        """Return all that later steps and resets depend on; see `SingleState`."""
        return {**super().get_state(), "level_options": describe_options(self.options)}

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Go to a state, also to its level options; see `SingleState.set_state`."""
        self._check_open()
        options = self.options
        if isinstance(state, Mapping):
            options = read_options(options, state.get("level_options"))
        super().set_state(state)
        self._change_options(options)

    def _begin(self, level: tuple[Any, ...], episode_seed: int) -> None:
        """Start to play a level.

        Parameters
        ----------
        level : tuple
            The level's part of each array of a `Levels`; not to be written.
        episode_seed : int
        """
        raise NotImplementedError


def _first_item(infos: dict[str, Any]) -> dict[str, Any]:
    """Return infos of (1,) arrays, also in dicts, as numbers of Python."""
    return {
        key: _first_item(value) if isinstance(value, dict) else value.item()
        for key, value in infos.items()
    }
