"""WebShop, one environment; a batch of them is a pool."""

from __future__ import annotations

import functools
import hashlib
import operator
import random
from collections.abc import Mapping
from typing import Any, ClassVar

from roll_vec.base_envs import BaseLanguageBasedEnv
from roll_vec.envs.webshop.actions import EXAMPLES, INSTRUCTIONS, MAX_QUERY, parse
from roll_vec.envs.webshop.catalogue.catalogue import Catalogue, load_catalogue
from roll_vec.envs.webshop.catalogue.products import Goal, Product, Purchase
from roll_vec.envs.webshop.catalogue.sources import DATA_FILES
from roll_vec.envs.webshop.options import RENDER_MODES, WebShopOptions
from roll_vec.envs.webshop.pages import (
    Page,
    as_rich,
    as_text,
    linked,
    longest_page,
    page_of,
)
from roll_vec.envs.webshop.state import (
    State,
    clicked_option,
    clicked_product,
    pressed,
    read_state,
    searched,
    write_state,
)
from roll_vec.errors import InvalidOptionError, ResetNeededError, shorten
from roll_vec.options import parse_options, takes_keywords_of
from roll_vec.seeding import level_for_seed
from roll_vec.spaces import UnicodeText
from roll_vec.text.validation import check_text

__all__ = ["WebShop", "WebShopOptions"]


class WebShop(BaseLanguageBasedEnv):
    """Buy what an instruction asks for: search, look at products, choose, order.

    An action is ``search[words]`` or ``click[what is on the page]``.  A search works
    on every page.  An action that means nothing there leaves the page.  The order,
    ``click[buy now]``, is rewarded from 0 to 1 by how well it fits and ends the
    episode; the registered id is truncated after 50 steps.

    Rules, pages and rewards are those of WebShop (commit 64fa2a5).

    Parameters
    ----------
    **keywords
        Those of `WebShopOptions`.

    Attributes
    ----------
    options : WebShopOptions
    catalogue : Catalogue
        Shared by all environments of the process with the same shop.
    state : State or None
        Where the session is, not to be written; None before a reset.
    num_env_steps : int
        Actions in the current episode.

    Notes
    -----
    The info of a reset has ``goal`` (int, its number in the catalogue),
    ``available_actions`` and ``title_nouns`` (who says which words are nouns, on which
    rewards depend).  The info of a step has

    ``available_actions`` (dict)
        ``has_search_bar`` (bool) and ``clickables`` (list of str).
    ``action_is_valid`` (bool)
        Whether it was a search, or a click on something that is there.
    ``action_is_effective`` (bool)
        Whether another observation followed.  In mode ``text`` a chosen option is not
        to be seen.
    ``success`` (bool)
        Whether the order earned 1.

    and of an order besides

    ``purchased`` (dict)
        ``asin``, ``options`` (pairs of group and value in the order of the first
        choices) and ``price``.
    ``reward_terms`` (dict)
        See `roll_vec.envs.webshop.reward.RewardTerms`; without those that are
        None, and with ``title_nouns``.
    """

    metadata: ClassVar[dict[str, Any]] = {  # type: ignore[misc]
        "render_modes": list(RENDER_MODES),
        "render_fps": 4,
    }
    DATA_FILES: ClassVar[Mapping[str, str]] = DATA_FILES

    @takes_keywords_of(WebShopOptions)
    def __init__(self, **keywords: Any) -> None:
        super().__init__()
        self.options = _share(parse_options(WebShopOptions, keywords))
        self.render_mode = self.options.render_mode
        self.catalogue: Catalogue = load_catalogue(self.options)
        self._select()
        self.observation_space = UnicodeText(longest_page(self.catalogue))
        first = self.catalogue.products[0]
        self.action_space.examples = (  # type: ignore[attr-defined]
            *EXAMPLES,
            f"search[<q> {first.query}]",
            f"click[{first.asin.lower()}]",
        )
        self.state: State | None = None
        self.num_env_steps = 0
        self._clickables: tuple[str, ...] = ()
        self._instruction: str | None = None

    def _select(self) -> None:
        """Find the goals that are played; all environments share what is found."""
        options = self.options
        self._goals = self.catalogue.goals.select(
            options.filter_goals, options.limit_goals, options.split
        )

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[str, dict[str, Any]]:
        """Start a new episode; see `roll_vec.base_envs.SeededEnv.reset`.

        The goal is that of ``random.Random(level).randint(0, n - 1)`` among the n that
        are played, as ROLL draws it.

        Parameters
        ----------
        seed : int or None
        options : dict or None
            ``session``: an int is the place of a goal among those that are played; a
            str draws one by weight, the same one for the same name; None is left to
            the level.  ``instruction_text``: a str that `instruction_text` returns in
            place of the goal's; pages show the goal's still.  Other keys mean nothing.

        Raises
        ------
        InvalidSeedError, ClosedError
        InvalidOptionError
            If one of the options cannot be used; nothing has moved then.
        """
        episode = self._plan_episode(seed)
        given = options or {}
        instruction = given.get("instruction_text")
        if not (instruction is None or isinstance(instruction, str)):
            shown = shorten(instruction)
            message = f"instruction_text: expected a str or None, got {shown}"
            raise InvalidOptionError(message)
        level = self._level(episode.level_seed)
        state = State(self._choose_goal(given.get("session"), level))
        # Raises for a damaged record, before anything moves.
        page = self._page(state, level)
        self._commit_episode(episode)
        self._instruction = instruction
        self.num_env_steps = 0
        self._open(state, page)
        observation = self._observe(page, state)
        if self.options.observation_format == "roll":
            observation = self._with_actions(self.get_instruction_text())
        info = {
            "goal": state.goal,
            "available_actions": self._available_actions(),
            "title_nouns": self.catalogue.title_nouns_source,
        }
        return observation, info

    def _level(self, level_seed: int) -> int:
        return level_for_seed(
            level_seed, self.options.num_levels, self.options.start_level
        )

    def _choose_goal(self, session: Any, level: int) -> int:
        """Return the number of the goal of a session, or of a level."""
        goals = self._goals
        if session is None:
            return int(goals[random.Random(level).randint(0, len(goals) - 1)])
        if isinstance(session, str):
            digest = hashlib.sha256(session.encode("utf-8", "surrogatepass")).digest()
            return int(goals.draw(random.Random(int.from_bytes(digest, "big"))))
        try:
            place = -1 if isinstance(session, bool) else operator.index(session)
        except TypeError:
            place = -1
        if not 0 <= place < len(goals):
            message = (
                f"session: expected an integer from 0 to {len(goals) - 1}, the place "
                f"of a goal, or a str or None, got {shorten(session)}"
            )
            raise InvalidOptionError(message)
        return int(goals[place])

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Search or click.

        Raises
        ------
        ResetNeededError
            Before a reset and after the end of the episode.
        InvalidActionError
            If the action is no str.
        ClosedError
        """
        self._check_open()
        before = self.state
        if before is None or before.page == "done":
            message = "the environment must be reset before it is given an action"
            raise ResetNeededError(message)
        name, argument = parse(check_text(action))
        after = self._follow(before, name, argument)
        terms = None
        if after is not None and after.page == "done":
            order = Purchase(str(after.asin), after.options)
            terms = self.catalogue.reward(after.goal, order)
            after = after._replace(reward=terms.reward)
        state = after or before
        # Raises for a damaged record, before anything moves.
        page = self._page(state)
        observation = self._observe(page, state)
        # Only what leaves these alike can look alike.
        effective = after is not None and (
            (before.page, before.asin, before.page_no)
            != (after.page, after.asin, after.page_no)
            or self._observe(self._page(before), before) != observation
        )
        self.num_env_steps += 1
        self._open(state, page)
        if self.options.observation_format == "roll":
            observation = self._with_actions(observation)
        info: dict[str, Any] = {
            "action_is_valid": after is not None,
            "action_is_effective": effective,
            "success": False,
            "available_actions": self._available_actions(),
        }
        if terms is None:
            return observation, 0.0, False, False, info
        info["success"] = terms.reward == 1
        info["purchased"] = {
            "asin": state.asin,
            "options": list(state.options.items()),
            "price": self._product(state).price,
        }
        info["reward_terms"] = {
            term: value for term, value in terms._asdict().items() if value is not None
        }
        info["reward_terms"]["title_nouns"] = self.catalogue.title_nouns_source
        return observation, terms.reward, True, False, info

    def _follow(self, state: State, name: str, argument: str | None) -> State | None:
        """Return where an action leads; None if it is no valid one."""
        if argument is None:
            return None
        if name == "search":
            return searched(state, argument) if len(argument) <= MAX_QUERY else None
        if name != "click" or argument not in self._clickables or argument == "search":
            return None
        following = pressed(state, argument)
        if following is not None:
            return following
        if state.page == "results":
            asin = linked(self.catalogue, argument, lambda: self._page(state))
            shows_opened = self.options.observation_mode == "text_rich"
            return clicked_product(state, asin, shows_opened)
        return clicked_option(state, argument, self._product(state))

    def _product(self, state: State) -> Product:
        products = self.catalogue.products
        product: Product = products[products.number_of(str(state.asin))]
        return product

    def _page(self, state: State, level: int | None = None) -> Page:
        if level is None:
            level = self._level(self.level_seed or 0)
        return page_of(
            self.catalogue, state, level=level, show_attrs=self.options.show_attrs
        )

    def _open(self, state: State, page: Page) -> None:
        """Move to a page, and let it be clicked."""
        self.state, self._clickables = state, page.clickables

    def _observe(self, page: Page, state: State) -> str:
        if self.options.observation_mode == "text_rich":
            return as_rich(page.nodes, state.options, state.opened)
        return as_text(page.nodes)

    def _current(self) -> State:
        if self.state is None:
            message = "the environment must be reset before there is a page"
            raise ResetNeededError(message)
        return self.state

    def _available_actions(self) -> dict[str, Any]:
        on_index = self._current().page == "index"
        return {"has_search_bar": on_index, "clickables": list(self._clickables)}

    def _with_actions(self, text: str) -> str:
        return f"{text}\nAvailable actions: {', '.join(self.get_available_actions())}"

    def get_available_actions(self) -> list[str]:
        """Return what can be done on the page, as ROLL lists it.

        Raises
        ------
        ResetNeededError
        """
        clicks = [f"click[{name}]" for name in self._clickables if name != "search"]
        on_index = self._current().page == "index"
        return ["search[<content>]", *clicks] if on_index else clicks

    def get_instruction_text(self) -> str:
        """Return the page's heading: ``Instruction:`` and what is wanted.

        Raises
        ------
        ResetNeededError
        """
        state = self._current()
        space = " " if state.page == "index" else ""
        return f"Instruction:{space}{self.catalogue.goals[state.goal].instruction_text}"

    @property
    def instruction_text(self) -> str | None:
        """The heading of the first page, or what a reset was told to put in its place.

        None before a reset.
        """
        if self._instruction is not None or self.state is None:
            return self._instruction
        goal: Goal = self.catalogue.goals[self.state.goal]
        return f"Instruction: {goal.instruction_text}"

    def get_instructions(self) -> str:
        """Return what an agent is told before an episode, as its prompt."""
        own = self.options.env_instruction
        return INSTRUCTIONS if own is None else own

    def render(self) -> str | None:
        """Return the page, laid out or as it is observed; None without a render mode.

        Raises
        ------
        ResetNeededError, ClosedError
        """
        self._check_open()
        if self.render_mode is None:
            return None
        state = self._current()
        page = self._page(state)
        if self.render_mode == "text":
            return self._observe(page, state)
        from roll_vec.envs.webshop.terminal_layout import lay_out

        return lay_out(self.catalogue, state, page)

    @property
    def oracle_action(self) -> str | None:
        """The next action of a shopper who knows the best purchase; None at its end."""
        if self.state is None or self.state.page == "done":
            return None
        from roll_vec.envs.webshop.oracle import next_action

        solution = self.catalogue.solve(self.state.goal)
        return next_action(self.catalogue, solution, self.state)

    @property
    def oracle_note(self) -> str | None:
        """Why no purchase earns 1 for the goal; None where one does."""
        if self.state is None:
            return None
        why = self.catalogue.solve(self.state.goal).why
        return None if why is None else f"goal {self.state.goal}: {why}"

    def get_state(self) -> dict[str, Any]:
        """Return everything that later steps and resets depend on."""
        return {
            "stream": self.get_stream(),
            "session": None if self.state is None else write_state(self.state),
            "instruction_text": self._instruction,
            "num_env_steps": self.num_env_steps,
        }

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Go back to what `get_state` returned.

        Raises
        ------
        InvalidOptionError
            If the session is none of this catalogue's; nothing has moved then.
        """
        record, instruction = state["session"], state["instruction_text"]
        steps = operator.index(state["num_env_steps"])
        session = None if record is None else read_state(record, self.catalogue)
        self.set_stream(state["stream"])
        self.state, self._instruction = session, instruction
        self.num_env_steps = steps
        self._clickables = () if session is None else self._page(session).clickables

    def __getstate__(self) -> dict[str, Any]:
        # The catalogue is loaded where it goes, and finds the goals again.
        state = dict(vars(self))
        del state["_goals"]
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._select()


@functools.lru_cache(maxsize=32)
def _share(options: WebShopOptions) -> WebShopOptions:
    """Return the one object that all environments of equal options have."""
    return options
