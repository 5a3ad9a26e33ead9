"""The registered ids; `roll_vec.factories` makes their environments and batches."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import gymnasium

from roll_vec.errors import InvalidOptionError

__all__ = [
    "ENVIRONMENTS",
    "RegisteredEnv",
    "register",
    "register_all",
]


@dataclass(frozen=True)
class RegisteredEnv:
    """One registered id.

    Parameters
    ----------
    id : str
    entry : str or type
        The single form's class, or ``module:name`` of it, imported on use.
    max_episode_steps : int or None
        The registered step limit.
    keywords : dict
        Registered values of keywords.
    pooled : bool
        Whether a batch is a pool of objects; else there are ``<name>Options`` and
        ``<name>Engine`` beside the class.
    """

    id: str
    entry: str | type[Any]
    max_episode_steps: int | None
    keywords: Mapping[str, Any] = field(default_factory=dict)
    pooled: bool = False

    def load(self, suffix: str = "") -> Any:
        """Return the single form's class, or with a suffix one beside it."""
        if isinstance(self.entry, str):
            module, _, name = self.entry.partition(":")
            return getattr(importlib.import_module(module), name + suffix)
        return self.entry

    def defaults(self) -> dict[str, Any]:
        """Return the keywords of the single form and their defaults."""
        if self.pooled:
            from roll_vec.pool.factories import parameters_of

            parameters = parameters_of(self.load())
        else:
            parameters = dict(inspect.signature(self.load("Options")).parameters)
        return {name: shown.default for name, shown in parameters.items()} | dict(
            self.keywords
        )


_LAKE = "roll_vec.envs.frozen_lake:FrozenLake"
ENVIRONMENTS = {
    environment.id: environment
    for environment in (
        RegisteredEnv("roll_vec/Sokoban-v0", "roll_vec.envs.sokoban:Sokoban", 100),
        RegisteredEnv("roll_vec/FrozenLake-v1", _LAKE, 100),
        RegisteredEnv("roll_vec/FrozenLake8x8-v1", _LAKE, 200, {"map_name": "8x8"}),
        RegisteredEnv(
            "roll_vec/RandomFrozenLake-v0",
            "roll_vec.envs.frozen_lake:RandomFrozenLake",
            100,
        ),
        RegisteredEnv(
            "roll_vec/Countdown-v0",
            "roll_vec.envs.countdown:Countdown",
            None,
            pooled=True,
        ),
        RegisteredEnv(
            "roll_vec/WebShop-v0", "roll_vec.envs.webshop:WebShop", 50, pooled=True
        ),
    )
}
_BUILT_IN_IDS = frozenset(ENVIRONMENTS)
# Gymnasium imports it on use.
_FACTORIES = "roll_vec.factories"


def register(
    id: str,
    cls: type[Any] | str,
    max_episode_steps: int | None = None,
    *,
    force: bool = False,
    **defaults: Any,
) -> None:
    """Register an environment of one's own: `gymnasium.make`, `make_vec`, the pool.

    An id can be registered again with the same class, as a notebook cell does that is
    run again: the newer class, limit and defaults replace the older ones.  A class is
    the same if its module and its qualified name are.  Environments that exist already
    stay as they are.

    Parameters
    ----------
    id : str
        ``namespace/Name-v0``.
    cls : class or str
        A class that extends `BaseLanguageBasedEnv`, `BaseDiscreteActionEnv` or any
        other `gymnasium.Env`, or ``module:name`` of one, which is imported on use.
    max_episode_steps : int or None
        Steps after which an episode is truncated; None: no limit.
    force : bool
        True: replace an id that another class or another package has registered.
    **defaults
        Values of the class's keywords.

    Raises
    ------
    InvalidOptionError
        If the class or the limit cannot be used; if another class has the id, unless
        ``force`` is True; if the id is one of this package, whatever ``force`` is.
    UnknownOptionError
        If the class has no such keyword.
    """
    known = isinstance(cls, str) and cls.count(":") == 1
    if not known and not (isinstance(cls, type) and issubclass(cls, gymnasium.Env)):
        message = (
            "cls: expected a class that extends gymnasium.Env, or 'module:name' of "
            f"one, got {cls!r}"
        )
        raise InvalidOptionError(message)
    from roll_vec.options import check_bool, check_int

    _check_free(id, cls, check_bool("force", force))
    if max_episode_steps is not None:
        max_episode_steps = check_int("max_episode_steps", max_episode_steps, 1)
    if isinstance(cls, type):
        from roll_vec.pool.factories import check_keywords

        check_keywords(cls, defaults)
    environment = RegisteredEnv(id, cls, max_episode_steps, defaults, pooled=True)
    # Gymnasium warns of an id that is registered twice.
    previous = gymnasium.registry.pop(id, None)
    try:
        _register(environment)
    except BaseException:
        if previous is not None:
            gymnasium.registry[id] = previous
        raise
    ENVIRONMENTS[id] = environment


def _check_free(id: str, cls: type[Any] | str, force: bool) -> None:
    """Refuse an id that another class has."""
    if id in _BUILT_IN_IDS:
        message = (
            f"id: {id} is registered already by roll_vec and keeps its worlds; "
            "choose another id"
        )
        raise InvalidOptionError(message)
    if force:
        return
    if id in ENVIRONMENTS:
        registered = _name_of(ENVIRONMENTS[id].entry)
        if registered == _name_of(cls):
            return
        owner = f"for {registered}"
    elif id in gymnasium.registry:
        owner = "with Gymnasium, not through roll_vec"
    else:
        return
    message = (
        f"id: {id} is registered already {owner}; a change of worlds is a new version "
        "of the id, and force=True replaces it"
    )
    raise InvalidOptionError(message)


def _name_of(entry: type[Any] | str) -> str:
    """Return ``module:qualified name`` of a class."""
    if isinstance(entry, str):
        return entry
    return f"{entry.__module__}:{entry.__qualname__}"


def _register(environment: RegisteredEnv) -> None:
    """Register an id with Gymnasium; entry points are strings, loaded on use."""
    entry_point: Any = environment.entry
    if environment.pooled:
        entry_point = f"{_FACTORIES}:single/{environment.id}"
    gymnasium.register(
        environment.id,
        entry_point=entry_point,
        vector_entry_point=f"{_FACTORIES}:vector/{environment.id}",
        max_episode_steps=environment.max_episode_steps,
        kwargs=dict(environment.keywords),
    )


def register_all() -> None:
    """Register every id of this package with Gymnasium."""
    for environment in ENVIRONMENTS.values():
        if environment.id not in gymnasium.registry:
            _register(environment)
