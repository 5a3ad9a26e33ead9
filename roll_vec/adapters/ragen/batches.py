"""The environments of one tag of a RAGEN config, in one vector environment.

A batch has the results of RAGEN's classes: observations, rewards and infos.
"""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, ClassVar, NamedTuple

import numpy as np

from roll_vec.adapters.ragen.coordinate_texts import format_text
from roll_vec.adapters.roll.countdown import signed_rows
from roll_vec.adapters.roll.grids import resize_lake
from roll_vec.adapters.tiles import make_painter
from roll_vec.envs.countdown.task_files import load_tasks
from roll_vec.envs.webshop.catalogue import load_catalogue
from roll_vec.envs.webshop.options import WebShopOptions
from roll_vec.envs.webshop.state import list_actions, parse_action
from roll_vec.errors import InvalidActionError, InvalidOptionError
from roll_vec.options import check_choice
from roll_vec.registration.factories import make_vec
from roll_vec.text.validation import check_text

# WebShop's: the first 500 goals of RAGEN's order are tests, the next 1000 validate.
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


class Result(NamedTuple):
    """The results of one action of one environment."""

    reward: float
    has_ended: bool
    info: dict[str, Any]


class Step(NamedTuple):
    """A step of one environment of ours, with the infos of the batch."""

    observation: Any
    reward: float
    has_ended: bool
    infos: Mapping[str, Any]


class Batch:
    """N environments with one configuration.

    Parameters
    ----------
    config
        One of `roll_vec.adapters.ragen.configs`.
    num_envs : int

    Attributes
    ----------
    config
    observations : list of str or (height, width, 3) uint8
        The results of RAGEN's ``render()``, by environment.
    """

    ID = ""
    EPISODES: ClassVar[tuple[str, ...]] = ("observations",)
    """Lists with a value for each environment."""

    def __init__(self, config: Any, num_envs: int) -> None:
        self.config = config
        self.observations: list[Any] = [None] * num_envs
        # RAGEN's own limits are `max_steps` of Sokoban and the manager's.
        self.envs = make_vec(
            self.ID,
            num_envs,
            autoreset_mode="Disabled",
            max_episode_steps=-1,
            **config.batch_keywords(),
        )

    def reset(
        self,
        seeds: Sequence[int | None],
        mode: str | None = None,  # noqa: ARG002
    ) -> None:
        """Start new episodes in all environments.

        ``mode``, of RAGEN's managers, matters to WebShop alone.
        """
        observations, _ = self.envs.reset(seed=list(seeds))
        self.observations = [self.show(*row) for row in enumerate(observations)]

    def step(self, actions: Mapping[int, Any]) -> dict[int, Result]:
        """Take one action in some environments, which have not ended.

        Parameters
        ----------
        actions : dict from the number of an environment to RAGEN's action
        """
        mask = np.zeros(self.envs.num_envs, np.bool_)
        mask[list(actions)] = True
        converted = {row: self.convert(action) for row, action in actions.items()}
        filler = next(iter(converted.values()))
        batch = [converted.get(row, filler) for row in range(len(mask))]
        outcome = self.envs._step_some(batch, mask)
        observations, rewards, terminations, truncations, infos = outcome
        ends = terminations | truncations
        results = {}
        for row, action in actions.items():
            step = Step(observations[row], float(rewards[row]), bool(ends[row]), infos)
            results[row] = self.result(row, action, step)
        return results

    def get_state(self) -> dict[str, Any]:
        """Return the state of all environments."""
        own = {name: list(getattr(self, name)) for name in self.EPISODES}
        return {**own, "envs": self.envs.get_state()}

    def set_state(self, state: Mapping[str, Any], rows: Sequence[int]) -> None:
        """Let each environment become a copy of one of a state."""
        self.envs.set_state(state["envs"], rows=rows)
        for name in self.EPISODES:
            setattr(self, name, [state[name][row] for row in rows])

    def convert(self, action: Any) -> Any:
        """Return our form of an action."""
        return action

    def show(self, row: int, observation: Any) -> Any:  # noqa: ARG002
        """Return RAGEN's form of an observation of ours."""
        return observation

    def result(self, row: int, action: Any, step: Step) -> Result:  # noqa: ARG002
        """Return the results of an action, and take over the observation."""
        self.observations[row] = self.show(row, step.observation)
        keys = ("action_is_effective", "action_is_valid", "success")
        info = {key: bool(step.infos[key][row]) for key in keys}
        return Result(step.reward, step.has_ended, info)

    def close(self) -> None:
        """Close the environments."""
        self.envs.close()


class GridBatch(Batch):
    """A game on a grid."""

    EPISODES = (*Batch.EPISODES, "_directions")

    def __init__(self, config: Any, num_envs: int) -> None:
        super().__init__(config, num_envs)
        # Of each environment the last action of its episode, where a picture shows it.
        self._directions: list[int | None] = [None] * num_envs

    def show(self, row: int, observation: Any) -> Any:
        """Return a text in its format, and an array as a picture."""
        if isinstance(observation, str):
            text_format = self.config.observation_format
            return format_text(self.envs.engine, row, observation, text_format)
        painter = make_painter(self.config.tiles)
        if painter is None:
            return self.resize(observation)
        return painter(self.envs.engine, row, self._directions[row])

    def resize(self, picture: Any) -> Any:
        """Return a picture of our own tiles in RAGEN's size."""
        return picture


class SokobanBatch(GridBatch):
    """RAGEN's Sokoban."""

    ID = "roll_vec/Sokoban-v0"


class FrozenLakeBatch(GridBatch):
    """RAGEN's FrozenLake."""

    ID = "roll_vec/RandomFrozenLake-v0"

    def reset(self, seeds: Sequence[int | None], mode: str | None = None) -> None:
        """Start new episodes in all environments."""
        self._directions = [None] * len(seeds)
        super().reset(seeds, mode)

    def convert(self, action: Any) -> Any:
        """Return the action of ``action_map``.

        Raises
        ------
        InvalidActionError
            For an action that the map does not have, such as 0.
        """
        accepted = list(self.config.action_map)
        if action not in accepted:
            raise InvalidActionError.expected("action", f"one of {accepted}", action)
        return self.config.action_map[action] + 1

    def resize(self, picture: Any) -> Any:
        """Return a picture of our own tiles in RAGEN's size."""
        return resize_lake(picture)

    def result(self, row: int, action: Any, step: Step) -> Result:
        """Return the results with a reward of type int, as RAGEN's prompts show it."""
        self._directions[row] = self.config.action_map[action]
        result = super().result(row, action, step)
        return result._replace(reward=int(result.reward))


class CountdownBatch(Batch):
    """RAGEN's Countdown: one answer, which RAGEN grades by the numbers in its text."""

    ID = "roll_vec/Countdown-v0"

    def __init__(self, config: Any, num_envs: int) -> None:
        self._rows: list[int] | None = None
        if config.train_path is not None:
            file = load_tasks(str(config.train_path))
            self._rows = signed_rows(file, config.max_instances)
        super().__init__(config, num_envs)

    def reset(self, seeds: Sequence[int | None], mode: str | None = None) -> None:
        """Start the tasks of the seeds, modulo the number of the file's tasks."""
        rows = self._rows
        if rows is not None:
            seeds = [s if s is None else rows[s % len(rows)] for s in seeds]
        super().reset(seeds, mode)

    def convert(self, action: Any) -> Any:
        """Return the answer without a plus at its start, which our grammar lacks."""
        return check_text(action).lstrip().removeprefix("+")

    def result(self, row: int, action: Any, step: Step) -> Result:
        """Return RAGEN's score: any text with the right numbers has the right form."""
        _, *nums = re.findall(r"\d+", self.observations[row])
        has_form = False
        # Python converts no number of thousands of digits.
        with suppress(ValueError):
            numbers = sorted(map(int, re.findall(r"\d+", action)))
            has_form = numbers == sorted(map(int, nums))
        reward: float = 0
        if has_form:
            success = bool(step.infos["success"][row])
            reward = self.config.score if success else self.config.format_score
        self.observations[row] = f"Your answer get {reward} points."
        info = {
            "action_is_effective": reward > 0,
            "action_is_valid": True,
            "success": reward == self.config.score,
        }
        return Result(reward, step.has_ended, info)


class WebShopBatch(Batch):
    """RAGEN's WebShop.

    Attributes
    ----------
    pages : list of str
        The page of each environment; `observations` has the prompts.
    """

    ID = "roll_vec/WebShop-v0"
    EPISODES = (*Batch.EPISODES, "pages", "_actions")

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
