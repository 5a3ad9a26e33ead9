"""ROLL's environment classes: a config object, text to observe, ROLL's names.

Names and defaults are those of ROLL's custom environment guide.  Rules, levels and
rewards are those of the single environments that these classes extend.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from roll_vec.base_envs import BaseDiscreteActionEnv
from roll_vec.envs.frozen_lake import RandomFrozenLake, RandomFrozenLakeOptions
from roll_vec.envs.sokoban import Sokoban, SokobanOptions
from roll_vec.errors import InvalidOptionError
from roll_vec.options import check_choice, check_unknown, takes_keywords_of
from roll_vec.seeding import check_seed
from roll_vec.stacked.grid_family import GridFamily
from roll_vec.stacked.single_env import LevelEnv

__all__ = ["FrozenLakeEnv", "FrozenLakeEnvConfig", "SokobanEnv", "SokobanEnvConfig"]

Config = TypeVar("Config")

# ROLL's render modes; its observations have the form of the config's mode.
_MODES = ("text", "rgb_array")
# ROLL's step limit; the registered ids have the same.
MAX_STEPS = 100


class _RollEnv(LevelEnv, BaseDiscreteActionEnv):
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
        return self.observer.frames(self._grid()[np.newaxis], mode)[0]

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


def _make_config(
    config_class: type[Config],
    config: Config | Mapping[str, Any] | None,
    keywords: Mapping[str, Any],
) -> Config:
    """Return the configuration of an environment; keywords replace its fields.

    Raises
    ------
    InvalidOptionError, UnknownOptionError
    """
    names = [field.name for field in fields(config_class)]  # type: ignore[arg-type]
    if isinstance(config, config_class):
        check_unknown(keywords, names)
        return replace(config, **keywords) if keywords else config  # type: ignore[type-var]
    if config is not None and not isinstance(config, Mapping):
        accepted = f"a {config_class.__name__}, a mapping of its fields or None"
        raise InvalidOptionError.expected("config", accepted, config)
    values = {**(config or {}), **keywords}
    check_unknown(values, names)
    return config_class(**values)


def _with_size(keywords: Mapping[str, Any]) -> dict[str, Any]:
    """Add keywords that reset the other forms of the room's size in a config.

    ``dim_x`` and ``dim_y`` replace a config's ``dim_room``, and the other way round;
    ``levels`` have a size of their own.
    """
    others: dict[str, Any] = {}
    if keywords.get("levels") is not None:
        others = {"dim_x": None, "dim_y": None, "dim_room": SokobanEnvConfig.dim_room}
    elif "dim_room" in keywords:
        others = {"dim_x": None, "dim_y": None}
    elif {"dim_x", "dim_y"} & keywords.keys():
        others = {"dim_room": SokobanEnvConfig.dim_room}
    return {**others, **keywords}


def _keywords(config: Any, options_class: type[Any]) -> dict[str, Any]:
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


def _fill_lookups(config: Any, family: GridFamily) -> None:
    """Fill the tables that a config leaves out with copies of the family's."""
    config.grid_lookup = config.grid_lookup or dict(family.glyphs)
    config.grid_vocab = config.grid_vocab or dict(family.meanings)
    config.action_lookup = config.action_lookup or family.action_lookup(1)


@dataclass
class SokobanEnvConfig:
    """ROLL's configuration of Sokoban; the fields are those of `SokobanOptions`.

    ``render_mode`` is ``text`` or ``rgb_array``; observations have the same form.
    ``levels`` are played in place of generated rooms; ``dim_room`` becomes their size.
    """

    dim_room: tuple[int, int] = SokobanOptions.dim_room
    max_steps: int = MAX_STEPS
    num_boxes: int = SokobanOptions.num_boxes
    search_depth: int = SokobanOptions.search_depth
    num_gen_steps: int | None = None
    grid_lookup: Mapping[int, str] | None = None
    grid_vocab: Mapping[str, str] | None = None
    action_lookup: Mapping[int, str] | None = None
    dim_x: int | None = None
    dim_y: int | None = None
    render_mode: str = "text"
    levels: Any = None

    def __post_init__(self) -> None:
        _fill_lookups(self, SokobanOptions.FAMILY)
        # Validated now, so that a bad config fails where it is written.
        options = SokobanOptions(**_keywords(self, SokobanOptions))
        self.dim_room, self.levels = options.dim_room, options.levels


class SokobanEnv(_RollEnv, Sokoban):
    """Sokoban for users of ROLL: ``SokobanEnv(config)``.

    Parameters
    ----------
    config : SokobanEnvConfig, mapping or None
        A mapping has fields of the configuration; None: the defaults.
    **keywords
        Fields that replace those of ``config``, which is not changed.

    Raises
    ------
    InvalidOptionError, UnknownOptionError
    """

    @takes_keywords_of(SokobanEnvConfig)
    def __init__(
        self,
        config: SokobanEnvConfig | Mapping[str, Any] | None = None,
        **keywords: Any,
    ) -> None:
        config = _make_config(SokobanEnvConfig, config, _with_size(keywords))
        Sokoban.__init__(self, **_keywords(config, SokobanOptions))
        self._set_config(config)


@dataclass
class FrozenLakeEnvConfig:
    """ROLL's configuration of FrozenLake, see `RandomFrozenLakeOptions`.

    ``map_seed`` is the seed of the first episode if `reset` gets none.  ``levels`` are
    played in place of random maps; ``size`` becomes their number of rows.
    """

    size: int = RandomFrozenLakeOptions.size
    p: float = RandomFrozenLakeOptions.p
    is_slippery: bool = RandomFrozenLakeOptions.is_slippery
    max_steps: int = MAX_STEPS
    map_seed: int | None = None
    grid_lookup: Mapping[int, str] | None = None
    grid_vocab: Mapping[str, str] | None = None
    action_lookup: Mapping[int, str] | None = None
    render_mode: str = "text"
    levels: Any = None

    def __post_init__(self) -> None:
        _fill_lookups(self, RandomFrozenLakeOptions.FAMILY)
        if self.map_seed is not None:
            self.map_seed = check_seed(self.map_seed)
        # Validated now, so that a bad config fails where it is written.
        options = RandomFrozenLakeOptions(**_keywords(self, RandomFrozenLakeOptions))
        self.size, self.levels = options.size, options.levels


class FrozenLakeEnv(_RollEnv, RandomFrozenLake):
    """FrozenLake for users of ROLL: ``FrozenLakeEnv(config)``.

    Parameters
    ----------
    config : FrozenLakeEnvConfig, mapping or None
        A mapping has fields of the configuration; None: the defaults.
    **keywords
        Fields that replace those of ``config``, which is not changed.

    Raises
    ------
    InvalidOptionError, UnknownOptionError
    """

    @takes_keywords_of(FrozenLakeEnvConfig)
    def __init__(
        self,
        config: FrozenLakeEnvConfig | Mapping[str, Any] | None = None,
        **keywords: Any,
    ) -> None:
        if keywords.get("levels") is not None:
            # They have a size of their own.
            keywords = {"size": FrozenLakeEnvConfig.size, **keywords}
        config = _make_config(FrozenLakeEnvConfig, config, keywords)
        RandomFrozenLake.__init__(self, **_keywords(config, RandomFrozenLakeOptions))
        self._set_config(config)

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Start a new episode; without a seed, the first one has ``map_seed``."""
        if seed is None and not self._has_started:
            seed = self.config.map_seed
        return super().reset(seed, options)
