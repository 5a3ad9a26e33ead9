"""The environment objects of a pool in any workers: called, set, copied, closed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import gymnasium
from gymnasium.vector.utils import CloudpickleWrapper

from roll_vec.errors import InvalidOptionError
from roll_vec.pool.fault_handling import FaultHandler, raise_faults
from roll_vec.pool.observations import same_data
from roll_vec.pool.options import PoolOptions
from roll_vec.pool.serial import SerialWorkers
from roll_vec.pool.snapshots import EnvSnapshot
from roll_vec.pool.tasks import LEVEL_OPTIONS, EnvFns, Fault, StateRequest, Task
from roll_vec.pool.threads import ThreadWorkers
from roll_vec.pool.workers import Workers

__all__ = ["EnvHandles"]

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
    faults : FaultHandler

    Attributes
    ----------
    workers : Workers
    attributes : list of dict
        The attributes that the user has set, by environment; new objects get them too.
        Under `tasks.LEVEL_OPTIONS` are the keywords of `set_level_options`.

    Raises
    ------
    InvalidOptionError
        If there are no environments.
    """

    def __init__(
        self, env_fns: EnvFns, options: PoolOptions, faults: FaultHandler
    ) -> None:
        if not env_fns:
            message = "env_fns: expected at least one, got none"
            raise InvalidOptionError(message)
        self.env_fns = env_fns
        self._options = options
        self._faults = faults
        self.attributes: list[dict[str, Any]] = [{} for _ in env_fns]
        self.workers = self._make_workers()

    def __len__(self) -> int:
        return len(self.env_fns)

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
            self.attributes,
        )

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
        values, faults = self._run(operation, arguments, env_ids)
        if faults:
            raise_faults(faults, unchanged=True)
        return [values[env_id] for env_id in env_ids]

    def _run(
        self, operation: str, arguments: Sequence[Any], env_ids: Sequence[int]
    ) -> tuple[dict[int, Any], dict[int, Fault]]:
        """Run one operation on some environments; return the results and the faults."""
        values: dict[int, Any] = {}
        faults: dict[int, Fault] = {}
        needed_reset = self._faults.needs_full_reset
        # Already now: Ctrl-C may come again, before the tasks are dropped.
        self._faults.needs_full_reset = True
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
                        self._save_attribute(task.env_id, *task.argument)
        except BaseException:
            self.demand_reset()
            raise
        self._faults.needs_full_reset = needed_reset
        return values, faults

    def _save_attribute(self, env_id: int, name: str, value: Any) -> None:
        """Save an attribute for new objects; add level options to earlier ones."""
        attributes = self.attributes[env_id]
        if name == LEVEL_OPTIONS:
            value = {**attributes.get(name, {}), **value}
        attributes[name] = value

    def demand_reset(self) -> None:
        """Drop all outstanding tasks; every environment must be reset now."""
        self._faults.needs_full_reset = True
        for env_id in self.workers.drop():
            self._faults.needs_replacement[env_id] = True

    @property
    def in_caller_process(self) -> bool:
        """Whether the environment objects are in this process."""
        return self.workers.runner_of(0) is not None

    def get_snapshots(self, env_ids: Sequence[int]) -> list[EnvSnapshot]:
        """Return snapshots of some environment objects.

        Raises
        ------
        UnsupportedError
            If there is no way to take one.
        EnvironmentFaultError
            If a worker died.  An exception of an environment is raised as it is.
        """
        return self.run("get_state", [self.in_caller_process] * len(env_ids), env_ids)

    def level_options(self, env_id: int) -> dict[str, Any] | None:
        """Return the keywords of `set_level_options` of an environment, if any."""
        options: dict[str, Any] | None = self.attributes[env_id].get(LEVEL_OPTIONS)
        return options

    def check_snapshots(
        self, snapshots: Mapping[int, EnvSnapshot], any_object: bool
    ) -> None:
        """Check snapshots by the environment objects; nothing changes.

        A row whose environment has no object now is not checked.

        Parameters
        ----------
        snapshots : mapping from int to EnvSnapshot
            By row, of the kind `PLAIN` or `PICKLED`.
        any_object : bool
            Whether all environments are alike.  If not, row i is for environment i.

        Raises
        ------
        InvalidStateError
            Or another exception of an environment.
        EnvironmentFaultError
            If a worker died.
        """
        is_lost = self._faults.needs_replacement
        able_ids = [env_id for env_id in range(len(self)) if not is_lost[env_id]]
        parts: dict[int, dict[int, EnvSnapshot]] = {env_id: {} for env_id in able_ids}
        for row, snapshot in snapshots.items():
            env_id = row
            if any_object and able_ids:
                env_id = able_ids[row % len(able_ids)]
            if env_id in parts:
                parts[env_id][row] = snapshot
        self.run("check_states", list(parts.values()), able_ids)

    def set_snapshots(
        self,
        env_ids: Sequence[int],
        snapshots: Sequence[EnvSnapshot],
        level_options: Sequence[dict[str, Any] | None],
    ) -> None:
        """Bring some environment objects into the states of snapshots.

        A state goes into a new object where the present one is lost, or has other level
        options, which its state need not have.

        Parameters
        ----------
        env_ids : sequence of int
        snapshots : sequence of EnvSnapshot
        level_options : sequence of dict or None
            Those that the environments shall have.

        Raises
        ------
        EnvironmentFaultError
            If some fail, after all others have ended; every environment must be reset
            then, and those that failed get new objects.
        """
        requests = []
        for env_id, snapshot, options in zip(
            env_ids, snapshots, level_options, strict=True
        ):
            replace_env = self._faults.needs_replacement[env_id]
            attributes = self.attributes[env_id]
            if not same_data(self.level_options(env_id), options):
                replace_env = True
                attributes.pop(LEVEL_OPTIONS, None)
                if options is not None:
                    attributes[LEVEL_OPTIONS] = options
            requests.append(StateRequest(snapshot, dict(attributes), replace_env))
        faults = self._run("set_state", requests, env_ids)[1]
        if faults:
            for env_id in faults:
                self._faults.needs_replacement[env_id] = True
            self.demand_reset()
            raise_faults(faults)

    def call(self, name: str, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
        """Return an attribute of each environment, called if it can be called.

        None for an environment object that was lost and is not replaced yet.
        """
        return tuple(self.run("call", [(name, args, kwargs)] * len(self)))

    def set_attribute(self, name: str, values: Sequence[Any]) -> None:
        """Set an attribute of each environment object, now and when it is replaced.

        Raises
        ------
        EnvironmentFaultError
            Or the exception of one environment, as `run`; the others have it then.
        """
        self.run("set", [(name, value) for value in values])

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
        before = [dict(self.attributes[env_id]) for env_id in env_ids]
        try:
            item = LEVEL_OPTIONS, level_options
            faults = self._run("set", [item] * count, env_ids)[1]
        except BaseException:
            # Ctrl-C: nobody knows which have changed.  All get new objects, with the
            # level options that they had.
            self.demand_reset()
            for env_id, attributes in zip(env_ids, before, strict=True):
                self.attributes[env_id] = attributes
                self._faults.needs_replacement[env_id] = True
            raise
        if faults:
            raise_faults(faults, unchanged=True)

    def render(self, env_ids: Sequence[int]) -> tuple[Any, ...]:
        """Return the results of `render` of some environments."""
        call: tuple[str, tuple[Any, ...], dict[str, Any]] = ("render", (), {})
        # Each once: `run` waits for as many results as it has numbers.
        own_ids = list(dict.fromkeys(env_ids))
        frames = self.run("call", [call] * len(own_ids), own_ids)
        by_id = dict(zip(own_ids, frames, strict=True))
        return tuple(by_id[env_id] for env_id in env_ids)

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
            self.run("set_state", [StateRequest(one) for one in envs])
            return
        for env_id, env in enumerate(envs):
            runner = self.workers.runner_of(env_id)
            if runner is not None and env is not None:
                runner.envs[env_id] = env
