"""`JoinedVectorEnv`: several batches as one vector environment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from typing import Any

import numpy as np
from gymnasium.spaces import Text
from gymnasium.vector import AutoresetMode, VectorEnv
from numpy.typing import NDArray

from roll_vec.errors import (
    EnvironmentFaultError,
    InvalidStateError,
    ResetNeededError,
)
from roll_vec.joined.attributes import JoinedParts
from roll_vec.joined.calls import Call
from roll_vec.joined.state import JoinedState
from roll_vec.seeding import expand_seeds
from roll_vec.text.validation import check_texts
from roll_vec.vector.autoreset import describe_ended, parse_reset_mask
from roll_vec.vector.batch import one_at_a_time
from roll_vec.vector.env import RollVectorEnv
from roll_vec.vector.infos import Infos, finish_infos, join_infos
from roll_vec.vector.known_infos import faults_of
from roll_vec.vector.rollout import Rollout, check_out
from roll_vec.vector.snapshots import check_state_rows
from roll_vec.vector.space_batches import join_batches, map_leaves
from roll_vec.vector.state import VectorState
from roll_vec.vector.unroll import check_plan, count_steps, run_steps

_FAMILY = "family"


# skrl looks for VectorEnv among the direct bases.
class JoinedVectorEnv(JoinedParts, VectorEnv[Any, Any, Any]):
    """Several batches, which are its *parts*, as one vector environment.

    The environments of part k follow those of part k - 1.  Parts have one autoreset
    mode, and either one observation and one action space, or texts: several games are
    in one batch behind one text space so.

    Parameters
    ----------
    parts : mapping or sequence
        Of `RollVectorEnv`, without wrappers, or of parts in actors, as `make_shards`
        makes them.  They belong to this batch from now on: nobody else may use them,
        and `close` closes them.  With a mapping each step and each reset has the info
        ``family``, the name of the environment's part; it replaces one of the
        environment's own.

    Attributes
    ----------
    parts : tuple of LocalPart and ActorPart
        An `ActorPart` has ``restarts``, the number of its restarts, and ``pid``.
    families : dict of str to range
        The environments of each part, by name; empty without names.
    group_ids : (num_envs,) int64
        The group of each environment, counted through all parts.  An int s seeds
        environment i with ``s + group_ids[i]``.
    group_size : int
        That of all parts; 0 if they differ.
    has_success : bool
        Whether the games of all parts define success.

    Raises
    ------
    InvalidOptionError
        If there are no parts, or they do not fit together.

    Notes
    -----
    Errors that are known before, of actions, seeds and snapshots, move nothing.  After
    a call that raised when a part had moved, and after an interrupt, all calls raise a
    `ResetNeededError` until the whole batch is reset or set to a snapshot.
    """

    # ------------------------------------------------------------ resets and steps

    @one_at_a_time
    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[Any, Infos]:
        """Start new episodes, in all environments or in those of a mask.

        Parameters, results and errors are those of `RollVectorEnv.reset`.

        Raises
        ------
        EnvironmentFaultError
            If no environment can be reset.
        PartLostError
            If an actor dies that cannot be restored; as all calls.
        """
        mask = parse_reset_mask(options, self.num_envs)
        seeds = self._expand_seeds(seed)
        resets = self._parse_mask(mask, "some of them are reset by reset_mask")
        calls = {}
        for k, part_mask in self._masks_of(resets).items():
            part_options = options
            if options is not None and mask is not None:
                part_options = {**options, "reset_mask": part_mask}
            keywords = {"seed": seeds[self._rows[k]], "options": part_options}
            calls[k] = Call("reset", (), keywords)
        results = self._ask(calls)
        parts: list[Infos] = [{} for _ in self.parts]
        for k, (observations, infos) in results.items():
            self._latest[k], parts[k] = observations, infos
        self._has_ended = self._has_ended & ~resets
        infos = self._join_infos(parts, resets)
        faults = faults_of(infos)
        if len(faults) == self.num_envs:
            raise EnvironmentFaultError(faults)
        observations = self._join_observations()
        self._is_started, self._needs_reset = True, False
        return observations, infos

    def _expand_seeds(self, seed: Any) -> list[int | None]:
        if not isinstance(seed, (int, np.integer)):
            return expand_seeds(seed, self.num_envs)
        by_group = expand_seeds(seed, int(self.group_ids[-1]) + 1)
        return [by_group[group_id] for group_id in self.group_ids.tolist()]

    @one_at_a_time
    def step(
        self, actions: Any
    ) -> tuple[Any, NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_], Infos]:
        """Step every environment once; see `RollVectorEnv.step`."""
        actions = self._check_step(actions, self._has_ended, self._has_ended)
        cuts = [Call("step", (self._cut(actions, rows),)) for rows in self._rows]
        mask = np.ones(self.num_envs, np.bool_)
        return self._join_steps(self._ask(dict(enumerate(cuts))), mask)

    @one_at_a_time
    def _step_some(
        self, actions: Any, mask: NDArray[np.bool_]
    ) -> tuple[Any, NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_], Infos]:
        """Step some environments, in DISABLED mode; see `RollVectorEnv`."""
        actions = self._check_step(actions, self._has_ended & mask, ~mask)
        calls = {
            k: Call("_step_some", (self._cut(actions, self._rows[k]), part_mask))
            for k, part_mask in self._masks_of(mask).items()
        }
        return self._join_steps(self._ask(calls), mask)

    def _check_step(
        self, actions: Any, ended: NDArray[np.bool_], skip_mask: NDArray[np.bool_]
    ) -> Any:
        """Check that some environments can step; return their checked actions."""
        self._check_ready("the first step")
        self._refuse_ended(ended)
        return self._check_actions(actions, skip_mask)

    def _refuse_ended(self, ended: NDArray[np.bool_]) -> None:
        is_next_step = self.autoreset_mode is AutoresetMode.NEXT_STEP
        if not is_next_step and np.count_nonzero(ended):
            raise ResetNeededError(describe_ended(np.flatnonzero(ended)))

    def _join_steps(
        self, results: Mapping[int, Any], mask: NDArray[np.bool_]
    ) -> tuple[Any, NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_], Infos]:
        """Return the results of a step of some parts as those of the batch."""
        rewards, ends = np.zeros(self.num_envs), np.zeros((2, self.num_envs), np.bool_)
        infos: list[Infos] = [{} for _ in self.parts]
        self._latest = list(self._latest)
        for k, (self._latest[k], *arrays, infos[k]) in results.items():
            rewards[self._rows[k]], ends[:, self._rows[k]] = arrays[0], arrays[1:]
        terminations, truncations = ends
        if self.autoreset_mode is not AutoresetMode.SAME_STEP:
            self._has_ended = terminations | truncations | (self._has_ended & ~mask)
        observations = self._join_observations()
        joined = self._join_infos(infos, mask)
        self._needs_reset = False
        return observations, rewards, terminations, truncations, joined

    def _check_actions(self, actions: Any, skip_mask: NDArray[np.bool_]) -> Any:
        """Check a batch of actions; return it, texts as a list."""
        if isinstance(self.single_action_space, Text):
            return check_texts(actions, skip_mask)
        self._check(actions, skip_mask)
        return actions

    def _cut(self, actions: Any, rows: slice) -> Any:
        """Return the actions of a part."""
        space = self.single_action_space
        return map_leaves(lambda _, batch: batch[rows], space, actions)

    def _join_observations(self) -> Any:
        return join_batches(self.single_observation_space, self._latest)

    def _join_infos(self, parts: Sequence[Infos], mask: NDArray[np.bool_]) -> Infos:
        """Return the infos of all parts as one layout.

        Parameters
        ----------
        parts : sequence of dict
            Changed.
        mask : (n,) bool
            The environments that were stepped or reset.
        """
        # They stay objects: of all other values all together decide on the dtype.
        names = "final_obs", "_final_obs"
        finals = [{key: one.pop(key) for key in names if key in one} for one in parts]
        sizes = [one.num_envs for one in self._descriptions]
        infos = _join_infos(parts, sizes) | _join_infos(finals, sizes)
        self._add_family(infos, mask)
        return infos

    def _add_family(self, infos: Infos, mask: NDArray[np.bool_]) -> None:
        """Add the names of parts to infos of some environments, (n,) or (T, n) bool."""
        if not self.families:
            return
        infos[_FAMILY] = np.where(mask, self._family_of, np.array(None))
        infos[f"_{_FAMILY}"] = mask.copy()
        if "final_info" in infos:
            self._add_family(infos["final_info"], infos["_final_info"])

    @one_at_a_time
    def unroll(
        self,
        actions: Any,
        num_steps: int | None = None,
        *,
        out: Rollout | None = None,
    ) -> Rollout:
        """Take T steps in one call of each part; see `RollVectorEnv.unroll`.

        With a function as ``actions`` `step` is called.  In NEXT_STEP mode only the
        parts know which actions are ignored: an integer out of range may be refused
        after parts have moved, and the batch needs a reset then.
        """
        self._check_ready("the first step")
        count, space = count_steps(actions, num_steps), self.single_observation_space
        if out is not None:
            check_out(out, space, self.num_envs, count)
        if callable(actions):
            return self._follow(actions, count, out)
        has_ended, mode = self._has_ended, self.autoreset_mode
        self._refuse_ended(has_ended)
        batches = check_plan(actions, self._check_actions, has_ended, mode)
        cuts = [[self._cut(one, rows) for one in batches] for rows in self._rows]
        results = self._ask({k: Call("unroll", (cut,)) for k, cut in enumerate(cuts)})
        return self._join_rollouts(list(results.values()), out)

    def _follow(self, policy: Any, num_steps: int, out: Rollout | None) -> Rollout:
        """Take the steps of a policy one by one."""
        is_same_step = self.autoreset_mode is AutoresetMode.SAME_STEP
        space, before = self.single_observation_space, self._latest
        arguments = self.step, self._join_observations(), policy, num_steps, out
        try:
            return run_steps(space, self.num_envs, is_same_step, *arguments)
        except BaseException:
            # Each step that has ended has another list.
            self._needs_reset |= self._latest is not before
            raise

    def _join_rollouts(self, parts: list[Rollout], out: Rollout | None) -> Rollout:
        """Return the rollouts of all parts as one."""
        space = self.single_observation_space

        def join(name: str) -> Any:
            arrays = [getattr(part, name) for part in parts]
            return np.concatenate(arrays, 1, out=out and getattr(out, name))

        rewards = join("rewards")
        terminations, truncations = join("terminations"), join("truncations")
        batches = [part.observations for part in parts]
        self._latest = [
            map_leaves(lambda _, steps: copy(steps[-1]), space, batch)
            for batch in batches
        ]
        observations = join_batches(space, batches, out and out.observations, axis=1)
        finals = [part.infos.pop("final_obs", None) for part in parts]
        ends = [part.infos.pop("_final_obs", None) for part in parts]
        # As the infos of one step of T * n environments, those of a part together.
        sizes = [part.rewards.size for part in parts]
        joined = _join_infos([_reshape(part.infos, 2, (-1,)) for part in parts], sizes)
        blocks = np.split(np.arange(rewards.size), np.cumsum(sizes)[:-1])
        order = np.hstack([block.reshape(len(rewards), -1) for block in blocks])
        infos = _reshape(joined, 1, order.shape, order.reshape(-1))
        if ends[0] is not None:
            last = out and out.infos.get("final_obs")
            infos["final_obs"] = join_batches(space, finals, last, axis=1)
            infos["_final_obs"] = np.hstack(ends)
        else:
            self._has_ended = terminations[-1] | truncations[-1]
        self._add_family(infos, np.ones(order.shape, np.bool_))
        self._needs_reset = False
        return Rollout(observations, rewards, terminations, truncations, infos)

    final_obs = RollVectorEnv.final_obs

    # ------------------------------------------------------------------ snapshots

    @one_at_a_time
    def get_state(self) -> VectorState | JoinedState:
        """Return a snapshot of all environments; see `RollVectorEnv.get_state`.

        Returns
        -------
        VectorState
            If all parts have the same configuration: that of one undivided batch.
        JoinedState
            Otherwise.
        """
        self._check_ready("get_state")
        states = self._ask_all("get_state")
        if self._are_alike:
            return VectorState.concatenate(states)
        return JoinedState(tuple(states))

    @one_at_a_time
    def set_state(
        self,
        state: VectorState | JoinedState,
        *,
        mask: NDArray[np.bool_] | None = None,
        rows: Sequence[int] | NDArray[np.integer[Any]] | None = None,
    ) -> Any:
        """Go back to a snapshot; see `RollVectorEnv.set_state`.

        Of parts that are alike the snapshot may be one of another number of parts, or
        of one undivided batch.  Otherwise an environment becomes a copy of one of the
        same part.
        """
        self._check_open()
        accepted = VectorState if self._are_alike else JoinedState
        if not isinstance(state, accepted):
            raise InvalidStateError.expected("state", f"a {accepted.__name__}", state)
        sets = self._parse_mask(mask, "set_state leaves any out by mask")
        indices = check_state_rows(state, rows, self.num_envs)
        states = [self._rows_of(state, k, indices) for k in range(len(self.parts))]
        masks = self._masks_of(sets)
        self._ask({k: Call("_check_state", (states[k],)) for k in masks})
        results = self._ask(
            {k: Call("set_state", (states[k],), {"mask": masks[k]}) for k in masks}
        )
        has_ended = np.concatenate([one.arrays["has_ended"] for one in states])
        self._has_ended = np.where(sets, has_ended, self._has_ended)
        self._latest = [results.get(k, last) for k, last in enumerate(self._latest)]
        observations = self._join_observations()
        self._is_started, self._needs_reset = True, False
        return observations

    def _rows_of(
        self, state: VectorState | JoinedState, part: int, indices: NDArray[np.int64]
    ) -> VectorState:
        """Return the rows of a snapshot that the environments of a part become."""
        rows = indices[self._rows[part]]
        if isinstance(state, VectorState):
            return state.select_rows(rows)
        if len(state.parts) != len(self.parts):
            accepted = f"one of {len(self.parts)} parts"
            raise InvalidStateError.expected("state", accepted, len(state.parts))
        first, stop = state.starts[part : part + 2]
        if np.any((rows < first) | (rows >= stop)):
            accepted = f"{first} to {stop - 1} in the rows of part {part}"
            raise InvalidStateError.expected("rows", accepted, rows)
        return state.parts[part].select_rows(rows - first)


def _join_infos(parts: Sequence[Infos], sizes: Sequence[int]) -> Infos:
    """Return the infos of parts of so many environments as one layout."""
    return finish_infos(join_infos(list(zip(parts, sizes, strict=True))), sum(sizes))


def _reshape(
    infos: Infos, num_axes: int, shape: tuple[int, ...], order: Any = slice(None)
) -> Infos:
    """Return infos whose first axes have another shape, or first another order."""
    return {
        key: _reshape(value, num_axes, shape, order)
        if isinstance(value, dict)
        else value[order].reshape(*shape, *value.shape[num_axes:])
        for key, value in infos.items()
    }
