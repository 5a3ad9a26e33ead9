"""Keywords of the catalogue and of the environment, validated."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Hashable
from typing import Any

from roll_vec.envs.webshop.goals import SPLITS, GoalFilter
from roll_vec.envs.webshop.storage import is_stored
from roll_vec.errors import InvalidOptionError
from roll_vec.options import (
    check_bool,
    check_choice,
    check_fields,
    check_int,
    check_levels,
    check_optional,
    check_optional_text,
    check_render_mode,
    option,
    refuse_unused,
)
from roll_vec.storage.data_files import check_path, fingerprint

RENDER_MODES = ("ansi", "text")
SHOP_FILES = ("products", "attributes", "human_instructions")
"""The keywords that are paths of WebShop's files."""
DATA_FILES = (*SHOP_FILES, "title_nouns")
"""The keywords that are paths."""


def _check_filter(name: str, value: Any) -> Any:
    """Return a filter of goals; hashable, because selections are cached by it."""
    if value is None or (callable(value) and isinstance(value, Hashable)):
        return value
    kind = "a hashable function of a number and a goal, or None"
    raise InvalidOptionError.expected(name, kind, value)


@dataclasses.dataclass(frozen=True, kw_only=True)
class CatalogueOptions:
    """The keywords of `Catalogue.load`; those of the environment begin with them.

    Parameters
    ----------
    products : str, PathLike or None
        WebShop's ``items_shuffle*.json``, or the file of a stored shop; None: the demo
        shop.  WebShop's file may be plain or ``.gz``.  ``roll-vec webshop index``
        stores a shop, whose memory all processes of a machine share.
    attributes : str, PathLike or None
        WebShop's ``items_ins_v2*.json``: attributes and instructions of the products.
    human_instructions : str, PathLike or None
        WebShop's ``items_human_ins.json``: instructions that people wrote.
    title_nouns : str, PathLike or None
        A file of the nouns in titles, on which rewards depend: lists of str by asin.
        None: a rule finds them.  Those of spaCy's ``en_core_web_sm`` make WebShop's
        rewards.
    num_products : int or None
        The first products of the file, or of the demo shop, at most 2**24; None: all.
    human_goals : bool
        True: people's instructions are the goals.  False: one goal for each combination
        of options of a product that has an instruction.
    catalog_seed : int
        Seed of random prices and price limits.  The original has no seed for them.

    Raises
    ------
    InvalidOptionError
    """

    products: str | os.PathLike[str] | None = option(None, check_path)
    attributes: str | os.PathLike[str] | None = option(None, check_path)
    human_instructions: str | os.PathLike[str] | None = option(None, check_path)
    title_nouns: str | os.PathLike[str] | None = option(None, check_path)
    num_products: int | None = option(None, check_optional, check_int, 1, 1 << 24)
    human_goals: bool = option(False, check_bool)
    catalog_seed: int = option(0, check_int, 0, (1 << 64) - 1)

    def __post_init__(self) -> None:
        check_fields(self)
        if self.products is None:
            reason = "needs products, the file that it belongs to"
            refuse_unused(self, DATA_FILES[1:], reason)
        elif self.is_stored:
            reason = f"is part of a stored shop, such as {self.products}, already"
            refuse_unused(self, (*DATA_FILES[1:], "num_products"), reason)

    @property
    def is_stored(self) -> bool:
        """True if ``products`` is the file of a stored shop."""
        return self.products is not None and is_stored(self.products)

    def catalogue_options(self) -> CatalogueOptions:
        """Return the keywords of the catalogue alone."""
        fields = dataclasses.fields(CatalogueOptions)
        return CatalogueOptions(**{f.name: getattr(self, f.name) for f in fields})

    def fingerprints(self) -> tuple[str | None, ...]:
        """Return digests of the contents of the files, None for one that is not used.

        Raises
        ------
        InvalidOptionError
            If a file cannot be read.
        """
        paths = [getattr(self, name) for name in DATA_FILES]
        return tuple(
            None if path is None else fingerprint(name, path)
            for name, path in zip(DATA_FILES, paths, strict=True)
        )


@dataclasses.dataclass(frozen=True, kw_only=True)
class WebShopOptions(CatalogueOptions):
    """The keywords of `roll_vec/WebShop-v0`; those of the catalogue come first.

    Parameters
    ----------
    products, attributes, human_instructions, title_nouns, num_products, \
human_goals, catalog_seed
        See `CatalogueOptions`.
    filter_goals : function of (int, Goal), or None
        Returns True for the number and the goal of those that are played.
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
    advantage_info : bool
        True: infos of steps have ``advantage``.  It is 0.0, for an order its reward
        less that of the best purchase; NaN if no search shows its product.
    env_instruction : str or None
        A text that replaces the instructions.
    render_mode : str or None
        Form of frames: ``ansi`` or ``text``.  ``ansi`` is the page in colours, for a
        terminal; ``text`` the observation.

    Raises
    ------
    InvalidOptionError
    """

    filter_goals: GoalFilter | None = option(None, _check_filter)
    limit_goals: int | None = option(None, check_optional, check_int, 1)
    split: str = option("all", check_choice, SPLITS)
    observation_mode: str = option("text", check_choice, ("text", "text_rich"))
    observation_format: str = option("page", check_choice, ("page", "roll"))
    show_attrs: bool = option(False, check_bool)
    num_levels: int = option(0, check_int, 0, 1 << 32)
    start_level: int = option(0, check_int, 0, 1 << 32)
    seed_info: bool = option(False, check_bool)
    level_info: bool = option(False, check_bool)
    oracle_return_info: bool = option(False, check_bool)
    advantage_info: bool = option(False, check_bool)
    env_instruction: str | None = option(None, check_optional_text)
    render_mode: str | None = option(None, check_render_mode, RENDER_MODES)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_levels(self.num_levels, self.start_level)
