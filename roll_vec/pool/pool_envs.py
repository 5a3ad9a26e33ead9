"""The environments of a pool in any workers: what was started, awaited and checked."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from operator import itemgetter
from typing import Any

import gymnasium
from gymnasium.vector.utils import CloudpickleWrapper

from roll_vec.errors import InvalidOptionError
from roll_vec.pool.env_record import EnvRecord, ResetArguments
from roll_vec.pool.faults import Faults, raise_faults
from roll_vec.pool.observations import Observations
from roll_vec.pool.options import PoolOptions
from roll_vec.pool.tasks import (
    NO_STEP,
    EnvDescription,
    EnvFns,
    Fault,
    StepValues,
    misfit_fault,
)
from roll_vec.pool.threads import ThreadWorkers
from roll_vec.pool.workers import SerialWorkers, Workers
from roll_vec.vector.infos import AnyInfos, InfoList, stack_plain
from roll_vec.vector.known_infos import fault_info

_INFO = itemgetter(4)
# Longest wait for busy workers when a pool is closed, in seconds.
PATIENCE = 3.0
# Further attempts at a reset that fails, each in the next episode.
MAX_RETRIES = 3


class _EnvFnsWrapper(CloudpickleWrapper):
    """The constructors of the environments: cloudpickle accepts lambdas too."""

    def __deepcopy__(self, _: dict[int, Any]) -> _EnvFnsWrapper:
        """Return itself: a copy of a pool shares the constructors."""
        return self


class PoolEnvs:
    """The environments of a pool, and the workers that have their objects.

    Parameters
    ----------
    env_fns : sequence of callable
        Each returns an environment.
    options : PoolOptions

    Attributes
    ----------
    records : list of EnvRecord
        What the pool knows of each environment.
    results : list of StepValues
        Of the last step of each environment; `NO_STEP` if a reset ran in its place.
    observations : Observations
        Set by the owner once the environments are built.
    num_active : int
        Steps and resets that have started and not ended.
    faults : Faults
    workers : Workers

    Raises
    ------
    InvalidOptionError
        If there are no environments.
    """

    observations: Observations

    def __init__(self, env_fns: EnvFns, options: PoolOptions) -> None:
        if not env_fns:
            message = "env_fns: expected at least one, got none"
            raise InvalidOptionError(message)
        self.env_fns, self._options = env_fns, options
        self.records = [EnvRecord() for _ in env_fns]
        self.results: list[StepValues] = [NO_STEP] * len(env_fns)
        self.faults = Faults(len(env_fns))
        self.num_active = 0
        # Environments whose step ended without a task: they are stalled, or lost.
        self._steps_without_task: list[int] = []
        self.workers = self._make_workers()

    def __len__(self) -> int:
        return len(self.records)

    def _make_workers(self) -> Workers:
        if not self._options.workers:
            return SerialWorkers(self.env_fns)
        if self._options.executor == "thread":
            return ThreadWorkers(self.env_fns, self._options)
        from roll_vec.pool.processes import ProcessWorkers

        return ProcessWorkers(self.env_fns, self._options, self.faults.lost)

    def build(self) -> list[EnvDescription]:
        """Build the environment objects, and return their descriptions."""
        descriptions: list[EnvDescription] = self.run("build", [None] * len(self))
        for record, description in zip(self.records, descriptions, strict=True):
            record.can_resume = description.can_resume
        return descriptions

    # ---------------------------------------------------- steps and resets

    def start_resets(
        self, env_ids: Sequence[int], arguments: Iterable[ResetArguments | None]
    ) -> None:
        """Start episodes: as the user asked for them, or None: as an autoreset.

        Workers need not have ended the resets when this returns: other environments
        can step at the same time.
        """
        for env_id, one in zip(env_ids, arguments, strict=True):
            self.records[env_id].start_episode(one)
        self._submit_resets(env_ids)

    def _submit_resets(self, env_ids: Sequence[int]) -> None:
        for env_id in env_ids:
            self.faults.stalled.pop(env_id, None)
            if self.faults.lost.pop(env_id, None) is not None:
                self.records[env_id].needs_replacement = True
        requests = [self.records[env_id].reset_request() for env_id in env_ids]
        self._submit("reset", env_ids, requests)

    def start_steps(self, env_ids: Sequence[int], actions: Sequence[Any]) -> None:
        """Start steps of some environments, with an action for each."""
        stalled, lost = self.faults.stalled, self.faults.lost
        if stalled or lost:
            able: dict[int, Any] = {}
            for env_id, action in zip(env_ids, actions, strict=True):
                if env_id in stalled:
                    info = fault_info(stalled[env_id])
                    self.results[env_id] = None, 0.0, False, True, info
                elif env_id in lost:
                    self._fail_step(env_id, Fault(lost[env_id]))
                else:
                    able[env_id] = action
                    continue
                self._steps_without_task.append(env_id)
            env_ids, actions = list(able), list(able.values())
        self._submit("step", env_ids, actions)

    def _submit(
        self, operation: str, env_ids: Sequence[int], arguments: Sequence[Any]
    ) -> None:
        self.num_active += len(env_ids)
        self.workers.submit(operation, env_ids, arguments)

    def end_steps(self, env_ids: Sequence[int]) -> AnyInfos:
        """Wait for steps of environments, and return their infos.

        Parameters
        ----------
        env_ids : sequence of int
            All whose steps were started, ascending.

        Returns
        -------
        dict or list
            A layout of all environments; or a list, in which others have an empty dict.

        Raises
        ------
        EnvironmentFaultError
            As `wait_for_all`.
        """
        if self.observations.copied_ids:
            # Before the latest ones are written into.
            self.observations.build_batch()
        self._wait(checks_steps=False)
        results = self.results
        infos = list(map(_INFO, map(results.__getitem__, env_ids)))
        layout = stack_plain(infos, env_ids, len(results))
        for env_id in self.observations.build_batch():
            self._fail_step(env_id, misfit_fault("step"))
            layout = None
        self.faults.raise_if_needed()
        if layout is not None:
            return layout
        whole: InfoList = [{}] * len(self)
        for env_id in env_ids:
            whole[env_id] = results[env_id][4]
        return whole

    def wait_for_all(self) -> None:
        """Wait until every step and reset that was started has ended.

        Raises
        ------
        EnvironmentFaultError
            If no environment can be reset any longer.
        """
        self._wait()
        self.faults.raise_if_needed()

    def _wait(self, *, checks_steps: bool = True) -> None:
        self._steps_without_task.clear()
        while self.num_active:
            self._receive(None, None, checks_steps=checks_steps)

    def wait_for_some(self, timeout: float | None, count: int = 1) -> list[int]:
        """Wait for the first step or reset that ends.

        Parameters
        ----------
        timeout : float or None
            In seconds; None: no limit.
        count : int
            Those that the caller needs; see `Workers.collect`.

        Returns
        -------
        list of int
            The environments whose step or reset has ended.

        Raises
        ------
        EnvironmentFaultError
            As `wait_for_all`.
        """
        env_ids, self._steps_without_task = self._steps_without_task, []
        if not env_ids:
            env_ids = self._receive(timeout, count)
        self.faults.raise_if_needed()
        return env_ids

    def demand_reset(self) -> None:
        """Drop everything that was started; every environment must be reset now."""
        self.faults.needs_full_reset = True
        self.num_active = 0
        self._steps_without_task.clear()
        for env_id in self.workers.drop():
            self.records[env_id].needs_replacement = True

    # ------------------------------------------------------------ outcomes

    def _receive(
        self, timeout: float | None, count: int | None, *, checks_steps: bool = True
    ) -> list[int]:
        """Receive outcomes; return the environments whose step or reset has ended.

        Parameters
        ----------
        timeout, count
            See `Workers.collect`.
        checks_steps : bool
            False: the caller checks whether observations and infos of steps fit.
        """
        try:
            outcomes = self.workers.collect(timeout, count)
        except BaseException:
            # Ctrl-C, or no process can be started: the state of the tasks is unknown.
            self.demand_reset()
            raise
        done_ids: list[int] = []
        for operation, env_ids, values in outcomes:
            self.num_active -= len(env_ids)
            if operation == "reset":
                values = self._check_values(operation, values)
                done_ids += self._save_resets(env_ids, values)
                continue
            if checks_steps:
                values = self._check_values(operation, values)
            self._save_steps(env_ids, values)
            done_ids += env_ids
        self.observations.is_stale = True
        return done_ids

    def _check_values(self, operation: str, values: Sequence[Any]) -> list[Any]:
        """Return results, with a fault in place of one that fits into no batch."""
        results = list(values)
        indices = [k for k, value in enumerate(values) if type(value) is not Fault]
        for i in self.observations.find_misfits([values[k][0] for k in indices]):
            results[indices[i]] = misfit_fault(operation)
        return results

    def _save_steps(self, env_ids: Sequence[int], values: Sequence[Any]) -> None:
        if Fault in map(type, values):
            by_id = dict(zip(env_ids, values, strict=True))
            for env_id in env_ids:
                if type(by_id[env_id]) is Fault:
                    self._fail_step(env_id, by_id.pop(env_id))
            env_ids, values = list(by_id), list(by_id.values())
        latest, results = self.observations.latest, self.results
        for env_id, value in zip(env_ids, values, strict=True):
            latest[env_id] = value[0]
            results[env_id] = value
        self.observations.copied_ids.difference_update(env_ids)
        limit = self._options.max_episode_steps
        if limit is not None:
            for env_id in env_ids:
                record = self.records[env_id]
                record.elapsed_steps += 1
                if record.elapsed_steps >= limit:
                    *others, _, info = results[env_id]
                    results[env_id] = *others, True, info

    def _save_resets(self, env_ids: Sequence[int], values: Sequence[Any]) -> list[int]:
        """Save outcomes of resets; return the environments that have begun, or never.

        The others are reset again.
        """
        retries: list[int] = []
        for env_id, value in zip(env_ids, values, strict=True):
            if type(value) is not Fault:
                record = self.records[env_id]
                observation, record.reset_info = value
                self.observations.set_latest(env_id, observation)
                record.needs_replacement, record.elapsed_steps = False, 0
            elif not (value.has_begun and self._fail_reset(env_id, value)):
                retries.append(env_id)
        if not retries:
            return list(env_ids)
        self._submit_resets(retries)
        return [env_id for env_id in env_ids if env_id not in retries]

    def _fail_reset(self, env_id: int, fault: Fault) -> bool:
        """Note the fault of a reset; return False if it is to be tried again."""
        record, faults = self.records[env_id], self.faults
        faults.count(env_id, fault)
        faults.lost.pop(env_id, None)
        record.needs_replacement, record.elapsed_steps = True, 0
        if record.num_retries < MAX_RETRIES:
            record.skip_episode()
            return False
        faults.stall(env_id, fault)
        record.reset_info = fault_info(fault.message)
        self.observations.go_back(env_id)
        return True

    def _fail_step(self, env_id: int, fault: Fault) -> None:
        """Note the fault of a step: the episode is truncated."""
        self.faults.count(env_id, fault)
        self.faults.lost.pop(env_id, None)
        record = self.records[env_id]
        # The step may have been counted before it was checked.
        record.needs_replacement, record.elapsed_steps = True, 0
        self.results[env_id] = None, 0.0, False, True, fault_info(fault.message)
        self.observations.go_back(env_id)

    # ------------------------------------------------ all other operations

    def run(
        self,
        operation: str,
        arguments: Sequence[Any],
        env_ids: Sequence[int] | None = None,
    ) -> list[Any]:
        """Run one operation on some environments, on all by default; wait for all.

        Returns
        -------
        list
            The results, in the order of ``env_ids``.

        Raises
        ------
        EnvironmentFaultError
            Or the exception of the first environment that failed, after all ended.
        """
        env_ids = range(len(self)) if env_ids is None else env_ids
        values, faults = self.run_each(operation, arguments, env_ids)
        if faults:
            raise_faults(faults, unchanged=True)
        return [values[env_id] for env_id in env_ids]

    def run_each(
        self, operation: str, arguments: Sequence[Any], env_ids: Sequence[int]
    ) -> tuple[dict[int, Any], dict[int, Fault]]:
        """Run one operation on some environments; return the results and the faults."""
        values: dict[int, Any] = {}
        faults: dict[int, Fault] = {}
        needed_reset = self.faults.needs_full_reset
        # Already now: Ctrl-C may come again, before the tasks are dropped.
        self.faults.needs_full_reset = True
        try:
            self.workers.submit(operation, env_ids, arguments)
            # An environment may have several tasks.
            count = 0
            while count < len(env_ids):
                for _, done_ids, results in self.workers.collect():
                    count += len(done_ids)
                    for env_id, value in zip(done_ids, results, strict=True):
                        by_kind = faults if type(value) is Fault else values
                        by_kind.setdefault(env_id, value)
        except BaseException:
            self.demand_reset()
            raise
        self.faults.needs_full_reset = needed_reset
        return values, faults

    def set(self, items: Sequence[tuple[str, Any]]) -> None:
        """Set an attribute of each environment.

        New objects get them, too.  If one raises, the others have them then.
        """
        values, faults = self.run_each("set", items, range(len(self)))
        for env_id in values:
            name, value = items[env_id]
            self.records[env_id].attributes[name] = value
        if faults:
            raise_faults(faults, unchanged=True)

    # ---------------------------------------------------- the objects

    @property
    def objects(self) -> list[gymnasium.Env[Any, Any]]:
        """The environment objects; None for one that was lost.

        Raises
        ------
        AttributeError
            If they are in other processes.
        """
        envs: Any = self.workers.objects()
        if envs is None:
            message = "the environments are in worker processes: use call or get_attr"
            raise AttributeError(message)
        return [envs.get(env_id) for env_id in range(len(self))]

    @property
    def able_ids(self) -> list[int]:
        """The environments that have an object, whose last call has not failed."""
        return [
            env_id
            for env_id, one in enumerate(self.records)
            if not (one.needs_replacement or env_id in self.faults.lost)
        ]

    def close(self) -> None:
        """Close the environments, and end the workers."""
        self.workers.close(PATIENCE)

    def __getstate__(self) -> dict[str, Any]:
        env_fns: Any = self.env_fns
        state = {**self.__dict__, "env_fns": _EnvFnsWrapper(lambda: env_fns)}
        del state["workers"]
        if self.workers.objects() is None:
            state["envs"] = self.run("fetch", [None] * len(self))
        else:
            state["envs"] = self.objects
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        envs = state.pop("envs")
        self.__dict__.update(state)
        self.env_fns = state["env_fns"]()
        self.workers = self._make_workers()
        self.run("place", envs)
