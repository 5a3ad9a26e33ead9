"""Environments that are stepped at different times: what `send` and `recv` stand on."""

from __future__ import annotations

import operator
import time
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from roll_vec.errors import InvalidOptionError, PendingResultsError, describe_rows
from roll_vec.pool.actions import check_action_batch
from roll_vec.pool.engine import PoolEngine
from roll_vec.pool.observations import copy_data
from roll_vec.vector.infos import Infos, stack_infos

__all__ = ["Flights"]

# The clocks of locks and pipes overflow a little above.
MAX_SECONDS = 1e9

Batch = tuple[Any, NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_], Infos]


class Landed(NamedTuple):
    """What `recv` returns of one environment."""

    observation: Any
    reward: float = 0.0
    terminated: bool = False
    truncated: bool = False
    info: dict[str, Any] | None = None
    final: tuple[Any, dict[str, Any]] | None = None
    """Last observation and info of the episode that ended within the step."""


class Flights:
    """Which environments are under way, and what has become of them.

    Parameters
    ----------
    engine : PoolEngine
    mode : AutoresetMode
    group_size : int or None
        None: infos have no ``group_id``.
    """

    def __init__(
        self, engine: PoolEngine, mode: AutoresetMode, group_size: int | None
    ) -> None:
        self._engine = engine
        self._mode = mode
        self._group_size = group_size
        # In a step or an autoreset; a step that ended waits here for its reset.
        self._flying: dict[int, Landed | None] = {}
        self._landed: dict[int, Landed] = {}

    def __len__(self) -> int:
        return len(self._flying) + len(self._landed)

    def clear(self) -> None:
        """Forget everything that is under way."""
        self._flying.clear()
        self._landed.clear()

    def check_rows(self, env_ids: Any) -> NDArray[np.int64]:
        """Return the rows that an action may be sent to.

        Raises
        ------
        InvalidOptionError
            If they are not different environments.
        PendingResultsError
            If the result of one is outstanding.
        """
        num_envs = self._engine.num_envs
        array = np.asarray(env_ids)
        if array.ndim != 1 or not (
            np.issubdtype(array.dtype, np.integer) or not array.size
        ):
            message = f"env_ids: expected a sequence of integers, got {env_ids!r}"
            raise InvalidOptionError(message)
        rows = array.astype(np.int64)
        wrong = rows[(rows < 0) | (rows >= num_envs)]
        if len(wrong):
            message = f"env_ids: expected 0 to {num_envs - 1}, got {int(wrong[0])}"
            raise InvalidOptionError(message)
        if len(set(rows.tolist())) != len(rows):
            message = f"env_ids: expected each at most once, got {env_ids!r}"
            raise InvalidOptionError(message)
        busy = [
            row for row in rows.tolist() if row in self._flying or row in self._landed
        ]
        if busy:
            message = (
                f"environments {describe_rows(np.array(busy))} have results that "
                "were not received"
            )
            raise PendingResultsError(message, "send")
        return rows

    def check_actions(self, actions: Any, skip_mask: NDArray[np.bool_]) -> list[Any]:
        """Return actions for some rows, copies where the caller could change them."""
        single = self._engine.single_action_space
        space = batch_space(single, len(skip_mask))
        checked = check_action_batch(
            single, space, actions, skip_mask, self._engine.takes_none
        )
        return [copy_data(action) for action in checked]

    def send(
        self,
        rows: NDArray[np.int64],
        actions: Iterable[Any],
        finished: NDArray[np.bool_],
    ) -> None:
        """Begin the steps of some rows, and the resets of those that are finished."""
        engine = self._engine
        for row, action in zip(rows.tolist(), actions, strict=True):
            self._flying[row] = None
            if finished[row]:
                engine.begin_advance(row)
                self._flying[row] = Landed(None)
            else:
                engine.begin_step(row, action)
        engine.workers.flush()

    def wait(self, min_envs: Any, timeout: Any) -> None:
        """Wait for some rows.

        Raises
        ------
        InvalidOptionError
        """
        total = len(self)
        wanted = total if min_envs is None else _as_count(min_envs)
        if not 1 <= wanted <= total:
            message = (
                f"min_envs: expected at least 1 and at most the {total} environments "
                f"whose results are outstanding, got {min_envs!r}"
            )
            raise InvalidOptionError(message)
        seconds = _as_seconds(timeout)
        end = None if seconds is None else time.monotonic() + seconds
        while len(self._landed) < wanted:
            left = None if end is None else max(end - time.monotonic(), 0.0)
            for row in self._engine.gather(left):
                self._land(row)
            if end is not None and time.monotonic() >= end:
                break

    def take(self) -> tuple[NDArray[np.int64], Batch]:
        """Return all rows that are there, and their batch."""
        rows = sorted(self._landed)
        landed = [self._landed.pop(row) for row in rows]
        return np.array(rows, np.int64), self._batch(rows, landed)

    def _land(self, row: int) -> None:
        """Take what has ended: a step, or the reset of a row."""
        engine = self._engine
        ended = self._flying[row]
        if ended is None:
            reward, terminated, truncated, info = engine.result(row)
            observation = engine.observations.keep(row)
            is_over = terminated or truncated
            if not (is_over and self._mode is AutoresetMode.SAME_STEP):
                del self._flying[row]
                self._landed[row] = Landed(
                    observation, reward, terminated, truncated, info
                )
                return
            final = (observation, info)
            self._flying[row] = Landed(None, reward, terminated, truncated, final=final)
            engine.begin_advance(row)
            engine.workers.flush()
            return
        info = engine.last_reset_infos[row]
        if self._group_size is not None:
            info = {**info, "group_id": row // self._group_size}
        del self._flying[row]
        self._landed[row] = ended._replace(
            observation=engine.observations.keep(row), info=info
        )

    def _batch(self, rows: list[int], landed: list[Landed]) -> Batch:
        count = len(rows)
        infos = stack_infos([one.info or {} for one in landed], None, count)
        finals = [i for i, one in enumerate(landed) if one.final is not None]
        if finals:
            has_final = np.zeros(count, np.bool_)
            has_final[finals] = True
            observations = np.full(count, None, object)
            ended = []
            for i in finals:
                observations[i], info = landed[i].final  # type: ignore[misc]
                ended.append(info)
            infos["final_obs"], infos["_final_obs"] = observations, has_final
            infos["final_info"] = stack_infos(ended, finals, count)
            infos["_final_info"] = has_final.copy()
        infos["env_id"] = np.array(rows, np.int64)
        infos["_env_id"] = np.ones(count, np.bool_)
        return (
            self._engine.observations.batch_of([one.observation for one in landed]),
            np.array([one.reward for one in landed], np.float64),
            np.array([one.terminated for one in landed], np.bool_),
            np.array([one.truncated for one in landed], np.bool_),
            infos,
        )


def _as_count(value: Any) -> int:
    try:
        return operator.index(value)
    except TypeError:
        message = f"min_envs: expected None or an integer, got {value!r}"
        raise InvalidOptionError(message) from None


def _as_seconds(value: Any) -> float | None:
    """Return a timeout in seconds, or None for one that no clock can measure."""
    if value is None:
        return None
    if isinstance(value, (int, float, np.integer, np.floating)) and value >= 0:
        return float(value) if value < MAX_SECONDS else None
    message = f"timeout: expected None or seconds from 0, got {value!r}"
    raise InvalidOptionError(message)
