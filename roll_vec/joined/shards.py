"""`make_shards`: the environments of one id as parts in actors of Ray."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import gymnasium

from roll_vec.errors import InvalidOptionError
from roll_vec.joined.actors import ActorPart, pack
from roll_vec.joined.ray_actors import connect
from roll_vec.joined.vector_env import JoinedVectorEnv
from roll_vec.options import MAX_INT, check_int, check_seconds
from roll_vec.pool.factories import resolve_paths
from roll_vec.pool.vector import PoolVectorEnv
from roll_vec.registration import ENVIRONMENTS, register
from roll_vec.registration.factories import make_vec


def make_shards(
    id: str | Callable[[], gymnasium.Env[Any, Any]],
    num_envs: int,
    num_shards: int,
    *,
    group_size: int = 1,
    snapshot_interval: int = 100,
    start_timeout: float | None = 300.0,
    actor_options: Mapping[str, Any] | None = None,
    **keywords: Any,
) -> JoinedVectorEnv:
    """Make one batch whose environments run in *shards*: actors on a Ray cluster.

    The results are those of one local batch of all environments with the same keywords,
    to the bit, for any number of shards.  A shard that dies is made anew, on another
    node if need be, and nothing is lost: see `roll_vec.joined`.

    Parameters
    ----------
    id : str or callable
        An id of this package or of `roll_vec.register`; or a function that makes one
        environment.  A class or function of the program itself travels to the shards;
        modules must be there.
    num_envs : int
    num_shards : int
        At most the number of groups.
    group_size : int
        As of every batch.  A group is never split.
    snapshot_interval : int
        Steps between two snapshots of a shard, which the head keeps.  A new actor
        repeats the steps since the last one.
    start_timeout : float or None
        Seconds that the head waits for the first reply of a shard, which Ray has to
        place, and which makes its environments; None: no limit.
    actor_options : mapping or None
        Options of `ray.remote` for actors, such as ``num_cpus``, ``resources``,
        ``memory``, ``runtime_env``; ``scheduling_strategy`` is ``SPREAD`` by default.
    **keywords
        Those of the batch and of the environments, as for `roll_vec.make_vec`;
        ``num_threads`` is 1 by default.

    Raises
    ------
    MissingExtraError
        Without the extra ``ray``.
    InvalidOptionError, UnknownOptionError
        And the exception of an environment that cannot be built, or of Ray for options
        that it refuses.

    Notes
    -----
    The connection to Ray is the program's.  Without one Ray starts on this machine, and
    ends with the program.

    Environments that act on an outside world do so twice when they are restored.
    """
    num_envs = check_int("num_envs", num_envs, 1, MAX_INT)
    num_groups, remainder = divmod(num_envs, check_int("group_size", group_size, 1))
    if remainder:
        divisor = f"a divisor of num_envs={num_envs}"
        raise InvalidOptionError.expected("group_size", divisor, group_size)
    count = check_int("num_shards", num_shards, 1, num_groups)
    fewest, more = divmod(num_groups, count)
    sizes = [group_size * (fewest + (k < more)) for k in range(count)]
    interval = check_int("snapshot_interval", snapshot_interval, 1)
    check_seconds("start_timeout", start_timeout, allows_zero=False)
    # Observations are joined in a new batch in any case.
    keywords |= {"group_size": group_size, "copy": False}
    source: Any = id
    engine = None
    if not callable(id):
        if id not in ENVIRONMENTS:
            accepted = "an id of roll_vec, or a function that makes one environment"
            raise InvalidOptionError.expected("id", accepted, id)
        source = ENVIRONMENTS[id]
        # Paths that mean the same on other nodes.
        if source.pooled:
            files = getattr(source.load(), "DATA_FILES", ())
            keywords = resolve_paths(keywords, files)
        else:
            keywords = {"num_threads": 1, **resolve_paths(keywords, ["levels"])}
            # It finds bad keywords before a process starts, and checks actions.
            engine = make_batch(source, keywords, group_size).engine
    start = connect(actor_options)
    parts: list[ActorPart] = []
    try:
        for k, size in enumerate(sizes):
            make = pack(partial(make_batch, source, keywords, size))
            start_part = partial(start, make, sum(sizes[:k]))
            parts.append(ActorPart(k, start_part, engine, interval, start_timeout))
        for part in parts:
            part.description = part.end()
        if len({part.description.digest for part in parts}) > 1:
            message = "id: the batches of the nodes differ, as with other data files"
            raise InvalidOptionError(message)
        return JoinedVectorEnv(parts)
    except BaseException:
        for part in parts:
            part.close()
        raise


def make_batch(source: Any, keywords: Mapping[str, Any], num_envs: int) -> Any:
    """Return a batch of so many environments, also on another machine.

    Parameters
    ----------
    source : RegisteredEnv or callable
        The entry of an id, or a function that makes one environment.
    keywords : mapping
        Of the batch.  Paths of data files are absolute.
    num_envs : int

    Raises
    ------
    UnknownOptionError, InvalidOptionError
        Also if this machine does not have the data files.
    """
    if callable(source):
        return PoolVectorEnv([source] * num_envs, **keywords)
    if source.id not in ENVIRONMENTS:
        # The registry of the head does not travel.
        register(source.id, source.load(), source.max_episode_steps, **source.keywords)
    return make_vec(source.id, num_envs, **keywords)
