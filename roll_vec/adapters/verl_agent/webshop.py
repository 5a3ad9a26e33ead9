"""WebShop with verl-agent's methods; the task of a group is the position of a goal."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from roll_vec.adapters.roll.webshop import shop_keywords
from roll_vec.adapters.verl_agent.envs import (
    Groups,
    Info,
    VerlAgentEnvs,
    merge_keywords,
)
from roll_vec.envs.webshop.catalogue import load_catalogue
from roll_vec.envs.webshop.goals import SPLITS
from roll_vec.envs.webshop.options import WebShopOptions
from roll_vec.errors import InvalidOptionError
from roll_vec.options import pop_options

SUCCESS_REWARD = 10.0


def catalogue_keywords(env_kwargs: dict[str, Any]) -> dict[str, Any]:
    """Return keywords of ours for those of verl-agent's ``WebAgentTextEnv``.

    Raises
    ------
    InvalidOptionError
    """
    keywords = dict(env_kwargs)
    products = keywords.pop("file_path", None)
    if "attr_path" in keywords:
        keywords["attributes"] = keywords.pop("attr_path")
    keywords["human_goals"] = bool(keywords.get("human_goals"))
    if keywords["human_goals"] and products is not None:
        path = Path(products).with_name("items_human_ins.json")
        keywords.setdefault("human_instructions", path)
    server, limit_goals = keywords.pop("server", None), keywords.pop("limit_goals", -1)
    return shop_keywords(products, server, limit_goals, **keywords)


class WebShopEnvs(VerlAgentEnvs):
    """Environments of one shop; see `VerlAgentEnvs`.

    Validation plays the first goals, WebShop's test split, and training all others.

    Raises
    ------
    InvalidOptionError, InvalidSeedError, UnknownOptionError, MissingExtraError
    """

    def __init__(self, groups: Groups, env_kwargs: Mapping[str, Any] | None) -> None:
        keywords = catalogue_keywords(merge_keywords(env_kwargs, max_episode_steps=-1))
        super().__init__("roll_vec/WebShop-v0", groups, keywords)
        options = pop_options(WebShopOptions, dict(keywords))
        goals = load_catalogue(options).goals.select(
            options.filter_goals, options.limit_goals
        )
        test_goals = range(len(goals))[SPLITS["test"]]
        self._goals = (
            range(len(test_goals), len(goals)) if self.is_train else test_goals
        )
        if self._split_tasks is not None:
            # Numbers of goals in the place of the seeds that draw them.
            self._split_tasks = self._goals = range(len(self._split_tasks))
        if self.env_num > len(self._goals):
            self.close()
            kind = "training" if self.is_train else "validation"
            accepted = f"at most {len(self._goals)}, the number of goals for {kind}"
            raise InvalidOptionError.expected("env_num", accepted, self.env_num)
        # A partial reset needs a whole one before it.
        self.envs.reset(seed=0)

    def _draw_tasks(self) -> NDArray[np.int64]:
        return self._rng.choice(self._goals, size=self.env_num, replace=False)

    def _begin(self, tasks: NDArray[np.int64]) -> list[Info]:
        groups = np.arange(self.num_processes) // self.group_n
        infos: list[Info] = []
        for group, goal in enumerate(tasks.tolist()):
            mask = groups == group
            options = {"reset_mask": mask, "session": goal}
            # A seed that is passed needs no kernel, that of a later episode does.
            seeds = [goal if one else None for one in mask.tolist()]
            self._observations, batch = self.envs.reset(seed=seeds, options=options)
            for i in np.flatnonzero(mask).tolist():
                actions = _available_actions(batch, i)
                infos.append({"available_actions": actions, "won": False})
        return infos

    def _outcome(self, i: int, reward: float, infos: Info) -> tuple[float, Info]:
        # verl-agent's shop is on its first page again after a purchase.
        actions = {"has_search_bar": True, "clickables": ["search"]}
        if not self._ended[i]:
            actions = _available_actions(infos, i)
        # After a fault, which ends the episode, an environment has no infos.
        won = bool(infos["success"][i]) if "success" in infos else False
        info = {"available_actions": actions, "task_score": reward, "won": won}
        return SUCCESS_REWARD if won else 0.0, info


def _available_actions(infos: Info, i: int) -> dict[str, Any]:
    """Return the available actions of an environment, from the infos of a batch."""
    columns = infos["available_actions"]
    return {
        "has_search_bar": bool(columns["has_search_bar"][i]),
        "clickables": columns["clickables"][i],
    }
