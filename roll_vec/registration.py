"""The registered ids, and how a native batch of one is made."""

from __future__ import annotations

import importlib
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode

from roll_vec.errors import InvalidOptionError

__all__ = ["ENVIRONMENTS", "Environment", "register_all"]


@dataclass(frozen=True)
class Environment:
    """One registered id.

    Parameters
    ----------
    id : str
    module : str
        Where the options, the engine and the single form live; imported on use.
    name : str
        Of the single form; the others are ``<name>Options`` and ``<name>Engine``.
    max_episode_steps : int
        The registered step limit.
    keywords : dict
        Registered values of keywords.
    """

    id: str
    module: str
    name: str
    max_episode_steps: int
    keywords: dict[str, Any] = field(default_factory=dict)

    def load(self, suffix: str = "") -> Any:
        """Return the single form's class, or with a suffix one beside it."""
        return getattr(importlib.import_module(self.module), self.name + suffix)


_FAMILIES = "roll_vec.array_envs."
ENVIRONMENTS = {
    environment.id: environment
    for environment in (
        Environment("roll_vec/Sokoban-v0", _FAMILIES + "sokoban", "Sokoban", 100),
        Environment(
            "roll_vec/FrozenLake-v1", _FAMILIES + "frozen_lake", "FrozenLake", 100
        ),
        Environment(
            "roll_vec/FrozenLake8x8-v1",
            _FAMILIES + "frozen_lake",
            "FrozenLake",
            200,
            {"map_name": "8x8"},
        ),
        Environment(
            "roll_vec/RandomFrozenLake-v0",
            _FAMILIES + "random_frozen_lake",
            "RandomFrozenLake",
            100,
        ),
    )
}


def _check_limit(limit: int | None, registered: int) -> int | None:
    """Return the step limit of a batch, None for none, as `gymnasium.make` reads it."""
    if limit is None:
        return registered
    if limit == -1:
        return None
    integer = isinstance(limit, (int, np.integer)) and not isinstance(limit, bool)
    if not integer or limit < 1:
        message = (
            "max_episode_steps: expected None (the registered limit), -1 (no limit) or "
            f"a positive integer, got {limit!r}"
        )
        raise InvalidOptionError(message)
    return int(limit)


def make_vector(
    id: str,
    /,
    num_envs: int = 1,
    *,
    max_episode_steps: int | None = None,
    autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
    copy: bool = True,
    num_threads: int | None = None,
    group_size: int = 1,
    disable_env_checker: bool | None = None,
    **keywords: Any,
) -> Any:
    """Make a native batch; `gymnasium.make_vec` comes here.

    Parameters
    ----------
    id : str
    num_envs : int
        At least 1.
    max_episode_steps : int or None
        None: the registered limit; -1: none.
    autoreset_mode, copy, group_size
        See `roll_vec.vector.RollVectorEnv`.
    num_threads : int or None
        See `roll_vec.threads.resolve_num_threads`.
    disable_env_checker : bool or None
        Accepted as by `gymnasium.make`, and without effect.
    **keywords
        The environment's own.

    Returns
    -------
    RollVectorEnv

    Raises
    ------
    UnknownOptionError, InvalidOptionError
    """
    import inspect

    from roll_vec.array_envs.options import (
        check_bool,
        check_int,
        check_unknown,
        parse_options,
    )
    from roll_vec.autoreset import parse_autoreset_mode
    from roll_vec.threads import resolve_num_threads
    from roll_vec.vector import RollVectorEnv

    environment = ENVIRONMENTS[id]
    options_class = environment.load("Options")
    own = set(inspect.signature(options_class).parameters)
    shared = set(inspect.signature(make_vector).parameters) - {"id", "keywords"}
    check_unknown(keywords, own | shared)
    num_envs = check_int("num_envs", num_envs, 1)
    # Everything is checked before the arrays of the batch are allocated.
    mode = parse_autoreset_mode(autoreset_mode)
    group_size = check_int("group_size", group_size, 1)
    copy = check_bool("copy", copy)
    limit = _check_limit(max_episode_steps, environment.max_episode_steps)
    options = parse_options(options_class, {**environment.keywords, **keywords})
    engine = environment.load("Engine")(
        options, num_envs, limit, resolve_num_threads(num_threads)
    )
    return RollVectorEnv(engine, autoreset_mode=mode, copy=copy, group_size=group_size)


sokoban = partial(make_vector, "roll_vec/Sokoban-v0")
frozen_lake = partial(make_vector, "roll_vec/FrozenLake-v1")
frozen_lake8x8 = partial(make_vector, "roll_vec/FrozenLake8x8-v1")
random_frozen_lake = partial(make_vector, "roll_vec/RandomFrozenLake-v0")

_VECTOR_ENTRY_POINTS = {
    "roll_vec/Sokoban-v0": "sokoban",
    "roll_vec/FrozenLake-v1": "frozen_lake",
    "roll_vec/FrozenLake8x8-v1": "frozen_lake8x8",
    "roll_vec/RandomFrozenLake-v0": "random_frozen_lake",
}


def register_all() -> None:
    """Register every id with Gymnasium; entry points are strings, loaded on use."""
    for environment in ENVIRONMENTS.values():
        if environment.id in gymnasium.registry:
            continue
        gymnasium.register(
            environment.id,
            entry_point=f"{environment.module}:{environment.name}",
            vector_entry_point=f"{__name__}:{_VECTOR_ENTRY_POINTS[environment.id]}",
            max_episode_steps=environment.max_episode_steps,
            kwargs=environment.keywords,
        )
