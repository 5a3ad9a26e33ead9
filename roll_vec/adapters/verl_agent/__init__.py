"""verl-agent's build functions, over one batch of ours.

Arguments, strings, rewards and the draw of the tasks are those of verl-agent (commit
d0b9724) and its forks.  It has no FrozenLake and no Countdown: theirs here have the
same shape.  The parts in reading order: `envs`, `grids`, `webshop`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from roll_vec.adapters.verl_agent.envs import Groups, VerlAgentEnvs, take_keywords
from roll_vec.adapters.verl_agent.grids import GridEnvs, GridGame
from roll_vec.adapters.verl_agent.webshop import WebShopEnvs, catalogue_keywords

__all__ = [
    "VerlAgentEnvs",
    "build_countdown_envs",
    "build_frozen_lake_envs",
    "build_sokoban_envs",
    "build_webshop_envs",
]


def build_sokoban_envs(
    seed: int = 0,
    env_num: int = 1,
    group_n: int = 1,
    mode: str = "rgb_array",
    resources_per_worker: Any = None,
    is_train: bool = True,
    env_kwargs: Mapping[str, Any] | None = None,
    *,
    seed_draw: str = "verl_agent",
    evaluation_split: str | None = None,
    tiles: str = "gym_sokoban",
) -> GridEnvs:
    """Build Sokoban environments; actions are 1 up, 2 down, 3 left, 4 right, 0 still.

    Parameters
    ----------
    seed : int
        Of the draw of rooms.
    env_num, group_n : int
        Groups, and environments of a group, which play the same room.
    mode : str
        Observations: ``tiny_rgb_array`` (texts), ``rgb_array``, ``state``, ``list``.
    resources_per_worker : object
        Without effect: there are no workers.
    is_train : bool
        True: rooms of the seeds below 2**16 - 1.  False: of seeds from 2**16 on.
    env_kwargs : dict or None
        ``dim_room``, ``num_boxes``, ``max_steps``, ``search_depth``, and any other
        keyword of `roll_vec/Sokoban-v0`.
    seed_draw : str
        ``verl_agent``: every reset draws new rooms, as verl-agent does, from a
        generator of these environments alone.  ``fixed``: every reset starts the rooms
        of the first one.
    evaluation_split : str or None
        The name of an evaluation split.  Each reset begins its next ``env_num``
        episodes, one for each group, and after the last one the first ones again:
        verl-agent asks for as many resets as its validation set has batches.
    tiles : str
        Pictures of the cells: ``gym_sokoban``, those of verl-agent, from this package,
        or ``roll_vec``.

    Raises
    ------
    InvalidOptionError, InvalidSeedError, UnknownOptionError
    """
    del resources_per_worker
    # Imported here: WebShop starts without the kernels of grids.
    from roll_vec.envs.sokoban import Sokoban
    from roll_vec.kernels.sokoban.moves import PENALTY_STEP

    groups = Groups(seed, env_num, group_n, is_train, seed_draw, evaluation_split)
    game = GridGame("roll_vec/Sokoban-v0", Sokoban.FAMILY, PENALTY_STEP)
    return GridEnvs(game, groups, env_kwargs, mode=mode, tiles=tiles)


def build_frozen_lake_envs(
    seed: int = 0,
    env_num: int = 1,
    group_n: int = 1,
    mode: str = "tiny_rgb_array",
    resources_per_worker: Any = None,
    is_train: bool = True,
    env_kwargs: Mapping[str, Any] | None = None,
    *,
    seed_draw: str = "verl_agent",
    evaluation_split: str | None = None,
) -> GridEnvs:
    """Build lakes; actions are 1 left, 2 down, 3 right, 4 up, 0 still.

    Parameters
    ----------
    env_kwargs : dict or None
        ``size``, ``p``, ``is_slippery``, ``max_steps``, and any other keyword of
        `roll_vec/RandomFrozenLake-v0`.
    seed, env_num, group_n, mode, resources_per_worker, is_train, seed_draw
    evaluation_split
        See `build_sokoban_envs`.

    Raises
    ------
    InvalidOptionError, InvalidSeedError, UnknownOptionError
    """
    del resources_per_worker
    from roll_vec.envs.frozen_lake import RandomFrozenLake

    groups = Groups(seed, env_num, group_n, is_train, seed_draw, evaluation_split)
    game = GridGame("roll_vec/RandomFrozenLake-v0", RandomFrozenLake.FAMILY, 0.0)
    return GridEnvs(game, groups, env_kwargs, mode=mode, tiles="roll_vec")


def build_webshop_envs(
    seed: int,
    env_num: int,
    group_n: int,
    resources_per_worker: Any = None,
    is_train: bool = True,
    env_kwargs: Mapping[str, Any] | None = None,
    *,
    seed_draw: str = "verl_agent",
    evaluation_split: str | None = None,
) -> WebShopEnvs:
    """Build WebShop environments; rewards are 10 for a perfect purchase, and 0.

    Parameters
    ----------
    is_train : bool
        False: WebShop's 500 test goals are played, True: all others.
    env_kwargs : dict or None
        ``file_path`` (None: the demo shop), ``attr_path``, ``human_goals``,
        ``num_products``, ``observation_mode`` (``text``, ``text_rich``),
        ``limit_goals``, and any other keyword of `roll_vec/WebShop-v0`.  People's goals
        are read from ``items_human_ins.json`` beside ``file_path``.
    seed_draw : str
        ``verl_agent``: every reset draws other goals, as verl-agent does, without
        repetition.  ``fixed``: every reset starts the goals of the first one.
    seed, env_num, group_n, resources_per_worker, evaluation_split
        See `build_sokoban_envs`.

    Raises
    ------
    InvalidOptionError, InvalidSeedError, UnknownOptionError, MissingExtraError
    """
    del resources_per_worker
    keywords = take_keywords(env_kwargs, max_episode_steps=-1)
    groups = Groups(seed, env_num, group_n, is_train, seed_draw, evaluation_split)
    return WebShopEnvs("roll_vec/WebShop-v0", groups, catalogue_keywords(keywords))


def build_countdown_envs(
    seed: int = 0,
    env_num: int = 1,
    group_n: int = 1,
    resources_per_worker: Any = None,
    is_train: bool = True,
    env_kwargs: Mapping[str, Any] | None = None,
    *,
    seed_draw: str = "verl_agent",
    evaluation_split: str | None = None,
) -> VerlAgentEnvs:
    """Build Countdown environments; rewards are 10 for a correct answer, and 0.

    Parameters
    ----------
    env_kwargs : dict or None
        Keywords of `roll_vec/Countdown-v0`.
    seed, env_num, group_n, resources_per_worker, is_train, seed_draw, evaluation_split
        See `build_sokoban_envs`.

    Raises
    ------
    InvalidOptionError, InvalidSeedError, UnknownOptionError
    """
    del resources_per_worker
    groups = Groups(seed, env_num, group_n, is_train, seed_draw, evaluation_split)
    return VerlAgentEnvs("roll_vec/Countdown-v0", groups, take_keywords(env_kwargs))
