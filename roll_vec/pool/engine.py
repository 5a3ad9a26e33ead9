"""The engine of the pool: its rows, their streams, their faults."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from roll_vec.errors import EnvironmentFaultError
from roll_vec.pool.actions import check_action_batch
from roll_vec.pool.env_handles import Instances
from roll_vec.pool.env_runner import Description, Fault, Task
from roll_vec.pool.episodes import Streams
from roll_vec.pool.fault_handling import FaultCounts, cause_of, raise_faults
from roll_vec.pool.observations import Observations, copy_data
from roll_vec.pool.options import PoolOptions
from roll_vec.pool.serial import Lockstep, SerialWorkers
from roll_vec.pool.spaces import ObservationMode, pool_spaces
from roll_vec.pool.workers import EnvFns, Outcome, Workers
from roll_vec.vector.engine import StepResult
from roll_vec.vector.infos import RowInfos, find_unstackable

__all__ = ["PoolEngine"]

Result = tuple[float, bool, bool, dict[str, Any]]

NO_FIT = "exception in {}: the observation is not one of the observation space"
NO_STACK = "exception in {}: the info cannot be stacked: {}"


class PoolEngine:
    """Environments that are objects, each alone, behind the Engine seam.

    An operation is begun for some rows, and its outcomes are taken as they arrive: in
    lockstep all of them at once, for `send` and `recv` a few at a time.

    Parameters
    ----------
    env_fns : sequence of callable
        Each returns an environment.
    observation_mode : str, or tuple of two spaces
        See `roll_vec.pool.spaces.pool_spaces`.
    options : PoolOptions

    Raises
    ------
    InvalidOptionError, SpaceMismatchError
        And whatever building an environment raises.
    """

    def __init__(
        self, env_fns: EnvFns, observation_mode: ObservationMode, options: PoolOptions
    ) -> None:
        self.options = options
        self.instances = Instances(env_fns, options)
        self.num_envs = len(env_fns)
        try:
            described = self.instances.run("build", [None] * self.num_envs)
            self._describe(described, observation_mode)
        except BaseException:
            self.close()
            raise
        self.counts = FaultCounts(self.num_envs, warns=options.on_error != "raise")
        self._elapsed = np.zeros(self.num_envs, np.int64)
        self.last_reset_infos: RowInfos = [{}] * self.num_envs
        self._step_infos: RowInfos = [{}] * self.num_envs
        self._results: list[Result] = [(0.0, False, False, {})] * self.num_envs
        # Rows whose step or reset has begun and not ended.
        self._pending: set[int] = set()
        # Rows that ended without a task.
        self._ended: list[int] = []
        # Rows whose last reset failed, and why.
        self._standing: dict[int, str] = {}
        # Faults that wait to be raised.
        self._raised: dict[int, Fault] = {}
        # The last fault, if no row can be reset any longer.
        self._all_failed: Fault | None = None

    @property
    def workers(self) -> Workers:
        """Who runs the environments."""
        return self.instances.workers

    def _describe(
        self, described: Sequence[Description], observation_mode: ObservationMode
    ) -> None:
        found = pool_spaces(described, observation_mode)
        self.single_observation_space = found.single_observation_space
        self.observation_space = found.observation_space
        self.single_action_space = found.single_action_space
        self.action_space = found.action_space
        self.metadata = dict(described[0].metadata)
        self.render_mode = described[0].render_mode
        self.is_fresh = [one.is_fresh for one in described]
        self.takes_none = all(one.takes_none for one in described)
        self.streams = Streams([one.resumes for one in described])
        self.observations = Observations(self.single_observation_space, self.num_envs)

    # -------------------------------------------------------------- resets

    def reset(
        self,
        rows: NDArray[np.int64],
        seeds: Sequence[int | None],
        options: dict[str, Any] | None = None,
    ) -> None:
        """Start new episodes in some rows; see `Engine.reset`."""
        for row, seed in zip(rows.tolist(), seeds, strict=True):
            self.streams.start(row, seed, options)
            self._submit_reset(row)
        self.finish()
        if len(rows) == self.num_envs:
            self.instances.needs_reset = False

    def advance(self, rows: NDArray[np.int64]) -> None:
        """Begin the next episode in some rows; it is waited for when it is looked at.

        The steps of the other rows can so run beside these resets.
        """
        if not isinstance(self.workers, SerialWorkers):
            for row in rows.tolist():
                self.begin_advance(row)
            return
        simple = []
        for row in rows.tolist():
            if self.instances.rebuild[row]:
                self.begin_advance(row)
            else:
                self.streams.go_on(row)
                simple.append(row)
        seen: list[Any] = [None] * self.num_envs
        faults = self.workers.reset_rows(simple, seen, self.last_reset_infos)
        for row in simple:
            fault = faults.get(row)
            value = None if fault else (seen[row], self.last_reset_infos[row])
            self._end_reset(row, value, fault)
        self._drain()

    def begin_advance(self, row: int) -> None:
        """Begin the next episode of a row, as an autoreset."""
        self.streams.go_on(row)
        self._submit_reset(row)

    def _submit_reset(self, row: int) -> None:
        rebuild = self.instances.rebuild[row]
        order = self.streams.order(row, rebuild, self.instances.attributes[row])
        self._pending.add(row)
        # A reset that is under way has not failed yet.
        self._standing.pop(row, None)
        self.workers.submit(Task(row, "reset", order))

    def _end_reset(self, row: int, value: Any, fault: Fault | None) -> bool:
        """Take the outcome of a reset; return False where it is tried again."""
        if fault is None:
            fault = self._find_misfit("reset", value[0], value[1])
        if fault is None:
            observation, self.last_reset_infos[row] = value
            self.observations.put(row, observation)
            self.instances.rebuild[row] = False
        else:
            self._count(row, fault)
            if self.options.on_error == "raise":
                self._raised[row] = fault
                return True
            if self.streams.retry(row):
                self._submit_reset(row)
                return False
            self.counts.add_reset()
            self._standing[row] = fault.message
            if len(self._standing) == self.num_envs:
                self._all_failed = fault
            self.last_reset_infos[row] = {"error": fault.message}
            self.observations.put(row, self.observations.last_valid(row))
        self._elapsed[row] = 0
        return True

    def _find_misfit(
        self, operation: str, observation: Any, info: dict[str, Any]
    ) -> Fault | None:
        """Return a fault for a result that does not fit into a batch."""
        if not self.observations.fits(observation):
            return Fault("exception", NO_FIT.format(operation))
        why = find_unstackable([info])
        if why:
            return Fault("exception", NO_STACK.format(operation, why[0]))
        return None

    def reset_infos(self, rows: NDArray[np.int64]) -> RowInfos:
        """Return the infos of the last resets of some rows, a list of m dicts."""
        self.finish()
        return [self.last_reset_infos[row] for row in rows.tolist()]

    # --------------------------------------------------------------- steps

    def check_actions(self, actions: Any, skip_mask: NDArray[np.bool_]) -> list[Any]:
        """Return one action a row; see `check_action_batch`."""
        return check_action_batch(
            self.single_action_space,
            self.action_space,
            actions,
            skip_mask,
            self.takes_none,
        )

    def step(self, actions: list[Any], skip_mask: NDArray[np.bool_]) -> StepResult:
        """Step every row but those of the mask, which may be in a reset."""
        if isinstance(self.workers, SerialWorkers):
            self._drain()
            result = self._step_here(self.workers, actions, skip_mask)
        else:
            result = self._step_there(actions, skip_mask)
        for row in self.observations.settle():
            fault = Fault("exception", NO_FIT.format("step"))
            self._put_result(result, row, self._end_step(row, None, fault))
        self._raise_if_asked()
        self.observations.settle()
        self._step_infos = list(result.infos)
        return StepResult(
            np.array(result.rewards, np.float64),
            np.array(result.terminations, np.bool_),
            np.array(result.truncations, np.bool_),
            result.infos,
        )

    def _step_here(
        self, workers: SerialWorkers, actions: list[Any], skip_mask: NDArray[np.bool_]
    ) -> Lockstep:
        """Step in the calling thread."""
        self.observations.settle_kept()
        skipped = skip_mask.tolist()
        standing = [row for row in self._standing if not skipped[row]]
        for row in standing:
            skipped[row] = True
        result = workers.step_all(actions, skipped, self.observations.latest)
        for row, why in find_unstackable(result.infos).items():
            fault = Fault("exception", NO_STACK.format("step", why))
            result.faults[row] = fault
        self.observations.touch()
        for row in standing:
            result.truncations[row] = True
            result.infos[row] = {"error": self._standing[row]}
        limit = self.options.max_episode_steps
        if limit is not None:
            self._elapsed += ~skip_mask
            for row in ((self._elapsed >= limit) & ~skip_mask).nonzero()[0].tolist():
                result.truncations[row] = True
        for row, fault in result.faults.items():
            self._put_result(result, row, self._end_step(row, None, fault))
        return result

    def _step_there(self, actions: list[Any], skip_mask: NDArray[np.bool_]) -> Lockstep:
        """Let the workers step, and finish the resets that were begun."""
        skipped = skip_mask.tolist()
        for row, action in enumerate(actions):
            if not skipped[row]:
                self.begin_step(row, action)
        self._ended.clear()
        self.finish()
        blank: Result = (0.0, False, False, {})
        results = [
            blank if skip else result
            for skip, result in zip(skipped, self._results, strict=True)
        ]
        rewards, terminations, truncations, infos = map(
            list, zip(*results, strict=True)
        )
        return Lockstep(rewards, terminations, truncations, infos, {})

    @staticmethod
    def _put_result(into: Lockstep, row: int, result: Result) -> None:
        into.rewards[row], into.terminations[row] = result[:2]
        into.truncations[row], into.infos[row] = result[2:]

    def begin_step(self, row: int, action: Any) -> None:
        """Begin the step of a row."""
        if row in self._standing:
            info = {"error": self._standing[row]}
            self._results[row] = (0.0, False, True, info)
            self._ended.append(row)
            return
        self._pending.add(row)
        self.workers.submit(Task(row, "step", action))

    def _end_step(self, row: int, value: Any, fault: Fault | None) -> Result:
        """Take the outcome of a step."""
        if fault is None:
            fault = self._find_misfit("step", value[0], value[4])
        if fault is not None:
            self._count(row, fault)
            if self.options.on_error == "raise":
                self._raised[row] = fault
            self.observations.put(row, self.observations.last_valid(row))
            return 0.0, False, True, {"error": fault.message}
        observation, reward, terminated, truncated, info = value
        self.observations.put(row, observation)
        self._elapsed[row] += 1
        limit = self.options.max_episode_steps
        if limit is not None and self._elapsed[row] >= limit:
            truncated = True
        return reward, terminated, truncated, info

    # ------------------------------------------------------------ outcomes

    def finish(self) -> None:
        """Wait until every step and reset that was begun has ended.

        Raises
        ------
        EnvironmentFaultError
            If a fault is to be raised, or no environment can be reset any longer.
        """
        self._drain()
        self._raise_if_asked()

    def _drain(self) -> None:
        """Wait as `finish` does, and leave faults for a later raise."""
        while self._pending:
            for outcome in self._collect(None):
                self._take(outcome)

    def gather(self, timeout: float | None) -> list[int]:
        """Return rows whose step or reset has ended; wait for the first one.

        Raises
        ------
        EnvironmentFaultError
            As `finish`.
        """
        ended, self._ended = self._ended, []
        if not ended:
            for outcome in self._collect(timeout):
                if self._take(outcome):
                    ended.append(outcome.task.row)
        self._raise_if_asked()
        return ended

    def _collect(self, timeout: float | None) -> list[Outcome]:
        try:
            return self.workers.collect(timeout)
        except BaseException:
            # Ctrl-C, or no process can be started: nobody knows what was done.
            self.demand_reset()
            raise

    def _take(self, outcome: Outcome) -> bool:
        """Take an outcome; return whether its row has ended what it was in."""
        task, value, fault = outcome
        if task.operation == "step":
            self._results[task.row] = self._end_step(task.row, value, fault)
        elif not self._end_reset(task.row, value, fault):
            return False
        self._pending.discard(task.row)
        return True

    def _count(self, row: int, fault: Fault) -> None:
        self.counts.add(row, fault)
        self.instances.rebuild[row] = True

    def _raise_if_asked(self) -> None:
        if self._raised:
            raised, self._raised = self._raised, {}
            self.demand_reset()
            raise_faults(raised)
        if self._all_failed is not None:
            fault, self._all_failed = self._all_failed, None
            self.counts.drop_warning()
            raise EnvironmentFaultError(self._standing) from cause_of(fault)

    def demand_reset(self) -> None:
        """Drop what is outstanding; every row needs a reset now."""
        self._pending.clear()
        self._ended.clear()
        self.instances.demand_reset()

    def result(self, row: int) -> Result:
        """Return reward, terminated, truncated and info of a row's last step."""
        self._step_infos[row] = self._results[row][3]
        return self._results[row]

    # -------------------------------------------------------- observations

    def observe(self, out: Any = None) -> Any:  # noqa: ARG002
        """Return the observations of all rows, a new batch; ``out`` is left alone."""
        batch = self.observe_kept()
        # Strings need no copy.
        return batch if self.observations.is_text else copy.deepcopy(batch)

    def observe_kept(self) -> Any:
        """Return the batch that the next step writes into."""
        self.finish()
        return self.observations.batch()

    def observe_rows(self, rows: NDArray[np.int64]) -> list[Any]:
        """Return copies of the observations of some rows."""
        self.finish()
        return [copy_data(self.observations.latest[row]) for row in rows.tolist()]

    @property
    def successes(self) -> NDArray[np.bool_]:
        """(n,) whether the info of each row's last step had a true ``success``."""
        found = [info.get("success") for info in self._step_infos]
        return np.array([type(x) in (bool, np.bool_) and bool(x) for x in found])

    # --------------------------------------------------------- the instances

    def get_attribute(self, name: str) -> tuple[Any, ...]:
        """Return an attribute of each instance; a method is called."""
        return self.instances.call(name)

    def frames(
        self,
        rows: NDArray[np.int64],
        mode: str,  # noqa: ARG002
    ) -> tuple[Any, ...]:
        """Return what `render` of some instances returns."""
        return self.instances.render(rows.tolist())

    def close(self) -> None:
        """Close the environments, and end the workers."""
        self.instances.close()
