"""The pool as a vector environment."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import VectorEnv
from numpy.typing import NDArray

from roll_vec.errors import PendingResultsError
from roll_vec.options import accepts_keywords_of, check_unknown, pop_options
from roll_vec.pool.engine import PoolEngine, PoolSteps
from roll_vec.pool.exchange import Exchange, StepBatch
from roll_vec.pool.options import PoolOptions
from roll_vec.vector.batch import one_at_a_time
from roll_vec.vector.env import BatchOptions, RollVectorEnv

__all__ = ["PoolVectorEnv"]


# skrl looks for VectorEnv among the direct bases.
class PoolVectorEnv(RollVectorEnv, VectorEnv[Any, Any, Any]):
    """Any environment objects as one vector environment.

    It returns the same as `gymnasium.vector.SyncVectorEnv`, with any kind of workers.

    An environment has a fault if it raises, returns something invalid, takes too long,
    or its process dies.  Its episode then ends: truncated, with reward 0, the last
    valid observation and ``info["error"]``, a `FaultMessage`.  A new environment object
    replaces it and begins the next episode of its seed.  No other environment notices,
    but those whose process has died.  `roll_vec.faults_of` returns the faults of a
    step.

    If a reset fails, the next three episodes are tried.  If they fail too, the
    environment is stalled: its reset has ``info["error"]``, its next step ends the
    episode as truncated, and the reset after that tries again.

    Parameters
    ----------
    env_fns : iterable of callable
        Each returns an environment, and a new one whenever it is called.
    workers, executor, step_timeout, reset_timeout, max_episode_steps, context
        See `roll_vec.pool.options.PoolOptions`.
    **keywords
        And those of `roll_vec.vector.env.BatchOptions`.

    Notes
    -----
    When a worker process dies, the environment that was running has a fault, and the
    others that this process had end their episodes too: in the same step, or in their
    next one.  ``workers=num_envs`` isolates each environment.

    The first fault of a pool gives an `EnvironmentFaultWarning` with the traceback.
    ``warnings.simplefilter("error", EnvironmentFaultWarning)`` makes it an error, after
    which all environments must be reset.

    Infos have Gymnasium's layout, see `roll_vec.vector.infos`.  One that cannot be
    brought into it, such as a dict that holds itself, raises in the call.

    `solve` calls the method of this name that an environment may have.

    `close` closes every environment.  It ignores their exceptions, except a
    KeyboardInterrupt in the calling thread.

    Raises
    ------
    InvalidOptionError, SpaceMismatchError
        And the exception of an environment that cannot be built.
    """

    _has_objects = True
    engine: PoolEngine

    @accepts_keywords_of(PoolOptions, BatchOptions)
    def __init__(
        self,
        env_fns: Iterable[Callable[[], gymnasium.Env[Any, Any]]],
        **keywords: Any,
    ) -> None:
        check_unknown(keywords, inspect.signature(PoolVectorEnv).parameters)
        batch = pop_options(BatchOptions, keywords)
        engine = PoolEngine(tuple(env_fns), PoolOptions(**keywords))
        super().__init__(engine, **vars(batch))
        self._exchange = Exchange(self._autoreset, self._make_steps())
        # With other bounds it is not the batch of the single one.
        self.observation_space = engine.observation_space

    @property
    def envs(self) -> list[gymnasium.Env[Any, Any]]:
        """The environment objects, None for one that was lost.

        Raises
        ------
        AttributeError
            If they are in worker processes.
        """
        return self.engine.envs.objects

    @property
    def env_fns(self) -> Sequence[Callable[[], gymnasium.Env[Any, Any]]]:
        """The constructors of the environments."""
        return self.engine.envs.env_fns

    # ------------------------------------------------------- send and recv

    @one_at_a_time
    def send(self, actions: Any, env_ids: Any) -> None:
        """Give some environments their actions; `recv` returns the results.

        Objects in workers step at once, others when `recv` is called.

        Parameters
        ----------
        actions : batch of m
            As for `step`.
        env_ids : sequence of m int
            Different environments, none of them with a result that was not received.
            One whose episode has ended is reset in NEXT_STEP mode, its action ignored.

        Raises
        ------
        InvalidActionError, InvalidOptionError, PendingResultsError, ResetNeededError
            Nothing has moved then.
        ClosedError
        """
        self._check_started("the first action")
        self._exchange.send(env_ids, actions)

    @one_at_a_time
    def recv(self, min_envs: int | None = 1, timeout: float | None = None) -> StepBatch:
        """Return the results of environments that actions were sent to.

        In SAME_STEP mode an environment whose episode ends is ready after its reset.

        Parameters
        ----------
        min_envs : int or None
            Wait for so many environments; None: for all.  All that are ready are
            returned.
        timeout : float or None
            Seconds after which fewer, or none, are returned; None or infinity: no
            limit.

        Returns
        -------
        observations, rewards, terminations, truncations, infos
            As from `step`, but of m environments: ``infos["env_id"]``, (m,) int64,
            ascending.

        Raises
        ------
        InvalidOptionError
            If fewer than ``min_envs`` results are outstanding.
        EnvironmentFaultError
            As `step`.
        ClosedError
        """
        self._check_open()
        self._check_ready()
        self._exchange.wait(min_envs, timeout)
        batch = self._exchange.receive()
        self._warn()
        self._autoreset.unfinished_call = ""
        return batch

    def _check_idle(self, name: str) -> None:
        """Check that method ``name`` may be called: all results were received."""
        self._check_open()
        busy = self._exchange.busy
        if busy and not self._needs_full_reset():
            message = (
                f"{name}: {len(busy)} environments have results that were not received"
            )
            raise PendingResultsError(message, name)

    def _drop_pending(self) -> None:
        self._exchange.clear()
        self.engine.envs.demand_reset()

    def _make_steps(self) -> PoolSteps:
        """Return an object that begins steps of some environments."""
        return PoolSteps(self.engine)

    def _become_part(self, first_env_id: int) -> None:
        """Note that the pool is a part of a larger batch."""
        faults = self.engine.faults
        faults.first_env_id, faults.is_part = first_env_id, True

    def _draw_missing_seeds(self, seeds: list[int | None]) -> list[int | None]:
        """Replace each None, of the first reset, by a seed of the operating system.

        Objects that need no seed, and are in no group, are reset as the caller asked.
        """
        new_seeds = super()._draw_missing_seeds(seeds)
        is_shared = np.bincount(self._group_ids)[self._group_ids] > 1
        needs_seed = is_shared | np.array(self.engine.needs_seed)
        return [
            new_seed if seed is not None or needs else None
            for seed, new_seed, needs in zip(
                seeds, new_seeds, needs_seed.tolist(), strict=True
            )
        ]

    def _set_attributes(self, name: str, values: Sequence[Any]) -> None:
        """Set an attribute of each object, now and when it is replaced.

        If one raises, the others have it then.
        """
        self.engine.envs.set([(name, value) for value in values])

    # -------------------------------------------------------------- faults

    @property
    def fault_counts(self) -> NDArray[np.int64]:
        """(num_envs,) int64: failed steps and attempts at a reset, by environment."""
        return self.engine.faults.counts.copy()

    def _warn(self) -> None:
        """Warn of the first fault of the pool, unless this was done before."""
        if self.engine.faults.warning:
            self.engine.faults.warn_once()
