"""The registered ids, and how one environment or a batch of an id is made."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode

from roll_vec.errors import InvalidOptionError, shorten

if TYPE_CHECKING:
    from roll_vec.pool import PoolVectorEnv
    from roll_vec.vector import RollVectorEnv

__all__ = [
    "ENVIRONMENTS",
    "Environment",
    "make_pool_vector",
    "make_single",
    "make_vector",
    "register",
    "register_all",
]

# Far more than anyone uses: without a bound a slip would fill the memory first.
MAX_ENVS = 1 << 27
MAX_POOLED_ENVS = 1 << 20


@dataclass(frozen=True)
class Environment:
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
            from roll_vec.pooled import parameters_of

            parameters = parameters_of(self.load())
        else:
            parameters = dict(inspect.signature(self.load("Options")).parameters)
        return {name: shown.default for name, shown in parameters.items()} | dict(
            self.keywords
        )


_LAKE = "roll_vec.array_envs.frozen_lake:FrozenLake"
ENVIRONMENTS = {
    environment.id: environment
    for environment in (
        Environment("roll_vec/Sokoban-v0", "roll_vec.array_envs.sokoban:Sokoban", 100),
        Environment("roll_vec/FrozenLake-v1", _LAKE, 100),
        Environment("roll_vec/FrozenLake8x8-v1", _LAKE, 200, {"map_name": "8x8"}),
        Environment(
            "roll_vec/RandomFrozenLake-v0",
            "roll_vec.array_envs.random_frozen_lake:RandomFrozenLake",
            100,
        ),
        Environment(
            "roll_vec/Countdown-v0", "roll_vec.countdown:Countdown", None, pooled=True
        ),
        Environment("roll_vec/WebShop-v0", "roll_vec.webshop:WebShop", 50, pooled=True),
    )
}
_BUILT_IN_IDS = frozenset(ENVIRONMENTS)


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
        from roll_vec.pooled import check_keywords

        check_keywords(cls, defaults)
    environment = Environment(id, cls, max_episode_steps, defaults, pooled=True)
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


def _register(environment: Environment) -> None:
    """Register an id with Gymnasium; entry points are strings, loaded on use."""
    entry_point: Any = environment.entry
    if environment.pooled:
        entry_point = f"{__name__}:single/{environment.id}"
    gymnasium.register(
        environment.id,
        entry_point=entry_point,
        vector_entry_point=f"{__name__}:vector/{environment.id}",
        max_episode_steps=environment.max_episode_steps,
        kwargs=dict(environment.keywords),
    )


def register_all() -> None:
    """Register every id of this package with Gymnasium."""
    for environment in ENVIRONMENTS.values():
        if environment.id not in gymnasium.registry:
            _register(environment)


# Type checkers would take any name for one that exists.
if not TYPE_CHECKING:

    def __getattr__(name: str) -> Callable[..., Any]:
        """Return an entry point, ``single/<id>`` or ``vector/<id>``."""
        form, _, id = name.partition("/")
        if id in ENVIRONMENTS and form == "single":
            return partial(make_single, id)
        if id in ENVIRONMENTS and form == "vector":
            pooled = ENVIRONMENTS[id].pooled
            return partial(make_pool_vector if pooled else make_vector, id)
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)


def make_single(id: str, /, **keywords: Any) -> gymnasium.Env[Any, Any]:
    """Make one environment of a pooled id; `gymnasium.make` comes here.

    Parameters
    ----------
    id : str
    **keywords
        The environment's own, and those of `roll_vec.text_actions.TextOptions`.

    Raises
    ------
    UnknownOptionError, InvalidOptionError
    """
    from roll_vec.pooled import build, check_keywords

    cls = ENVIRONMENTS[id].load()
    return build(cls, check_keywords(cls, keywords))


def _check_limit(limit: int | None, registered: int | None) -> int | None:
    """Return the step limit of a batch, None for none, as `gymnasium.make` reads it."""
    if limit is None:
        return registered
    if limit == -1:
        return None
    from roll_vec.options import MAX_INT

    integer = isinstance(limit, (int, np.integer)) and not isinstance(limit, bool)
    if not integer or not 1 <= limit <= MAX_INT:
        message = (
            "max_episode_steps: expected None (the registered limit), -1 (no limit) or "
            f"an integer from 1 to {MAX_INT}, got {shorten(limit)}"
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
    group_id_info: bool = False,
    disable_env_checker: bool | None = None,
    **keywords: Any,
) -> RollVectorEnv:
    """Make a batch of an array environment; `gymnasium.make_vec` comes here.

    Parameters
    ----------
    id : str
    num_envs : int
        1 to 2**27.
    max_episode_steps : int or None
        None: the registered limit; -1: none.
    autoreset_mode, copy, group_size, group_id_info
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
    from roll_vec.options import check_int, check_unknown, parse_options
    from roll_vec.threads import resolve_num_threads
    from roll_vec.vector import RollVectorEnv

    environment = ENVIRONMENTS[id]
    options_class = environment.load("Options")
    known = set(environment.defaults()) | _keywords_of(make_vector)
    check_unknown(keywords, known, _hints(make_pool_vector, _STACKED_HINT))
    # Everything is checked before the arrays of the batch are allocated.
    num_envs = check_int("num_envs", num_envs, 1, MAX_ENVS)
    shared = _check_shared(autoreset_mode, copy, group_size, group_id_info)
    limit = _check_limit(max_episode_steps, environment.max_episode_steps)
    options = parse_options(options_class, {**environment.keywords, **keywords})
    threads = resolve_num_threads(num_threads)
    try:
        engine = environment.load("Engine")(options, num_envs, limit, threads)
    except MemoryError as error:
        message = (
            f"num_envs: {num_envs} environments of {id} with these keywords do not fit "
            f"into the memory: {error}; take fewer, or smaller ones"
        )
        raise InvalidOptionError(message) from None
    return RollVectorEnv(engine, **shared)


def make_pool_vector(
    id: str,
    /,
    num_envs: int = 1,
    *,
    max_episode_steps: int | None = None,
    autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
    copy: bool = True,
    group_size: int = 1,
    group_id_info: bool = False,
    workers: int = 0,
    executor: str = "thread",
    step_timeout: float | None = None,
    reset_timeout: float | None = None,
    on_error: str = "truncate",
    context: str | None = None,
    disable_env_checker: bool | None = None,
    **keywords: Any,
) -> PoolVectorEnv:
    """Make a pool of an id's objects; `gymnasium.make_vec` comes here.

    Parameters
    ----------
    id : str
    num_envs : int
        1 to 2**20.
    max_episode_steps : int or None
        None: the registered limit; -1: none.
    autoreset_mode, copy, group_size, group_id_info
        See `roll_vec.vector.RollVectorEnv`.
    workers, executor, step_timeout, reset_timeout, on_error, context
        See `roll_vec.pool.PoolVectorEnv`.
    disable_env_checker : bool or None
        Accepted as by `gymnasium.make`, and without effect.
    **keywords
        The environment's own, and those of `roll_vec.text_actions.TextOptions`.

    Returns
    -------
    PoolVectorEnv

    Raises
    ------
    UnknownOptionError, InvalidOptionError
    """
    from roll_vec.options import check_choice, check_int
    from roll_vec.pool import PoolVectorEnv
    from roll_vec.pooled import build, check_keywords, pin_keywords

    environment = ENVIRONMENTS[id]
    num_envs = check_int("num_envs", num_envs, 1, MAX_POOLED_ENVS)
    shared = _check_shared(autoreset_mode, copy, group_size, group_id_info)
    limit = _check_limit(max_episode_steps, environment.max_episode_steps)
    given = {**environment.keywords, **keywords}
    cls = environment.load()
    known = _keywords_of(make_pool_vector)
    own = check_keywords(cls, given, known, _hints(make_vector, _POOL_HINT))
    # gymnasium.make warns of an unknown one; make_vec leaves it to this.
    modes = (None, *cls.metadata.get("render_modes", ()))
    check_choice("render_mode", own.get("render_mode"), modes)
    # As gymnasium.make(id, **keywords) gives each environment its own.
    spec = replace(gymnasium.spec(id), kwargs=dict(own), max_episode_steps=limit)
    # The class itself, not the id: another process may not have registered it.
    return PoolVectorEnv(
        [partial(build, cls, pin_keywords(cls, own), spec)] * num_envs,
        workers=workers,
        executor=executor,
        step_timeout=step_timeout,
        reset_timeout=reset_timeout,
        on_error=on_error,
        context=context,
        max_episode_steps=limit,
        **shared,
    )


# Ends of messages about a keyword of the other kind of batch.
_STACKED_HINT = (
    "; environments in stacked arrays need no workers and never hang: num_threads says "
    "how many threads step them"
)
_POOL_HINT = (
    "; a pool of objects is stepped by workers: workers says how many, executor "
    "whether they are threads or processes"
)


def _hints(other: Callable[..., Any], hint: str) -> dict[str, str]:
    """Return a hint for the keywords that the other kind of batch alone has."""
    shared = _keywords_of(make_vector) & _keywords_of(make_pool_vector)
    return dict.fromkeys(_keywords_of(other) - shared, hint)


def _keywords_of(function: Callable[..., Any]) -> set[str]:
    return set(inspect.signature(function).parameters) - {"id", "keywords"}


def _check_shared(
    autoreset_mode: Any, copy: Any, group_size: Any, group_id_info: Any
) -> dict[str, Any]:
    """Return the keywords that any batch takes, checked."""
    from roll_vec.autoreset import parse_autoreset_mode
    from roll_vec.options import check_bool, check_int

    return {
        "autoreset_mode": parse_autoreset_mode(autoreset_mode),
        "copy": check_bool("copy", copy),
        "group_size": check_int("group_size", group_size, 1),
        "group_id_info": check_bool("group_id_info", group_id_info),
    }
