"""`make_shards`: the environments of one id as parts in actors of Ray."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import gymnasium

from roll_vec.joined.batch_spec import BatchSpec
from roll_vec.joined.messages import Actors
from roll_vec.joined.options import RayOptions, split_sizes
from roll_vec.joined.parts import make_actor_parts
from roll_vec.joined.vector_env import JoinedVectorEnv
from roll_vec.options import MAX_INT, check_int, take_options, takes_keywords_of
from roll_vec.vector.env import BatchOptions

ActorsFactory = Callable[[BatchSpec, Sequence[int], RayOptions], Actors]
"""Makes the actors of parts of some sizes, not started."""


@takes_keywords_of(RayOptions, BatchOptions, open_end=True)
def make_shards(
    id: str | Callable[[], gymnasium.Env[Any, Any]],
    num_envs: int,
    num_shards: int,
    **keywords: Any,
) -> JoinedVectorEnv:
    """Make one batch whose environments run in *shards*: actors on a Ray cluster.

    The results are those of one local batch of all environments with the same keywords,
    to the bit, for any number of shards.  A shard that dies is made anew, on another
    node if need be, and nothing is lost: see `roll_vec.joined`.

    Parameters
    ----------
    id : str or callable
        An id of this package, of `roll_vec.register` or of Gymnasium; or a function
        that makes one environment.  A class or function of the program itself travels
        to the shards; modules must be there.
    num_envs : int
    num_shards : int
        At most the number of groups.  A group is never split.
    **keywords
        Those of `RayOptions`, of `roll_vec.vector.env.BatchOptions`, and those of the
        environments as for `roll_vec.make_vec`.

    Raises
    ------
    MissingExtraError
        Without the extra ``ray``.
    InvalidOptionError, UnknownOptionError
        And the exception of an environment that cannot be built.
    PartLostError
        If a node cannot make a shard.

    Notes
    -----
    Environments that act on an outside world do so twice when they are restored.
    """
    from roll_vec.joined.ray_actors import RayActors

    return join_actors(RayActors, id, num_envs, num_shards, keywords)


def join_actors(
    make_actors: ActorsFactory,
    id: Any,
    num_envs: Any,
    num_shards: Any,
    keywords: Mapping[str, Any],
) -> JoinedVectorEnv:
    """Make a batch over actors; see `make_shards`."""
    keywords = dict(keywords)
    options = take_options(RayOptions, keywords)
    batch = take_options(BatchOptions, keywords)
    num_envs = check_int("num_envs", num_envs, 1, MAX_INT)
    sizes = split_sizes(num_envs, num_shards, batch.group_size)
    # Observations are joined in a new batch in any case.
    keywords |= {**vars(batch), "copy": False}
    batch_spec, check = BatchSpec.of(id, keywords), None
    if batch_spec.is_stacked:
        # It finds bad keywords before a process starts, and checks actions.
        check = batch_spec.make(1, group_size=1).engine.check_actions
        threads = max(1, int(options.num_cpus))
        keywords = {"num_threads": threads, **batch_spec.keywords}
        batch_spec = replace(batch_spec, keywords=keywords)
    actors = make_actors(batch_spec, sizes, options)
    try:
        return JoinedVectorEnv(make_actor_parts(actors, len(sizes), options, check))
    except BaseException:
        actors.close()
        raise
