"""The pool as a vector environment."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from numpy.typing import NDArray

from roll_vec.errors import (
    EnvironmentFaultError,
    PendingResultsError,
    ResetNeededError,
    describe_rows,
)
from roll_vec.options import check_unknown, take_options, takes_keywords_of
from roll_vec.pool.engine import PoolEngine
from roll_vec.pool.options import PoolOptions
from roll_vec.pool.pending_steps import Flights
from roll_vec.pool.spaces import ObservationMode
from roll_vec.vector.autoreset import parse_reset_mask
from roll_vec.vector.env import BatchOptions, RollVectorEnv
from roll_vec.vector.infos import Infos

__all__ = ["PoolVectorEnv"]

_ALL_NEED_RESET = (
    "every environment must be reset: the call before was interrupted, or a fault "
    "was raised"
)


# skrl looks for VectorEnv among the direct bases.
class PoolVectorEnv(RollVectorEnv, VectorEnv[Any, Any, Any]):
    """Environments that are objects, any of them, as one vector environment.

    It takes the place of `gymnasium.vector.SyncVectorEnv` and returns what that would,
    whoever runs the environments.  An environment that raises, that returns something
    invalid, that takes too long or whose process dies loses its episode, which ends
    truncated with reward 0, the last valid observation and ``info["error"]``; it is
    built anew and goes on with its stream's next episode, and no other environment
    notices.  A reset that fails is tried again with the next three episodes; then the
    environment stands still: its reset has ``info["error"]``, its next step ends the
    episode as truncated, and the reset after that tries again.

    Parameters
    ----------
    env_fns : iterable of callable
        Each returns an environment, and again whenever it is called.
    copy : bool
        False: observations of array spaces are written into one batch again and again.
    observation_mode : ``same``, ``different``, or tuple of two spaces
        As in `SyncVectorEnv`.
    autoreset_mode : AutoresetMode or str
    workers : int
        Who runs the environments.  0: the calling thread, fastest for those that
        compute for microseconds.  n: so many threads or processes; environment i
        belongs to worker ``i % n`` for good.
    executor : ``thread`` or ``process``
        Threads are for environments that wait.  Processes are for those that keep a
        core busy or that must be stopped: only a process can stop code that never
        returns.  A thread whose environment takes too long is abandoned with it, a
        daemon that is counted in ``abandoned_threads`` and never waited for; code
        that holds the interpreter lock meanwhile holds up the whole program.
    step_timeout, reset_timeout : float or None
        Seconds that a step or a reset, a new instance's construction included, may
        run itself; waiting for its worker does not count.
    on_error : ``truncate`` or ``raise``
        ``raise``: a fault raises `EnvironmentFaultError` once the other environments
        of the call have ended; all must be reset after that.
    max_episode_steps : int or None
        Steps after which an episode is truncated.
    group_size, group_id_info, ...
        See `roll_vec.vector.env.BatchOptions`.
    context : str or None
        How worker processes are started: ``fork``, ``spawn`` or ``forkserver``; None:
        as `multiprocessing` does by default.

    Notes
    -----
    Where a worker process dies, the environment that it was running has lost its
    episode; the worker's others are built again in a new process and led to where they
    were by repeating their actions.  An environment that acts on an outside world does
    so twice then: give each a worker of its own, ``workers=num_envs``.  Up to 1 MiB of
    actions is kept of an environment, and up to 64 MiB of a pool with more than 64, but
    no less than 64 KiB each.  Then its worker pickles it, and the actions before that
    are dropped.  Of one that cannot be pickled, or takes more than 16 times the limit,
    16 times as many actions are kept; after that it loses its episode, too, where its
    worker dies.

    The first fault of a pool warns, by `EnvironmentFaultWarning` with the traceback,
    unless faults raise.

    Infos have Gymnasium's layout, see `roll_vec.vector.infos`.  An info that has none,
    as a dict that holds itself, is a fault of that environment.

    `close` closes every environment, whatever the others raise then: nothing of that
    is told but a KeyboardInterrupt in the calling thread.

    Raises
    ------
    InvalidOptionError, SpaceMismatchError
        And whatever building an environment raises.
    """

    # Whose `successes` are only read.
    engine: PoolEngine

    @takes_keywords_of(PoolOptions, BatchOptions)
    def __init__(
        self,
        env_fns: Iterable[Callable[[], gymnasium.Env[Any, Any]]],
        copy: bool = True,
        observation_mode: ObservationMode = "same",
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        **keywords: Any,
    ) -> None:
        check_unknown(keywords, inspect.signature(PoolVectorEnv).parameters)
        batch = take_options(
            BatchOptions, keywords, copy=copy, autoreset_mode=autoreset_mode
        )
        engine = PoolEngine(tuple(env_fns), observation_mode, PoolOptions(**keywords))
        # Before what is open: closing needs it.
        self._flights = Flights(
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

    # ---------------------------------------------------------- lockstep

    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[Any, Infos]:
        """Start new episodes; see `RollVectorEnv.reset`.

        ``options``, without ``reset_mask``, go to the environments.

        Raises
        ------
        EnvironmentFaultError
            If no environment can be reset, or with ``on_error="raise"``.
        PendingResultsError
            If results were not received.
        """
        self._check_idle("reset")
        if self.engine.instances.needs_reset:
            mask = parse_reset_mask(options, self.num_envs)
            if mask is not None and not mask.all():
                raise ResetNeededError(_ALL_NEED_RESET)
        with self._interruptible():
            result = super().reset(seed=seed, options=options)
        self.engine.counts.warn_once()
        return result

    def step(
        self, actions: Any
    ) -> tuple[Any, NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_], Infos]:
        """Step every environment once; see `RollVectorEnv.step`.

        Raises
        ------
        EnvironmentFaultError
            If no environment can be reset, or with ``on_error="raise"``.
        PendingResultsError
            If results were not received.
        """
        self._check_idle("step")
        if self.engine.instances.needs_reset:
            raise ResetNeededError(_ALL_NEED_RESET)
        with self._interruptible():
            result = super().step(actions)
        self.engine.counts.warn_once()
        return result

    @contextmanager
    def _interruptible(self) -> Iterator[None]:
        """Leave a pool that can be reset and closed where Ctrl-C strikes."""
        try:
            yield
        except KeyboardInterrupt:
            self._flights.clear()
            self.engine.demand_reset()
            raise

    def _check_idle(self, name: str) -> None:
        self._check_open()
        if len(self._flights):
            message = (
                f"{name}: {len(self._flights)} environments have results that were "
                "not received"
            )
            raise PendingResultsError(message, name)

    def _draw_missing(self, seeds: list[int | None]) -> list[int | None]:
        """Fill the Nones where a seed is needed.

        Groups need it, and so do environments that can resume; any other is reset
        without a seed, as it was told.
        """
        drawn = super()._draw_missing(seeds)
        if self.group_size > 1:
            return drawn
        return [
            filled if seed is not None or is_fresh else None
            for seed, filled, is_fresh in zip(
                seeds, drawn, self.engine.is_fresh, strict=True
            )
        ]

    def _observe(self) -> Any:
        return self.engine.observe() if self.copy else self.engine.observe_kept()

    def _show(self) -> None:
        """Do nothing: environments in human mode show themselves."""

    # ------------------------------------------------------- send and recv

    def send(self, actions: Any, env_ids: Any) -> None:
        """Let some environments step, and do not wait for them.

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
        """
        self._check_open()
        if self._any_unstarted or self.engine.instances.needs_reset:
            message = "every environment must be reset before the first action"
            raise ResetNeededError(message)
        rows = self._flights.check_rows(env_ids)
        finished = self._finished[rows]
        if self.autoreset_mode is not AutoresetMode.NEXT_STEP and finished.any():
            message = (
                f"environments {describe_rows(rows[finished])} have ended and were not "
                "reset: do so with options={'reset_mask': mask}"
            )
            raise ResetNeededError(message)
        checked = self._flights.check_actions(actions, finished)
        with self._interruptible():
            self._flights.send(rows, checked, self._finished)

    def recv(
        self, min_envs: int | None = 1, timeout: float | None = None
    ) -> tuple[Any, NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_], Infos]:
        """Return what has become of environments that actions were sent to.

        In SAME_STEP mode one whose episode ends counts as ready once it is reset.

        Parameters
        ----------
        min_envs : int or None
            Wait for so many; None for all.  All that are ready are returned.
        timeout : float or None
            Seconds after which fewer, or none, are returned; infinity is None.

        Returns
        -------
        observations, rewards, terminations, truncations, infos
            As of `step`, of the m environments ``infos["env_id"]``, (m,) int64 and
            ascending.

        Raises
        ------
        InvalidOptionError
            If fewer than ``min_envs`` results are outstanding.
        EnvironmentFaultError
            As `step`.
        """
        self._check_open()
        with self._interruptible():
            try:
                self._flights.wait(min_envs, timeout)
            except EnvironmentFaultError:
                self._flights.clear()
                self.engine.demand_reset()
                raise
            # Before anything is taken: a warning can be made to raise.
            self.engine.counts.warn_once()
            rows, batch = self._flights.take()
            # Not in place: the array may be the one that stands for no row.
            self._finished = self._finished.copy()
            self._finished[rows] = False
            if self.autoreset_mode is not AutoresetMode.SAME_STEP:
                self._finished[rows] = batch[2] | batch[3]
        return batch

    # ---------------------------------------------------------- faults

    @property
    def fault_counts(self) -> NDArray[np.int64]:
        """(num_envs,) int64: failed steps and attempts at a reset, by environment."""
        return self.engine.counts.by_row.copy()

    @property
    def faults(self) -> dict[str, int]:
        """The same by kind; ``reset`` counts the resets that were given up."""
        return dict(self.engine.counts.by_kind)

    @property
    def abandoned_threads(self) -> int:
        """How many threads were left to environments that took too long."""
        return self.engine.workers.abandoned_threads

    # -------------------------------------------------------- attributes

    @property
    def envs(self) -> list[gymnasium.Env[Any, Any]]:
        """The environments; not to be had from worker processes."""
        return self.engine.instances.envs

    @property
    def env_fns(self) -> Sequence[Callable[[], gymnasium.Env[Any, Any]]]:
        """What builds the environments."""
        return self.engine.instances.env_fns

    @property
    def np_random_seed(self) -> tuple[Any, ...]:  # type: ignore[override]
        """``np_random_seed`` of each environment."""
        return self.get_attr("np_random_seed")

    @property  # type: ignore[misc]
    def np_random(self) -> tuple[Any, ...]:  # type: ignore[override]
        """``np_random`` of each environment; copies, from worker processes."""
        return self.get_attr("np_random")

    def call(self, name: str, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
        """Return an attribute of each environment, called if it can be called.

        None of one whose instance was lost in a fault and is yet to be built again.
        There is no time limit, and what is raised is raised here.
        """
        self._check_idle("call")
        with self._interruptible():
            return self.engine.instances.call(name, *args, **kwargs)

    def get_attr(self, name: str) -> tuple[Any, ...]:
        """Return an attribute of each environment, as `call`."""
        return self.call(name)

    def set_attr(self, name: str, values: Any) -> None:
        """Set an attribute of each environment, also of those that are built later.

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
            self.engine.instances.set_attribute(name, values)

    def render(self) -> tuple[Any, ...]:
        """Return what `render` of each environment returns."""
        return self.call("render")

    def render_envs(self, indices: Sequence[int] | range) -> tuple[Any, ...]:
        """Return what `render` of some environments returns."""
        self._check_idle("render")
        with self._interruptible():
            return self.engine.instances.render(list(indices))

    def close_extras(self, **kwargs: Any) -> None:
        """Close the environments; workers that stay busy are killed or abandoned."""
        self._flights.clear()
        self.engine.close()

    def __getstate__(self) -> dict[str, Any]:
        self._check_idle("pickle")
        return super().__getstate__()
