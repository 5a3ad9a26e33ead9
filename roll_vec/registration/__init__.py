"""The table of registered ids; `factories` makes their environments.

A new environment of this package is one entry in `ENVIRONMENTS`.  Classes are named by
strings and imported on use, so that ``import roll_vec`` stays light.
"""

from __future__ import annotations

import importlib
import inspect
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import gymnasium
from gymnasium.envs import registration

from roll_vec.errors import InvalidOptionError
from roll_vec.options import check_int, parse_options
from roll_vec.registration.minigrid_ids import IDS


@dataclass(frozen=True)
class RegisteredEnv:
    """One registered id.

    Parameters
    ----------
    id : str
    entry : str or type
        Class of the single environment; of this package's ids its ``module:name``.
    max_episode_steps : int or None
        The registered step limit.
    keywords : dict
        Registered values of keywords.
    pooled : bool
        True: a batch is a pool of objects.  False: the class is an `ArrayEnv`, and a
        batch is an engine over stacked arrays.
    summary : str
        The environment in one line; empty: the first line of its class's docstring.
    reward_threshold : float or None
        The return at which Gymnasium calls its game of this id solved.
    family : str
        The collection that has many ids of one base, ``MiniGrid`` or ``BabyAI``; else
        empty.
    """

    id: str
    entry: str | type[Any]
    max_episode_steps: int | None
    keywords: Mapping[str, Any] = field(default_factory=dict)
    pooled: bool = False
    summary: str = ""
    reward_threshold: float | None = None
    family: str = ""

    def load(self) -> Any:
        """Return the class of the environment."""
        if isinstance(self.entry, str):
            module, _, name = self.entry.partition(":")
            return getattr(importlib.import_module(module), name)
        return self.entry

    def summarize(self) -> str:
        """Return the environment in one line, without a full stop."""
        if self.summary:
            return self.summary
        lines = inspect.cleandoc(self.load().__doc__ or "").splitlines()
        return lines[0].rstrip(".") if lines else ""

    def find_limit(self) -> int | None:
        """Return the registered step limit, or that of the rules; None: there is none.

        The ids of a family have theirs in the rules; that of most of BabyAI depends on
        the mission, which is None here.
        """
        if not self.family:
            return self.max_episode_steps
        return int(self.load()(**self.keywords).default_limit) or None

    def defaults(self) -> dict[str, Any]:
        """Return the keywords of the single environment and their defaults."""
        if self.pooled:
            from roll_vec.pool.factories import parameters_of

            parameters = parameters_of(self.load())
        else:
            parameters = dict(inspect.signature(self.load()).parameters)
        defaults = {name: each.default for name, each in parameters.items()}
        return defaults | dict(self.keywords)


def _built_in(
    name: str,
    max_episode_steps: int | None,
    summary: str = "",
    *,
    entry: str = "",
    reward_threshold: float | None = None,
    pooled: bool = False,
    **keywords: Any,
) -> RegisteredEnv:
    """Return the entry of an id of this package.

    Parameters
    ----------
    name : str
        The id after ``roll_vec/``.
    summary : str
        Empty: it is a game of Gymnasium.
    entry : str
        ``module:class`` in ``roll_vec.envs``.  Empty: both are named as the id, such as
        ``cart_pole:CartPole`` for ``CartPole-v1``.
    max_episode_steps, reward_threshold, pooled, **keywords
        See `RegisteredEnv`.
    """
    base = name.partition("-")[0]
    module = re.sub(r"(?<=[a-z])(?=[A-Z0-9])", "_", base).lower()
    return RegisteredEnv(
        f"roll_vec/{name}",
        f"roll_vec.envs.{entry or f'{module}:{base}'}",
        max_episode_steps,
        keywords,
        pooled=pooled,
        summary=summary or f"Gymnasium's {name}, equal step for step",
        reward_threshold=reward_threshold,
    )


_BUILT_IN = (
    _built_in("Sokoban-v0", 100, "ROLL's SokobanEnv: a generated room each episode"),
    _built_in("FrozenLake-v1", 100, reward_threshold=0.7),
    _built_in(
        "FrozenLake8x8-v1",
        200,
        entry="frozen_lake:FrozenLake",
        reward_threshold=0.85,
        map_name="8x8",
    ),
    _built_in(
        "RandomFrozenLake-v0",
        100,
        "ROLL's FrozenLake: a new map and start each episode",
        entry="frozen_lake:RandomFrozenLake",
    ),
    _built_in("CliffWalking-v1", None),
    _built_in("Taxi-v3", 200, reward_threshold=8),
    _built_in("Taxi-v4", 200, entry="taxi:TaxiV4", reward_threshold=8),
    _built_in("Blackjack-v1", None, sab=True),
    _built_in("CartPole-v1", 500, reward_threshold=475),
    _built_in("MountainCar-v0", 200, reward_threshold=-110),
    _built_in(
        "MountainCarContinuous-v0",
        999,
        entry="mountain_car:MountainCarContinuous",
        reward_threshold=90,
    ),
    _built_in("Acrobot-v1", 500, reward_threshold=-100),
    _built_in("Pendulum-v1", 200),
    _built_in(
        "Game2048-v0", 1000, "GEM's Game2048: slide and merge tiles until one is 2048"
    ),
    _built_in(
        "SlidingTiles-v0",
        None,
        "GEM's FifteenPuzzle of any size: put the tiles in order",
    ),
    _built_in("Sudoku-v0", 100, "GEM's Sudoku, with one solution each"),
    _built_in("Minesweeper-v0", 64, "GEM's Minesweeper, equal for the same seed"),
    _built_in(
        "Countdown-v0",
        None,
        "combine numbers into a target, by an expression in text",
        pooled=True,
    ),
    _built_in(
        "WebShop-v0",
        50,
        "search, browse and buy in WebShop's simulated shop",
        entry="webshop:WebShop",
        pooled=True,
    ),
)
_MINIGRID = tuple(
    RegisteredEnv(
        f"roll_vec/{name}",
        f"roll_vec.envs.minigrid.{entry}",
        None,
        keywords,
        family=name.partition("-")[0],
    )
    for name, entry, keywords in IDS
)
ENVIRONMENTS = {registered.id: registered for registered in (*_BUILT_IN, *_MINIGRID)}
# The module that Gymnasium imports when an environment is made.
_FACTORIES = "roll_vec.registration.factories"


def find_registered(id: str) -> RegisteredEnv:
    """Return the entry of an id; ``module:id`` imports the module, as in Gymnasium.

    Raises
    ------
    gymnasium.error.Error
        If the id does not exist.
    InvalidOptionError
        If it is not of this package or of `register`.
    """
    accepted = "an id of roll_vec, or one of roll_vec.register"
    if not isinstance(id, str):
        raise InvalidOptionError.expected("id", accepted, id)
    module, _, name = id.rpartition(":")
    if module:
        importlib.import_module(module)
    namespace, base, version = registration.parse_env_id(name)
    if version is None:
        # As `gymnasium.make` does.
        version = registration.find_highest_version(namespace, base)
        name = registration.get_env_id(namespace, base, version)
    full_id = gymnasium.spec(name).id
    if full_id not in ENVIRONMENTS:
        raise InvalidOptionError.expected("id", accepted, id)
    return ENVIRONMENTS[full_id]


def register(
    id: str,
    cls: type[Any],
    max_episode_steps: int | None = None,
    **defaults: Any,
) -> None:
    """Register your own environment for `gymnasium.make`, `make_vec` and pools.

    An id can be registered again, as by a notebook cell that is run twice: the new
    class, limit and defaults replace the old ones.  Existing environments do not
    change.

    Parameters
    ----------
    id : str
        ``namespace/Name-v0``.
    cls : class
        It extends `ArrayEnv`, `GridEnv`, `BaseLanguageBasedEnv`,
        `BaseDiscreteActionEnv` or any other `gymnasium.Env`.
    max_episode_steps : int or None
        Steps after which an episode is truncated; None: no limit.
    **defaults
        Values of the class's keywords.

    Raises
    ------
    InvalidOptionError
        If the class or the limit cannot be used, or if the id is one of this package,
        of Gymnasium or of another package.
    UnknownOptionError
        If the class has no such keyword.
    """
    is_rule = _is_rule(cls)
    if not (is_rule or (isinstance(cls, type) and issubclass(cls, gymnasium.Env))):
        accepted = "a class that extends gymnasium.Env or roll_vec.ArrayEnv"
        raise InvalidOptionError.expected("cls", accepted, cls)
    is_ours = id in ENVIRONMENTS and isinstance(ENVIRONMENTS[id].entry, str)
    if is_ours or (id in gymnasium.registry and id not in ENVIRONMENTS):
        owner = "roll_vec" if is_ours else "Gymnasium or another package"
        message = f"id: {id} is registered already by {owner}: choose another id"
        raise InvalidOptionError(message)
    if max_episode_steps is not None:
        max_episode_steps = check_int("max_episode_steps", max_episode_steps, 1)
    if is_rule:
        from roll_vec.arrays.array_checks import check_rules

        rules: Any = cls
        check_rules(parse_options(rules, defaults), max_episode_steps)
    else:
        from roll_vec.pool.factories import check_keywords

        check_keywords(cls, defaults)
    # Gymnasium warns of an id that is registered twice.
    gymnasium.registry.pop(id, None)
    registered = RegisteredEnv(id, cls, max_episode_steps, defaults, pooled=not is_rule)
    _register(registered)
    ENVIRONMENTS[id] = registered


def _is_rule(entry: Any) -> bool:
    """Return whether a class is an `ArrayEnv`."""
    # Only who has imported the module can extend its class.
    module = sys.modules.get("roll_vec.arrays.array_env")
    return (
        module is not None
        and isinstance(entry, type)
        and issubclass(entry, module.ArrayEnv)
    )


def _register(registered: RegisteredEnv) -> None:
    """Register an id with Gymnasium."""
    id = registered.id
    gymnasium.register(
        id,
        entry_point=f"{_FACTORIES}:single/{id}",
        vector_entry_point=f"{_FACTORIES}:vector/{id}",
        reward_threshold=registered.reward_threshold,
        max_episode_steps=registered.max_episode_steps,
        kwargs=dict(registered.keywords),
    )


def register_all() -> None:
    """Register every id of this package with Gymnasium."""
    for registered in ENVIRONMENTS.values():
        if registered.id not in gymnasium.registry:
            _register(registered)
