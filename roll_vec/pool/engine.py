"""The engine of the pool: environment objects behind the `Engine` interface."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import Any

import numpy as np
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from roll_vec.errors import InvalidOptionError, InvalidStateError
from roll_vec.pool import snapshots
from roll_vec.pool.actions import check_action_batch
from roll_vec.pool.observations import Observations, copy_data
from roll_vec.pool.options import PoolOptions
from roll_vec.pool.pool_envs import PoolEnvs
from roll_vec.pool.spaces import pool_spaces
from roll_vec.pool.tasks import NO_STEP, EnvDescription, EnvFns
from roll_vec.vector.engine import NO_IDS, Engine, StateArrays, StepResult
from roll_vec.vector.infos import InfoList, add_infos
from roll_vec.vector.known_infos import read_success
from roll_vec.vector.steps import EnvResult, ResetCall, Results, Steps
from roll_vec.vector.values import KINDS


class PoolEngine(Engine):
    """Environment objects, stepped and reset together.

    Parameters
    ----------
    env_fns : sequence of callable
        Each returns an environment.
    options : PoolOptions

    Attributes
    ----------
    envs : PoolEnvs
        What the pool knows of its environments, and their workers.
    needs_seed : list of bool
        Whether the first reset of each environment must have a seed.
    accepts_noop : bool
        Whether all environments accept the action 0, as "no valid action".

    Raises
    ------
    InvalidOptionError, SpaceMismatchError
        And the exception of an environment that cannot be built.
    """

    name = "PoolEngine"

    def __init__(self, env_fns: EnvFns, options: PoolOptions) -> None:
        self.num_envs = len(env_fns)
        self.envs = PoolEnvs(env_fns, options)
        self.faults = self.envs.faults
        try:
            self._set_spaces(self.envs.build())
        except BaseException:
            self.close()
            raise
        self.observations = Observations(self.single_observation_space, self.num_envs)
        self.envs.observations = self.observations
        self._max_episode_steps = options.max_episode_steps

    def _set_spaces(self, descriptions: list[EnvDescription]) -> None:
        """Set what depends on the environments."""
        (
            self.single_observation_space,
            self.observation_space,
            self.single_action_space,
            self.action_space,
        ) = pool_spaces(descriptions)
        self.metadata = dict(descriptions[0].metadata)
        self.render_mode = descriptions[0].render_mode
        self.needs_seed = [one.needs_seed for one in descriptions]
        self.accepts_noop = all(one.accepts_noop for one in descriptions)
        # The kinds of environments, and the kind of each; in the order of their texts,
        # so that pools with the same kinds exchange states.
        texts = [json.dumps(one.configuration, sort_keys=True) for one in descriptions]
        names = sorted(set(texts))
        self._configurations = list(map(json.loads, names))
        self._kinds = np.array([names.index(text) for text in texts], np.int64)

    # -------------------------------------------------------------- resets

    def reset(
        self,
        env_ids: NDArray[np.int64],
        seeds: Sequence[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> None:
        """Start new episodes in some environments; see `Engine.reset`.

        Without seeds they may still begin when this returns: see
        `PoolEnvs.start_resets`.
        """
        if seeds is None:
            self.envs.start_resets(env_ids.tolist(), [None] * len(env_ids))
            return
        arguments = [(seed, options) for seed in seeds]
        self.envs.start_resets(env_ids.tolist(), arguments)
        self.envs.wait_for_all()
        if len(env_ids) == self.num_envs:
            self.faults.needs_full_reset = False

    def begin_infos(self, env_ids: NDArray[np.int64]) -> InfoList:
        """Return the infos of the last resets of some environments, a list of dicts."""
        self.envs.wait_for_all()
        records = self.envs.records
        return [records[env_id].reset_info for env_id in env_ids.tolist()]

    # --------------------------------------------------------------- steps

    def check_actions(self, actions: Any, skip_mask: NDArray[np.bool_]) -> list[Any]:
        """Return one action an environment; see `check_action_batch`."""
        single, space = self.single_action_space, self.action_space
        if len(skip_mask) != self.num_envs:
            space = batch_space(single, len(skip_mask))
        return check_action_batch(single, space, actions, skip_mask, self.accepts_noop)

    def step(
        self,
        actions: list[Any],
        skip_mask: NDArray[np.bool_],
        begins: NDArray[np.int64] = NO_IDS,
        resets_ended: bool = False,  # noqa: ARG002
    ) -> StepResult:
        """Step some environments; see `Engine.step`."""
        if len(begins):
            self.reset(begins)
        env_ids: list[int] = (~skip_mask).nonzero()[0].tolist()
        if len(env_ids) < self.num_envs:
            actions = [actions[env_id] for env_id in env_ids]
        self.envs.start_steps(env_ids, actions)
        infos = self.envs.end_steps(env_ids)
        if len(begins):
            infos = add_infos(infos, begins, self.begin_infos(begins), self.num_envs)
        results = self.envs.results
        for env_id in skip_mask.nonzero()[0].tolist():
            results[env_id] = NO_STEP
        _, rewards, terminations, truncations, _ = zip(*results, strict=True)
        # Half the time of np.array, which asks each value for its type.
        terminated = np.frombuffer(bytearray(terminations), np.bool_)
        truncated = np.frombuffer(bytearray(truncations), np.bool_)
        dones = None
        if True in terminations or True in truncations:
            dones = terminated | truncated
        return np.array(rewards, np.float64), terminated, truncated, dones, infos

    # -------------------------------------------------------- observations

    def observe(
        self, env_ids: NDArray[np.int64] | None = None, *, copy: bool = True
    ) -> Any:
        """Return the observations of environments; see `Engine.observe`."""
        if env_ids is not None:
            self.envs.wait_for_all()
            latest = self.observations.latest
            return [copy_data(latest[env_id]) for env_id in env_ids.tolist()]
        if self.envs.num_active:
            self.envs.wait_for_all()
        batch = self.observations.batch()
        # Strings need no copy.
        is_copied = copy and not self.observations.is_text
        return deepcopy(batch) if is_copied else batch

    @property
    def successes(self) -> NDArray[np.bool_]:  # type: ignore[override]
        """(n,) bool: whether the info of each last step says success."""
        infos = [result[4] for result in self.envs.results]
        return np.array([read_success(info) is True for info in infos])

    # -------------------------------------------------------------- faults

    @property
    def needs_full_reset(self) -> bool:  # type: ignore[override]
        """Whether a fault or an interrupt demands a reset of all environments."""
        return self.faults.needs_full_reset

    # ------------------------------------------------------------ snapshots

    def configuration(self) -> dict[str, Any]:
        """Return the keywords that two pools must share; see `Engine.configuration`.

        Of different environments a list of their kinds.
        """
        first, *others = self._configurations
        return {
            "environments": [first, *others] if others else first,
            "max_episode_steps": self._max_episode_steps,
            "observation_space": str(self.single_observation_space),
            "action_space": str(self.single_action_space),
        }

    def get_state(
        self, env_ids: NDArray[np.int64] | None = None
    ) -> dict[str, NDArray[Any]]:
        """Return the state of environments; see `Engine.get_state`.

        Others need no reset.

        Raises
        ------
        UnsupportedError
            If an environment has no state that can be kept; see `EnvRunner.get_state`.
        EnvironmentFaultError
            If a worker died.
        """
        self.envs.wait_for_all()
        ids = np.arange(self.num_envs) if env_ids is None else env_ids
        arrays = snapshots.get_state(self.envs, ids.tolist())
        return {**arrays, KINDS: self._kinds[ids]}

    def check_state(self, arrays: StateArrays) -> None:
        """Check a state; see `Engine.check_state` and `snapshots.check_state`."""
        self.envs.wait_for_all()
        snapshots.check_state(arrays, self.envs)

    def set_state(
        self, arrays: StateArrays, rows: NDArray[np.int64], env_ids: NDArray[np.int64]
    ) -> None:
        """Set some environments to rows of a state; see `Engine.set_state`.

        Raises
        ------
        InvalidStateError
            For a row of another kind of environment, or a pickled record that cannot
            be read; nothing has changed then.
        EnvironmentFaultError
            If some fail: every environment must be reset then.
        """
        self.envs.wait_for_all()
        pairs = list(zip(rows.tolist(), env_ids.tolist(), strict=True))
        differs = arrays[KINDS][rows] != self._kinds[env_ids]
        if differs.any():
            row, env_id = pairs[differs.argmax()]
            message = (
                f"rows: environment {env_id} cannot become a copy of row {row}: it is "
                "of another kind"
            )
            raise InvalidStateError(message)
        snapshots.set_state(arrays, pairs, self.envs)
        if len(pairs) == self.num_envs:
            self.faults.needs_full_reset = False

    # -------------------------------------------------- environment objects

    def call(
        self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[Any, ...]:
        """Return an attribute of each environment, called if it can be called.

        None for an object that was lost in a fault and is not replaced yet.
        """
        return tuple(self.envs.run("call", [(name, args, kwargs)] * self.num_envs))

    def solve(self, env_ids: NDArray[np.int64], objective: str) -> list[Any]:
        """Return the solutions of some environments, by their own method `solve`.

        None for an environment whose last step or reset has failed.

        Raises
        ------
        InvalidOptionError
            For an objective other than ``moves``.
        UnsupportedError
            If an environment has no such method.
        """
        if objective != "moves":
            accepted = "'moves', the only one of this environment"
            raise InvalidOptionError.expected("objective", accepted, objective)
        all_able = set(self.envs.able_ids)
        able_ids = [env_id for env_id in env_ids.tolist() if env_id in all_able]
        results = self.envs.run("solve", [None] * len(able_ids), able_ids)
        solutions = dict(zip(able_ids, results, strict=True))
        return [solutions.get(env_id) for env_id in env_ids.tolist()]

    def frames(
        self,
        env_ids: NDArray[np.int64],
        mode: str,  # noqa: ARG002
    ) -> tuple[Any, ...]:
        """Return the results of `render` of some environments."""
        call: tuple[str, tuple[Any, ...], dict[str, Any]] = ("render", (), {})
        return tuple(self.envs.run("call", [call] * len(env_ids), env_ids.tolist()))

    def close(self) -> None:
        """Close the environments, and end the workers."""
        self.envs.close()


class PoolSteps(Steps):
    """Steps of some environments of a pool; see `roll_vec.vector.steps.Steps`.

    Parameters
    ----------
    engine : PoolEngine
    """

    def __init__(self, engine: PoolEngine) -> None:
        self._engine, self._envs = engine, engine.envs
        self._resets: set[int] = set()
        self.in_workers = engine.envs.workers.are_others

    def check_actions(self, actions: Any, skip_mask: NDArray[np.bool_]) -> list[Any]:
        """Return copies of the actions; see `Steps.check_actions`."""
        return list(map(copy_data, self._engine.check_actions(actions, skip_mask)))

    def begin(
        self, actions: Mapping[int, Any], resets: Mapping[int, ResetCall]
    ) -> None:
        """Begin steps and resets; see `Steps.begin`."""
        self._resets.update(resets)
        self._envs.start_resets(list(resets), resets.values())
        self._envs.start_steps(list(actions), list(actions.values()))
        self._envs.workers.flush()

    def poll(self, timeout: float | None, count: int = 1) -> Results:
        """Return the results that are there; see `Steps.poll`."""
        env_ids = self._envs.wait_for_some(timeout, count)
        return [(env_id, self._result_of(env_id)) for env_id in env_ids]

    def _result_of(self, env_id: int) -> EnvResult:
        # The pool keeps the other copy: a later step may fail.
        observation = copy_data(self._envs.observations.copy_latest(env_id))
        if env_id in self._resets:
            self._resets.remove(env_id)
            return EnvResult(observation, self._envs.records[env_id].reset_info)
        _, reward, terminated, truncated, info = self._envs.results[env_id]
        return EnvResult(observation, info, reward, terminated, truncated)

    def forget_step(self, env_id: int) -> None:
        """Note that the next episode begins in place of a step."""
        self._envs.results[env_id] = NO_STEP

    def clear(self) -> None:
        """Forget everything that was begun; all environments must be reset."""
        self._resets.clear()

    def wake(self) -> None:
        """Let `poll`, in another thread, return at once."""
        self._envs.workers.wake()
