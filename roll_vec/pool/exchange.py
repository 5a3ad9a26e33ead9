"""`send` and `recv`: environments of a pool that step at different times.

::

    send ─▶ step ─────────────────────────────────────▶ ready ─▶ recv
      │       ╰─ the episode ends, SAME_STEP ─▶ reset ─▶─╯
      ╰─ the episode has ended, NEXT_STEP ───▶ reset ─▶─╯
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from roll_vec.errors import (
    InvalidOptionError,
    PendingResultsError,
    ResetNeededError,
    list_env_ids,
)
from roll_vec.options import check_int, check_seconds
from roll_vec.vector.autoreset import (
    NEXT_STEP,
    SAME_STEP,
    Autoreset,
    add_finals,
    describe_ended,
)
from roll_vec.vector.infos import Infos, stack_infos
from roll_vec.vector.masks import check_indices
from roll_vec.vector.space_batches import batch_items
from roll_vec.vector.steps import EnvResult, Results

if TYPE_CHECKING:
    from roll_vec.pool.engine import PoolSteps

StepBatch: TypeAlias = tuple[
    Any, NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_], Infos
]


class Exchange:
    """The environments between `send` and `recv`.

    Parameters
    ----------
    autoreset : Autoreset
        Its ``has_ended`` changes when results are received.
    steps : PoolSteps

    Attributes
    ----------
    busy : set of int
        The environments whose results were not received.
    """

    def __init__(self, autoreset: Autoreset, steps: PoolSteps) -> None:
        self._autoreset, self._steps = autoreset, steps
        self.busy: set[int] = set()
        self._ready: dict[int, EnvResult] = {}
        # Results of the last steps of episodes in SAME_STEP mode.
        self._lasts: dict[int, EnvResult] = {}

    def clear(self) -> None:
        """Forget all environments."""
        self.busy.clear()
        self._ready.clear()
        self._lasts.clear()
        self._steps.clear()

    def send(self, env_ids: Any, actions: Any) -> None:
        """Begin steps, or the next episodes of those that have ended.

        Parameters
        ----------
        env_ids : sequence of m int
        actions : batch of m

        Raises
        ------
        InvalidOptionError
            If they are not different environments.
        PendingResultsError
            If one of them is between `send` and `recv`.
        InvalidActionError, ResetNeededError
            Nothing has moved then.
        """
        num_envs = self._autoreset.engine.num_envs
        env_ids = check_indices("env_ids", env_ids, num_envs)
        if len(np.unique(env_ids)) != len(env_ids):
            raise InvalidOptionError.expected("env_ids", "each at most once", env_ids)
        busy_ids = [env_id for env_id in env_ids.tolist() if env_id in self.busy]
        if busy_ids:
            message = (
                f"environments {list_env_ids(busy_ids)} have results that "
                "were not received"
            )
            raise PendingResultsError(message, "send")
        needs_reset = self._autoreset.has_ended[env_ids]
        if self._autoreset.mode is not NEXT_STEP and np.count_nonzero(needs_reset):
            raise ResetNeededError(describe_ended(env_ids[needs_reset]))
        batch = self._steps.check_actions(actions, needs_reset)
        begins = env_ids[needs_reset].tolist()
        actions = dict(zip(env_ids.tolist(), batch, strict=True))
        self._autoreset.unfinished_call = "send"
        self.busy.update(actions)
        for env_id in begins:
            del actions[env_id]
            self._steps.forget_step(env_id)
        self._steps.begin(actions, dict.fromkeys(begins))
        self._autoreset.unfinished_call = ""

    def wait(self, min_envs: Any, timeout: Any) -> None:
        """Wait until so many environments are ready, or for so many seconds.

        Parameters
        ----------
        min_envs, timeout
            See `PoolVectorEnv.recv`.

        Raises
        ------
        InvalidOptionError, EnvironmentFaultError
        """
        total = len(self.busy)
        if not total:
            message = "min_envs: no results are outstanding"
            raise InvalidOptionError(message)
        count = check_int("min_envs", total if min_envs is None else min_envs, 1, total)
        seconds = check_seconds("timeout", timeout)
        self._autoreset.unfinished_call = "recv"
        end = None if seconds is None else time.monotonic() + seconds
        while len(self._ready) < count:
            left = None if end is None else max(end - time.monotonic(), 0.0)
            self._note(self._steps.poll(left, count - len(self._ready)))
            if left == 0.0:
                return

    def _note(self, results: Results) -> None:
        """Note results; in SAME_STEP mode begin the next episodes."""
        resets: list[int] = []
        is_same_step = self._autoreset.mode is SAME_STEP
        for env_id, result in results:
            last = self._lasts.get(env_id)
            if last is not None:
                result = last._replace(observation=result.observation, info=result.info)
            elif is_same_step and (result.terminated or result.truncated):
                self._lasts[env_id] = result
                resets.append(env_id)
                continue
            self._ready[env_id] = result
        if resets:
            self._steps.begin({}, dict.fromkeys(resets))

    def receive(self) -> StepBatch:
        """Return the batch of all environments that are ready, ascending."""
        autoreset = self._autoreset
        ids = sorted(self._ready)
        env_ids = np.array(ids, np.int64)
        results = [self._ready[env_id] for env_id in ids]
        infos = stack_infos([one.info for one in results], None, len(results))
        batch: StepBatch = (
            batch_items(
                autoreset.engine.single_observation_space,
                [one.observation for one in results],
            ),
            np.array([one.reward for one in results], np.float64),
            np.array([one.terminated for one in results], np.bool_),
            np.array([one.truncated for one in results], np.bool_),
            infos,
        )
        self._add_finals(infos, ids)
        infos["env_id"] = env_ids
        infos["_env_id"] = np.ones(len(env_ids), np.bool_)
        ends, has_ended = batch[2] | batch[3], autoreset.has_ended.copy()
        has_ended[env_ids] = False if autoreset.mode is SAME_STEP else ends
        autoreset.has_ended = has_ended
        self.busy.difference_update(ids)
        self._ready.clear()
        return batch

    def _add_finals(self, infos: Infos, env_ids: list[int]) -> None:
        """Add ``final_obs`` and ``final_info`` of episodes that ended in their step."""
        ends = np.array([env_id in self._lasts for env_id in env_ids])
        indices = np.flatnonzero(ends).tolist()
        if not indices:
            return
        finals = [self._lasts.pop(env_ids[i]) for i in indices]
        observations = [last.observation for last in finals]
        final_info = stack_infos([last.info for last in finals], indices, len(env_ids))
        add_finals(infos, ends, indices, observations, final_info)
