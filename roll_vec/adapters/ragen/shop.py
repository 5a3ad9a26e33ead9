"""RAGEN's WebShop: its choice of goals, prompts, rewards and infos."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from roll_vec.adapters.ragen.batches import Batch, Result, Step
from roll_vec.envs.webshop.catalogue import load_catalogue
from roll_vec.envs.webshop.options import WebShopOptions
from roll_vec.envs.webshop.state import list_actions, parse_action
from roll_vec.errors import InvalidOptionError
from roll_vec.options import check_choice

# The first 500 goals of RAGEN's order are tests, the next 1000 validate.
_NUM_TEST, _NUM_VAL = 500, 1000
_ORDER_SEED = 42
# RAGEN's prompt, to the character.
_ADVICE = "\n".join(
    [
        "We must buy a product within 10 actions. It doesn't have to match perfectly "
        "with description.",
        "Search term should not include details like size, color.",
        "Never search for more than 2 times.",
        "Do not be too strict about the description, it's more important to buy one "
        "that is close enough within action limit.",
        "Prioritize click a product in the current page over going to next page.",
        "Almost never click[next >] for more than 2 times.",
        "Almost never click[< prev] unless you are sure the product is on one of the "
        "previous pages.",
        "If you have less than 3 actions left, just buy the first product you see in "
        "the current page.",
        "If an matching option exists, make sure to click[size] then click[color], one "
        "at a time, before click[buy now], but don't have to if only 1 action left, in "
        "that case you just click[buy now]. Never click description.",
    ]
)
_BACK, _PREV, _NEXT = "click[back to search]", "click[< prev]", "click[next >]"


class WebShopBatch(Batch):
    """RAGEN's WebShop.

    Attributes
    ----------
    pages : list of str
        The page of each environment; `observations` has the prompts.
    """

    ID = "roll_vec/WebShop-v0"

    def __init__(self, config: Any, num_envs: int) -> None:
        super().__init__(config, num_envs)
        options = WebShopOptions(**config.batch_keywords())
        goals = load_catalogue(options).goals.select(
            options.filter_goals, options.limit_goals, options.split
        )
        self._order = list(range(len(goals)))
        random.Random(_ORDER_SEED).shuffle(self._order)
        self.pages: list[str] = [""] * num_envs
        # By environment, the actions of its page as our infos have them.
        self._actions: list[tuple[bool, list[str]]] = [(False, [])] * num_envs
        # Sessions are given to some environments: all must have begun before.
        self.envs.reset(seed=0)

    def _session(self, seed: int, mode: str) -> int:
        """Return the number of a seed's goal."""
        start, stop = {
            "test": (0, _NUM_TEST),
            "val": (_NUM_TEST, _NUM_TEST + _NUM_VAL),
            "train": (_NUM_TEST + _NUM_VAL, len(self._order)),
        }[mode]
        if not start < stop <= len(self._order):
            accepted = (
                f"a mode whose goals are among the {len(self._order)} of the shop; "
                f"test has {_NUM_TEST}, val the next {_NUM_VAL}, train the others"
            )
            raise InvalidOptionError.expected("mode", accepted, mode)
        return self._order[start + seed % (stop - start)]

    def reset(
        self,
        seeds: Sequence[int | None],
        mode: str | None = None,
        session: int | str | None = None,
        instruction_text: str | None = None,
    ) -> None:
        """Start the goals of the seeds, in those of the mode: train, val or test."""
        mode = check_choice("mode", mode or "train", ("train", "val", "test"))
        sessions: dict[Any, list[int]] = {}
        for row, seed in enumerate(seeds):
            own_session = session
            if own_session is None and seed is not None:
                own_session = self._session(seed, mode)
            sessions.setdefault(own_session, []).append(row)
        for own_session, rows in sessions.items():
            mask = np.zeros(len(seeds), np.bool_)
            mask[rows] = True
            options = {"reset_mask": mask, "session": own_session}
            if instruction_text is not None:
                options["instruction_text"] = instruction_text
            pages, infos = self.envs.reset(seed=list(seeds), options=options)
            for row in rows:
                self._take_page(row, pages[row], infos)
        for row, text in enumerate(self.envs.call("get_instruction_text")):
            self.observations[row] = self._prompt(row, text)

    def result(self, row: int, action: Any, step: Step) -> Result:
        """Return RAGEN's results: 1 for an order that is worth 1, else 0."""
        name, argument = parse_action(action)
        has_search_bar, clickables = self._actions[row]
        is_valid = argument is not None and (
            (name == "search" and has_search_bar)
            or (name == "click" and argument != "search" and argument in clickables)
        )
        is_effective = step.observation != self.pages[row]
        self._take_page(row, step.observation, step.infos)
        self.observations[row] = self._prompt(row, step.observation)
        score = 1.0 if step.reward >= 1.0 else 0.0
        info = {
            "reward": score,
            "raw_reward": step.reward,
            "action_is_effective": is_effective,
            "action_is_valid": is_valid,
            "success": int(score),
            "success_purchase": int(step.has_ended),
            "success_find": int(score),
            "end_of_page": int(self.available_actions(row) == [_BACK, _PREV]),
        }
        return Result(score, step.has_ended, info)

    def available_actions(self, row: int) -> list[str]:
        """Return the actions of a page; without the next page of an empty one."""
        actions = list_actions(*self._actions[row])
        return [_BACK, _PREV] if actions == [_BACK, _PREV, _NEXT] else actions

    def _take_page(self, row: int, page: str, infos: Mapping[str, Any]) -> None:
        actions = infos["available_actions"]
        self.pages[row] = page
        self._actions[row] = (
            bool(actions["has_search_bar"][row]),
            actions["clickables"][row],
        )

    def _prompt(self, row: int, text: str) -> str:
        actions = ", ".join(self.available_actions(row))
        return f"{text}.{_ADVICE}\n You must choose from these actions:{actions}."
