"""The instances of a pool, whoever runs them: asked, set, copied, closed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import gymnasium
from gymnasium.vector.utils import CloudpickleWrapper

from roll_vec.errors import InvalidOptionError
from roll_vec.pool.env_runner import Fault, Task
from roll_vec.pool.fault_handling import raise_faults
from roll_vec.pool.options import PoolOptions
from roll_vec.pool.serial import SerialWorkers
from roll_vec.pool.threads import ThreadWorkers
from roll_vec.pool.workers import EnvFns, Workers

__all__ = ["Instances"]

# Longest wait for busy workers when a pool is closed, in seconds.
PATIENCE = 3.0


if TYPE_CHECKING:
    _Wrapper = CloudpickleWrapper[Any]
else:
    # Not subscriptable before Gymnasium 1.4.
    _Wrapper = CloudpickleWrapper


class _Functions(_Wrapper):
    """What builds the environments: cloudpickle takes lambdas, and copies share it."""

    def __deepcopy__(self, _: dict[int, Any]) -> _Functions:
        return self


class Instances:
    """One environment a row, and the workers that have them.

    Parameters
    ----------
    env_fns : sequence of callable
        Each returns an environment.
    options : PoolOptions

    Attributes
    ----------
    rebuild : list of bool
        Which instances must be built anew at their next reset.
    attributes : list of dict
        What was set, by row; instances that are built anew get it too.
    needs_reset : bool
        Whether nothing but a reset of all makes sense any longer.

    Raises
    ------
    InvalidOptionError
        If there are none.
    """

    def __init__(self, env_fns: EnvFns, options: PoolOptions) -> None:
        if not env_fns:
            message = "env_fns: expected at least one, got none"
            raise InvalidOptionError(message)
        self.env_fns = env_fns
        self._options = options
        self.attributes: list[dict[str, Any]] = [{} for _ in env_fns]
        self.rebuild = [False] * len(env_fns)
        self.needs_reset = False
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
        rows: Sequence[int] | None = None,
    ) -> list[Any]:
        """Run one operation for some rows, all by default; return what each gives.

        Raises
        ------
        EnvironmentFaultError
            Or what was raised in the first environment that failed, once all ended.
        """
        chosen = range(len(self)) if rows is None else rows
        values, faults = self._run(operation, arguments, chosen)
        if faults:
            raise_faults(faults, unchanged=True)
        return [values[row] for row in chosen]

    def _run(
        self, operation: str, arguments: Sequence[Any], chosen: Sequence[int]
    ) -> tuple[dict[int, Any], dict[int, Fault]]:
        """Return what each row gives, and what failed."""
        values: dict[int, Any] = {}
        faults: dict[int, Fault] = {}
        try:
            for row, argument in zip(chosen, arguments, strict=True):
                self.workers.submit(Task(row, operation, argument))
            while len(values) + len(faults) < len(chosen):
                for task, value, fault in self.workers.collect():
                    if fault is None:
                        values[task.row] = value
                    else:
                        faults[task.row] = fault
        except BaseException:
            self.demand_reset()
            raise
        return values, faults

    def demand_reset(self) -> None:
        """Drop what is outstanding; every row needs a reset now."""
        self.needs_reset = True
        for row in self.workers.drop():
            self.rebuild[row] = True

    def call(self, name: str, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
        """Return an attribute of each instance, called if it can be called.

        None for an instance that was lost and not built again yet.
        """
        return tuple(self.run("call", [(name, args, kwargs)] * len(self)))

    def set_attribute(self, name: str, values: Sequence[Any]) -> None:
        """Set an attribute of each instance, now and whenever one is built anew.

        Raises
        ------
        EnvironmentFaultError
            Or what was raised, as `run`; the others have it then.
        """
        items = [(name, value) for value in values]
        done, faults = self._run("set", items, range(len(self)))
        for row in done:
            self.attributes[row][name] = values[row]
        if faults:
            raise_faults(faults, unchanged=True)

    def render(self, rows: Sequence[int]) -> tuple[Any, ...]:
        """Return what `render` of some instances returns."""
        called: tuple[str, tuple[Any, ...], dict[str, Any]] = ("render", (), {})
        return tuple(self.run("call", [called] * len(rows), rows))

    @property
    def envs(self) -> list[gymnasium.Env[Any, Any]]:
        """The instances; None for one that was lost.

        Raises
        ------
        AttributeError
            If they are in other processes.
        """
        if isinstance(self.workers, (SerialWorkers, ThreadWorkers)):
            return [self.workers.instance(row) for row in range(len(self))]
        message = "the environments are in worker processes: use call or get_attr"
        raise AttributeError(message)

    def close(self) -> None:
        """Close the environments, and end the workers."""
        self.workers.close(PATIENCE)

    def __getstate__(self) -> dict[str, Any]:
        env_fns = self.env_fns
        state = {**self.__dict__, "env_fns": _Functions(lambda: env_fns)}
        del state["workers"]
        if isinstance(self.workers, (SerialWorkers, ThreadWorkers)):
            state["instances"] = self.envs
        else:
            state["instances"] = self.run("fetch", [None] * len(self))
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        instances = state.pop("instances")
        self.__dict__.update(state)
        self.env_fns = state["env_fns"]()
        self.workers = self._make_workers()
        if isinstance(self.workers, (SerialWorkers, ThreadWorkers)):
            for row, env in enumerate(instances):
                if env is not None:
                    self.workers.put_instance(row, env)
        else:
            self.run("load", instances)
