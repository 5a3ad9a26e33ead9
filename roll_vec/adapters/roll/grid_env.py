"""The methods and options that ROLL's Sokoban and FrozenLake share."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from roll_vec.base_envs import BaseDiscreteActionEnv
from roll_vec.options import check_choice
from roll_vec.stacked.grid_family import GridFamily
from roll_vec.stacked.single_env import LevelEnv

__all__ = ["MAX_STEPS", "RollGridEnv", "config_keywords", "fill_lookups"]

# ROLL's render modes; its observations have the form of the config's mode.
_MODES = ("text", "rgb_array")
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
        check_choice("mode", mode, _MODES)
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


def config_keywords(config: Any, options_class: type[Any]) -> dict[str, Any]:
    """Return the keywords of the environment that a config describes."""
    check_choice("render_mode", config.render_mode, _MODES)
    names = {field.name for field in fields(options_class)}
    # Not `asdict`, which would copy levels.
    keywords = {
        field.name: getattr(config, field.name)
        for field in fields(config)
        if field.name in names
    }
    # 0 is ROLL's own "no valid action": it needs no warning.
    keywords["action_start"] = 1
    keywords["obs_mode"] = "text" if config.render_mode == "text" else "rgb"
    return keywords


def fill_lookups(config: Any, family: GridFamily) -> None:
    """Fill the tables that a config leaves out with copies of the family's."""
    config.grid_lookup = config.grid_lookup or dict(family.glyphs)
    config.grid_vocab = config.grid_vocab or dict(family.meanings)
    config.action_lookup = config.action_lookup or family.action_lookup(1)
