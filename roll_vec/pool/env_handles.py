"""The environment objects of a pool in any workers: called, set, copied, closed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import gymnasium
from gymnasium.vector.utils import CloudpickleWrapper

from roll_vec.errors import InvalidOptionError
from roll_vec.pool.faults import Faults, raise_faults
from roll_vec.pool.member import Member
from roll_vec.pool.options import PoolOptions
from roll_vec.pool.serial import SerialWorkers
from roll_vec.pool.snapshots import EnvSnapshot
from roll_vec.pool.tasks import (
    LEVEL_OPTIONS,
    EnvDescription,
    EnvFns,
    Fault,
    StateRequest,
    Task,
)
from roll_vec.pool.threads import ThreadWorkers
from roll_vec.pool.workers import Workers
from roll_vec.vector.columns import LOST

# Longest wait for busy workers when a pool is closed, in seconds.
PATIENCE = 3.0


if TYPE_CHECKING:
    _Wrapper = CloudpickleWrapper[Any]
else:
    # Not subscriptable before Gymnasium 1.4.
    _Wrapper = CloudpickleWrapper


class _EnvFnsWrapper(_Wrapper):
    """The constructors of the environments: cloudpickle takes lambdas too."""

    def __deepcopy__(self, _: dict[int, Any]) -> _EnvFnsWrapper:
        """Return itself: a copy of a pool shares the constructors."""
        return self


class EnvHandles:
    """The environments of a pool, and the workers that have their objects.

    Parameters
    ----------
    env_fns : sequence of callable
        Each returns an environment.
    options : PoolOptions

    Attributes
    ----------
    members : list of Member
    faults : Faults
    workers : Workers

    Raises
    ------
    InvalidOptionError
        If there are no environments.
    """

    def __init__(self, env_fns: EnvFns, options: PoolOptions) -> None:
        if not env_fns:
            message = "env_fns: expected at least one, got none"
            raise InvalidOptionError(message)
        self.env_fns = env_fns
        self._options = options
        self.members = [Member() for _ in env_fns]
        self.faults = Faults(len(env_fns), options.on_error)
        self.workers = self._make_workers()

    def __len__(self) -> int:
        return len(self.members)

    def _make_workers(self) -> Workers:
        options = self._options
        num_workers = min(options.workers, len(self))
        if not num_workers:
            return SerialWorkers(self.env_fns)
        if options.executor == "thread":
            return ThreadWorkers(self.env_fns, num_workers, options.time_limits)
        from roll_vec.pool.processes import ProcessWorkers

        return ProcessWorkers(
            self.env_fns,
            num_workers,
            options.time_limits,
            options.context,
            [member.attributes for member in self.members],
        )

    def build(self) -> list[EnvDescription]:
        """Build the environment objects, and return their descriptions."""
        descriptions: list[EnvDescription] = self.run("build", [None] * len(self))
        for member, description in zip(self.members, descriptions, strict=True):
            member.can_resume = description.can_resume
        return descriptions

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
            for env_id, argument in zip(env_ids, arguments, strict=True):
                self.workers.submit(Task(env_id, operation, argument))
            while len(values) + len(faults) < len(env_ids):
                for task, value, fault in self.workers.collect():
                    if fault is not None:
                        faults[task.env_id] = fault
                        continue
                    values[task.env_id] = value
                    if operation == "set":
                        self.members[task.env_id].save_attribute(*task.argument)
        except BaseException:
            self.demand_reset()
            raise
        self.faults.needs_full_reset = needed_reset
        return values, faults

    def demand_reset(self) -> None:
        """Drop all outstanding tasks; every environment must be reset now."""
        self.faults.needs_full_reset = True
        for env_id in self.workers.drop():
            self.members[env_id].needs_replacement = True

    def set_level_options(
        self, env_ids: Sequence[int], level_options: dict[str, Any]
    ) -> None:
        """Change the levels of some environments, now and when they are replaced.

        Raises
        ------
        UnsupportedError
            If an environment has no method `set_level_options`.
        """
        count = len(env_ids)
        self.run("check_level_options", [level_options] * count, env_ids)
        before = [dict(self.members[env_id].attributes) for env_id in env_ids]
        try:
            item = LEVEL_OPTIONS, level_options
            faults = self.run_each("set", [item] * count, env_ids)[1]
        except BaseException:
            # Ctrl-C: nobody knows which have changed.  All get new objects, with the
            # level options that they had.
            self.demand_reset()
            for env_id, attributes in zip(env_ids, before, strict=True):
                member = self.members[env_id]
                member.attributes.clear()
                member.attributes.update(attributes)
                member.needs_replacement = True
            raise
        if faults:
            raise_faults(faults, unchanged=True)

    @property
    def in_caller_process(self) -> bool:
        """Whether the environment objects are in this process."""
        return self.workers.runner_of(0) is not None

    @property
    def envs(self) -> list[gymnasium.Env[Any, Any]]:
        """The environment objects; None for one that was lost.

        Raises
        ------
        AttributeError
            If they are in other processes.
        """
        envs: list[Any] = []
        for env_id in range(len(self)):
            runner = self.workers.runner_of(env_id)
            if runner is None:
                message = (
                    "the environments are in worker processes: use call or get_attr"
                )
                raise AttributeError(message)
            envs.append(runner.envs.get(env_id))
        return envs

    def close(self) -> None:
        """Close the environments, and end the workers."""
        self.workers.close(PATIENCE)

    def __getstate__(self) -> dict[str, Any]:
        env_fns = self.env_fns
        state = {**self.__dict__, "env_fns": _EnvFnsWrapper(lambda: env_fns)}
        del state["workers"]
        if self.in_caller_process:
            state["envs"] = self.envs
        else:
            state["envs"] = self.run("fetch", [None] * len(self))
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        envs = state.pop("envs")
        self.__dict__.update(state)
        self.env_fns = state["env_fns"]()
        self.workers = self._make_workers()
        if not self.in_caller_process:
            lost = EnvSnapshot(LOST)
            self.run("set_state", [StateRequest(one or lost) for one in envs])
            return
        for env_id, env in enumerate(envs):
            runner = self.workers.runner_of(env_id)
            if runner is not None and env is not None:
                runner.envs[env_id] = env
