"""`RayVectorEnv`: one vector environment over many processes and machines."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import VectorEnv
from numpy.typing import NDArray

from roll_vec.distributed.batch_spec import BatchSpec
from roll_vec.distributed.messages import Actors
from roll_vec.distributed.options import RayOptions, split_sizes
from roll_vec.distributed.pool_engine import PoolShardsEngine
from roll_vec.distributed.shards import Shards
from roll_vec.distributed.stacked_engine import StackedShardsEngine
from roll_vec.options import (
    MAX_INT,
    check_int,
    take_options,
    takes_keywords_of,
)
from roll_vec.vector.env import BatchOptions, RollVectorEnv


# skrl looks for VectorEnv among the direct bases.
class RayVectorEnv(RollVectorEnv, VectorEnv[Any, Any, Any]):
    """A vector environment whose environments run in shards on a Ray cluster.

    Each shard is one actor with one local batch.  The results are those of one local
    batch of all environments with the same keywords, to the bit, for any number of
    shards.

    A shard that dies is started anew, on another node if need be.  It gets its last
    snapshot and the actions since, so that nothing is lost: the caller only waits.
    After ``max_restarts`` restarts its environments are lost: each of their episodes
    ends at once as truncated, with ``info["error"]``, and the others go on.
    Environments that allow no snapshots (no ``get_state``, and they cannot be pickled)
    lose their episodes when their shard dies, and say so in the same way; their next
    episodes begin in the new shard.

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

    Attributes
    ----------
    num_shards : int
    restarts, pids : tuple of int
        Restarts and present process of each shard.
    lost_shards : dict of int to str
        The shards that were given up, and the reasons.

    Notes
    -----
    Environments that act on an outside world do so twice when they are replayed.

    Between `send` and `recv` a shard that is two snapshot intervals behind takes no new
    actions until its environments have ended their steps.  Give environments that may
    never return a ``step_timeout``.

    Raises
    ------
    MissingExtraError
        Without the extra ``ray``.
    InvalidOptionError, UnknownOptionError
        And the exception of an environment that cannot be built.
    """

    engine: Any

    @takes_keywords_of(RayOptions, BatchOptions, open_end=True)
    def __init__(
        self,
        id: str | Callable[[], gymnasium.Env[Any, Any]],
        num_envs: int,
        num_shards: int,
        **keywords: Any,
    ) -> None:
        ray_options = take_options(RayOptions, keywords)
        batch = take_options(BatchOptions, keywords)
        num_envs = check_int("num_envs", num_envs, 1, MAX_INT)
        sizes = split_sizes(num_envs, num_shards, batch.group_size)
        batch_spec, template = BatchSpec.of(id, keywords), None
        if batch_spec.is_stacked:
            template = batch_spec.make(1)
            batch_spec = _prepare_stacked(batch_spec, template.engine, ray_options)
        actors = self._make_actors(batch_spec, sizes, ray_options)

        shards = partial(Shards, actors, len(sizes), ray_options)
        try:
            engine: Any
            if template is not None:
                sends_grids = batch_spec.keywords.get("obs_mode") == "grid"
                engine = StackedShardsEngine(
                    shards, sizes, batch.autoreset_mode, template.engine, sends_grids
                )
            else:
                engine = PoolShardsEngine(shards, sizes, batch.autoreset_mode)
            spec = engine.spec if template is None else template.spec
            super().__init__(engine, **vars(batch))
        except BaseException:
            actors.close()
            raise
        self.num_shards, self.spec = len(sizes), spec

    @staticmethod
    def _make_actors(
        batch_spec: BatchSpec, sizes: list[int], options: RayOptions
    ) -> Actors:
        from roll_vec.distributed.ray_actors import RayActors

        actor_options = {
            "num_cpus": options.num_cpus,
            "scheduling_strategy": options.scheduling_strategy,
            **(options.actor_options or {}),
        }
        return RayActors(
            batch_spec, sizes, options.address, actor_options, options.compress
        )

    @property
    def restarts(self) -> tuple[int, ...]:
        """The number of restarts of each shard."""
        return tuple(record.restarts for record in self.engine.shards.records)

    @property
    def pids(self) -> tuple[int, ...]:
        """The process of each shard, on its node."""
        return tuple(record.pid for record in self.engine.shards.records)

    @property
    def lost_shards(self) -> dict[int, str]:
        """The shards that were given up, and the reasons."""
        records = enumerate(self.engine.shards.records)
        return {shard: record.loss for shard, record in records if record.loss}

    def _count_faults(self) -> tuple[NDArray[np.int64], dict[str, int]]:
        self._check_open()
        return super()._count_faults()

    def __getstate__(self) -> dict[str, Any]:
        message = "RayVectorEnv cannot be pickled: it belongs to a connection to Ray"
        raise TypeError(message)


def _prepare_stacked(
    batch_spec: BatchSpec, engine: Any, options: RayOptions
) -> BatchSpec:
    """Return the specification of the shards of stacked environments."""
    keywords = dict(batch_spec.keywords)
    keywords.setdefault("num_threads", max(1, int(options.num_cpus)))
    if "render_mode" in keywords:
        # The head draws all frames.
        keywords["render_mode"] = None
    if engine.are_codes_enough and options.render_on == "head":
        keywords["obs_mode"] = "grid"
    return BatchSpec(batch_spec.source, keywords)
