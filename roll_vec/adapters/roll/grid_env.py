"""The methods that ROLL's Sokoban and FrozenLake share."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from roll_vec.adapters.roll.configs import RENDER_MODES
from roll_vec.arrays.single_env import LevelEnv
from roll_vec.base_envs import BaseDiscreteActionEnv
from roll_vec.options import check_choice

# ROLL's step limit; the registered ids have the same.
MAX_STEPS = 100


class RollGridEnv(LevelEnv, BaseDiscreteActionEnv):
    """The methods that ROLL adds to a single environment."""

    config: Any

    def _set_config(self, config: Any) -> None:
        # Users declare these tables on their class; here each environment has its own.
        self.config = config
        self.ACTION_LOOKUP = self.options.action_lookup  # type: ignore[misc]
        self.GRID_LOOKUP = self.options.grid_lookup  # type: ignore[misc]

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Start a new episode, as `LevelEnv.reset`; the seed may be positional."""
        return super().reset(seed=seed, options=options)

    def render(self, mode: str | None = None) -> Any:
        """Return the grid as ``text`` (str) or ``rgb_array`` ((16 H, 16 W, 3) uint8).

        Parameters
        ----------
        mode : str or None
            None: the config's ``render_mode``.

        Raises
        ------
        InvalidOptionError, ResetNeededError
        """
        mode = self.config.render_mode if mode is None else mode
        check_choice("mode", mode, RENDER_MODES)
        self._check_started()
        return self._frame(mode)

    def get_image(self, mode: str = "rgb_array") -> NDArray[np.uint8]:
        """Return the grid as pixels.

        Parameters
        ----------
        mode : str
            Only ``rgb_array``.
        """
        check_choice("mode", mode, ("rgb_array",))
        image: NDArray[np.uint8] = self.render(mode)
        return image
