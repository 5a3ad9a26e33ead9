"""Keywords of the environment, validated."""

from __future__ import annotations

import dataclasses
from collections.abc import Hashable
from typing import Any, ClassVar

from roll_vec.envs.webshop.catalogue.options import CatalogueOptions
from roll_vec.envs.webshop.goals import SPLITS, GoalFilter
from roll_vec.errors import InvalidOptionError
from roll_vec.options import (
    check_bool,
    check_choice,
    check_int,
    check_levels,
    check_optional_text,
)

__all__ = ["RENDER_MODES", "WebShopOptions"]

RENDER_MODES = ("ansi", "text")
_INFOS = ("seed_info", "level_info", "oracle_return_info")


@dataclasses.dataclass(frozen=True, kw_only=True)
class WebShopOptions(CatalogueOptions):
    """The keywords of `roll_vec/WebShop-v0`; those of the catalogue come first.

    Parameters
    ----------
    products : path or None
        WebShop's ``items_shuffle*.json``, plain or ``.gz``; or a folder that
        ``roll-vec webshop index`` stored; None: the demo shop.
    attributes, human_instructions, title_nouns, num_products, human_goals
        See `roll_vec.envs.webshop.catalogue.options.CatalogueOptions`.
    catalog_seed, search_backend, memory_map
        See there, too.
    filter_goals : function of (int, Goal), or None
        Returns from number and goal whether the goal is played.
    limit_goals : int or None
        Number of distinct goals that are then drawn by weight.
    split : str
        Goals that are played after filter and limit: ``test`` the first 500, ``eval``
        the next 1000, ``train`` the others, ``all``.
    observation_mode : str
        ``text``: the texts of the page, separated by ``[SEP]``; ``text_rich``: a line
        for each text, with marked buttons.
    observation_format : str
        ``page``: the page; ``roll``: the page and the available actions, as in ROLL;
        after a reset the instruction instead of the page.
    show_attrs : bool
        Whether a product's page has a button for its attributes.
    num_levels, start_level : int
        With K = ``num_levels`` above 0 an episode of seed s plays the level
        ``start_level + s mod K``, else the level s.
    seed_info : bool
        True: the info of a reset has ``seed``, an int below 2**32: `reset` with this
        seed starts the same episode in an environment with the same keywords, if the
        option ``session`` of the reset is the same.
    level_info : bool
        True: the info of a reset has ``level``, an int: the number of the level.
    oracle_return_info : bool
        True: the info of a reset has ``oracle_return``, a float: the reward of the best
        purchase; NaN if no search shows its product.
    env_instruction : str or None
        Text that `get_instructions` returns instead of the default.
    render_mode : str or None
        ``ansi``: the page laid out for a terminal; ``text``: the observation.

    Raises
    ------
    InvalidOptionError
    """

    # Those that `WebShop.set_level_options` takes.
    LEVEL_OPTIONS: ClassVar[tuple[str, ...]] = (
        "limit_goals",
        "split",
        "num_levels",
        "start_level",
    )

    filter_goals: GoalFilter | None = None
    limit_goals: int | None = None
    split: str = "all"
    observation_mode: str = "text"
    observation_format: str = "page"
    show_attrs: bool = False
    num_levels: int = 0
    start_level: int = 0
    seed_info: bool = False
    level_info: bool = False
    oracle_return_info: bool = False
    env_instruction: str | None = None
    render_mode: str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        filter_goals: Any = self.filter_goals
        # Hashable: selections of goals are cached by it.
        if filter_goals is not None and not (
            callable(filter_goals) and isinstance(filter_goals, Hashable)
        ):
            kind = "a hashable function of a number and a goal, or None"
            raise InvalidOptionError.expected("filter_goals", kind, filter_goals)
        if self.limit_goals is not None:
            self._convert("limit_goals", check_int, 1)
        check_choice("split", self.split, SPLITS)
        check_choice("observation_mode", self.observation_mode, ("text", "text_rich"))
        check_choice("observation_format", self.observation_format, ("page", "roll"))
        for name in ("show_attrs", *_INFOS):
            self._convert(name, check_bool)
        levels = check_levels(self.num_levels, self.start_level)
        for name, value in zip(("num_levels", "start_level"), levels, strict=True):
            object.__setattr__(self, name, value)
        check_optional_text("env_instruction", self.env_instruction)
        check_choice("render_mode", self.render_mode, (None, *RENDER_MODES))
