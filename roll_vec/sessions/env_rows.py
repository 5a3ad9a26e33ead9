"""Runs resets and steps of some environments of a batch, each as a single environment.

It asks the engine and not `RollVectorEnv.step`, whose results are a batch: there one
environment's info can change the type of another's, an int beside a float, and the
observations of all environments are built for the step of one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from roll_vec.errors import EnvironmentFaultError
from roll_vec.sessions.calls import Call
from roll_vec.vector.env import RollVectorEnv
from roll_vec.vector.steps import EnvResult, batch_actions


class EnvRows:
    """The environments of a batch, for callers that do not know each other.

    Parameters
    ----------
    envs : RollVectorEnv
        In DISABLED mode.

    Attributes
    ----------
    has_workers : bool
        Whether environments step while nobody waits.
    epoch : int
        How often all environments had to be reset, after an interrupt or an error.
    """

    def __init__(self, envs: RollVectorEnv) -> None:
        self._envs, self._engine = envs, envs.engine
        self._steps = envs._make_steps()
        self._active: dict[int, Call] = {}
        self.epoch = 0
        # Also the last environment that fails does so in its session alone.
        envs._become_part(0)
        self.has_workers = self._steps.in_workers

    def can_start(self, call: Call) -> bool:
        """Return False while the environment is in a step whose caller has gone.

        A call that `is_alone` waits for the steps of all.
        """
        return not self._active if call.is_alone else call.row not in self._active

    def start(self, calls: Sequence[Call]) -> None:
        """Start calls; those that have an error, or `is_alone`, are done at once."""
        for call in calls:
            if call.is_alone:
                self._run_alone(call)
        steps = [call for call in calls if call.operation == "step"]
        actions: dict[int, Any] = {}
        if steps:
            try:
                actions = self._check(steps)
            except Exception:
                # Each error belongs to the caller of its action.
                for call in steps:
                    try:
                        actions |= self._check([call])
                    except Exception as error:
                        call.fail(error)
        resets = {
            call.row: call.argument for call in calls if call.operation == "reset"
        }
        active_rows = {*actions, *resets}
        self._active |= {call.row: call for call in calls if call.row in active_rows}
        self._steps.begin(actions, resets)

    def _check(self, calls: Sequence[Call]) -> dict[int, Any]:
        batch = batch_actions(
            self._envs.single_action_space, [call.argument for call in calls]
        )
        actions = self._steps.check_actions(batch, np.zeros(len(calls), np.bool_))
        return {call.row: action for call, action in zip(calls, actions, strict=True)}

    def collect(self) -> None:
        """Wait until some calls are done, or for `wake`."""
        results = self._steps.poll(None)
        failed = [row for row, result in results if result.error is not None]
        if len(failed) > 1:
            # No environment has moved: the one without a level is by itself.
            results = [pair for pair in results if pair[1].error is None]
            for row in failed:
                self.start([self._active[row]])
                results += self._steps.poll(None)
        for row, result in results:
            self._end(row, result)
        self._envs._warn()

    def _end(self, row: int, result: EnvResult) -> None:
        observation, info, reward, terminated, truncated, error = result
        call = self._active.pop(row)
        values: Any = observation, info
        if call.operation == "step":
            values = observation, reward, terminated, truncated, info
        call.end(values, error)

    def _run_alone(self, call: Call) -> None:
        row, envs = call.row, self._envs
        try:
            if call.operation == "get_state":
                call.end(envs._get_env_state(row, has_ended=call.argument))
            elif call.operation == "set_state":
                envs._set_env_state(row, call.argument)
                call.end(self._engine.observe(np.array([row]))[0])
            else:
                call.end(self._render(row))
        except Exception as error:
            is_fault = isinstance(error, EnvironmentFaultError)
            if is_fault and call.operation == "set_state":
                # All environments must be reset then.
                raise
            call.end(None, error)

    def _render(self, row: int) -> Any:
        mode = self._envs.render_mode
        if mode is None and not self._envs._has_objects:
            return None
        (frame,) = self._engine.frames(np.array([row]), mode or "")
        return frame

    @property
    def active(self) -> list[Call]:
        """The calls that are started and not done."""
        return list(self._active.values())

    def wake(self) -> None:
        """Let `collect`, in another thread, return at once."""
        self._steps.wake()

    def demand_reset(self) -> None:
        """Drop all that was started: every environment is reset next."""
        self.epoch += 1
        self._active.clear()
        self._steps.clear()
        self._envs._drop_pending()

    def first_seed(self, row: int) -> int | None:
        """Return the seed of an environment's first episode, drawn by its batch."""
        seeds: list[int | None] = [0] * self._envs.num_envs
        seeds[row] = None
        return self._envs._draw_missing_seeds(seeds)[row]
