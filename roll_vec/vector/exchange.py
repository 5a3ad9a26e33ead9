"""`send` and `recv`: environments of a batch that step at different times.

::

    send ─▶ step ─────────────────────────────────────▶ ready ─▶ recv
      │       ╰─ the episode ends, SAME_STEP ─▶ reset ─▶─╯
      ╰─ the episode has ended, NEXT_STEP ───▶ reset ─▶─╯
"""

from __future__ import annotations

import operator
import time
from typing import Any, TypeAlias

import numpy as np
from gymnasium.spaces import Text
from numpy.typing import NDArray

from roll_vec.errors import (
    EnvironmentFaultError,
    InvalidOptionError,
    PendingResultsError,
    ResetNeededError,
    RollVecError,
    list_env_ids,
)
from roll_vec.options import check_seconds
from roll_vec.vector.autoreset import (
    NEXT_STEP,
    SAME_STEP,
    Autoreset,
    add_finals,
    describe_ended,
)
from roll_vec.vector.infos import Infos, stack_infos, take_infos
from roll_vec.vector.masks import check_indices
from roll_vec.vector.space_batches import batch_items, take_items
from roll_vec.vector.steps import EnvResult, Next, Results, Steps

StepBatch: TypeAlias = tuple[
    Any, NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_], Infos
]


# Environments that are fewer than one in so many are observed one by one.
_FEW = 64


class Exchange:
    """The environments between `send` and `recv`, in any kind of batch.

    Parameters
    ----------
    autoreset : Autoreset
        Its ``has_ended`` changes when results are received.

    Attributes
    ----------
    busy : dict or list
        Empty if all results were received; the content is its own.
    """

    busy: Any

    def __init__(self, autoreset: Autoreset, steps: Steps) -> None:
        self._autoreset, self.steps = autoreset, steps
        # True: in a reset before its first step.  An EnvResult: of the step that has
        # ended its episode, in a reset after it.
        self.busy = {}
        # By environment, and the result of the episode's last step in SAME_STEP mode.
        self._ready: dict[int, tuple[EnvResult, EnvResult | None]] = {}

    def clear(self) -> None:
        """Forget all environments."""
        self.busy.clear()
        self._ready.clear()
        self.steps.clear()

    @property
    def num_busy(self) -> int:
        """The number of environments whose results were not received."""
        return len(self.busy)

    @property
    def busy_mask(self) -> NDArray[np.bool_]:
        """(num_envs,) bool: the same environments."""
        mask = np.zeros(self._autoreset.engine.num_envs, np.bool_)
        mask[list(self.busy)] = True
        return mask

    def check_env_ids(self, env_ids: Any) -> NDArray[np.int64]:
        """Return the environments that actions may be sent to.

        Raises
        ------
        InvalidOptionError
            If they are not different environments.
        PendingResultsError
            If one of them is between `send` and `recv`.
        """
        num_envs = self._autoreset.engine.num_envs
        checked = check_indices("env_ids", env_ids, num_envs)
        mask = np.zeros(num_envs, np.bool_)
        mask[checked] = True
        if np.count_nonzero(mask) != len(checked):
            raise InvalidOptionError.expected("env_ids", "each at most once", env_ids)
        if self.busy and np.count_nonzero(mask & self.busy_mask):
            busy_ids = checked[self.busy_mask[checked]]
            message = (
                f"environments {list_env_ids(busy_ids)} have results that "
                "were not received"
            )
            raise PendingResultsError(message, "send")
        return checked

    def _find_resets(self, env_ids: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return which of some environments the next step resets.

        Raises
        ------
        ResetNeededError
            If one has ended and no step resets it.
        """
        needs_reset = self._autoreset.has_ended[env_ids]
        if self._autoreset.mode is not NEXT_STEP and np.count_nonzero(needs_reset):
            raise ResetNeededError(describe_ended(env_ids[needs_reset]))
        return needs_reset

    def send(self, env_ids: NDArray[np.int64], actions: Any) -> None:
        """Begin steps, or the next episodes of those that have ended.

        Parameters
        ----------
        env_ids : (m,) int64
        actions : batch of m

        Raises
        ------
        InvalidActionError, ResetNeededError
            Nothing has moved then.
        """
        needs_reset = self._find_resets(env_ids)
        checked = self._autoreset.engine.check_some(actions, needs_reset)
        ids, is_reset = env_ids.tolist(), needs_reset.tolist()
        pairs = list(zip(ids, checked, is_reset, strict=True))
        self._autoreset.is_ready = False
        self.busy.update(zip(ids, is_reset, strict=True))
        self.steps.begin(
            {env_id: action for env_id, action, resets in pairs if not resets},
            {env_id: Next.IN_PLACE_OF_STEP for env_id, _, resets in pairs if resets},
        )
        self._autoreset.is_ready = True

    def check_counts(self, min_envs: Any, timeout: Any) -> tuple[int, float | None]:
        """Return the number of environments to wait for, and the seconds.

        Raises
        ------
        InvalidOptionError
        """
        count = _check_min_envs(min_envs, self.num_busy)
        return count, check_seconds("timeout", timeout)

    def wait(self, count: int, timeout: float | None) -> None:
        """Wait until so many environments are ready, or for so many seconds.

        Raises
        ------
        RollVecError
            Of environments that could not step or be reset.  Their actions, and the
            results of those that have stepped in this call, are forgotten.
        """
        end = None if timeout is None else time.monotonic() + timeout
        earlier, is_late = dict(self._ready), False
        while not is_late and (len(self._ready) < count or self.steps.is_due):
            left = None if end is None else max(end - time.monotonic(), 0.0)
            if len(self._ready) >= count:
                left = 0.0
            missing = max(count - len(self._ready), 1)
            failures = self._take(self.steps.poll(left, missing))
            if failures:
                self._ready = {
                    env_id: pair
                    for env_id, pair in self._ready.items()
                    if env_id not in earlier
                }
                self.receive()
                self._ready = earlier
                self._forget(failures)
                self._autoreset.is_ready = True
                raise next(iter(failures.values()))
            is_late = end is not None and time.monotonic() >= end
            is_late = is_late and not self.steps.is_due

    def _take(self, results: Results) -> dict[int, Exception]:
        """Take results; return the errors of environments that have not moved."""
        failures: dict[int, Exception] = {}
        resets: dict[int, Next] = {}
        is_same_step = self._autoreset.mode is SAME_STEP
        for env_id, result in results:
            last = self.busy[env_id]
            if result.error is not None:
                failures[env_id] = result.error
            elif isinstance(last, EnvResult):
                ready = last._replace(observation=result.observation, info=result.info)
                self._ready[env_id] = ready, last
            elif is_same_step and (result.terminated or result.truncated):
                self.busy[env_id] = result
                resets[env_id] = Next.AFTER_STEP
            else:
                self._ready[env_id] = result, None
        if resets:
            self.steps.begin({}, resets)
        return failures

    def _forget(self, failures: dict[int, Exception]) -> None:
        """Forget environments whose reset has failed; they stay among the ended."""
        has_ended = self._autoreset.has_ended.copy()
        for env_id in failures:
            has_ended[env_id] |= isinstance(self.busy.pop(env_id), EnvResult)
        self._autoreset.has_ended = has_ended

    def receive(self) -> StepBatch:
        """Return the batch of all environments that are ready, ascending."""
        autoreset = self._autoreset
        env_ids = np.array(sorted(self._ready), np.int64)
        pairs = [self._ready[env_id] for env_id in env_ids.tolist()]
        results = [result for result, _ in pairs]
        lasts = [last for _, last in pairs]
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
        self._add_finals(infos, lasts)
        infos["env_id"] = env_ids
        infos["_env_id"] = np.ones(len(env_ids), np.bool_)
        self._count(env_ids, batch)
        for env_id in env_ids.tolist():
            del self.busy[env_id], self._ready[env_id]
        return batch

    def _add_finals(self, infos: Infos, lasts: list[EnvResult | None]) -> None:
        """Add ``final_obs`` and ``final_info`` of episodes that ended in their step."""
        indices = [i for i, last in enumerate(lasts) if last is not None]
        if not indices:
            return
        finals = [last for last in lasts if last is not None]
        ends = np.array([last is not None for last in lasts])
        observations = [last.observation for last in finals]
        final_info = stack_infos([last.info for last in finals], indices, len(lasts))
        add_finals(infos, ends, indices, observations, final_info)

    def _count(self, env_ids: NDArray[np.int64], batch: StepBatch) -> None:
        """Note the ends of episodes."""
        autoreset, ends = self._autoreset, batch[2] | batch[3]
        has_ended = autoreset.has_ended.copy()
        has_ended[env_ids] = False if autoreset.mode is SAME_STEP else ends
        autoreset.has_ended = has_ended


class CalledExchange(Exchange):
    """The exchange of an engine that steps all its environments in one call.

    `wait` makes it, for all environments that have an action by then.
    """

    def __init__(self, autoreset: Autoreset) -> None:
        self._autoreset = autoreset
        self._is_text = isinstance(autoreset.engine.single_action_space, Text)
        self.clear()

    def clear(self) -> None:
        """Forget all environments."""
        # For each call of `send`: environments, and their actions.
        self.busy = []
        # What `wait` leaves for `receive`: how many of these calls have stepped, their
        # environments, or None for all, and the results.
        self._results: Any = None

    @property
    def num_busy(self) -> int:
        """The number of environments whose results were not received."""
        return sum([len(env_ids) for env_ids, _ in self.busy])

    @property
    def busy_mask(self) -> NDArray[np.bool_]:
        """(num_envs,) bool: the same environments."""
        mask = np.zeros(self._autoreset.engine.num_envs, np.bool_)
        for env_ids, _ in self.busy:
            mask[env_ids] = True
        return mask

    def send(self, env_ids: NDArray[np.int64], actions: Any) -> None:
        """Keep actions; see `Exchange.send`."""
        engine, needs_reset = self._autoreset.engine, self._find_resets(env_ids)
        engine.check_actions(actions, needs_reset)
        own = list(actions) if self._is_text else np.array(actions)
        self.busy.append((env_ids.copy(), own))

    def wait(self, count: int, timeout: float | None) -> None:  # noqa: ARG002
        """Step all environments that have an action.

        Raises
        ------
        RollVecError
            As `Autoreset.step`; the actions are forgotten.
        """
        # Ctrl-C may have come between the step and `receive`.
        if self._results is not None:
            return
        is_whole = self.num_busy == self._autoreset.engine.num_envs
        mask = None if is_whole else self.busy_mask
        try:
            results = self._autoreset.step(self._join_actions(), mask)
        except RollVecError as error:
            self.clear()
            self._autoreset.is_ready = not isinstance(error, EnvironmentFaultError)
            raise
        self._results = len(self.busy), mask, results

    def _join_actions(self) -> Any:
        """Return a batch of actions, any for environments that have none."""
        engine, num_envs = self._autoreset.engine, self._autoreset.engine.num_envs
        if self._is_text:
            texts = [""] * num_envs
            for env_ids, actions in self.busy:
                for env_id, text in zip(env_ids.tolist(), actions, strict=True):
                    texts[env_id] = text
            return texts
        space = engine.single_action_space
        batch = np.zeros((num_envs, *(space.shape or ())), space.dtype)
        for env_ids, actions in self.busy:
            batch[env_ids] = actions
        return batch

    def receive(self) -> StepBatch:
        """Return the batch of the environments that have stepped, ascending."""
        num_calls, mask, results = self._results
        rewards, terminations, truncations, infos = results
        engine, num_envs = self._autoreset.engine, self._autoreset.engine.num_envs
        env_ids = np.arange(num_envs) if mask is None else mask.nonzero()[0]
        space = engine.single_observation_space
        if _FEW * len(env_ids) < num_envs:
            observations = batch_items(space, engine.observe_envs(env_ids))
        else:
            observations = engine.observe()
            if mask is not None:
                observations = take_items(space, observations, env_ids)
        if mask is not None:
            rewards, terminations = rewards[env_ids], terminations[env_ids]
            truncations, infos = truncations[env_ids], take_infos(infos, env_ids)
        infos["env_id"], infos["_env_id"] = env_ids, np.ones(len(env_ids), np.bool_)
        # Calls of `send` after an interrupt wait for the next step.
        self.busy, self._results = self.busy[num_calls:], None
        return observations, rewards, terminations, truncations, infos


def make_exchange(autoreset: Autoreset) -> Exchange:
    """Return the exchange of an engine."""
    steps = autoreset.engine.make_steps()
    if steps.are_called:
        return CalledExchange(autoreset)
    return Exchange(autoreset, steps)


def _check_min_envs(min_envs: Any, total: int) -> int:
    count = total
    if min_envs is not None:
        try:
            if isinstance(min_envs, bool):
                raise TypeError
            count = operator.index(min_envs)
        except TypeError:
            raise InvalidOptionError.expected(
                "min_envs", "None or an integer", min_envs
            ) from None
    if not 1 <= count <= total:
        raise InvalidOptionError.expected(
            "min_envs",
            f"at least 1 and at most the {total} environments whose results are "
            "outstanding",
            min_envs,
        )
    return count
