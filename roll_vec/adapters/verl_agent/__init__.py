"""verl-agent's build functions of Sokoban and WebShop, over one batch of ours.

Arguments, strings, rewards and the draw of the tasks are those of verl-agent (commit
d0b9724) and its forks.  The parts in reading order: `envs`, `sokoban`, `webshop`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from roll_vec.adapters.verl_agent.envs import Groups, VerlAgentEnvs
from roll_vec.adapters.verl_agent.sokoban import SokobanEnvs
from roll_vec.adapters.verl_agent.webshop import WebShopEnvs

__all__ = ["VerlAgentEnvs", "build_sokoban_envs", "build_webshop_envs"]


def build_sokoban_envs(
    seed: int = 0,
    env_num: int = 1,
    group_n: int = 1,
    mode: str = "rgb_array",
    resources_per_worker: Any = None,
    is_train: bool = True,
    env_kwargs: Mapping[str, Any] | None = None,
    *,
    evaluation_split: str | None = None,
) -> SokobanEnvs:
    """Build Sokoban environments; actions are 1 up, 2 down, 3 left, 4 right, 0 still.

    Parameters
    ----------
    seed : int
        Of the draw of rooms: each reset draws new ones, as verl-agent does, from a
        generator of these environments alone.
    env_num, group_n : int
        Groups, and environments of a group, which play the same room.
    mode : str
        Observations: ``tiny_rgb_array`` (texts), ``rgb_array`` (pictures of
        gym-sokoban), ``state``, ``list``.
    resources_per_worker : object
        Without effect: there are no workers.
    is_train : bool
        True: rooms of the seeds below 2**16 - 1.  False: of seeds from 2**16 on.
    env_kwargs : dict or None
        ``dim_room``, ``num_boxes``, ``max_steps``, ``search_depth``, and any other
        keyword of `roll_vec/Sokoban-v0`.  ``reward``: ``game``, ``advantage`` (see
        docs/solvers.md), or ``both``.
    evaluation_split : str or None
        The name of an evaluation split.  Each reset begins its next ``env_num``
        episodes, one for each group, and after the last one the first ones again:
        verl-agent asks for as many resets as its validation set has batches.

    Raises
    ------
    InvalidOptionError, InvalidSeedError, UnknownOptionError
    ImportError
        For pictures without gym-sokoban.
    """
    del resources_per_worker
    groups = Groups(seed, env_num, group_n, is_train, evaluation_split)
    return SokobanEnvs(groups, env_kwargs, mode)


def build_webshop_envs(
    seed: int,
    env_num: int,
    group_n: int,
    resources_per_worker: Any = None,
    is_train: bool = True,
    env_kwargs: Mapping[str, Any] | None = None,
    *,
    evaluation_split: str | None = None,
) -> WebShopEnvs:
    """Build WebShop environments; rewards are 10 for a perfect purchase, and 0.

    Parameters
    ----------
    seed : int
        Of the draw of goals: each reset draws others, as verl-agent does, without
        repetition.
    is_train : bool
        False: WebShop's 500 test goals are played, True: all others.
    env_kwargs : dict or None
        ``file_path`` (None: the demo shop), ``attr_path``, ``human_goals``,
        ``num_products``, ``observation_mode`` (``text``, ``text_rich``),
        ``limit_goals``, and any other keyword of `roll_vec/WebShop-v0`.  People's goals
        are read from ``items_human_ins.json`` beside ``file_path``.  ``reward`` as in
        `build_sokoban_envs`.
    env_num, group_n, resources_per_worker, evaluation_split
        See `build_sokoban_envs`.

    Raises
    ------
    InvalidOptionError, InvalidSeedError, UnknownOptionError, MissingExtraError
    """
    del resources_per_worker
    groups = Groups(seed, env_num, group_n, is_train, evaluation_split)
    return WebShopEnvs(groups, env_kwargs)
