"""The pool as a vector environment."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from numpy.typing import NDArray

from roll_vec.options import check_unknown, take_options, takes_keywords_of
from roll_vec.pool.engine import PoolEngine
from roll_vec.pool.options import PoolOptions
from roll_vec.pool.pending_steps import PoolSteps
from roll_vec.pool.send_recv import SendRecv
from roll_vec.pool.spaces import ObservationMode
from roll_vec.vector.calls import one_at_a_time
from roll_vec.vector.env import BatchOptions

__all__ = ["PoolVectorEnv"]


# skrl looks for VectorEnv among the direct bases.
class PoolVectorEnv(SendRecv, VectorEnv[Any, Any, Any]):
    """Any environment objects as one vector environment.

    It returns the same as `gymnasium.vector.SyncVectorEnv`, with any kind of workers.

    An environment has a fault if it raises, returns something invalid, takes too long,
    or its process dies.  Its episode then ends: truncated, with reward 0, the last
    valid observation and ``info["error"]``.  A new environment object replaces it and
    begins the next episode of its seed.  No other environment notices.

    If a reset fails, the next three episodes are tried.  If they fail too, the
    environment is stalled: its reset has ``info["error"]``, its next step ends the
    episode as truncated, and the reset after that tries again.

    Parameters
    ----------
    env_fns : iterable of callable
        Each returns an environment, and a new one whenever it is called.
    copy : bool
        False: observations of array spaces are written into one batch again and again.
    observation_mode : ``same``, ``different``, or tuple of two spaces
        As in `SyncVectorEnv`.
    autoreset_mode : AutoresetMode or str
    workers, executor, step_timeout, reset_timeout, on_error, max_episode_steps, \
context
        See `roll_vec.pool.options.PoolOptions`.
    group_size, group_id_info, episode_info
        See `roll_vec.vector.env.BatchOptions`.

    Notes
    -----
    When a worker process dies, the environment that was running loses its episode.  The
    others of this worker are built again in a new process, and their actions are
    repeated.  An environment that acts on an outside world then does so twice: give
    each a worker of its own, ``workers=num_envs``.

    The pool keeps up to 1 MiB of actions for each environment.  With more than 64
    environments it keeps up to 64 MiB in total, but at least 64 KiB each.  At this
    limit the worker pickles the environment, and the actions before that are dropped.
    If it cannot be pickled, or its pickle has more than 16 times the limit, the pool
    keeps 16 times as many actions.  With more of them the environment, too, loses its
    episode when its worker dies.

    The first fault of a pool gives an `EnvironmentFaultWarning` with the traceback,
    unless faults raise.

    Infos have Gymnasium's layout, see `roll_vec.vector.infos`.  An info that cannot be
    brought into it, such as a dict that holds itself, is a fault of that environment.

    `set_level_options` and `solve` call the methods of these names that an environment
    may have.  A new object that replaces an environment gets the level options again,
    in one call.  If it has a method `check_level_options`, that is called first, for
    all environments: nothing changes if it raises.  `set_state` calls `check_state`
    of environments that have it in the same way, for a snapshot from a file or one
    that was changed.

    `close` closes every environment.  It ignores their exceptions, except a
    KeyboardInterrupt in the calling thread.

    Raises
    ------
    InvalidOptionError, SpaceMismatchError
        And the exception of an environment that cannot be built.
    """

    engine: PoolEngine

    @takes_keywords_of(PoolOptions, BatchOptions)
    def __init__(
        self,
        env_fns: Iterable[Callable[[], gymnasium.Env[Any, Any]]],
        copy: bool = BatchOptions.copy,
        observation_mode: ObservationMode = "same",
        autoreset_mode: AutoresetMode | str = BatchOptions.autoreset_mode,
        **keywords: Any,
    ) -> None:
        check_unknown(keywords, inspect.signature(PoolVectorEnv).parameters)
        batch = take_options(
            BatchOptions, keywords, copy=copy, autoreset_mode=autoreset_mode
        )
        engine = PoolEngine(tuple(env_fns), observation_mode, PoolOptions(**keywords))
        # Before the rest of the constructor: `close` needs it.
        self._pending_steps = PoolSteps(
            engine,
            batch.autoreset_mode,
            batch.group_size if batch.group_id_info else None,
        )
        try:
            super().__init__(engine, **vars(batch))
        except BaseException:
            engine.close()
            raise
        self.observation_mode = observation_mode

    def _drop_pending(self) -> None:
        super()._drop_pending()
        self.engine.operations.demand_reset()

    def _needs_full_reset(self) -> bool:
        return self.engine.faults.needs_full_reset or super()._needs_full_reset()

    def _warn_of_faults(self) -> None:
        self.engine.faults.warn_once()

    def _draw_missing_seeds(self, seeds: list[int | None]) -> list[int | None]:
        """Draw seeds for groups, and for environments that need a first seed.

        Any other environment is reset without a seed, as the caller asked.
        """
        all_seeds = super()._draw_missing_seeds(seeds)
        if self.group_size > 1:
            return all_seeds
        return [
            new_seed if seed is not None or needs_seed else None
            for seed, new_seed, needs_seed in zip(
                seeds, all_seeds, self.engine.needs_seed, strict=True
            )
        ]

    def _observe(self) -> Any:
        return (
            self.engine.observe() if self.copy else self.engine.observe_without_copy()
        )

    def _show_window(self) -> None:
        """Do nothing: environments in human mode show themselves."""

    # ---------------------------------------------------------- faults

    @property
    def fault_counts(self) -> NDArray[np.int64]:
        """(num_envs,) int64: failed steps and attempts at a reset, by environment."""
        return self.engine.faults.counts.copy()

    @property
    def faults(self) -> dict[str, int]:
        """Failed steps and attempts at a reset, by kind.

        ``exception``, ``timeout``, ``worker_death``; and ``reset``, the resets that
        failed in all attempts.
        """
        return dict(self.engine.faults.counts_by_kind)

    @property
    def abandoned_threads(self) -> int:
        """Number of threads that were left to environments that took too long."""
        return self.engine.handles.workers.abandoned_threads

    # -------------------------------------------------------- attributes

    @property
    def envs(self) -> list[gymnasium.Env[Any, Any]]:
        """The environment objects, None for one that was lost.

        Raises
        ------
        AttributeError
            If they are in worker processes.
        """
        return self.engine.handles.envs

    @property
    def env_fns(self) -> Sequence[Callable[[], gymnasium.Env[Any, Any]]]:
        """The constructors of the environments."""
        return self.engine.handles.env_fns

    @property
    def np_random_seed(self) -> tuple[Any, ...]:  # type: ignore[override]
        """``np_random_seed`` of each environment."""
        return self.get_attr("np_random_seed")

    @property  # type: ignore[misc]
    def np_random(self) -> tuple[Any, ...]:  # type: ignore[override]
        """``np_random`` of each environment; from worker processes, copies."""
        return self.get_attr("np_random")

    @one_at_a_time
    def call(self, name: str, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
        """Return an attribute of each environment, called if it can be called.

        None for an environment that was lost in a fault and is not replaced yet.  There
        is no time limit.  An exception of an environment is raised here.
        """
        self._check_idle("call")
        with self._interruptible():
            return self.engine.handles.call(name, *args, **kwargs)

    def get_attr(self, name: str) -> tuple[Any, ...]:
        """Return an attribute of each environment, as `call`."""
        return self.call(name)

    @one_at_a_time
    def set_attr(self, name: str, values: Any) -> None:
        """Set an attribute of each environment, now and when it is replaced.

        Parameters
        ----------
        name : str
        values : list or tuple of num_envs, or one for all

        Raises
        ------
        ValueError
            If a list or tuple has another length.
        """
        self._check_idle("set_attr")
        if not isinstance(values, (list, tuple)):
            values = [values] * self.num_envs
        if len(values) != self.num_envs:
            message = (
                f"values: expected {self.num_envs} of them or a single one, "
                f"got {len(values)}"
            )
            raise ValueError(message)
        with self._interruptible():
            self.engine.handles.set_attribute(name, values)

    def render(self) -> tuple[Any, ...]:
        """Return the result of `render` of each environment."""
        return self.call("render")

    @one_at_a_time
    def render_envs(self, indices: Sequence[int] | range) -> tuple[Any, ...]:
        """Return the results of `render` of some environments."""
        self._check_idle("render")
        with self._interruptible():
            return self.engine.handles.render(list(indices))

    def close_extras(self, **kwargs: Any) -> None:
        """Close the environments; workers that stay busy are killed or abandoned."""
        self._pending_steps.clear()
        self.engine.close()

    @one_at_a_time
    def __getstate__(self) -> dict[str, Any]:
        self._check_idle("pickle")
        return super().__getstate__()
