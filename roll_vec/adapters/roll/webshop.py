"""ROLL's `WebShopEnv`: a config object, ROLL's arguments of `reset`, ROLL's texts.

Names and defaults are those of ROLL's custom environment guide (commit 35bea6a2 has the
class).  Shop, pages and rewards are those of the single environment that the class
extends.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from roll_vec.adapters.roll.configs import EnvConfig, make_config
from roll_vec.envs.webshop.env import WebShop
from roll_vec.envs.webshop.goals import GoalFilter
from roll_vec.envs.webshop.options import WebShopOptions
from roll_vec.errors import InvalidOptionError
from roll_vec.options import takes_keywords_of

# The names of WebShop's files of products and of their attributes begin so.
_PRODUCTS, _ATTRIBUTES = "items_shuffle", "items_ins_v2"


def shop_keywords(
    file_path: str | os.PathLike[str] | None,
    server: Any,
    limit_goals: int | None,
    **keywords: Any,
) -> dict[str, Any]:
    """Return the keywords of `roll_vec/WebShop-v0` for those of ROLL's classes.

    Parameters
    ----------
    file_path : path or None
        WebShop's ``items_shuffle*.json``.  The file of attributes is the one beside it,
        ``items_ins_v2*.json``, unless ``attributes`` names it.  None: the demo shop.
    server : None
        All environments of a process share a shop without one.
    limit_goals : int or None
        -1 or None: all goals.
    **keywords
        Those of `roll_vec.envs.webshop.options.WebShopOptions`.

    Raises
    ------
    InvalidOptionError
    """
    if server is not None:
        accepted = "None, because environments of equal keywords share their shop"
        raise InvalidOptionError.expected("server", accepted, server)
    if file_path is not None:
        products = Path(file_path)
        name = products.name.replace(_PRODUCTS, _ATTRIBUTES)
        attributes = products.with_name(name)
        keywords["products"] = products
        if keywords.get("attributes") is None and name != products.name:
            keywords["attributes"] = attributes if attributes.exists() else None
    keywords["limit_goals"] = None if limit_goals == -1 else limit_goals
    return keywords


class ShopConfig(EnvConfig):
    """The base of ROLL's and RAGEN's configurations of WebShop.

    ``file_path``, ``server`` and ``limit_goals`` are those of `shop_keywords`; other
    fields are those of `roll_vec.envs.webshop.options.WebShopOptions`.
    """

    OPTIONS: ClassVar[type[Any]] = WebShopOptions
    OURS: ClassVar[Mapping[str, str | None]] = {"file_path": "products"}

    server: Any

    def batch_keywords(self) -> dict[str, Any]:
        """Return the keywords of ``roll_vec/WebShop-v0``."""
        keywords = super().batch_keywords()
        products, limit_goals = keywords.pop("products"), keywords.pop("limit_goals")
        return shop_keywords(products, self.server, limit_goals, **keywords)


@dataclass
class WebShopEnvConfig(ShopConfig):
    """ROLL's configuration of WebShop, and the other files of a shop."""

    observation_mode: str = "text"
    file_path: str | os.PathLike[str] | None = None
    server: Any = None
    filter_goals: GoalFilter | None = None
    limit_goals: int | None = -1
    num_products: int | None = None
    human_goals: bool = False
    show_attrs: bool = False
    attributes: str | os.PathLike[str] | None = None
    human_instructions: str | os.PathLike[str] | None = None
    title_nouns: str | os.PathLike[str] | None = None
    catalog_seed: int = 0


class WebShopEnv(WebShop):
    """WebShop for users of ROLL: ``WebShopEnv(config)``.

    Observations are pages, also after a reset, where ROLL's own class returns an empty
    text.  `render` returns ROLL's prompt: the page, or after a reset the instruction,
    and the available actions.

    Parameters
    ----------
    config : WebShopEnvConfig, mapping or None
        A mapping has fields of the configuration; None: the defaults.
    **keywords
        Fields that replace those of ``config``, which is not changed.

    Raises
    ------
    InvalidOptionError, UnknownOptionError
    """

    @takes_keywords_of(WebShopEnvConfig)
    def __init__(
        self,
        config: WebShopEnvConfig | Mapping[str, Any] | None = None,
        **keywords: Any,
    ) -> None:
        self.config = make_config(WebShopEnvConfig, config, keywords)
        try:
            super().__init__(**self.config.batch_keywords())
        except InvalidOptionError as error:
            raise self.config.rename(error) from None

    def reset(
        self,
        seed: int | None = None,
        session: str | int | None = None,
        instruction_text: str | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[str, dict[str, Any]]:
        """Start a new episode, as `WebShop.reset`, which has the three as options.

        Parameters
        ----------
        seed : int or None
        session : str, int or None
            An int is the number of a goal; a str draws one, always the same; with None
            the seed decides, as in ROLL since version 0.2.
        instruction_text : str or None
            Replaces the attribute `instruction_text`; pages show the goal's.
        options : dict or None
            The same two by name, as `gymnasium` passes them.
        """
        named = {"session": session, "instruction_text": instruction_text}
        arguments = {name: value for name, value in named.items() if value is not None}
        return super().reset(seed=seed, options={**(options or {}), **arguments})

    @property
    def observation(self) -> str:
        """The present page, as `step` has returned it.

        Raises
        ------
        ResetNeededError
        """
        state = self._current_state()
        return self._observe(self._page(state), state)

    def render(self, mode: str | None = None) -> str:  # noqa: ARG002
        """Return ROLL's prompt; ``mode`` has no effect, as there.

        Raises
        ------
        ResetNeededError, ClosedError
        """
        self._check_open()
        if self.num_env_steps:
            return self._with_actions(self.observation)
        return self._with_actions(self.get_instruction_text())
