"""RAGEN's configurations of environments: its names and defaults, and our keywords.

The values may be those of an OmegaConf config.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any, ClassVar

from roll_vec.adapters.ragen.coordinate_texts import TEXT_FORMATS
from roll_vec.adapters.roll import countdown as roll
from roll_vec.adapters.roll.configs import GridConfig, plain_value
from roll_vec.adapters.roll.webshop import ShopConfig
from roll_vec.adapters.tiles import GYM_SOKOBAN, GYMNASIUM, OWN, make_painter
from roll_vec.envs.frozen_lake import RandomFrozenLake
from roll_vec.envs.sokoban import Sokoban
from roll_vec.errors import InvalidOptionError
from roll_vec.options import check_choice

PAGE = "docs/frameworks/ragen.md"
"""Which of RAGEN's tags are here, and which are not."""
_PRODUCTS = {"small": "items_shuffle_1000.json", "full": "items_shuffle.json"}


@dataclass(kw_only=True)
class _GridConfig(GridConfig):
    """A grid with RAGEN's ``observation_format``, one of `TEXT_FORMATS`.

    ``tiles`` names the package whose pictures pixels are made of: `TILES`, as in RAGEN,
    or ``roll_vec``.
    """

    TILES: ClassVar[str]

    # Names of actions are the manager's: manager.py.
    OURS: ClassVar[Mapping[str, str | None]] = dict.fromkeys(
        ("observation_format", "render_mode", "action_lookup", "dim_x", "dim_y")
    )

    grid_lookup: Mapping[int, str] | None = None
    grid_vocab: Mapping[str, str] | None = None
    action_lookup: Mapping[int, str] | None = None
    render_mode: str = "text"
    observation_format: str = "grid"
    tiles: str

    def batch_keywords(self) -> dict[str, Any]:
        """Return the keywords of `roll_vec.make_vec` that the fields stand for."""
        keywords: dict[str, Any] = plain_value(super().batch_keywords())
        check_choice("observation_format", self.observation_format, TEXT_FORMATS)
        check_choice("tiles", self.tiles, (self.TILES, OWN))
        if self.render_mode != "text" and make_painter(self.tiles) is not None:
            keywords["obs_mode"] = "grid"
        return keywords

    def _check_actions(self, name: str, actions: Any) -> None:
        """Refuse numbers of actions that the game does not have."""
        last = len(self.OPTIONS.actions)
        if not all(
            isinstance(action, int) and 1 <= action <= last for action in actions
        ):
            accepted = f"actions from 1 to {last}"
            raise InvalidOptionError.expected(name, accepted, dict.fromkeys(actions))


@dataclass
class SokobanEnvConfig(_GridConfig):
    """RAGEN's configuration of Sokoban.

    ``observation_format`` is one of `TEXT_FORMATS`.  ``render_mode`` is ``text`` or
    ``rgb_array``; observations have this form.  ``tiles`` is ``gym_sokoban`` or
    ``roll_vec``: whose pictures the latter is made of.
    """

    OPTIONS: ClassVar[type[Any]] = Sokoban
    TILES: ClassVar[str] = GYM_SOKOBAN

    tiles: str = field(default=GYM_SOKOBAN, kw_only=True)
    dim_room: tuple[int, int] = (6, 6)
    max_steps: int = 100
    num_boxes: int = 3
    search_depth: int = 300
    dim_x: int | None = None
    dim_y: int | None = None

    def __post_init__(self) -> None:
        if self.dim_x is not None and self.dim_y is not None:
            self.dim_room = self.dim_x, self.dim_y
        super().__post_init__()
        self._check_actions("action_lookup", self.action_lookup)


@dataclass
class FrozenLakeEnvConfig(_GridConfig):
    """RAGEN's configuration of FrozenLake.

    ``action_map`` gives Gymnasium's direction of each action, ``map_lookup`` the key in
    ``grid_lookup`` of each letter.  A reset's seed replaces ``map_seed``.  ``tiles`` is
    ``gymnasium`` or ``roll_vec``: whose pictures ``rgb_array`` is made of.
    """

    OPTIONS: ClassVar[type[Any]] = RandomFrozenLake
    TILES: ClassVar[str] = GYMNASIUM

    tiles: str = field(default=GYMNASIUM, kw_only=True)
    size: int = 4
    p: float = 0.9
    success_rate: float = 0.8
    is_slippery: bool = True
    map_seed: int | None = None
    action_map: Mapping[int, int] = field(
        default_factory=lambda: {direction + 1: direction for direction in range(4)}
    )
    map_lookup: Mapping[bytes, int] = field(
        default_factory=lambda: {b"P": 0, b"F": 1, b"H": 2, b"G": 3}
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        names = self.action_lookup or {}
        if not set(names) <= set(self.action_map):
            accepted = f"actions of action_map, {list(self.action_map)}"
            raise InvalidOptionError.expected("action_lookup", accepted, dict(names))
        self._check_actions("action_map", [d + 1 for d in self.action_map.values()])

    def batch_keywords(self) -> dict[str, Any]:
        """Return the keywords of ``roll_vec/RandomFrozenLake-v0``."""
        keywords, letters = super().batch_keywords(), (b"F", b"H", b"G")
        # The player's three codes stand in no map.
        keys = [0, *(self.map_lookup[letter] for letter in letters), 4, 5]
        glyphs = keywords["grid_lookup"]
        table = {code: glyphs[key] for code, key in enumerate(keys) if key in glyphs}
        return {**keywords, "grid_lookup": table}


@dataclass
class CountdownEnvConfig(roll.CountdownEnvConfig):
    """RAGEN's configuration of Countdown, that of ROLL with a file by default.

    The default is the name that RAGEN has, of a Parquet file, which is not read: name a
    file of JSON lines, or None.
    """

    # RAGEN grades the answers: see `batches`.
    OURS: ClassVar[Mapping[str, str | None]] = {
        "train_path": "data",
        **dict.fromkeys(("render_mode", "score", "format_score")),
    }

    train_path: str | os.PathLike[str] | None = "data/countdown/train.parquet"

    def make_options(self) -> None:
        """Check no option of ours: the file need not exist before there is a batch."""


@dataclass
class WebShopEnvConfig(ShopConfig):
    """RAGEN's configuration of WebShop.

    ``dataset`` is ``small`` or ``full``, the products of the package webshop_minimal,
    which RAGEN's setup installs; ``file_path`` takes its place.  Without both it is the
    demo shop.
    """

    dataset: str | None = None

    def __post_init__(self) -> None:
        if self.dataset is not None:
            check_choice("dataset", self.dataset, _PRODUCTS)
            self.file_path = self.file_path or _find_products(self.dataset)
        super().__post_init__()


def _find_products(dataset: str) -> Path:
    """Return the file of RAGEN's products; its package is not imported."""
    spec = find_spec("webshop_minimal")
    if spec is None or not spec.submodule_search_locations:
        accepted = "None or the package webshop_minimal, which RAGEN's setup installs"
        hint = f"; see {PAGE}"
        raise InvalidOptionError.expected("dataset", accepted, dataset, hint)
    folder = Path(spec.submodule_search_locations[0])
    return folder / "data" / dataset / _PRODUCTS[dataset]
