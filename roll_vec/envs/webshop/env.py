"""The WebShop environment; a batch of WebShops is a pool."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar

from roll_vec.envs.webshop.catalogue import Catalogue, load_catalogue
from roll_vec.envs.webshop.goals import Goal
from roll_vec.envs.webshop.options import DATA_FILES, RENDER_MODES, WebShopOptions
from roll_vec.envs.webshop.pages import (
    Page,
    as_ansi,
    as_rich_text,
    as_text,
    max_observation_length,
    page_of,
)
from roll_vec.envs.webshop.products import Purchase
from roll_vec.envs.webshop.state import (
    EXAMPLES,
    INSTRUCTIONS,
    MAX_QUERY,
    State,
    choose_option,
    list_actions,
    open_product,
    parse_action,
    press_button,
    read_state,
    show_results,
    write_state,
)
from roll_vec.errors import ResetNeededError
from roll_vec.options import (
    accepts_keywords_of,
    check_int,
    check_optional_text,
    check_reset_keys,
    parse_options,
)
from roll_vec.seeding import level_for_seed
from roll_vec.spaces import UnicodeText
from roll_vec.text.level_env import TextLevelEnv
from roll_vec.text.validation import check_text


class WebShop(TextLevelEnv):
    """Search a simulated shop, open products, choose options, buy.

    An instruction says what to buy.  The reward tells how well the order fits it.

    Parameters
    ----------
    **keywords
        Those of `WebShopOptions`.

    Actions
    -------
    ``search[words]`` on any page, or ``click[name]`` of a name on the page.  An invalid
    action leaves the page unchanged, and the step counts.

    Rewards
    -------
    0 to 1
        The order: the share of attributes, options and price limit that it meets, times
        a factor for the kind of product.
    0
        All other steps.

    Episode end
    -----------
    terminated
        The order, ``click[buy now]``: success if its reward is 1.

    Attributes
    ----------
    options : WebShopOptions
    catalogue : Catalogue
        Shared by all environments of the process with the same shop.
    state : State or None
        Read only; None before a reset.
    num_env_steps : int
        Actions in the current episode.

    Infos
    -----
    goal : int64; reset
        The number of the goal in the shop.
    available_actions : dict; reset, step
        ``has_search_bar``, bool, and ``clickables``, a list of str.
    title_nouns : str; reset
        The source of the title nouns, on which rewards depend: ``file``, ``rule`` or
        ``embedded``.
    action_is_valid : bool; step
        A search, or a click on a name of the page.
    action_is_effective : bool; step
        The observation has changed.  Mode ``text`` does not show chosen options.
    success : bool; step
        The order earned 1.
    purchased : dict; end
        ``asin``, ``options`` (pairs of group and value in the order of the first
        choices) and ``price`` of the order.
    reward_terms : dict; end
        The terms of the reward that are not None, and ``title_nouns``; see
        `roll_vec.envs.webshop.reward.RewardTerms`.

    Sources
    -------
    WebShop : commit 64fa2a5; https://github.com/princeton-nlp/WebShop
        with WebShop's files: goals, pages, available actions, rewards, the order of
        search results
    ROLL, WebShop : commit 35bea6a2; https://github.com/alibaba/ROLL
        the goal of a seed, texts with ``observation_format='roll'``

    Differences
    -----------
    - Random prices and price limits come from ``catalog_seed``; the original has no
      seed for them.
    - Without files the shop is a demo shop of this package.
    """

    metadata: ClassVar[dict[str, Any]] = {  # type: ignore[misc]
        "render_modes": list(RENDER_MODES),
        "render_fps": 4,
    }
    DATA_FILES: ClassVar[tuple[str, ...]] = DATA_FILES
    STATE: ClassVar[Mapping[str, tuple[Any, ...]]] = {
        "session": (lambda _, value: value,),  # see `read_state`
        "instruction_text": (check_optional_text,),
        "num_env_steps": (check_int, 0),
        "level": (check_int, 0, (1 << 32) - 1),
    }

    @accepts_keywords_of(WebShopOptions)
    def __init__(self, **keywords: Any) -> None:
        super().__init__(parse_options(WebShopOptions, keywords))
        self.render_mode = self.options.render_mode
        self.catalogue: Catalogue = load_catalogue(self.options)
        self._goals = self.catalogue.goals.select(
            self.options.filter_goals, self.options.limit_goals, self.options.split
        )
        self.observation_space = UnicodeText(max_observation_length(self.catalogue))
        first = self.catalogue.products[0]
        self.action_space.examples = (  # type: ignore[attr-defined]
            *EXAMPLES,
            f"search[<q> {first.query}]",
            f"click[{first.asin.lower()}]",
        )
        self.state: State | None = None
        self.num_env_steps = 0
        # Of the current episode.
        self._level = 0
        self._clickables: tuple[str, ...] = ()
        self._instruction: str | None = None

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[str, dict[str, Any]]:
        """Start a new episode; see `roll_vec.objects.base_envs.SeededEnv.reset`.

        The goal is that of ``random.Random(level).randint(0, n - 1)`` among the n that
        are played, as ROLL draws it.

        Parameters
        ----------
        seed : int or None
        options : dict or None
            ``session``: an int is the position of a goal among those that are played; a
            str draws a goal by weight, always the same one; with None the level
            decides.  ``instruction_text``: a str that `instruction_text` returns in
            place of the goal's; pages still show the goal's.

        Raises
        ------
        InvalidSeedError, ClosedError
        InvalidOptionError, InvalidOptionTypeError
            If one of the options cannot be used; nothing has changed then.
        """
        episode = self._plan_episode(seed)
        check_reset_keys(("session", "instruction_text"), options)
        options = options or {}
        instruction = options.get("instruction_text")
        check_optional_text("instruction_text", instruction)
        level = level_for_seed(
            episode.level_seed, self.options.num_levels, self.options.start_level
        )
        state = State(self._goals.goal_of(options.get("session"), level))
        page = self._page(state, level)
        self._commit_episode(episode)
        self._instruction, self._level = instruction, level
        self.num_env_steps = 0
        self.state, self._clickables = state, page.clickables
        observation = self._observe(page, state)
        if self.options.observation_format == "roll":
            observation = self._with_actions(self.get_instruction_text())
        info = {
            "goal": state.goal,
            "available_actions": self._available_actions(),
            "title_nouns": self.catalogue.title_nouns_source,
        }
        info.update(self._describe_level(level, self._best_reward))
        return observation, info

    def _best_reward(self) -> float:
        """Return the reward of the best purchase; NaN if no search shows it."""
        solution = self.catalogue.solve(self._current_state().goal)
        return solution.terms.reward if solution.page else math.nan

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Search or click.

        Raises
        ------
        ResetNeededError
            Before a reset and after the end of the episode.
        InvalidActionError
            If the action is not a str.
        ClosedError
        """
        self._check_open()
        before = self.state
        if before is None or before.page == "done":
            message = "the environment must be reset before it is given an action"
            raise ResetNeededError(message)
        name, argument = parse_action(check_text(action))
        after = self._next_state(before, self._clickables, name, argument)
        terms = None
        if after is not None and after.page == "done":
            order = Purchase(str(after.asin), after.options)
            terms = self.catalogue.reward(after.goal, order)
            after = after._replace(reward=terms.reward)
        state = after or before
        page = self._page(state)
        observation = self._observe(page, state)
        # With another page, product or page number the observation always differs.
        effective = after is not None and (
            (before.page, before.asin, before.page_no)
            != (after.page, after.asin, after.page_no)
            or self._observe(self._page(before), before) != observation
        )
        self.num_env_steps += 1
        self.state, self._clickables = state, page.clickables
        if self.options.observation_format == "roll":
            observation = self._with_actions(observation)
        info: dict[str, Any] = {
            "action_is_valid": after is not None,
            "action_is_effective": effective,
            "success": False,
            "available_actions": self._available_actions(),
        }
        if self.options.advantage_info:
            # Before an order the best purchase is always within reach.
            info["advantage"] = terms.reward - self._best_reward() if terms else 0.0
        if terms is None:
            return observation, 0.0, False, False, info
        info["success"] = terms.reward == 1
        info["purchased"] = {
            "asin": state.asin,
            "options": list(state.options.items()),
            "price": self.catalogue.products.by_asin(str(state.asin)).price,
        }
        info["reward_terms"] = {
            term: value for term, value in terms._asdict().items() if value is not None
        }
        info["reward_terms"]["title_nouns"] = self.catalogue.title_nouns_source
        return observation, terms.reward, True, False, info

    def _next_state(
        self,
        state: State,
        clickables: tuple[str, ...],
        name: str,
        argument: str | None,
    ) -> State | None:
        """Return the state after an action; None if the action is invalid."""
        if argument is None:
            return None
        if name == "search":
            return show_results(state, argument) if len(argument) <= MAX_QUERY else None
        if name != "click" or argument not in clickables or argument == "search":
            return None
        after_button = press_button(state, argument)
        if after_button is not None:
            return after_button
        if state.page == "results":
            marks_opened = self.options.observation_mode == "text_rich"
            return open_product(state, argument.upper(), marks_opened)
        product = self.catalogue.products.by_asin(str(state.asin))
        return choose_option(state, argument, product)

    def _page(self, state: State, level: int | None = None) -> Page:
        return page_of(
            self.catalogue,
            state,
            level=self._level if level is None else level,
            show_attrs=self.options.show_attrs,
        )

    def _observe(self, page: Page, state: State) -> str:
        if self.options.observation_mode == "text_rich":
            return as_rich_text(page.nodes, state.options, state.opened_asins)
        return as_text(page.nodes)

    def _current_state(self) -> State:
        if self.state is None:
            message = "the environment must be reset before there is a page"
            raise ResetNeededError(message)
        return self.state

    def _available_actions(self) -> dict[str, Any]:
        on_index = self._current_state().page == "index"
        return {"has_search_bar": on_index, "clickables": list(self._clickables)}

    def _with_actions(self, text: str) -> str:
        return f"{text}\nAvailable actions: {', '.join(self.get_available_actions())}"

    def get_available_actions(self) -> list[str]:
        """Return the actions that the page offers, in ROLL's form.

        Raises
        ------
        ResetNeededError
        """
        on_index = self._current_state().page == "index"
        return list_actions(on_index, self._clickables)

    def get_instruction_text(self) -> str:
        """Return the page's heading: ``Instruction:`` and the instruction.

        Raises
        ------
        ResetNeededError
        """
        state = self._current_state()
        space = " " if state.page == "index" else ""
        return f"Instruction:{space}{self.catalogue.goals[state.goal].instruction_text}"

    @property
    def instruction_text(self) -> str | None:
        """The heading of the first page, or the reset's ``instruction_text``.

        None before a reset.
        """
        if self._instruction is not None or self.state is None:
            return self._instruction
        goal: Goal = self.catalogue.goals[self.state.goal]
        return f"Instruction: {goal.instruction_text}"

    def get_instructions(self) -> str:
        """Return the prompt of an agent, before the first observation."""
        instructions = self.options.env_instruction
        return INSTRUCTIONS if instructions is None else instructions

    def render(self) -> str | None:
        """Return the page in colours or as an observation; None without a render mode.

        Raises
        ------
        ResetNeededError, ClosedError
        """
        self._check_open()
        if self.render_mode is None:
            return None
        state = self._current_state()
        page = self._page(state)
        if self.render_mode == "text":
            return self._observe(page, state)
        return as_ansi(page.nodes, state.options)

    @property
    def oracle_action(self) -> str | None:
        """The next action on the way to the best purchase; None after a purchase."""
        if self.state is None or self.state.page == "done":
            return None
        solution = self.catalogue.solve(self.state.goal)
        return self.catalogue.next_action(solution, self.state)

    def solve(self) -> list[str] | None:
        """Return the actions from the present page to the best purchase.

        It may earn less than 1: ``catalogue.solve(goal)`` has the terms of its reward.

        Returns
        -------
        list of str, or None
            None after a purchase, and if no search shows the product.

        Raises
        ------
        ResetNeededError, ClosedError
        """
        self._check_open()
        next_action = self.catalogue.next_action
        state, clickables = self._current_state(), self._clickables
        solution = self.catalogue.solve(state.goal)
        actions = []
        while (action := next_action(solution, state)) is not None:
            actions.append(action)
            after = self._next_state(state, clickables, *parse_action(action))
            assert after is not None, "the oracle's actions are valid"
            state, clickables = after, self._page(after).clickables
        return actions or None

    def _get_values(self) -> dict[str, Any]:
        return {
            "session": None if self.state is None else write_state(self.state),
            "instruction_text": self._instruction,
            "num_env_steps": self.num_env_steps,
            "level": self._level,
        }

    def _check_values(self, values: dict[str, Any]) -> None:
        session, values["clickables"] = values["session"], ()
        if session is not None:
            num_goals = len(self.catalogue.goals)
            session = read_state(session, self.catalogue.products, num_goals)
            values["session"] = session
            values["clickables"] = self._page(session, values["level"]).clickables

    def _load_values(self, values: dict[str, Any]) -> None:
        self.state, self._instruction = values["session"], values["instruction_text"]
        self.num_env_steps, self._level = values["num_env_steps"], values["level"]
        self._clickables = values["clickables"]
