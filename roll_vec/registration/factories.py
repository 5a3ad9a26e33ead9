"""Make an environment or a batch of a registered id.

Users call `make_vec`.  Gymnasium's `make` and `make_vec` call `make_single`,
`make_vector` and `make_pool_vector`, through the entry points of
`roll_vec.registration`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import fields, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, overload

import gymnasium
from gymnasium.envs.registration import EnvSpec

from roll_vec.errors import InvalidOptionError
from roll_vec.options import (
    accepts_keywords_of,
    check_int,
    check_render_mode,
    check_unknown,
    parse_options,
    pop_options,
    resolve_num_threads,
)
from roll_vec.pool.factories import (
    build,
    check_keywords,
    parse_text_options,
    resolve_paths,
)
from roll_vec.pool.options import PoolOptions
from roll_vec.pool.vector import PoolVectorEnv
from roll_vec.registration import ENVIRONMENTS
from roll_vec.vector.autoreset import NEXT_STEP
from roll_vec.vector.env import BatchOptions, RollVectorEnv

POOL_KEYWORDS = frozenset(each.name for each in fields(PoolOptions)) - {
    "max_episode_steps"
}
"""Keywords that change how a pool works, and no episode."""
WORK_KEYWORDS = POOL_KEYWORDS | {"num_threads", "copy"}
"""Keywords that change how any batch works, and no episode."""

# Far more than anyone uses.  Without a bound a typing error would fill the memory.
MAX_ENVS = 1 << 27
MAX_POOLED_ENVS = 1 << 20


@overload
def make_vec(
    id: Literal["roll_vec/Countdown-v0", "roll_vec/WebShop-v0"],
    num_envs: int = 1,
    **keywords: Any,
) -> PoolVectorEnv: ...
@overload
def make_vec(
    id: str | EnvSpec, num_envs: int = 1, **keywords: Any
) -> RollVectorEnv: ...
def make_vec(id: str | EnvSpec, num_envs: int = 1, **keywords: Any) -> RollVectorEnv:
    """Make a batch as `gymnasium.make_vec` does, and return it with its type.

    Type checkers and editors then know `unroll`, `send`, `recv` and `final_obs`, which
    the `VectorEnv` of `gymnasium.make_vec` does not have.

    Parameters
    ----------
    id : str or EnvSpec
        An id of this package or of `roll_vec.register`; ``module:id`` imports the
        module first.
    num_envs : int
        At least 1.
    **keywords
        Those of `make_vector` for Sokoban, the lakes and every `ArrayEnv`, those of
        `make_pool_vector` for all other ids; and the environment's own.

    Returns
    -------
    RollVectorEnv
        For Countdown, WebShop and environments of users that are no `ArrayEnv`, its
        subclass `PoolVectorEnv`.
        Its ``spec`` is set, and no wrapper is around it.

    Raises
    ------
    gymnasium.error.Error
        If the id does not exist.
    InvalidOptionError
        If the id is not roll_vec's, or a keyword has a value that cannot be used.
    UnknownOptionError
        If a keyword does not exist.
    """
    env = gymnasium.make_vec(
        id, num_envs, vectorization_mode="vector_entry_point", **keywords
    ).unwrapped
    if not isinstance(env, RollVectorEnv):
        env.close()
        message = (
            f"id: {id} makes a {type(env).__name__}, not one of roll_vec's: use "
            "gymnasium.make_vec, or register the environment's class by "
            "roll_vec.register"
        )
        raise InvalidOptionError(message)
    return env


# Hidden from type checkers, which would accept any attribute of this module.
if not TYPE_CHECKING:

    def __getattr__(name: str) -> Callable[..., Any]:
        """Return an entry point, ``single/<id>`` or ``vector/<id>``."""
        kind, _, id = name.partition("/")
        if id in ENVIRONMENTS and kind == "single":
            make, registered = partial(make_single, id), ENVIRONMENTS[id]
            if not registered.pooled:
                # `gymnasium.make` reads it, and collects frames in lists.
                make.metadata = registered.load().metadata
            return make
        if id in ENVIRONMENTS and kind == "vector":
            pooled = ENVIRONMENTS[id].pooled
            return partial(make_pool_vector if pooled else make_vector, id)
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)


def make_single(id: str, /, **keywords: Any) -> gymnasium.Env[Any, Any]:
    """Make one environment of a pooled id, or of rules; `gymnasium.make` calls this.

    Parameters
    ----------
    id : str
    **keywords
        The environment's own, and those of `roll_vec.text.options.TextOptions`.

    Raises
    ------
    UnknownOptionError, InvalidOptionError
    """
    registered = ENVIRONMENTS[id]
    cls = registered.load()
    if not registered.pooled:
        from roll_vec.arrays.single_env import SingleEnv

        return SingleEnv(parse_options(cls, keywords), registered.max_episode_steps)
    return build(cls, check_keywords(cls, keywords))


def _parse_limit(limit: Any, registered: int | None) -> int | None:
    """Return a batch's step limit, None for none, as `gymnasium.make` reads it."""
    if limit is None:
        return registered
    if limit == -1:
        return None
    try:
        return check_int("max_episode_steps", limit, 1)
    except InvalidOptionError as error:
        message = f"{error}; None is the registered limit, -1 is no limit"
        raise InvalidOptionError(message) from None


@accepts_keywords_of(BatchOptions, open_end=True)
def make_vector(
    id: str,
    /,
    num_envs: int = 1,
    *,
    max_episode_steps: int | None = None,
    num_threads: int | None = None,
    disable_env_checker: bool | None = None,
    **keywords: Any,
) -> RollVectorEnv:
    """Make a batch of an array environment; `gymnasium.make_vec` calls this.

    Parameters
    ----------
    id : str
    num_envs : int
        Number of environments, 1 to 2**27.
    max_episode_steps : int or None
        Steps after which an episode is truncated.  None: the registered limit; -1: no
        limit.
    num_threads : int or None
        Threads that step a batch; None: ``ROLL_VEC_NUM_THREADS`` if this variable is
        set, else all cores.  Small batches use one; see
        `roll_vec.options.resolve_num_threads`.
    disable_env_checker : bool or None
        Accepted as by `gymnasium.make`, and without effect.
    **keywords
        Those of `roll_vec.vector.env.BatchOptions`, and the environment's own.

    Returns
    -------
    RollVectorEnv

    Raises
    ------
    UnknownOptionError, InvalidOptionError
    """
    registered = ENVIRONMENTS[id]
    names = set(registered.defaults()) | _keywords_of(make_vector)
    check_unknown(keywords, names)
    # Check everything before the arrays of the batch are allocated.
    num_envs = check_int("num_envs", num_envs, 1, MAX_ENVS)
    batch = pop_options(BatchOptions, keywords)
    limit = _parse_limit(max_episode_steps, registered.max_episode_steps)
    from roll_vec.arrays.advantages import make_engine

    keywords = {**registered.keywords, **keywords}
    options = parse_options(registered.load(), keywords)
    threads = resolve_num_threads(num_threads)
    engine = make_engine(options, num_envs, limit, threads)
    engine.begins_in_steps = batch.autoreset_mode is NEXT_STEP
    return RollVectorEnv(engine, **vars(batch))


@accepts_keywords_of(BatchOptions, PoolOptions, open_end=True)
def make_pool_vector(
    id: str,
    /,
    num_envs: int = 1,
    *,
    max_episode_steps: int | None = None,
    disable_env_checker: bool | None = None,
    **keywords: Any,
) -> PoolVectorEnv:
    """Make a pool of an id's environments; `gymnasium.make_vec` calls this.

    Parameters
    ----------
    id : str
    num_envs : int
        Number of environments, 1 to 2**20.
    max_episode_steps : int or None
        Steps after which an episode is truncated.  None: the registered limit; -1: no
        limit.
    disable_env_checker : bool or None
        Accepted as by `gymnasium.make`, and without effect.
    **keywords
        Those of `roll_vec.vector.env.BatchOptions` and `roll_vec.pool.PoolVectorEnv`,
        the environment's own, and those of `roll_vec.text.options.TextOptions`.

    Returns
    -------
    PoolVectorEnv

    Raises
    ------
    UnknownOptionError, InvalidOptionError
    """
    registered = ENVIRONMENTS[id]
    num_envs = check_int("num_envs", num_envs, 1, MAX_POOLED_ENVS)
    limit = _parse_limit(max_episode_steps, registered.max_episode_steps)
    names = _keywords_of(make_pool_vector)
    of_pool = {name: keywords.pop(name) for name in names & keywords.keys()}
    cls = registered.load()
    keywords = check_keywords(cls, {**registered.keywords, **keywords}, names)
    # `gymnasium.make` warns of an unknown mode; `gymnasium.make_vec` does not check it.
    mode, modes = keywords.get("render_mode"), cls.metadata.get("render_modes", ())
    check_render_mode("render_mode", mode, modes)
    # Warns of slow patterns in this process: warnings of workers are lost.
    parse_text_options(cls, keywords)
    # The spec that `gymnasium.make(id, **keywords)` gives an environment.
    spec = replace(gymnasium.spec(id), kwargs=dict(keywords), max_episode_steps=limit)
    keywords = resolve_paths(keywords, getattr(cls, "DATA_FILES", ()))
    # The class, not the id: a worker process may not have registered the id.
    env_fn = partial(build, cls, keywords, spec)
    return PoolVectorEnv([env_fn] * num_envs, max_episode_steps=limit, **of_pool)


def _keywords_of(function: Callable[..., Any]) -> set[str]:
    return set(inspect.signature(function).parameters) - {"id", "keywords"}
