"""One engine over the engines of many shards.

Shard k has the environments ``starts[k]`` to ``starts[k + 1] - 1``.  `Autoreset` and
`RollVectorEnv` work with this engine as with a local one: a batch over shards returns
what a local batch returns.  Errors of a shard name environments by its own numbers, so
that actions are checked here, and `translate` numbers faults anew.  A step is one
message to each shard and one reply.  The reply has what `Autoreset` will ask for next,
such as the first observations of episodes that begin.

Environments of a shard that is lost, or that had to be renewed, have a *lost episode*
after their reset, as those of a pool whose resets fail: the infos of the reset have
``error``, and the next step ends the episode as truncated.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from roll_vec.distributed.messages import Description, ResetResult, ShardStep
from roll_vec.distributed.shards import Shards
from roll_vec.errors import EnvironmentFaultError, InvalidStateError
from roll_vec.seeding import episode_seed
from roll_vec.vector.columns import take_rows
from roll_vec.vector.composite import CompositeEngine, Ids, Lost, PartCall
from roll_vec.vector.engine import NO_IDS, EngineState, StepResult
from roll_vec.vector.infos import AnyInfos, list_infos
from roll_vec.vector.known_infos import fault_info
from roll_vec.vector.state import VectorState


class ShardsEngine(CompositeEngine):
    """Base of the engines over shards; see `roll_vec.vector.engine.Engine`.

    Parameters
    ----------
    make_shards : callable
        Gets this engine's `renew` and `translate`, and returns the shards.
    sizes : sequence of int
        Environments of each shard.
    mode : AutoresetMode

    Attributes
    ----------
    shards : Shards
    lost_episodes : dict of int to str
        Environments whose next step ends the episode, and the error.
    """

    snapshot_id = "PoolEngine"

    def __init__(
        self,
        make_shards: Callable[..., Shards],
        sizes: Sequence[int],
        mode: AutoresetMode,
    ) -> None:
        super().__init__(sizes)
        self.successes = np.zeros(self.num_envs, np.bool_)
        self.lost_episodes: dict[int, str] = {}
        # By shard: those of its own environments whose last reset has failed.
        self._failed_resets: dict[int, dict[int, str]] = {}
        self._advances_ended = mode is AutoresetMode.SAME_STEP
        # The first seed of each environment, and the number of its episode.
        self._first_seeds = [0] * self.num_envs
        self._episodes = np.zeros(self.num_envs, np.int64)
        self._is_started = False
        self._forget()
        self.shards = make_shards(self.renew, self.translate)

    def _forget(self) -> None:
        """Forget the parts of the last replies that were kept."""
        # By shard: the local ids of the environments, and their values.
        self._resets: dict[int, tuple[Ids, Any]] = {}
        self._finals: dict[int, tuple[Ids, Any]] = {}
        self._advance_error: Exception | None = None

    # ------------------------------------------------------------- shards

    def _ask(self, calls: Mapping[int, PartCall]) -> dict[int, Any]:
        values = self.shards.ask(calls)
        for shard, value in values.items():
            if isinstance(value, Lost) and not self.shards.records[shard].loss:
                rows = self.rows(shard)
                self.lost_episodes |= dict.fromkeys(
                    range(rows.start, rows.stop), value.error
                )
        return values

    def renew(self, shard: int) -> PartCall | None:
        """Return the reset that begins new episodes in a shard without snapshots."""
        if not self._is_started:
            return None
        rows = self.rows(shard)
        self._episodes[rows] += 1
        pairs = zip(self._first_seeds[rows], self._episodes[rows].tolist(), strict=True)
        seeds = [episode_seed(seed, episode) for seed, episode in pairs]
        return PartCall("reset", (np.arange(len(seeds)), seeds, None))

    def describe(self) -> Description:
        """Let every shard make its batch; return a description of one.

        Raises
        ------
        EnvironmentFaultError
            If all shards were lost meanwhile.
        """
        values = self.ask_all("describe")
        for value in values.values():
            if isinstance(value, Description):
                return value
        raise EnvironmentFaultError({0: values[0].error})

    def set_spaces(self, one: Any) -> None:
        """Take spaces, metadata and render mode of an engine or a description."""
        self.single_observation_space = one.single_observation_space
        self.single_action_space = one.single_action_space
        n = self.num_envs
        self.observation_space = batch_space(one.single_observation_space, n)
        self.action_space = batch_space(one.single_action_space, n)
        self.metadata, self.render_mode = one.metadata, one.render_mode

    # ------------------------------------------------------------- resets

    def reset(
        self,
        env_ids: Ids,
        seeds: Sequence[int | None],
        options: dict[str, Any] | None = None,
    ) -> None:
        """Start new episodes; see `Engine.reset`.

        Raises
        ------
        EnvironmentFaultError
            If no environment can be reset.
        """
        self._forget()
        parts = list(self.parts(env_ids))
        calls = {
            shard: PartCall("reset", (ids, list(seeds[part]), options))
            for shard, part, ids in parts
        }
        # First: a shard that dies in this reset begins the episodes after these.
        self.count_episodes(dict(zip(env_ids.tolist(), seeds, strict=True)))
        values = self._ask(calls)
        self._clear_lost_episodes(env_ids, values)
        for shard, _, ids in parts:
            self._take_reset(shard, ids, values[shard])
        self._check_failures()

    def count_episodes(self, seeds: Mapping[int, int | None]) -> None:
        """Note that environments begin episodes, with new seeds where these are int."""
        self._is_started = True
        for env_id, seed in seeds.items():
            self._episodes[env_id] += 1
            if seed is not None:
                self._first_seeds[env_id], self._episodes[env_id] = seed, 0

    def _take_reset(self, shard: int, ids: Ids, value: Any) -> None:
        """Keep the results of a reset of a shard's environments."""
        infos: Any = [fault_info(getattr(value, "error", ""))] * len(ids)
        first = self.starts[shard]
        if isinstance(value, ResetResult):
            infos = value.infos
            self._set_observations(shard, value.observations)
            self.successes[self.rows(shard)] = value.successes
            self._failed_resets[shard] = value.failed_resets
        else:
            self.lost_episodes |= dict.fromkeys((ids + first).tolist(), value.error)
        if shard in self._resets:
            # Others have begun their episodes before.
            first_ids, others = self._resets[shard]
            first_infos = list_infos(others, len(first_ids))
            by_id = dict(zip(first_ids.tolist(), first_infos, strict=True))
            by_id |= dict(zip(ids.tolist(), list_infos(infos, len(ids)), strict=True))
            ids = np.array(sorted(by_id))
            infos = [by_id[local_id] for local_id in ids.tolist()]
        self._resets[shard] = ids, infos

    def _clear_lost_episodes(self, env_ids: Ids, values: dict[int, Any]) -> None:
        """Note that the resets of some environments went well, where a shard lives."""
        if not self.lost_episodes:
            return
        for shard, _, ids in self.parts(env_ids):
            if not isinstance(values.get(shard), Lost):
                for env_id in (ids + self.starts[shard]).tolist():
                    self.lost_episodes.pop(env_id, None)

    @property
    def failed_resets(self) -> dict[int, str]:
        """The environments whose last reset has failed, and the errors."""
        failures = dict(self.lost_episodes)
        for shard, errors in self._failed_resets.items():
            first = self.starts[shard]
            failures |= {first + local_id: text for local_id, text in errors.items()}
        return failures

    def _drop_fault_warnings(self) -> None:
        self.shards.drop_fault_warnings()

    @property
    def needs_full_reset(self) -> bool:  # type: ignore[override]
        """Whether a shard without snapshots was interrupted."""
        return self.shards.need_reset

    def warn(self) -> None:
        """Give the warnings of shards, after the results of a call were taken."""
        self.shards.warn()

    def advance(self, env_ids: Ids) -> None:
        """Begin next episodes; see `Engine.advance`.

        It follows a step of SAME_STEP mode, in which most of them have begun.
        """
        if self._advance_error is not None:
            raise self._advance_error
        self._episodes[env_ids] += 1
        late = {}
        for shard, _, ids in self.parts(env_ids):
            present_ids = self._resets.get(shard, (NO_IDS, None))[0]
            missing = np.setdiff1d(ids, present_ids)
            if len(missing):
                late[shard] = missing
        if late:
            # Environments of shards that have died.
            values = self._ask(
                {shard: PartCall("advance", (ids,)) for shard, ids in late.items()}
            )
            self._clear_lost_episodes(env_ids, values)
            for shard, ids in late.items():
                self._take_reset(shard, ids, values[shard])
        # The present observations are those of the episodes that have begun.
        self._finals = {}
        self._check_failures()

    def reset_infos(self, env_ids: Ids) -> AnyInfos:
        """Return the infos of the resets of the last message."""
        parts = {
            shard: self._resets.get(shard, (ids, {}))[1]
            for shard, _, ids in self.parts(env_ids)
        }
        return self.join_infos(parts, env_ids)

    # ------------------------------------------------------------- steps

    def step(
        self,
        actions: Any,
        skip_mask: NDArray[np.bool_],
        begins: Ids = NO_IDS,
    ) -> StepResult:
        """Step every environment but those to skip; see `Engine.step`."""
        self._episodes[begins] += 1
        lost_episodes = dict(self.lost_episodes)
        shard_mask = skip_mask
        if lost_episodes:
            shard_mask = skip_mask.copy()
            shard_mask[list(lost_episodes)] = True
        point = self.shards.save_point() if self._advances_ended else []
        values = self._step_shards(begins, actions, shard_mask, self._advances_ended)
        errors = [getattr(value, "advance_error", None) for value in values.values()]
        error = next((one for one in errors if one is not None), None)
        if error is not None:
            # `advance` raises it; until then no next episode has begun.
            self.shards.go_back(point)
            values = self._step_shards(begins, actions, shard_mask, False)
        self._forget()
        self._advance_error = error
        result = self._take_step(values, begins, skip_mask, lost_episodes)
        if len(begins):
            self._check_failures()
        return result

    def _step_shards(
        self,
        advance_ids: Ids,
        actions: Any,
        skip_mask: NDArray[np.bool_],
        advances_ended: bool,
    ) -> dict[int, Any]:
        local_ids = {shard: ids for shard, _, ids in self.parts(advance_ids)}
        calls = {}
        for shard in range(len(self.shards)):
            rows = self.rows(shard)
            step = ShardStep(
                local_ids.get(shard, NO_IDS),
                actions[rows],
                skip_mask[rows],
                advances_ended,
            )
            calls[shard] = PartCall("step", (step,))
        return self._ask(calls)

    def _take_step(
        self,
        values: dict[int, Any],
        advance_ids: Ids,
        skip_mask: NDArray[np.bool_],
        lost_episodes: dict[int, str],
    ) -> StepResult:
        """Join the results of a step, and keep what `Autoreset` will ask for."""
        n = self.num_envs
        rewards = np.zeros(n)
        terminations, truncations = np.zeros(n, np.bool_), np.zeros(n, np.bool_)
        local_ids = {shard: ids for shard, _, ids in self.parts(advance_ids)}
        self._clear_lost_episodes(advance_ids, values)
        infos: dict[int, Any] = {}
        for shard, value in sorted(values.items()):
            rows = self.rows(shard)
            if isinstance(value, Lost):
                truncations[rows] = ~skip_mask[rows]
                infos[shard] = [
                    {} if skip else fault_info(value.error) for skip in skip_mask[rows]
                ]
                self.successes[rows] = False
                if shard in local_ids:
                    self._take_reset(shard, local_ids[shard], value)
                continue
            rewards[rows], terminations[rows] = value.rewards, value.terminations
            truncations[rows] = value.truncations
            infos[shard] = value.infos
            self.successes[rows] = value.successes
            self._failed_resets[shard] = value.failed_resets
            if self._advances_ended and self._advance_error is None:
                ids = np.flatnonzero(value.terminations | value.truncations)
                self._finals[shard] = ids, value.final_observations
                self._resets[shard] = ids, value.reset_infos
            elif shard in local_ids:
                self._resets[shard] = local_ids[shard], value.reset_infos
            self._set_observations(shard, value.observations)
        for env_id, text in lost_episodes.items():
            if skip_mask[env_id]:
                continue
            truncations[env_id] = True
            self.lost_episodes.pop(env_id, None)
            ((shard, _, ids),) = self.parts(np.array([env_id]))
            infos[shard] = list_infos(infos[shard], self.sizes[shard])
            infos[shard][ids[0]] = fault_info(text)
        return rewards, terminations, truncations, self.join_infos(infos)

    # ------------------------------------------------------------- observations

    def _set_observations(self, shard: int, observations: Any) -> None:
        """Take the observations of all environments of a shard."""
        raise NotImplementedError

    # ------------------------------------------------------------- state

    def get_state(self) -> EngineState:
        """Return the state of all environments; see `Engine.get_state`.

        Raises
        ------
        EnvironmentFaultError
            If a shard is lost, or its episodes are.
        InvalidStateError, UnsupportedError
            If the environments allow no snapshot that other processes can use.
        """
        values = self.ask_all("get_state")
        self._check_alive(values)
        states = []
        for shard, state in sorted(values.items()):
            self.shards.set_base(shard, state)
            own = VectorState.of_batch("", ({}, ""), state.arrays, None)
            states.append(own)
        whole = VectorState.concatenate(states)
        return EngineState(dict(whole.arrays))

    def get_env_state(self, env_id: int) -> EngineState:
        """Return the state of one environment; see `get_state`."""
        ((shard, _, ids),) = self.parts(np.array([env_id]))
        values = self._ask({shard: PartCall("get_env_state", (int(ids[0]),))})
        self._check_alive(values)
        state: EngineState = values[shard]
        return state

    def check_state(self, state: EngineState) -> None:
        """Check a state; see `Engine.check_state`."""
        shard = next(iter(self.shards.live), 0)
        values = self._ask({shard: PartCall("check_state", (state,))})
        self._check_alive(values)

    def set_state(self, state: EngineState, rows: Ids, env_ids: Ids) -> None:
        """Set some environments to rows of a state; see `Engine.set_state`.

        Raises
        ------
        EnvironmentFaultError
            If a shard is lost.
        InvalidStateError
            If only another process can use the state.
        """
        if state.objects is not None:
            message = (
                "state: it has copies of environments, which only the process that "
                "made them can use: give their class get_state and set_state"
            )
            raise InvalidStateError(message)
        self._forget()
        parts = list(self.parts(env_ids))
        states = {
            shard: EngineState(take_rows(state.arrays, rows[part]))
            for shard, part, _ in parts
        }
        values = self._ask(
            {
                shard: PartCall("set_state", (states[shard], ids))
                for shard, _, ids in parts
            }
        )
        self._check_alive(values)
        self._is_started = True
        self._clear_lost_episodes(env_ids, values)
        for shard, result in values.items():
            self._set_observations(shard, result.observations)
            self.successes[self.rows(shard)] = result.successes
            self._failed_resets[shard] = result.failed_resets

    def _check_alive(self, values: dict[int, Any]) -> None:
        errors = {
            self.starts[shard]: value.error
            for shard, value in sorted(values.items())
            if isinstance(value, Lost)
        }
        if errors:
            raise EnvironmentFaultError(errors)

    def close(self) -> None:
        """End all shards."""
        self.shards.actors.close()
