"""Runs resets and steps of some environments of a pool, each as a single environment.

A pool can start the steps of some environments and take their results one by one.  So
the cost is that of the environments called, and with workers a slow one holds up
nobody else.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium.vector.utils import batch_space

from roll_vec.pool.actions import check_action_batch
from roll_vec.pool.engine import PoolEngine
from roll_vec.pool.observations import copy_data
from roll_vec.pool.serial import SerialWorkers
from roll_vec.pool.vector import PoolVectorEnv
from roll_vec.sessions.calls import Call
from roll_vec.sessions.env_rows import batch_actions, first_seed

__all__ = ["PoolRows"]


class PoolRows:
    """The environments of a pool, for callers that do not know each other.

    Parameters
    ----------
    envs : PoolVectorEnv

    Attributes
    ----------
    has_workers : bool
        Whether threads or processes run the environments.
    """

    def __init__(self, envs: PoolVectorEnv) -> None:
        self._envs = envs
        self._engine: PoolEngine = envs.engine
        self._active: dict[int, Call] = {}
        # Also the last environment that fails does so in its own session alone.
        self._engine.faults.is_part_from(0)
        self._space_of_one = batch_space(envs.single_action_space, 1)
        workers = self._engine.handles.workers
        workers.allow_wake()
        self.has_workers = not isinstance(workers, SerialWorkers)

    def run(self, calls: Sequence[Call]) -> None:
        """Make each call of a batch, and set its result or its error."""
        for call in calls:
            if call.operation != "render":
                self.start(call)
        while self._active:
            self.collect()
        for call in calls:
            if call.operation == "render":
                self.start(call)

    def can_start(self, call: Call) -> bool:
        """Return False while the environment is in a step whose caller has gone."""
        return call.row not in self._active

    def start(self, call: Call) -> None:
        """Start a call; it is done at once if it has an error or is a rendering.

        No call may be active when a rendering starts.
        """
        operations = self._engine.operations
        try:
            if call.operation == "render":
                (frame,) = self._engine.handles.render([call.row])
                call.succeed(frame)
                return
            if call.operation == "step":
                action = self._check_action(call.argument)
        except Exception as error:
            call.fail(error)
            return
        self._active[call.row] = call
        if call.operation == "step":
            operations.start_step(call.row, action)
        else:
            operations.start_reset(call.row, *call.argument)

    def collect(self) -> list[Call]:
        """Wait until some calls are done, or for `wake`; return those that are done."""
        engine = self._engine
        ended_calls = []
        for row in engine.operations.wait_for_some(None):
            call = self._active.pop(row)
            # The pool needs its own copy if a later step fails.
            observation = copy_data(engine.observations.copy_latest(row))
            if call.operation == "reset":
                info = engine.members[row].reset_info
                call.succeed((observation, info))
            else:
                call.succeed((observation, *engine.result(row)))
            ended_calls.append(call)
        self._envs._warn_of_faults()
        return ended_calls

    @property
    def active(self) -> list[Call]:
        """The calls that are started and not done."""
        return list(self._active.values())

    def wake(self) -> None:
        """Let `collect`, in another thread, return at once."""
        self._engine.handles.workers.wake()

    def demand_reset(self) -> None:
        """Drop all that was started: every environment is reset next."""
        self._active.clear()
        self._engine.operations.demand_reset()

    def first_seed(self, row: int) -> int | None:
        """Return the seed of a session's first episode, if the caller gives none."""
        return first_seed(self._envs, row)

    def _check_action(self, action: Any) -> Any:
        space = self._envs.single_action_space
        batch = batch_actions(space, [action])
        accepts_noop, skip_mask = self._engine.accepts_noop, np.zeros(1, np.bool_)
        (checked,) = check_action_batch(
            space, self._space_of_one, batch, skip_mask, accepts_noop
        )
        return copy_data(checked)
