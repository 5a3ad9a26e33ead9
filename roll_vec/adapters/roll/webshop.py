"""WebShop: the class of ROLL's guide, and the one of its pipeline.

Names and defaults are those of ROLL: of its custom environment guide (commit 35bea6a2
has the class), and of the pipeline's class.  Shop, pages and rewards are ours.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from roll_vec.adapters.roll.configs import AnswerOptions, EnvConfig, GuideEnv
from roll_vec.adapters.roll.gem_env import GemEnv
from roll_vec.envs.webshop.env import WebShop
from roll_vec.envs.webshop.goals import GoalFilter
from roll_vec.envs.webshop.options import WebShopOptions
from roll_vec.envs.webshop.state import list_actions
from roll_vec.errors import InvalidOptionError
from roll_vec.options import accepts_keywords_of

# The names of WebShop's files of products and of their attributes begin so.
_PRODUCTS, _ATTRIBUTES = "items_shuffle", "items_ins_v2"
_INSTRUCTION = (
    "You are web shopping. I will give you instructions about what to do. "
    "You have to follow the instructions. Every round I will give you an observation "
    "and a list of available actions, you have to respond an action based on the state "
    "and instruction. "
    "You can use search action if search is available. You can click one of the "
    "buttons in clickables. "
    "An action should be of the following structure: search[keywords] click[value] If "
    "the action is not valid, perform nothing. "
    "Keywords in search are up to you, but the value in click must be a value in the "
    "list of available actions. "
    "Remember that your keywords in search should be carefully designed. "
    "Your response should use the following format Thought: I think ... Action: "
    "click[something]"
)
# The actions that ROLL calls effective: those of a page of results without products.
_EMPTY_RESULTS = ("back to search", "< prev", "next >")


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


@dataclass
class WebShopEnvConfig(EnvConfig):
    """ROLL's configuration of WebShop, and the other files of a shop.

    ``file_path``, ``server`` and ``limit_goals`` are those of `shop_keywords`; other
    fields are those of `roll_vec.envs.webshop.options.WebShopOptions`.
    """

    OPTIONS: ClassVar[type[Any]] = WebShopOptions
    OURS: ClassVar[Mapping[str, str]] = {"file_path": "products"}

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

    def batch_keywords(self) -> dict[str, Any]:
        """Return the keywords of ``roll_vec/WebShop-v0``."""
        keywords = super().batch_keywords()
        products, limit_goals = keywords.pop("products"), keywords.pop("limit_goals")
        return shop_keywords(products, self.server, limit_goals, **keywords)


class WebShopEnv(GuideEnv, WebShop):
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

    CONFIG = WebShopEnvConfig

    def reset(  # type: ignore[override]
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


@dataclass(frozen=True, kw_only=True)
class PipelineShopOptions(AnswerOptions):
    """The keywords of ROLL's ``webshop`` that `WebShopOptions` does not have.

    Parameters
    ----------
    file_path, server, limit_goals
        See `shop_keywords`.
    special_token_list : sequence of str, or None
        Without effect, as in ROLL.
    **keywords
        Those of `AnswerOptions`.

    Raises
    ------
    InvalidOptionError
    """

    REMOVES_TOKENS: ClassVar[bool] = False

    max_steps: int = 10
    file_path: str | os.PathLike[str] | None = None
    server: Any = None
    limit_goals: int | None = -1


class GemWebShopEnv(GemEnv):
    """ROLL's ``webshop``: a page and its available actions as one text.

    An answer that does not match the pattern moves nothing.  As in ROLL the step limit
    ends an episode, as terminated and truncated, after such an answer alone, every
    purchase is a success, and ``action_is_effective`` is true for a page of results
    without products.

    Parameters
    ----------
    **keywords
        Those of `PipelineShopOptions`, and those of
        `roll_vec.envs.webshop.options.WebShopOptions`.

    Raises
    ------
    InvalidOptionError, UnknownOptionError
    """

    ID = "roll_vec/WebShop-v0"
    OPTIONS = WebShopOptions
    ROLL_OPTIONS = PipelineShopOptions
    LEFT_OUT = frozenset({"observation_format"})
    INSTRUCTION = _INSTRUCTION

    @accepts_keywords_of(PipelineShopOptions, open_end=True)
    def __init__(self, **keywords: Any) -> None:
        super().__init__(keywords)

    def _task_keywords(self, keywords: dict[str, Any]) -> dict[str, Any]:
        return self._batch_keywords(keywords)

    def _batch_keywords(self, keywords: dict[str, Any]) -> dict[str, Any]:
        shop = self.options
        keywords["observation_format"] = "roll"
        return shop_keywords(shop.file_path, shop.server, shop.limit_goals, **keywords)

    def reset(
        self,
        seed: int | None = None,
        session: str | int | None = None,
        instruction_text: str | None = None,
    ) -> tuple[str, dict[str, Any]]:
        """Start a new episode; see `GemEnv.reset`.

        Parameters
        ----------
        seed : int or None
        session : str, int or None
            An int is the number of a goal; a str draws one, always the same; with None
            the seed decides.
        instruction_text : str or None
            Without effect on observations, as in WebShop.
        """
        named = {"session": session, "instruction_text": instruction_text}
        return self._reset(seed, named)

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Take the action of a model's answer; see `GemEnv.step`."""
        parsed = self.parse_action(action)
        if parsed["action"] is None:
            return self._skip(parsed, self.max_steps)
        observation, reward, terminated, _, outcome = self._take(parsed["action"])
        clickables = tuple(outcome["available_actions"]["clickables"])
        is_effective = clickables == _EMPTY_RESULTS
        result = {"action_is_effective": is_effective, "success": terminated}
        info = self._info(parsed, None, result, penalty=0)
        return observation, reward, terminated, False, info

    def get_available_actions(self) -> list[str]:
        """Return the actions that the page offers, in ROLL's form.

        After the end of an episode none.

        Raises
        ------
        ResetNeededError
        """
        if not self._outcome:
            self._check_running()
        return list_actions(**self._outcome["available_actions"])

    def sample_random_action(self) -> str:
        """Return an action of the page; a search is for random products."""
        action = self._random.choice(self.get_available_actions())
        return action.replace("<content>", "<r>")
