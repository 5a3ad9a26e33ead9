"""`RayVectorEnv`: one vector environment over many processes and machines."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import VectorEnv
from numpy.typing import NDArray

from roll_vec.distributed.actors import Actors
from roll_vec.distributed.options import RayOptions, split_sizes
from roll_vec.distributed.pending_steps import ShardsSteps
from roll_vec.distributed.pool_engine import PoolShardsEngine
from roll_vec.distributed.recipe import EnvRecipe
from roll_vec.distributed.shards import Shards
from roll_vec.distributed.stacked_engine import StackedShardsEngine
from roll_vec.errors import EnvironmentFaultError, InvalidOptionError
from roll_vec.options import (
    MAX_INT,
    check_int,
    take_options,
    takes_keywords_of,
)
from roll_vec.pool.send_recv import SendRecv
from roll_vec.vector.calls import one_at_a_time
from roll_vec.vector.env import BatchOptions
from roll_vec.vector.infos import Infos
from roll_vec.vector.send_recv import BatchSendRecv

__all__ = ["RayVectorEnv"]


# skrl looks for VectorEnv among the direct bases.
class RayVectorEnv(SendRecv, VectorEnv[Any, Any, Any]):
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
        recipe, template = EnvRecipe.of(id, keywords), None
        if recipe.is_stacked:
            template = recipe.make(1)
            recipe = _prepare_stacked(recipe, template.engine, ray_options)
        actors = self._make_actors(recipe, sizes, batch.autoreset_mode, ray_options)

        def make_shards(renew: Any, translate: Any) -> Shards:
            return Shards(
                actors,
                len(sizes),
                ray_options.snapshot_interval,
                ray_options.max_restarts,
                ray_options.shard_timeout,
                ray_options.start_timeout,
                renew,
                translate,
            )

        self._pending_steps: Any = {}
        mode = batch.autoreset_mode
        try:
            engine: Any
            if template is not None:
                engine = StackedShardsEngine(
                    make_shards,
                    sizes,
                    mode,
                    template.engine,
                    recipe.keywords.get("obs_mode") == "grid",
                )
            else:
                engine = PoolShardsEngine(make_shards, sizes, mode)
                group_size = batch.group_size if batch.group_id_info else None
                self._pending_steps = ShardsSteps(engine, mode, group_size)
            spec = engine.spec if template is None else template.spec
            super().__init__(engine, **vars(batch))
        except BaseException:
            actors.close()
            raise
        self.num_shards, self.spec = len(sizes), spec

    @staticmethod
    def _make_actors(
        recipe: EnvRecipe, sizes: list[int], mode: Any, options: RayOptions
    ) -> Actors:
        from roll_vec.distributed.ray_actors import RayActors

        actor_options = {
            "num_cpus": options.num_cpus,
            "scheduling_strategy": options.scheduling_strategy,
            **(options.actor_options or {}),
        }
        return RayActors(
            recipe, sizes, mode, options.address, actor_options, options.compress
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

    @property
    def _is_pool(self) -> bool:
        return isinstance(self.engine, PoolShardsEngine)

    # ------------------------------------------------------------- steps

    @one_at_a_time
    def send(self, actions: Any, env_ids: Any) -> None:
        """Let some environments step; see `RollVectorEnv.send`."""
        if self._is_pool:
            super().send(actions, env_ids)
        else:
            BatchSendRecv.send(self, actions, env_ids)

    @one_at_a_time
    def recv(
        self, min_envs: int | None = 1, timeout: float | None = None
    ) -> tuple[Any, NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_], Infos]:
        """Return the results of environments; see `RollVectorEnv.recv`."""
        if self._is_pool:
            return super().recv(min_envs, timeout)
        with self._interruptible():
            result = BatchSendRecv.recv(self, min_envs, timeout)
        self._warn_of_faults()
        return result

    def _observe(self) -> Any:
        if self._is_pool and not self.copy:
            return self.engine.observe_without_copy()
        return super()._observe()

    def _show_window(self) -> None:
        if not self._is_pool:
            super()._show_window()

    # ------------------------------------------------------------- interrupts

    @contextmanager
    def _step_context(self) -> Iterator[None]:
        count = len(self._pending_steps)
        try:
            with self._interruptible():
                yield
        except Exception as error:
            # Results that were not received are gone.
            has_lost_results = len(self._pending_steps) < count
            if has_lost_results or isinstance(error, EnvironmentFaultError):
                self._demand_reset()
            raise

    def _needs_full_reset(self) -> bool:
        return self.engine.shards.need_reset or super()._needs_full_reset()

    def _warn_of_faults(self) -> None:
        """Give the warnings of shards, after the results of a call were taken."""
        self.engine.shards.warn()

    # ------------------------------------------------------------- attributes

    @one_at_a_time
    def call(self, name: str, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
        """Return an attribute of each environment, called if it is a method.

        None for environments of a shard that is lost.
        """
        self._check_idle("call")
        if not self._is_pool:
            return super().call(name, *args, **kwargs)
        values: tuple[Any, ...] = self.engine.call(name, args, kwargs)
        self._warn_of_faults()
        return values

    def get_attr(self, name: str) -> tuple[Any, ...]:
        """Return an attribute of each environment as a tuple."""
        if not self._is_pool:
            return super().get_attr(name)
        return self.call(name)

    @one_at_a_time
    def set_attr(self, name: str, values: Any) -> None:
        """Set an attribute of each environment of a pool; see `PoolVectorEnv.set_attr`.

        Raises
        ------
        FrozenAttributeError
            If the environments are in stacked arrays.
        """
        if not self._is_pool:
            super().set_attr(name, values)
        self._check_idle("set_attr")
        if not isinstance(values, (list, tuple)):
            values = [values] * self.num_envs
        if len(values) != self.num_envs:
            accepted = f"{self.num_envs} of them or a single one"
            raise InvalidOptionError.expected("values", accepted, len(values))
        self.engine.set_attr(name, values)
        self._warn_of_faults()

    @property
    def np_random_seed(self) -> tuple[Any, ...]:  # type: ignore[override]
        """The seed of each environment's stream."""
        if not self._is_pool:
            return tuple(self._seeds.values)
        return self.get_attr("np_random_seed")

    # ------------------------------------------------------------- frames, faults

    @one_at_a_time
    def render(self) -> tuple[Any, ...] | None:
        """Return a frame of each environment; see `RollVectorEnv.render`.

        Of a pool, the results of `render`; None for environments of a shard that is
        lost.
        """
        self._check_idle("render")
        return self.call("render") if self._is_pool else super().render()

    @one_at_a_time
    def render_envs(self, indices: Sequence[int] | range) -> tuple[Any, ...] | None:
        """Return a frame of some environments, as `render` does of all."""
        self._check_idle("render")
        # The shards take ascending numbers.
        env_ids, places = np.unique(np.asarray(indices, np.int64), return_inverse=True)
        if self._is_pool:
            frames = self.engine.frames(env_ids, "")
        else:
            frames = super().render_envs(env_ids.tolist())
        return frames and tuple(frames[place] for place in places)

    @property
    def fault_counts(self) -> NDArray[np.int64]:
        """(num_envs,) int64: failed steps and resets of a pool; see `PoolVectorEnv`."""
        self._check_open()
        counts: NDArray[np.int64] = self.engine.fault_counts
        return counts

    @property
    def faults(self) -> dict[str, int]:
        """Failed steps and attempts at a reset of a pool, by kind."""
        self._check_open()
        counts: dict[str, int] = self.engine.faults
        return counts

    def __getstate__(self) -> dict[str, Any]:
        message = "RayVectorEnv cannot be pickled: it belongs to a connection to Ray"
        raise TypeError(message)

    def _snapshot_id(self) -> str:
        return self.spec.id if self.spec is not None else "PoolEngine"


def _prepare_stacked(recipe: EnvRecipe, engine: Any, options: RayOptions) -> EnvRecipe:
    """Return the recipe of the shards of stacked environments."""
    keywords = dict(recipe.keywords)
    keywords.setdefault("num_threads", max(1, int(options.num_cpus)))
    if "render_mode" in keywords:
        # The head draws all frames.
        keywords["render_mode"] = None
    if engine.are_codes_enough and options.render_on == "head":
        keywords["obs_mode"] = "grid"
    return EnvRecipe(recipe.source, keywords)
