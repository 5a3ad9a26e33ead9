"""`make_shards`: the environments of one id as parts in actors of Ray."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import gymnasium
from gymnasium.envs.registration import EnvSpec

from roll_vec.errors import InvalidOptionError
from roll_vec.factories import make_vec
from roll_vec.joined.options import RayOptions
from roll_vec.joined.parts import ActorPart
from roll_vec.joined.vector_env import JoinedVectorEnv
from roll_vec.options import (
    MAX_INT,
    accepts_keywords_of,
    check_int,
    keywords_of,
    pop_options,
)
from roll_vec.pool.options import PoolOptions
from roll_vec.pool.vector import PoolVectorEnv
from roll_vec.registration import ENVIRONMENTS, RegisteredEnv, register
from roll_vec.storage.data_files import resolve_paths
from roll_vec.vector.env import BatchOptions, RollVectorEnv

# Keywords of stacked environments that can be paths; pooled classes name theirs.
_STACKED_FILES: tuple[str, ...] = ("levels",)

EnvFn = Callable[[], gymnasium.Env[Any, Any]]


@accepts_keywords_of(RayOptions, BatchOptions, open_end=True)
def make_shards(
    id: str | EnvFn, num_envs: int, num_shards: int, **keywords: Any
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

    Notes
    -----
    Environments that act on an outside world do so twice when they are restored.
    """
    from roll_vec.joined.ray_actors import RayActors

    return join_actors(RayActors, id, num_envs, num_shards, keywords)


def join_actors(
    make_actors: Callable[..., Any],
    id: Any,
    num_envs: Any,
    num_shards: Any,
    keywords: Mapping[str, Any],
) -> JoinedVectorEnv:
    """Make a batch over actors, as of `RayActors`; see `make_shards`."""
    keywords = dict(keywords)
    options = pop_options(RayOptions, keywords)
    batch = pop_options(BatchOptions, keywords)
    num_envs = check_int("num_envs", num_envs, 1, MAX_INT)
    sizes = split_sizes(num_envs, num_shards, batch.group_size)
    # Observations are joined in a new batch in any case.
    make = BatchMaker.of(id, {**keywords, **vars(batch), "copy": False})
    check = None
    if make.is_stacked:
        # It finds bad keywords before a process starts, and checks actions.
        check = make(1, group_size=1).engine.check_actions
        threads = max(1, int(options.num_cpus))
        keywords = {"num_threads": threads, **make.keywords}
        make = BatchMaker(make.source, keywords)
    actors = make_actors(make, sizes, options)
    try:
        parts = [ActorPart(actors, k, options, check) for k in range(len(sizes))]
        for part in parts:
            part.finish_start()
        if len({part.description.digest for part in parts}) > 1:
            message = "id: the batches of the nodes differ, as with other data files"
            raise InvalidOptionError(message)
        return JoinedVectorEnv(parts)
    except BaseException:
        actors.close()
        raise


@dataclass(frozen=True)
class BatchMaker:
    """Makes batches of an id, also on another machine.

    Parameters
    ----------
    source : RegisteredEnv, EnvSpec or callable
        An id of roll_vec, with a user's own class or its name; any other environment
        of Gymnasium; or a function that makes one environment.
    keywords : mapping
        Of the batch.  Paths of data files are absolute.
    """

    source: RegisteredEnv | EnvSpec | EnvFn
    keywords: Mapping[str, Any]

    @classmethod
    def of(cls, id: Any, keywords: Mapping[str, Any]) -> BatchMaker:
        """Return that of an id, with or without ``module:``, or of a function.

        Raises
        ------
        gymnasium.error.Error
            If the id does not exist.
        InvalidOptionError
            If it is neither a string nor a function.
        """
        if callable(id):
            return cls(id, keywords)
        if not isinstance(id, str):
            accepted = "an id, or a function that makes one environment"
            raise InvalidOptionError.expected("id", accepted, id)
        module, _, name = id.rpartition(":")
        if module:
            importlib.import_module(module)
        if name not in ENVIRONMENTS:
            return cls(gymnasium.spec(name), keywords)
        source, files = ENVIRONMENTS[name], _STACKED_FILES
        if source.pooled:
            files = getattr(source.load(), "DATA_FILES", ())
        return cls(source, resolve_paths(keywords, files))

    @property
    def is_stacked(self) -> bool:
        """Whether the batch has its environments in stacked arrays."""
        return isinstance(self.source, RegisteredEnv) and not self.source.pooled

    def __call__(self, num_envs: int, **changes: Any) -> RollVectorEnv:
        """Return a batch of so many environments, with changes of the keywords.

        Raises
        ------
        UnknownOptionError, InvalidOptionError
            Also if this machine does not have the data files.
        """
        keywords = {**self.keywords, **changes}
        env_fn = source = self.source
        if isinstance(source, RegisteredEnv):
            if source.id not in ENVIRONMENTS:
                # The registry of the head does not travel.
                limit = source.max_episode_steps
                register(source.id, source.entry, limit, **source.keywords)
            return make_vec(source.id, num_envs, **keywords)
        if isinstance(source, EnvSpec):
            of_pool = {*keywords_of(PoolOptions), *keywords_of(BatchOptions)}
            names = keywords.keys() - of_pool
            if keywords.get("max_episode_steps") is not None:
                names |= {"max_episode_steps"}
            of_env = {name: keywords.pop(name) for name in names}
            env_fn = partial(gymnasium.make, source, **of_env)
        return PoolVectorEnv([env_fn] * num_envs, **keywords)  # type: ignore[list-item]


def split_sizes(num_envs: int, num_shards: Any, group_size: int) -> list[int]:
    """Return the numbers of environments of shards, which differ by at most one group.

    Raises
    ------
    InvalidOptionError
        If the groups are not complete, or there are fewer groups than shards.
    """
    num_groups, remainder = divmod(num_envs, group_size)
    if remainder:
        divisor = f"a divisor of num_envs={num_envs}"
        raise InvalidOptionError.expected("group_size", divisor, group_size)
    count = check_int("num_shards", num_shards, 1)
    if count > num_groups:
        what = "environments" if group_size == 1 else f"groups of {group_size}"
        accepted = f"at most {num_groups}, the number of {what}"
        raise InvalidOptionError.expected("num_shards", accepted, count)
    fewest, more = divmod(num_groups, count)
    return [group_size * (fewest + (k < more)) for k in range(count)]
