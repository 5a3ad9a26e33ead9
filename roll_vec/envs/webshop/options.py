"""Keywords of the environment, validated."""

from __future__ import annotations

import dataclasses
from collections.abc import Hashable
from typing import Any, ClassVar

from roll_vec.envs.webshop.catalogue.options import CatalogueOptions, check_count
from roll_vec.envs.webshop.goals import SPLITS, GoalFilter
from roll_vec.errors import InvalidOptionError
from roll_vec.options import (
    check_bool,
    check_choice,
    check_levels,
    check_optional_text,
    option,
)

RENDER_MODES = ("ansi", "text")


def _check_filter(name: str, value: Any) -> Any:
    """Return a filter of goals; hashable, because selections are cached by it."""
    if value is None or (callable(value) and isinstance(value, Hashable)):
        return value
    kind = "a hashable function of a number and a goal, or None"
    raise InvalidOptionError.expected(name, kind, value)


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

    filter_goals: GoalFilter | None = option(None, _check_filter)
    limit_goals: int | None = option(None, check_count)
    split: str = option("all", check_choice, SPLITS)
    observation_mode: str = option("text", check_choice, ("text", "text_rich"))
    observation_format: str = option("page", check_choice, ("page", "roll"))
    show_attrs: bool = option(False, check_bool)
    num_levels: int = 0
    start_level: int = 0
    seed_info: bool = option(False, check_bool)
    level_info: bool = option(False, check_bool)
    oracle_return_info: bool = option(False, check_bool)
    env_instruction: str | None = option(None, check_optional_text)
    render_mode: str | None = option(None, check_choice, (None, *RENDER_MODES))

    def __post_init__(self) -> None:
        super().__post_init__()
        levels = check_levels(self.num_levels, self.start_level)
        for name, value in zip(("num_levels", "start_level"), levels, strict=True):
            object.__setattr__(self, name, value)
