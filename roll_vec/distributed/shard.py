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
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray

from roll_vec.distributed.messages import (
    Description,
    Message,
    Operation,
    Reply,
    ResetResult,
    Restore,
    Turn,
    TurnResult,
)
from roll_vec.distributed.recipe import EnvRecipe
from roll_vec.distributed.wire import pack, unpack
from roll_vec.errors import (
    ActionStartWarning,
    EnvironmentFaultError,
    InvalidStateError,
    LevelGenerationError,
)
from roll_vec.pool.engine import PoolEngine
from roll_vec.pool.pending_steps import PendingResult, PoolSteps
from roll_vec.vector.engine import EngineState, UnrollResult
from roll_vec.vector.env import RollVectorEnv

__all__ = ["Shard"]

_ADVANCE_ERRORS = (LevelGenerationError, EnvironmentFaultError)


class Shard:
    """A batch of environments that executes the messages of a head.

    The public methods other than `answer` and `handle` are the operations.

    Parameters
    ----------
    recipe : EnvRecipe
    num_envs : int
    first_env_id : int
        The number of its first environment in the whole batch, for messages.
    mode : AutoresetMode
        Of the head, for environments between `send` and `recv`.
    compress : bool
        Whether `answer` compresses long replies; see `roll_vec.distributed.wire`.
    """

    def __init__(
        self,
        recipe: EnvRecipe,
        num_envs: int,
        first_env_id: int,
        mode: AutoresetMode,
        compress: bool = False,
    ) -> None:
        self._recipe, self._num_envs, self._mode = recipe, num_envs, mode
        self._first_env_id, self._compress = first_env_id, compress
        self._env: RollVectorEnv | None = None
        self._pending_steps: PoolSteps | None = None

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
            value = self._run(message.operation)
            if isinstance(self._engine, PoolEngine):
                self._engine.faults.warn_once()
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
        is_busy = self._pending_steps is not None and len(self._pending_steps) > 0
        # Attributes of its environments are later ones than the snapshot's.
        has_attributes = any(one.name == "set_attr" for one in restore.operations)
        if self._env is None or restore.state is None or is_busy or has_attributes:
            self.close()
            self._env = self._recipe.make_on_node(self._num_envs)
            if isinstance(self._engine, PoolEngine):
                self._pending_steps = PoolSteps(self._engine, self._mode, None)
                self._engine.faults.is_part_from(self._first_env_id)
                # What one environment returns must not keep back the others' results.
                self._engine.operations.transmit = _transmit
        for operation in restore.settings:
            self._run(operation)
        if restore.state is not None:
            env_ids = np.arange(self._num_envs)
            self._engine.set_state(restore.state, env_ids, env_ids)
        for operation in restore.operations:
            self._run(operation)

    def _run(self, operation: Operation) -> Any:
        return getattr(self, operation.name)(*operation.arguments)

    @property
    def _engine(self) -> Any:
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
            getattr(engine, "raises_faults", False),
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
            infos, self._observe(), self._engine.successes, self._failed_resets()
        )

    def _failed_resets(self) -> dict[int, str]:
        engine = self._engine
        return dict(engine.faults.stalled) if isinstance(engine, PoolEngine) else {}

    def turn(self, turn: Turn) -> TurnResult:
        """Step the environments; begin next episodes before, or of those that end."""
        engine = self._engine
        actions = engine.check_actions(turn.actions, turn.skip_mask)
        rewards, terminations, truncations, infos = engine.step(
            actions, turn.skip_mask, turn.idle_mask, turn.advance_ids
        )
        env_ids, error, finals = turn.advance_ids, None, []
        successes = engine.successes
        if turn.advances_ended:
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
        return TurnResult(
            rewards,
            terminations,
            truncations,
            infos,
            engine.reset_infos(env_ids) if len(env_ids) else [],
            finals,
            self._observe(),
            successes,
            self._failed_resets(),
            error,
        )

    def unroll(
        self, actions: NDArray[np.int64], has_ended: NDArray[np.bool_], mode: Any
    ) -> tuple[UnrollResult, ResetResult]:
        """Take many steps of an engine that can; see `SupportsUnroll.unroll`."""
        # The head has checked that the engine can unroll these actions.
        result: UnrollResult = self._engine.unroll(actions, has_ended, mode, None)
        return result, ResetResult({}, self._observe(), self._engine.successes, {})

    def _observe(self) -> Any:
        if isinstance(self._engine, PoolEngine):
            # A fault of the next step shows what is in the batch.
            self._engine.observe_without_copy()
            return self._engine.observe_envs(np.arange(self._num_envs))
        return self._engine.observe()

    def _observe_envs(self, env_ids: NDArray[np.int64]) -> Any:
        observations = self._engine.observe_envs(env_ids)
        is_array = bool(observations) and isinstance(observations[0], np.ndarray)
        if isinstance(self._engine, PoolEngine) or not is_array:
            return observations
        return np.stack(observations)

    # --------------------------------------------------------- send and recv

    def exchange(
        self,
        env_ids: NDArray[np.int64],
        actions: list[Any],
        needs_reset: NDArray[np.bool_],
        timeout: float | None,
    ) -> tuple[list[tuple[int, PendingResult]], NDArray[np.bool_]]:
        """Let some environments of a pool step; return those that are ready.

        Parameters
        ----------
        env_ids : (m,) int64
        actions : list of m
        needs_reset : (n,) bool
        timeout : float or None
            Seconds to wait for the first that is ready; None: no limit.
        """
        assert self._pending_steps is not None
        if len(env_ids):
            self._pending_steps.send(env_ids, actions, needs_reset)
        return self._pending_steps.take_ready(timeout), self._engine.successes

    def play(
        self,
        env_ids: NDArray[np.int64],
        actions: list[Any],
        needs_reset: NDArray[np.bool_],
    ) -> None:
        """Repeat what `exchange` did in environments whose results were received."""
        assert self._pending_steps is not None
        self._pending_steps.send(env_ids, actions, needs_reset)
        while len(self._pending_steps):
            self._pending_steps.take_ready(None)

    # --------------------------------------------------------- state

    def get_state(self) -> EngineState:
        """Return a snapshot that other processes can use.

        Raises
        ------
        InvalidStateError
            If the environments allow none.
        """
        state: EngineState = self._engine.get_state()
        if state.objects is not None:
            message = (
                "the environments have no get_state and cannot be pickled, so that "
                "only their process can use a snapshot"
            )
            raise InvalidStateError(message)
        return state

    def check_state(self, state: EngineState) -> None:
        """Check a snapshot; see `Engine.check_state`."""
        self._engine.check_state(state)

    def set_state(self, state: EngineState, env_ids: NDArray[np.int64]) -> ResetResult:
        """Set environment ``env_ids[j]`` to row j of a snapshot."""
        self._engine.set_state(state, np.arange(len(env_ids)), env_ids)
        return self._reset_result(env_ids[:0])

    def set_level_options(
        self, env_ids: NDArray[np.int64], level_options: dict[str, Any]
    ) -> None:
        """Change the levels of next episodes; see `Engine.set_level_options`."""
        self._engine.set_level_options(env_ids, level_options)

    def set_attr(self, name: str, values: list[Any]) -> None:
        """Set an attribute of each environment of a pool."""
        assert self._env is not None
        self._env.set_attr(name, values)

    # --------------------------------------------------------- questions

    def call(self, name: str, arguments: Any, keywords: Any) -> tuple[Any, ...]:
        """Return an attribute of each environment, called if it can be."""
        assert self._env is not None
        return self._env.call(name, *arguments, **keywords)

    def get_attribute(self, name: str) -> tuple[Any, ...]:
        """Return an attribute of each environment; see `Engine.get_attribute`."""
        values: tuple[Any, ...] = self._engine.get_attribute(name)
        return values

    def get_array(self, name: str) -> NDArray[Any]:
        """Return an array of a stacked engine, one entry an environment."""
        array: NDArray[Any] = getattr(self._engine, name)
        return array

    def solve(self, env_ids: NDArray[np.int64], objective: str) -> list[Any]:
        """Return solutions of some environments; see `Engine.solve`."""
        solutions: list[Any] = self._engine.solve(env_ids, objective)
        return solutions

    def grids(self, env_ids: NDArray[np.int64]) -> NDArray[np.uint8]:
        """Return the cell codes of some environments of a stacked engine."""
        grids: NDArray[np.uint8] = self._engine.grids(env_ids)
        return grids

    def frames(self, env_ids: NDArray[np.int64], mode: str) -> tuple[Any, ...]:
        """Return frames of some environments; see `Engine.frames`."""
        frames: tuple[Any, ...] = self._engine.frames(env_ids, mode)
        return frames

    def count_faults(self) -> tuple[NDArray[np.int64], dict[str, int]]:
        """Return the faults of a pool by environment, and by kind."""
        faults = self._engine.faults
        return faults.counts.copy(), dict(faults.counts_by_kind)

    def close(self) -> None:
        """Close the batch."""
        if self._env is not None:
            self._env.close()
        self._env = self._pending_steps = None


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
