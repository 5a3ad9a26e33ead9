"""`roll_vec.make_vec`: make the batch of an id, and return it with its type."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, overload

import gymnasium
from gymnasium.envs.registration import EnvSpec

from roll_vec.errors import InvalidOptionError

if TYPE_CHECKING:
    from roll_vec.pool import PoolVectorEnv
    from roll_vec.vector import RollVectorEnv

__all__ = ["make_vec"]


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

    Type checkers and editors know `unroll`, `send`, `recv` and `final_obs` of what this
    returns; `gymnasium.make_vec` gives a `VectorEnv` that has none of them.

    Parameters
    ----------
    id : str or EnvSpec
        An id of this package or one that `roll_vec.register` was given; also
        ``module:id``, which imports the module first.
    num_envs : int
        At least 1.
    **keywords
        Those of `roll_vec.registration.make_vector` for Sokoban and the lakes, of
        `roll_vec.registration.make_pool_vector` for all other ids, and the
        environment's own.

    Returns
    -------
    RollVectorEnv
        A `PoolVectorEnv`, which is one, for environments that are objects: Countdown,
        WebShop and those of users.  Its ``spec`` is set, and no wrapper is around it.

    Raises
    ------
    gymnasium.error.Error
        If the id does not exist.
    InvalidOptionError
        If the id is not one of ours, or a keyword has a value that cannot be used.
    UnknownOptionError
        If a keyword does not exist.
    """
    from roll_vec.vector import RollVectorEnv

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
