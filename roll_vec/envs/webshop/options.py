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

RENDER_MODES = ("ansi", "text")
_INFOS = ("seed_info", "level_info", "oracle_return_info")


@dataclasses.dataclass(frozen=True, kw_only=True)
class WebShopOptions(CatalogueOptions):
    """The keywords of `roll_vec/WebShop-v0`; those of the catalogue come first.

    Parameters
    ----------
    products, attributes, human_instructions, title_nouns, num_products, \
human_goals, catalog_seed, search_backend, memory_map
        See `roll_vec.envs.webshop.catalogue.options.CatalogueOptions`.
    filter_goals : function of (int, Goal), or None
        Takes the number and the goal; returns True for goals that are played.
    limit_goals : int or None
        Number of distinct goals that are then drawn by weight.
    split : str
        Goals that are played after filter and limit: ``test``, ``eval``, ``train`` or
        ``all``.  ``test``: the first 500.  ``eval``: the next 1000.  ``train``: the
        others.
    observation_mode : str
        Texts of the page in one line, ``text``, or a line for each, ``text_rich``.
        ``text`` separates them by ``[SEP]``; ``text_rich`` marks the buttons.  Both are
        WebShop's.
    observation_format : str
        ``page``, or ``roll``: with the available actions below it.  As in ROLL, the
        first observation is then the instruction instead of the page.
    show_attrs : bool
        True: a product's page has a button for its attributes.
    num_levels : int
        Number of levels of a finite set; 0: unlimited.
    start_level : int
        The first level of the set.  An episode of seed s plays the level ``start_level
        + s mod num_levels``.
    seed_info : bool
        True: infos of resets have ``seed``, which opens the episode again.  It is an
        int below 2**32; ``reset(seed=seed)`` starts the same episode in an environment
        with the same keywords, if the option ``session`` of the reset is the same.
    level_info : bool
        True: infos of resets have ``level``, the number of the level.
    oracle_return_info : bool
        True: infos of resets have ``oracle_return``, the reward of the best purchase.
        It is a float; NaN if no search shows its product.
    env_instruction : str or None
        A text that replaces the instructions.
    render_mode : str or None
        Form of frames: ``ansi`` or ``text``.  ``ansi`` is the page laid out for a
        terminal, ``text`` the observation.

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
