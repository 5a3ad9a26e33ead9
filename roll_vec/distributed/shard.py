"""A shard: a part of the environments of a batch, in a process of its own.

A shard knows nothing of Ray, of autoreset or of the other shards.  It calls its engine
as `roll_vec.vector.autoreset.Autoreset` would, several calls in one message.
"""

from __future__ import annotations

import copy
import os
import traceback
import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from roll_vec.distributed.batch_spec import BatchSpec
from roll_vec.distributed.messages import (
    Description,
    Message,
    Reply,
    ResetResult,
    Restore,
    ShardStep,
    ShardStepResult,
    pack,
    unpack,
)
from roll_vec.errors import (
    ActionStartWarning,
    EnvironmentFaultError,
    InvalidStateError,
    LevelGenerationError,
)
from roll_vec.vector.composite import PartCall
from roll_vec.vector.engine import Engine, EngineState, UnrollResult
from roll_vec.vector.env import RollVectorEnv
from roll_vec.vector.steps import ResetCall, Results, Steps

_ADVANCE_ERRORS = (LevelGenerationError, EnvironmentFaultError)


class Shard:
    """A batch of environments that executes the messages of a head.

    Calls are of its public methods, and of those of the engine.

    Parameters
    ----------
    batch_spec : BatchSpec
    num_envs : int
    first_env_id : int
        The number of its first environment in the whole batch, for messages.
    compress : bool
        Whether `answer` compresses long replies; see `roll_vec.distributed.messages`.
    """

    def __init__(
        self,
        batch_spec: BatchSpec,
        num_envs: int,
        first_env_id: int,
        compress: bool = False,
    ) -> None:
        self._batch_spec, self._num_envs = batch_spec, num_envs
        self._first_env_id, self._compress = first_env_id, compress
        self._env: RollVectorEnv | None = None
        self._steps: Steps | None = None
        # Environments between `exchange` and the reply that has their result.
        self._num_active = 0

    def answer(self, data: bytes) -> bytes:
        """Execute a packed message; return the packed reply."""
        reply = self.handle(unpack(data))
        try:
            return pack(reply, compress=self._compress)
        except Exception as error:
            return pack(_failure(error))

    def handle(self, message: Message) -> Reply:
        """Execute a message; an exception goes into the reply."""
        with warnings.catch_warnings(record=True) as records:
            warnings.simplefilter("always")
            # The head has checked the actions, and warned.
            warnings.simplefilter("ignore", ActionStartWarning)
            reply = self._handle(message)
        texts = tuple((one.category, str(one.message)) for one in records)
        return reply._replace(warnings=texts, pid=os.getpid())

    def _handle(self, message: Message) -> Reply:
        try:
            if message.restore is not None or self._env is None:
                self._restore(message.restore or Restore(None, ()))
        except Exception as error:
            self.close()
            return _failure(error, is_restored=False)
        try:
            value = self._run(message.call)
            self._engine.warn()
        except Exception as error:
            return _failure(error)
        if not message.wants_state:
            return Reply(value)
        try:
            return Reply(value, state=self.get_state())
        except Exception as error:
            return Reply(value, state_error=str(error) or type(error).__name__)

    def _restore(self, restore: Restore) -> None:
        """Bring the batch, or a new one, to a state."""
        # Attributes of its environments are later ones than the snapshot's.
        has_attributes = any(one.name == "set_attribute" for one in restore.calls)
        is_fresh = not (self._env is None or self._num_active or has_attributes)
        if not is_fresh or restore.state is None:
            self.close()
            self._env = self._batch_spec.make_on_node(self._num_envs)
            self._steps = self._engine.make_steps()
            # What one environment returns must not keep back the others' results.
            self._engine.become_part(self._first_env_id, _transmit)
        for call in restore.settings:
            self._run(call)
        if restore.state is not None:
            env_ids = np.arange(self._num_envs)
            self._engine.set_state(restore.state, env_ids, env_ids)
        for call in restore.calls:
            self._run(call)

    def _run(self, call: PartCall) -> Any:
        is_own = call.name in Shard.__dict__
        return getattr(self if is_own else self._engine, call.name)(*call.arguments)

    @property
    def _engine(self) -> Engine:
        assert self._env is not None
        return self._env.engine

    def describe(self) -> Description:
        """Return what the head must know of the batch."""
        engine, env = self._engine, self._env
        assert env is not None
        return Description(
            engine.single_observation_space,
            engine.single_action_space,
            engine.metadata,
            engine.render_mode,
            engine.configuration(),
            getattr(engine, "accepts_noop", False),
            engine.raises_faults,
            env.spec,
        )

    # --------------------------------------------------------- resets and steps

    def reset(
        self,
        env_ids: NDArray[np.int64],
        seeds: list[int | None],
        options: dict[str, Any] | None,
    ) -> ResetResult:
        """Reset some environments; see `Engine.reset`."""
        self._engine.reset(env_ids, seeds, options)
        return self._reset_result(env_ids)

    def advance(self, env_ids: NDArray[np.int64]) -> ResetResult:
        """Begin the next episodes of some environments; see `Engine.advance`."""
        self._engine.advance(env_ids)
        return self._reset_result(env_ids)

    def _reset_result(self, env_ids: NDArray[np.int64]) -> ResetResult:
        infos = self._engine.reset_infos(env_ids)
        return ResetResult(
            infos, self._observe(), self._engine.successes, self._engine.failed_resets
        )

    def step(self, step: ShardStep) -> ShardStepResult:
        """Step the environments; begin next episodes before, or of those that end."""
        engine = self._engine
        actions = engine.check_actions(step.actions, step.skip_mask)
        rewards, terminations, truncations, infos = engine.step(
            actions, step.skip_mask, step.advance_ids
        )
        env_ids, error, finals = step.advance_ids, None, []
        successes = engine.successes
        if step.advances_ended:
            env_ids = np.flatnonzero(terminations | truncations)
            finals = self._observe_envs(env_ids)
            if isinstance(infos, list):
                # The environment may write into its dict when it is reset.
                for env_id in env_ids.tolist():
                    infos[env_id] = copy.deepcopy(infos[env_id])
            try:
                if len(env_ids):
                    engine.advance(env_ids)
                    engine.reset_infos(env_ids)  # waits for the resets
            except _ADVANCE_ERRORS as exception:
                error, env_ids = exception, env_ids[:0]
        return ShardStepResult(
            rewards,
            terminations,
            truncations,
            infos,
            engine.reset_infos(env_ids) if len(env_ids) else [],
            finals,
            self._observe(),
            successes,
            engine.failed_resets,
            error,
        )

    def unroll(
        self, actions: NDArray[np.int64], has_ended: NDArray[np.bool_], mode: Any
    ) -> tuple[UnrollResult, ResetResult]:
        """Take many steps of an engine that can; see `Engine.unroll`."""
        # The head has checked that the engine can unroll these actions.
        result = self._engine.unroll(actions, has_ended, mode, None)
        assert result is not None
        return result, ResetResult({}, self._observe(), self._engine.successes, {})

    def _observe(self) -> Any:
        if self._engine.has_objects:
            # A fault of the next step shows what is in the batch.
            self._engine.observe_in_place()
            return self._engine.observe_envs(np.arange(self._num_envs))
        return self._engine.observe()

    def _observe_envs(self, env_ids: NDArray[np.int64]) -> Any:
        observations = self._engine.observe_envs(env_ids)
        is_array = bool(observations) and isinstance(observations[0], np.ndarray)
        if self._engine.has_objects or not is_array:
            return observations
        return np.stack(observations)

    # --------------------------------------------------------- send and recv

    def exchange(
        self,
        actions: dict[int, Any],
        resets: dict[int, ResetCall],
        timeout: float | None,
    ) -> tuple[Results, NDArray[np.bool_]]:
        """Begin steps and resets; return the results that are there.

        Parameters
        ----------
        actions, resets
            See `Steps.begin`.
        timeout : float or None
            Seconds to wait for the first result; None: no limit.
        """
        assert self._steps is not None
        self._num_active += len(actions) + len(resets)
        self._steps.begin(actions, resets)
        results = self._steps.poll(timeout)
        self._num_active -= len(results)
        return results, self._engine.successes

    def play(
        self,
        actions: dict[int, Any],
        resets: dict[int, ResetCall],
        share: float,  # noqa: ARG002
    ) -> None:
        """Repeat what `exchange` did in environments whose results were received.

        Parameters
        ----------
        actions, resets
            See `Steps.begin`.
        share : float
            Their number among those of the shard.
        """
        self.exchange(actions, resets, None)
        while self._num_active:
            self.exchange({}, {}, None)

    # --------------------------------------------------------- state

    def get_state(self) -> EngineState:
        """Return a snapshot that other processes can use.

        Raises
        ------
        InvalidStateError
            If the environments allow none.
        """
        state = self._engine.get_state()
        if state.objects is not None:
            message = (
                "the environments have no get_state and cannot be pickled, so that "
                "only their process can use a snapshot"
            )
            raise InvalidStateError(message)
        return state

    def set_state(self, state: EngineState, env_ids: NDArray[np.int64]) -> ResetResult:
        """Set environment ``env_ids[j]`` to row j of a snapshot."""
        self._engine.set_state(state, np.arange(len(env_ids)), env_ids)
        return self._reset_result(env_ids[:0])

    # --------------------------------------------------------- attributes

    def call(self, name: str, arguments: Any, keywords: Any) -> tuple[Any, ...]:
        """Return an attribute of each environment, called if it can be."""
        return self._engine.call(name, arguments, keywords, {})

    def get_array(self, name: str) -> NDArray[Any]:
        """Return an array of a stacked engine, one entry an environment."""
        array: NDArray[Any] = getattr(self._engine, name)
        return array

    def close(self) -> None:
        """Close the batch."""
        if self._env is not None:
            self._env.close()
        self._env = self._steps = None
        self._num_active = 0


def _transmit(value: Any) -> Any:
    """Return a value as the head gets it."""
    return unpack(pack(value))


def _failure(error: Exception, *, is_restored: bool = True) -> Reply:
    """Return the reply for an exception; one that cannot travel becomes a text."""
    trace = traceback.format_exc()
    try:
        _transmit(error)
    except Exception:
        error = RuntimeError(f"{type(error).__name__}: {error}")
    return Reply(error=error, trace=trace, is_restored=is_restored)
