"""RAGEN's configurations of environments: its names and defaults, and our keywords.

Each class has `batch_keywords`, the keywords of `roll_vec.make_vec` that it stands for.
The values may be those of an OmegaConf config.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from roll_vec.adapters.roll.webshop import shop_keywords
from roll_vec.envs.frozen_lake.grid import FROZEN_LAKE
from roll_vec.envs.frozen_lake.options import RandomFrozenLakeOptions
from roll_vec.envs.sokoban import SokobanOptions
from roll_vec.envs.sokoban.grid import SOKOBAN
from roll_vec.envs.webshop.goals import GoalFilter
from roll_vec.envs.webshop.options import WebShopOptions
from roll_vec.errors import InvalidOptionError
from roll_vec.options import check_choice, check_int
from roll_vec.stacked.coordinate_texts import TEXT_FORMATS

__all__ = [
    "REGISTERED_ENV_CONFIGS",
    "CountdownEnvConfig",
    "FrozenLakeEnvConfig",
    "SokobanEnvConfig",
    "WebShopEnvConfig",
]

# RAGEN counts the actions of both grids from 1.
_FIRST_ACTION = 1


def _observation_keywords(config: Any) -> dict[str, Any]:
    """Return the keywords of a grid's observations and actions."""
    check_choice("render_mode", config.render_mode, ("text", "rgb_array"))
    check_choice("observation_format", config.observation_format, TEXT_FORMATS)
    if config.render_mode == "rgb_array":
        return {"obs_mode": "rgb", "action_start": _FIRST_ACTION}
    return {
        "obs_mode": "text",
        "text_format": config.observation_format,
        "action_start": _FIRST_ACTION,
    }


def _check_actions(name: str, actions: Any) -> None:
    """Refuse numbers of actions that the game does not have."""
    last = SOKOBAN.num_actions
    if not all(isinstance(a, int) and _FIRST_ACTION <= a <= last for a in actions):
        accepted = f"actions from {_FIRST_ACTION} to {last}"
        raise InvalidOptionError.expected(name, accepted, dict.fromkeys(actions))


@dataclass
class SokobanEnvConfig:
    """RAGEN's configuration of Sokoban.

    ``observation_format`` is our ``text_format``.  ``render_mode`` is ``text`` or
    ``rgb_array``; observations have this form.
    """

    dim_room: tuple[int, int] = (6, 6)
    max_steps: int = 100
    num_boxes: int = 3
    search_depth: int = 300
    grid_lookup: Mapping[int, str] = field(default_factory=lambda: SOKOBAN.glyphs)
    grid_vocab: Mapping[str, str] = field(default_factory=lambda: SOKOBAN.meanings)
    action_lookup: Mapping[int, str] = field(
        default_factory=lambda: SOKOBAN.action_lookup(_FIRST_ACTION)
    )
    dim_x: int | None = None
    dim_y: int | None = None
    render_mode: str = "text"
    observation_format: str = "grid"

    def __post_init__(self) -> None:
        if self.dim_x is not None and self.dim_y is not None:
            self.dim_room = self.dim_x, self.dim_y
        _check_actions("action_lookup", self.action_lookup)
        # Validated now, so that a bad config fails where it is written.
        SokobanOptions(**self.batch_keywords())

    def batch_keywords(self) -> dict[str, Any]:
        """Return the keywords of ``roll_vec/Sokoban-v0``."""
        return {
            "dim_room": tuple(self.dim_room),
            "max_steps": self.max_steps,
            "num_boxes": self.num_boxes,
            "search_depth": self.search_depth,
            "grid_lookup": dict(self.grid_lookup),
            **_observation_keywords(self),
        }


@dataclass
class FrozenLakeEnvConfig:
    """RAGEN's configuration of FrozenLake.

    ``action_map`` gives Gymnasium's direction of each action, ``map_lookup`` the key in
    ``grid_lookup`` of each letter.  A reset's seed replaces ``map_seed``.
    """

    size: int = 4
    p: float = 0.9
    success_rate: float = 0.8
    is_slippery: bool = True
    map_seed: int | None = None
    render_mode: str = "text"
    observation_format: str = "grid"
    action_map: Mapping[int, int] = field(
        default_factory=lambda: {direction + 1: direction for direction in range(4)}
    )
    map_lookup: Mapping[bytes, int] = field(
        default_factory=lambda: {b"P": 0, b"F": 1, b"H": 2, b"G": 3}
    )
    grid_lookup: Mapping[int, str] = field(default_factory=lambda: FROZEN_LAKE.glyphs)
    grid_vocab: Mapping[str, str] = field(default_factory=lambda: FROZEN_LAKE.meanings)
    action_lookup: Mapping[int, str] = field(
        default_factory=lambda: FROZEN_LAKE.action_lookup(_FIRST_ACTION)
    )

    def __post_init__(self) -> None:
        if not set(self.action_lookup) <= set(self.action_map):
            accepted = f"actions of action_map, {list(self.action_map)}"
            raise InvalidOptionError.expected(
                "action_lookup", accepted, dict(self.action_lookup)
            )
        _check_actions("action_map", [d + 1 for d in self.action_map.values()])
        RandomFrozenLakeOptions(**self.batch_keywords())

    def batch_keywords(self) -> dict[str, Any]:
        """Return the keywords of ``roll_vec/RandomFrozenLake-v0``."""
        glyphs, letters = self.grid_lookup, (b"F", b"H", b"G")
        # The player's three codes stand in no map.
        keys = [0, *(self.map_lookup[letter] for letter in letters), 4, 5]
        return {
            "size": self.size,
            "p": self.p,
            "success_rate": self.success_rate,
            "is_slippery": self.is_slippery,
            "grid_lookup": {c: glyphs[k] for c, k in enumerate(keys) if k in glyphs},
            **_observation_keywords(self),
        }


@dataclass
class CountdownEnvConfig:
    """RAGEN's configuration of Countdown.

    ``train_path`` is a ``.parquet`` or ``.jsonl`` file with ``nums`` and ``target``; of
    its first ``max_instances`` rows those are played whose target is a sum of the
    numbers with signs.  None: generated tasks, without a limit.
    """

    train_path: str | os.PathLike[str] | None = "data/countdown/train.parquet"
    max_instances: int = 20000
    render_mode: str = "text"
    score: float = 1
    format_score: float = 0.1

    def __post_init__(self) -> None:
        check_choice("render_mode", self.render_mode, ("text",))
        check_int("max_instances", self.max_instances, 1)

    def batch_keywords(self) -> dict[str, Any]:
        """Return the keywords of ``roll_vec/Countdown-v0``."""
        # RAGEN's answers are expressions of Python.
        return {"data": self.train_path, "unary_minus": True}


@dataclass
class WebShopEnvConfig:
    """RAGEN's configuration of WebShop.

    ``file_path``, ``server`` and ``limit_goals`` are those of
    `roll_vec.adapters.roll.webshop.shop_keywords`.  RAGEN's ``dataset`` names a file
    within its own package: here it must be None.
    """

    dataset: str | None = None
    observation_mode: str = "text"
    file_path: str | os.PathLike[str] | None = None
    server: Any = None
    filter_goals: GoalFilter | None = None
    limit_goals: int = -1
    num_products: int | None = None
    human_goals: bool = False
    show_attrs: bool = False

    def __post_init__(self) -> None:
        if self.dataset is not None:
            accepted = "None: file_path names the file of products, or the demo shop"
            raise InvalidOptionError.expected("dataset", accepted, self.dataset)
        WebShopOptions(**self.batch_keywords())

    def batch_keywords(self) -> dict[str, Any]:
        """Return the keywords of ``roll_vec/WebShop-v0``."""
        keywords = asdict(self)
        del keywords["dataset"]
        return shop_keywords(**keywords)


REGISTERED_ENV_CONFIGS: dict[str, type[Any]] = {
    "sokoban": SokobanEnvConfig,
    "frozen_lake": FrozenLakeEnvConfig,
    "countdown": CountdownEnvConfig,
    "webshop": WebShopEnvConfig,
}
