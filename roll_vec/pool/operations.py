"""Steps and resets of single environments: started, awaited, checked.

`PoolEngine` starts them for all environments at once, `PoolSteps` for a few.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import Any

from roll_vec.pool.env_handles import EnvHandles
from roll_vec.pool.member import NO_RESULT, Result
from roll_vec.pool.observations import Observations
from roll_vec.pool.serial import SerialWorkers, StepLists
from roll_vec.pool.tasks import Fault, Outcome, Task, misfit_fault, unsendable_fault
from roll_vec.vector.infos import InfoList, find_unstackable

# Further attempts at a reset that fails, each in the next episode.
MAX_RETRIES = 3


class EnvOperations:
    """Starts steps and resets of single environments, and takes their outcomes.

    Parameters
    ----------
    handles : EnvHandles
    observations : Observations
    max_episode_steps : int or None

    Attributes
    ----------
    transmit : callable or None
        Pickles and unpickles a value, to raise the error that it would meet on its way
        to another process.  None: results stay in this process.
    """

    def __init__(
        self,
        handles: EnvHandles,
        observations: Observations,
        max_episode_steps: int | None,
    ) -> None:
        self._handles, self._observations = handles, observations
        self._members, self._faults = handles.members, handles.faults
        self._max_episode_steps = max_episode_steps
        self.transmit: Callable[[Any], Any] | None = None
        # Environments whose step or reset has started and not ended.
        self._active_ids: set[int] = set()
        # Environments whose step ended without a task: they are stalled.
        self._stalled_steps: list[int] = []

    # -------------------------------------------------------------- resets

    def start_reset(
        self, env_id: int, seed: int | None, options: dict[str, Any] | None
    ) -> None:
        """Start the reset of an environment, as the user asked for it."""
        self._members[env_id].start_episode((seed, options))
        self._submit_reset(env_id)

    def start_autoreset(self, env_id: int) -> None:
        """Start the next episode of an environment."""
        self._members[env_id].start_episode()
        self._submit_reset(env_id)

    def _submit_reset(self, env_id: int) -> None:
        self._faults.stalled.pop(env_id, None)
        self._active_ids.add(env_id)
        request = self._members[env_id].reset_request()
        self._handles.workers.submit(Task(env_id, "reset", request))

    def advance(self, env_ids: Iterable[int]) -> None:
        """Start the next episodes of some environments.

        Workers need not have ended the resets when this returns: other environments
        can step at the same time.
        """
        workers, stalled = self._handles.workers, self._faults.stalled
        if not isinstance(workers, SerialWorkers):
            for env_id in env_ids:
                self.start_autoreset(env_id)
            return
        simple_ids = []
        for env_id in env_ids:
            member = self._members[env_id]
            if member.needs_replacement:
                self.start_autoreset(env_id)
            else:
                member.start_episode()
                stalled.pop(env_id, None)
                simple_ids.append(env_id)
        self._take(workers.reset_envs(simple_ids))
        self._wait()

    def _end_reset(self, env_id: int, value: Any, fault: Fault | None) -> bool:
        """Take the outcome of a reset; return False if it is tried again."""
        member, faults = self._members[env_id], self._faults
        if fault is None:
            observation, member.reset_info = value
            self._observations.set_latest(env_id, observation)
            member.needs_replacement = False
        else:
            faults.count(env_id, fault)
            member.needs_replacement = True
            if not faults.raises and member.num_retries < MAX_RETRIES:
                member.skip_episode()
                self._submit_reset(env_id)
                return False
            if not faults.raises:
                faults.stall(env_id, fault)
                member.reset_info = {"error": fault.message}
                self._observations.go_back(env_id)
        member.elapsed_steps = 0
        return True

    # --------------------------------------------------------------- steps

    def start_step(self, env_id: int, action: Any) -> None:
        """Start the step of an environment."""
        error = self._faults.stalled.get(env_id)
        if error is not None:
            self._members[env_id].result = 0.0, False, True, {"error": error}
            self._stalled_steps.append(env_id)
            return
        self._active_ids.add(env_id)
        self._handles.workers.submit(Task(env_id, "step", action))

    def start_steps(self, actions: list[Any], skip_list: list[bool]) -> None:
        """Let the workers begin with a step of all; `end_steps` must follow."""
        if isinstance(self._handles.workers, SerialWorkers):
            return
        for env_id, action in enumerate(actions):
            if not skip_list[env_id]:
                self.start_step(env_id, action)
        self._handles.workers.flush()

    def end_steps(self, actions: list[Any], skip_list: list[bool]) -> StepLists:
        """Return the results of a step that `start_steps` has begun.

        Raises
        ------
        EnvironmentFaultError
            As `wait_for_all`.
        """
        workers = self._handles.workers
        if self._active_ids:
            self._wait()
        self._stalled_steps.clear()
        if isinstance(workers, SerialWorkers):
            lists = self._step_serially(workers, actions, skip_list)
        else:
            results = [
                NO_RESULT if skip else member.result
                for member, skip in zip(self._members, skip_list, strict=True)
            ]
            rewards, terminations, truncations, infos = map(
                list, zip(*results, strict=True)
            )
            lists = StepLists(rewards, terminations, truncations, infos, {})
        for env_id in self._observations.build_batch():
            lists.set(env_id, self._fail_step(env_id, misfit_fault("step")))
        self.raise_faults()
        return lists

    def _step_serially(
        self, workers: SerialWorkers, actions: list[Any], skip_list: list[bool]
    ) -> StepLists:
        """Step in the calling thread; the observations may not fit into a batch."""
        observations, stalled = self._observations, self._faults.stalled
        observations.batch_copies()
        stalled_ids = [env_id for env_id in stalled if not skip_list[env_id]]
        for env_id in stalled_ids:
            skip_list[env_id] = True
        lists = workers.step_all(actions, skip_list, observations.latest)
        observations.mark_stale()
        lists.faults.update(
            self._find_bad_infos(
                ["step"] * len(self._members), observations.latest, lists.infos
            )
        )
        for env_id in stalled_ids:
            lists.set(env_id, (0.0, False, True, {"error": stalled[env_id]}))
        limit = self._max_episode_steps
        if limit is not None:
            for env_id, member in enumerate(self._members):
                if not skip_list[env_id]:
                    member.elapsed_steps += 1
                    if member.elapsed_steps >= limit:
                        lists.truncations[env_id] = True
        for env_id, fault in lists.faults.items():
            lists.set(env_id, self._fail_step(env_id, fault))
        return lists

    def _fail_step(self, env_id: int, fault: Fault) -> Result:
        """Take the fault of a step; return the result of the truncated episode."""
        self._faults.count(env_id, fault)
        member = self._members[env_id]
        # The step may have been counted before the fault was found.
        member.needs_replacement, member.elapsed_steps = True, 0
        self._observations.go_back(env_id)
        return 0.0, False, True, {"error": fault.message}

    # ------------------------------------------------------------ outcomes

    def wait_for_all(self) -> None:
        """Wait until every step and reset that was started has ended.

        Raises
        ------
        EnvironmentFaultError
            If a fault shall raise, or no environment can be reset any longer.
        """
        self._stalled_steps.clear()
        if self._active_ids:
            self._wait()
        self.raise_faults()

    def _wait(self) -> None:
        while self._active_ids:
            self._take(self._collect(None))

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
            env_ids = self._take(self._collect(timeout))
        self.raise_faults()
        return env_ids

    def _collect(self, timeout: float | None) -> list[Outcome]:
        try:
            return self._handles.workers.collect(timeout)
        except BaseException:
            # Ctrl-C, or no process can be started: the state of the tasks is unknown.
            self.demand_reset()
            raise

    def _take(self, outcomes: list[Outcome]) -> list[int]:
        """Take outcomes; return the environments whose step or reset has ended."""
        limit, ended_ids = self._max_episode_steps, []
        misfits = self._find_misfits(outcomes)
        for i, (task, value, fault) in enumerate(outcomes):
            env_id = task.env_id
            fault = misfits.get(i, fault)
            if task.operation == "reset":
                if not self._end_reset(env_id, value, fault):
                    continue
            elif fault is not None:
                self._members[env_id].result = self._fail_step(env_id, fault)
            else:
                member = self._members[env_id]
                observation, reward, terminated, truncated, info = value
                self._observations.set_latest(env_id, observation)
                if limit is not None:
                    member.elapsed_steps += 1
                    truncated = truncated or member.elapsed_steps >= limit
                member.result = reward, terminated, truncated, info
            self._active_ids.discard(env_id)
            ended_ids.append(env_id)
        return ended_ids

    def _find_misfits(self, outcomes: list[Outcome]) -> dict[int, Fault]:
        """Return the faults of results that do not fit into a batch, by index."""
        indices = [i for i, one in enumerate(outcomes) if one.fault is None]
        observations = [outcomes[i].value[0] for i in indices]
        operations = [outcomes[i].task.operation for i in indices]
        infos = [outcomes[i].value[-1] for i in indices]
        faults = self._find_bad_infos(operations, observations, infos)
        for k in self._observations.find_misfits(observations):
            faults[k] = misfit_fault(operations[k])
        return {indices[k]: fault for k, fault in faults.items()}

    def _find_bad_infos(
        self, operations: Sequence[str], observations: Sequence[Any], infos: InfoList
    ) -> dict[int, Fault]:
        """Return the faults of infos that cannot be stacked or sent, by index.

        ``observations`` are sent with them.
        """
        faults = {
            i: misfit_fault(operations[i], f"the info cannot be stacked: {reason}")
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
                faults[i] = unsendable_fault(operations[i], error)
        return faults

    def raise_faults(self) -> None:
        """Raise the error that `Faults` has prepared, if there is one.

        Raises
        ------
        EnvironmentFaultError
        """
        if self._faults.raising:
            self.demand_reset()
        self._faults.raise_if_needed()

    def demand_reset(self) -> None:
        """Drop everything that was started; every environment must be reset now."""
        self._active_ids.clear()
        self._stalled_steps.clear()
        self._handles.demand_reset()
