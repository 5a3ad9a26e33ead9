"""The classes of RAGEN's ``REGISTERED_ENVS``: batches of one environment."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from roll_vec.adapters.ragen.batches import (
    Batch,
    CountdownBatch,
    FrozenLakeBatch,
    SokobanBatch,
    WebShopBatch,
)
from roll_vec.adapters.ragen.configs import (
    PAGE,
    CountdownEnvConfig,
    FrozenLakeEnvConfig,
    SokobanEnvConfig,
    WebShopEnvConfig,
)
from roll_vec.adapters.ragen.coordinate_texts import TEXT_FORMATS, format_text
from roll_vec.arrays.grid_observations import GridObserver
from roll_vec.errors import InvalidOptionError, ResetNeededError
from roll_vec.options import check_choice
from roll_vec.seeding import check_seed


class RagenEnv:
    """One environment with RAGEN's methods.

    Parameters
    ----------
    config : CONFIG or None
        None: the defaults.

    Raises
    ------
    InvalidOptionError
    """

    CONFIG: ClassVar[type[Any]]
    BATCH: ClassVar[type[Batch]]

    def __init__(self, config: Any = None) -> None:
        self.config = self.CONFIG() if config is None else config
        self._batch = self.BATCH(self.config, 1)

    def reset(self, seed: int | None = None, mode: str | None = None) -> Any:
        """Start the episode of a seed; return the first observation."""
        self._batch.reset([_check_seed(seed)], mode)
        return self.render()

    def step(self, action: Any) -> tuple[Any, float, bool, dict[str, Any]]:
        """Take an action; return observation, reward, done and info.

        Raises
        ------
        InvalidActionError
        ResetNeededError
            Before a reset and after the end of an episode.
        """
        result = self._batch.step({0: action})[0]
        return self._observation(), *result

    def _observation(self) -> Any:
        return self._batch.observations[0]

    def render(self, mode: str | None = None) -> Any:  # noqa: ARG002
        """Return the present observation.

        Raises
        ------
        ResetNeededError
        """
        observation = self._batch.observations[0]
        if observation is None:
            message = "the environment must be reset before it is rendered"
            raise ResetNeededError(message)
        return observation

    def close(self) -> None:
        """Close the environment."""
        self._batch.close()


class _GridEnv(RagenEnv):
    """The methods that RAGEN adds to environments of integer actions."""

    def get_all_actions(self) -> list[int]:
        """Return the actions of ``config.action_lookup``."""
        return list(self.config.action_lookup)

    def render(self, mode: str | None = None) -> Any:
        """Return the grid: as ``text``, one of its formats, or ``rgb_array``.

        Parameters
        ----------
        mode : str or None
            None: the config's ``render_mode``.
        """
        observation = super().render()
        if mode is None:
            return observation
        check_choice("mode", mode, ("text", "rgb_array", *TEXT_FORMATS))
        obs_mode = "rgb" if mode == "rgb_array" else "text"
        # The same arrays, observed in another form.
        engine: Any = copy.copy(self._batch.envs.engine)
        engine.observer = GridObserver(replace(engine.options, obs_mode=obs_mode))
        (observation,) = engine.observe(np.zeros(1, np.int64))
        if mode in TEXT_FORMATS:
            return format_text(engine, 0, observation, mode)
        return self._batch.show(0, observation)


class SokobanEnv(_GridEnv):
    """RAGEN's Sokoban."""

    CONFIG, BATCH = SokobanEnvConfig, SokobanBatch


class FrozenLakeEnv(_GridEnv):
    """RAGEN's FrozenLake."""

    CONFIG, BATCH = FrozenLakeEnvConfig, FrozenLakeBatch


class CountdownEnv(RagenEnv):
    """RAGEN's Countdown."""

    CONFIG, BATCH = CountdownEnvConfig, CountdownBatch


class WebShopEnv(RagenEnv):
    """RAGEN's WebShop; `render` returns the prompt, other methods the page."""

    CONFIG, BATCH = WebShopEnvConfig, WebShopBatch
    _batch: WebShopBatch

    def reset(
        self,
        seed: int | None = None,
        mode: str | None = "train",
        session: int | str | None = None,
        instruction_text: str | None = None,
    ) -> str:
        """Start the goal of a seed, or of a session; return the first page."""
        self._batch.reset([_check_seed(seed)], mode, session, instruction_text)
        return self._observation()

    def _observation(self) -> str:
        return self._batch.pages[0]

    def get_available_actions(self) -> list[str]:
        """Return the actions that the page offers."""
        return self._batch.available_actions(0)


def _check_seed(seed: Any) -> int | None:
    return None if seed is None else check_seed(seed)


class _Registered(dict[str, Any]):
    """A table by ``env_type``; an error says which of RAGEN's environments it has."""

    def __missing__(self, env_type: Any) -> Any:
        return find_env_class("env_type", env_type)


REGISTERED_ENVS: dict[str, type[RagenEnv]] = _Registered(
    sokoban=SokobanEnv,
    frozen_lake=FrozenLakeEnv,
    countdown=CountdownEnv,
    webshop=WebShopEnv,
)
REGISTERED_ENV_CONFIGS: dict[str, type[Any]] = _Registered(
    {name: env.CONFIG for name, env in REGISTERED_ENVS.items()}
)


def find_env_class(name: str, env_type: Any) -> type[RagenEnv]:
    """Return the class of an ``env_type``.

    Parameters
    ----------
    name : str
        Of the option, for the error.
    env_type : str

    Raises
    ------
    InvalidOptionError
    """
    if env_type not in tuple(REGISTERED_ENVS):
        accepted = f"one of {', '.join(map(repr, REGISTERED_ENVS))}"
        raise InvalidOptionError.expected(name, accepted, env_type, f"; see {PAGE}")
    return REGISTERED_ENVS[env_type]
