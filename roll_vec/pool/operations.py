"""Steps and resets of single environments: started, awaited, checked.

`PoolEngine` starts them for all environments at once, `PendingSteps` for a few.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from roll_vec.pool.env_handles import EnvHandles
from roll_vec.pool.episodes import Episodes
from roll_vec.pool.fault_handling import FaultHandler
from roll_vec.pool.observations import Observations
from roll_vec.pool.options import PoolOptions
from roll_vec.pool.tasks import Fault, Outcome, Task, unsendable_fault
from roll_vec.vector.infos import InfoList, find_unstackable

__all__ = ["EnvOperations", "Result", "misfit_fault"]

Result = tuple[float, bool, bool, dict[str, Any]]
"""Reward, terminated, truncated, info."""


def misfit_fault(
    operation: str, reason: str = "the observation is not one of the observation space"
) -> Fault:
    """Return the fault of a result that cannot be part of a batch."""
    return Fault("exception", f"exception in {operation}: {reason}")


class EnvOperations:
    """Starts steps and resets of single environments, and takes their outcomes.

    Parameters
    ----------
    handles : EnvHandles
    faults : FaultHandler
    episodes : Episodes
    observations : Observations
    options : PoolOptions

    Attributes
    ----------
    last_reset_infos : list of num_envs dicts
    elapsed_steps : (num_envs,) int64
        Steps in the present episodes; 0 if there is no limit, and after a fault.
    transmit : callable or None
        Pickles and unpickles a value, to raise the error that it would meet on its way
        to another process.  None: results stay in this process.
    """

    def __init__(
        self,
        handles: EnvHandles,
        faults: FaultHandler,
        episodes: Episodes,
        observations: Observations,
        options: PoolOptions,
    ) -> None:
        num_envs = len(handles)
        self._handles = handles
        self._faults = faults
        self._episodes = episodes
        self._observations = observations
        self._max_episode_steps = options.max_episode_steps
        self.elapsed_steps = np.zeros(num_envs, np.int64)
        self.last_reset_infos: InfoList = [{}] * num_envs
        self.transmit: Callable[[Any], Any] | None = None
        self._results: list[Result] = [(0.0, False, False, {})] * num_envs
        # Environments whose step or reset has started and not ended.
        self._active_ids: set[int] = set()
        # Environments whose step ended without a task: they are stalled.
        self._stalled_steps: list[int] = []

    # -------------------------------------------------------------- resets

    def start_reset(
        self, env_id: int, seed: int | None, options: dict[str, Any] | None
    ) -> None:
        """Start the reset of an environment, as the user asked for it."""
        self._episodes.start(env_id, seed, options)
        self._faults.start_reset(env_id)
        self._submit_reset(env_id)

    def start_autoreset(self, env_id: int) -> None:
        """Start the next episode of an environment."""
        self._episodes.advance(env_id)
        self._faults.start_reset(env_id)
        self._submit_reset(env_id)

    def _submit_reset(self, env_id: int) -> None:
        request = self._episodes.reset_request(
            env_id,
            self._faults.needs_replacement[env_id],
            self._handles.attributes[env_id],
        )
        self._active_ids.add(env_id)
        self._handles.workers.submit(Task(env_id, "reset", request))

    def end_reset(self, env_id: int, value: Any, fault: Fault | None) -> bool:
        """Take the outcome of a reset; return False if it is tried again."""
        if fault is None:
            fault = self._check("reset", value[0], value[1])
        if fault is None:
            observation, self.last_reset_infos[env_id] = value
            self._observations.set_latest(env_id, observation)
            self._faults.needs_replacement[env_id] = False
        elif self._faults.handle_reset_fault(env_id, fault):
            self._episodes.skip(env_id)
            self._submit_reset(env_id)
            return False
        elif env_id in self._faults.stalled:
            self.last_reset_infos[env_id] = {"error": fault.message}
            last_valid = self._observations.last_valid(env_id)
            self._observations.set_latest(env_id, last_valid)
        self.elapsed_steps[env_id] = 0
        return True

    # --------------------------------------------------------------- steps

    def start_step(self, env_id: int, action: Any) -> None:
        """Start the step of an environment."""
        if env_id in self._faults.stalled:
            info = {"error": self._faults.stalled[env_id]}
            self._results[env_id] = (0.0, False, True, info)
            self._stalled_steps.append(env_id)
            return
        self._active_ids.add(env_id)
        self._handles.workers.submit(Task(env_id, "step", action))

    def end_step(self, env_id: int, value: Any, fault: Fault | None) -> Result:
        """Take the outcome of a step."""
        if fault is None:
            fault = self._check("step", value[0], value[4])
        if fault is not None:
            info = self._faults.handle_step_fault(env_id, fault)
            last_valid = self._observations.last_valid(env_id)
            self._observations.set_latest(env_id, last_valid)
            # It may have been counted before the fault was found.
            self.elapsed_steps[env_id] = 0
            return 0.0, False, True, info
        observation, reward, terminated, truncated, info = value
        self._observations.set_latest(env_id, observation)
        if self._max_episode_steps is not None:
            self.elapsed_steps[env_id] += 1
            truncated |= bool(self.elapsed_steps[env_id] >= self._max_episode_steps)
        return reward, terminated, truncated, info

    def count_steps(self, mask: NDArray[np.bool_]) -> list[int]:
        """Count a step of the masked environments; return those at the step limit."""
        if self._max_episode_steps is None:
            return []
        self.elapsed_steps += mask
        is_over = (self.elapsed_steps >= self._max_episode_steps) & mask
        return is_over.nonzero()[0].tolist()

    def _check(
        self, operation: str, observation: Any, info: dict[str, Any]
    ) -> Fault | None:
        """Return a fault if a result does not fit into a batch."""
        if not self._observations.fits(observation):
            return misfit_fault(operation)
        return self.find_misfits(operation, [observation], [info]).get(0)

    def find_misfits(
        self, operation: str, observations: Sequence[Any], infos: InfoList
    ) -> dict[int, Fault]:
        """Return the faults of infos that cannot be stacked or sent, by index.

        ``observations``, which are sent with them, fit into a batch.
        """
        faults = {
            i: misfit_fault(operation, f"the info cannot be stacked: {reason}")
            for i, reason in find_unstackable(infos).items()
        }
        if self.transmit is None:
            return faults
        with suppress(Exception):
            self.transmit((observations, infos))
            return faults
        for i, result in enumerate(zip(observations, infos, strict=True)):
            try:
                self.transmit(result)
            except Exception as error:
                faults[i] = unsendable_fault(operation, error)
        return faults

    # ------------------------------------------------------------ outcomes

    def wait_for_all(self) -> None:
        """Wait until every step and reset that was started has ended.

        Raises
        ------
        EnvironmentFaultError
            If a fault shall raise, or no environment can be reset any longer.
        """
        self.wait_without_raising()
        self.raise_faults()

    def wait_without_raising(self) -> None:
        """Wait as `wait_for_all`; `raise_faults` then raises the faults."""
        self._stalled_steps.clear()
        while self._active_ids:
            for outcome in self._collect(None):
                self._take(outcome)

    def wait_for_some(self, timeout: float | None) -> list[int]:
        """Wait for the first step or reset that ends.

        Parameters
        ----------
        timeout : float or None
            In seconds; None: no limit.

        Returns
        -------
        list of int
            The environments whose step or reset has ended.

        Raises
        ------
        EnvironmentFaultError
            As `wait_for_all`.
        """
        env_ids, self._stalled_steps = self._stalled_steps, []
        if not env_ids:
            for outcome in self._collect(timeout):
                if self._take(outcome):
                    env_ids.append(outcome.task.env_id)
        self.raise_faults()
        return env_ids

    def _collect(self, timeout: float | None) -> list[Outcome]:
        try:
            return self._handles.workers.collect(timeout)
        except BaseException:
            # Ctrl-C, or no process can be started: the state of the tasks is unknown.
            self.demand_reset()
            raise

    def _take(self, outcome: Outcome) -> bool:
        """Take an outcome; return whether the step or reset has ended with it."""
        task, value, fault = outcome
        if task.operation == "step":
            self._results[task.env_id] = self.end_step(task.env_id, value, fault)
        elif not self.end_reset(task.env_id, value, fault):
            return False
        self._active_ids.discard(task.env_id)
        return True

    def result(self, env_id: int) -> Result:
        """Return reward, terminated, truncated and info of the last step."""
        return self._results[env_id]

    # -------------------------------------------------------------- faults

    def raise_faults(self) -> None:
        """Raise the error that `FaultHandler` has prepared, if there is one.

        Raises
        ------
        EnvironmentFaultError
        """
        if self._faults.faults_to_raise:
            self.demand_reset()
        self._faults.raise_if_needed()

    def demand_reset(self) -> None:
        """Drop everything that was started; every environment must be reset now."""
        self._active_ids.clear()
        self._stalled_steps.clear()
        self._handles.demand_reset()
