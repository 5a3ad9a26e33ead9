"""`JoinedVectorEnv`: several batches as one vector environment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import accumulate, chain, pairwise
from typing import Any

import numpy as np
from gymnasium.spaces import Text, Tuple
from gymnasium.vector import VectorEnv
from numpy.typing import NDArray

from roll_vec.errors import (
    EnvironmentFaultError,
    InvalidActionError,
    InvalidOptionError,
    InvalidStateError,
    LevelGenerationError,
    PartLostError,
    ResetNeededError,
    RollVecError,
)
from roll_vec.joined.actors import ActorPart
from roll_vec.joined.parts import MOVES, Call, describe, join_spaces
from roll_vec.pool.actions import check_action_batch
from roll_vec.seeding import expand_seeds
from roll_vec.text.validation import check_texts
from roll_vec.vector.attributes import BatchAttributes
from roll_vec.vector.autoreset import (
    NEXT_STEP,
    SAME_STEP,
    describe_ended,
    parse_reset_mask,
)
from roll_vec.vector.batch import one_at_a_time
from roll_vec.vector.batch_snapshots import check_state_rows
from roll_vec.vector.env import RollVectorEnv
from roll_vec.vector.infos import Infos, finish_infos, join_infos
from roll_vec.vector.known_infos import faults_of
from roll_vec.vector.masks import check_mask
from roll_vec.vector.rollout import Rollout, check_out
from roll_vec.vector.space_batches import join_batches, map_leaves
from roll_vec.vector.unroll import check_plan, count_steps, run_steps
from roll_vec.vector.vector_state import VectorState

# After any other `RollVecError` a part has not moved, or demands a reset itself.
_FAILURES = EnvironmentFaultError, LevelGenerationError, PartLostError
_BROKEN = (
    "every environment must be reset: a call raised an error, or was interrupted, when "
    "some may have moved; call reset() without a mask, or set_state"
)


class JoinedVectorEnv(VectorEnv[Any, Any, Any]):
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
        ``family``, the name of the environment's part; it replaces an environment's
        info of this name.

    Attributes
    ----------
    parts : tuple of RollVectorEnv and ActorPart
        An `ActorPart` has ``restarts``, the number of its restarts, and ``pid``.
    families : dict of str to range
        The environments of each part, by name; empty without names.
    group_ids : (num_envs,) int64
        The group of each environment, counted through all parts.  An int s seeds
        environment i with ``s + group_ids[i]``.
    group_size : int
        That of all parts; 0 if they differ.
    has_success : bool
        Whether `successes` has the success of each episode: all environments are in
        stacked arrays, and their games define success.

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

    # Until the constructor has ended, so that `close` does nothing before.
    closed = True
    # Observations are joined in a new batch.
    copy = True
    # The thread that is in a call, see `one_at_a_time`.
    _caller = 0
    _action_stream: Any = None
    sample_actions = BatchAttributes.sample_actions
    _check_open: Any = BatchAttributes._check_open
    np_random: Any = BatchAttributes.np_random
    np_random_seed: Any = BatchAttributes.np_random_seed
    final_obs = RollVectorEnv.final_obs

    def __init__(
        self,
        parts: Mapping[str, RollVectorEnv] | Sequence[RollVectorEnv | ActorPart],
    ) -> None:
        names = list(parts) if isinstance(parts, Mapping) else []
        batches: Any = parts.values() if isinstance(parts, Mapping) else parts
        self.parts: tuple[Any, ...] = tuple(batches)
        are_parts = [isinstance(one, (RollVectorEnv, ActorPart)) for one in self.parts]
        num_different = len(set(map(id, self.parts)))
        if not all(are_parts) or not 0 < num_different == len(are_parts):
            accepted = "different vector environments of roll_vec without wrappers"
            raise InvalidOptionError.expected("parts", accepted, batches)
        all_of = [
            one.description if isinstance(one, ActorPart) else describe(one)
            for one in self.parts
        ]
        for name in ("autoreset_mode", "render_mode"):
            values = [getattr(one, name) for one in all_of]
            if len(set(values)) > 1:
                wanted = f"one {name} in all parts"
                raise InvalidOptionError.expected("parts", wanted, values)
        first, self._sizes = all_of[0], [one.num_envs for one in all_of]
        self._starts = starts = [0, *accumulate(self._sizes)]
        self._rows = [slice(*pair) for pair in pairwise(starts)]
        self.num_envs = starts[-1]
        self.autoreset_mode, self.render_mode = first.autoreset_mode, first.render_mode
        self.single_observation_space, self.observation_space = join_spaces(
            [one.single_observation_space for one in all_of], self._sizes
        )
        self.single_action_space, self.action_space = join_spaces(
            [one.single_action_space for one in all_of], self._sizes
        )
        if first.has_objects:
            both = self.single_action_space, self.action_space
            zero = first.accepts_noop
            self._check = partial(check_action_batch, *both, accepts_noop=zero)
        else:
            self._check = self.parts[0].engine.check_actions
        # Whether the parts can exchange snapshots.
        self._are_alike = len({one.digest for one in all_of}) == 1
        # Whether their rollouts are arrays of the same dtypes.
        has_texts = isinstance(first.single_observation_space, (Text, Tuple))
        self._joins_rollouts = self._are_alike and not (first.has_objects or has_texts)
        self.metadata = first.metadata
        self.spec = first.spec if self._are_alike else None
        self.has_success = all(one.has_success for one in all_of)
        group_sizes = [one.group_size for one in all_of]
        self.group_size = group_sizes[0] if len(set(group_sizes)) == 1 else 0
        sizes = np.repeat(group_sizes, np.floor_divide(self._sizes, group_sizes))
        self.group_ids: NDArray[np.int64] = np.repeat(np.arange(len(sizes)), sizes)
        self.families = dict(zip(names, map(range, starts, starts[1:]), strict=False))
        # The name of each environment's part.
        self._family_of = np.array(names, object).repeat(self._sizes if names else 0)
        for part, start in zip(self.parts, starts, strict=False):
            if isinstance(part, RollVectorEnv):
                part._become_part(start)
        # Replaced by each step.
        self._has_ended = np.zeros(self.num_envs, np.bool_)
        # Why environments must be reset before other calls; empty: they need not.
        self._obstacle = "the environments must be reset first"
        self.closed = False

    # ------------------------------------------------------------ calls of parts

    @one_at_a_time
    def _ask(self, calls: Sequence[Call]) -> list[Any]:
        """Let each part make its call; return the results.

        After calls that move environments the batch needs a reset, until the caller has
        joined the results.

        Raises
        ------
        Exception
            The first of the parts' exceptions.  If another part has moved, or an actor
            is lost, the whole batch needs a reset.
        """
        self._check_open()
        before, has_moved = self._obstacle, False
        for part, call in zip(self.parts, calls, strict=True):
            if isinstance(part, ActorPart):
                part.begin(call)
            # Also after an interrupt.
            self._obstacle = before or _BROKEN
        values: list[Any] = []
        errors: list[Exception] = []
        for part, start, call in zip(self.parts, self._starts, calls, strict=False):
            # After an error a part of this process stays where it is.
            is_actor = isinstance(part, ActorPart)
            if errors and not is_actor:
                continue
            moves = call.name in MOVES
            try:
                values.append(part.end() if is_actor else call.run(part))
                has_moved |= moves
            except Exception as error:
                if isinstance(error, EnvironmentFaultError):
                    # Its environments have other numbers in this batch.
                    texts = {start + i: text for i, text in error.errors.items()}
                    EnvironmentFaultError.__init__(error, texts)
                is_known = isinstance(error, RollVecError)
                if isinstance(error, _FAILURES) or not is_known:
                    has_moved |= moves or isinstance(error, PartLostError)
                errors.append(error)
        self._obstacle = _BROKEN if has_moved else before
        if errors:
            raise errors[0]
        return values

    def _ask_all(self, name: str, *arguments: Any, **keywords: Any) -> list[Any]:
        """Let all parts make the same call; return their results."""
        return self._ask([Call(name, arguments, keywords)] * len(self.parts))

    def _check_ready(self) -> None:
        if self._obstacle:
            raise ResetNeededError(self._obstacle)

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
        seeds = expand_seeds(seed, self.num_envs)
        if isinstance(seed, (int, np.integer)):
            seeds = [seeds[group_id] for group_id in self.group_ids.tolist()]
        resets = np.ones(self.num_envs, np.bool_) if mask is None else mask.copy()
        if not resets.all():
            self._check_ready()
        calls = []
        for rows in self._rows:
            if mask is not None:
                options = {**(options or {}), "reset_mask": resets[rows]}
            call = Call("reset", (), {"seed": seeds[rows], "options": options})
            calls.append(call if resets[rows].any() else Call("observe"))
        batches, parts = zip(*self._ask(calls), strict=True)
        self._has_ended = self._has_ended & ~resets
        infos = self._join_infos(parts, resets)
        faults = faults_of(infos)
        if len(faults) == self.num_envs:
            raise EnvironmentFaultError(faults)
        return self._finish(batches), infos

    def _finish(self, batches: Sequence[Any], out: Any = None, axis: int = 0) -> Any:
        """Return the observations of all, after a call that moved environments."""
        space = self.single_observation_space
        observations = join_batches(space, batches, out, axis)
        self._obstacle = ""
        return observations

    def step(self, actions: Any) -> Any:
        """Step every environment once; see `RollVectorEnv.step`."""
        return self._step_some(actions, None)

    @one_at_a_time
    def _step_some(self, actions: Any, mask: NDArray[np.bool_] | None) -> Any:
        """Step all environments, or some in DISABLED mode; see `RollVectorEnv`."""
        self._check_ready()
        ended = self._has_ended
        steps = np.ones(self.num_envs, np.bool_) if mask is None else mask
        self._refuse_ended(ended & steps)
        actions = self._check_actions(actions, ended if mask is None else ~steps)
        calls, name = [], "step" if mask is None else "_step_some"
        for rows in self._rows:
            # Also of a part without steps: its successes are from now on False.
            masks = () if mask is None else (mask[rows],)
            calls.append(Call(name, (self._cut(actions, rows), *masks)))
        return self._join_steps(self._ask(calls), steps)

    def _refuse_ended(self, ended: NDArray[np.bool_]) -> None:
        if self.autoreset_mode is not NEXT_STEP and np.count_nonzero(ended):
            raise ResetNeededError(describe_ended(np.flatnonzero(ended)))

    def _check_actions(self, actions: Any, skip_mask: NDArray[np.bool_]) -> Any:
        """Check a batch of actions; return it, texts as a list."""
        if isinstance(self.single_action_space, Text):
            return check_texts(actions, skip_mask)
        are_rows = np.shape(actions)[:1] == (self.num_envs,)
        if self._are_alike or self.parts[0].engine is None or not are_rows:
            self._check(actions, skip_mask)
            return actions
        for k, (part, rows) in enumerate(zip(self.parts, self._rows, strict=True)):
            # Games may count their actions from different numbers.
            try:
                part.engine.check_actions(self._cut(actions, rows), skip_mask[rows])
            except InvalidActionError as error:
                message = f"part {k}: {error}"
                raise type(error)(message) from error
        return actions

    def _cut(self, actions: Any, rows: slice) -> Any:
        """Return the actions of a part."""
        space = self.single_action_space
        return map_leaves(lambda _, batch: batch[rows], space, actions)

    def _join_steps(
        self, results: list[Any], steps: NDArray[np.bool_], out: Any = None
    ) -> Any:
        """Return the results of parts as those of the batch.

        Parameters
        ----------
        results : list
            Of `step`, or of `unroll`, which have one more axis in front.
        steps : (n,) or (T, n) bool
            The environments that were stepped.
        out : Rollout or None
            To write to.
        """
        axis = steps.ndim - 1
        batches, *columns, parts = zip(*results, strict=True)
        arrays = [
            np.concatenate(column, axis, out and out[k])
            for k, column in enumerate(columns, 1)
        ]
        ends = arrays[1] | arrays[2]
        ended = ends[-1] if axis else ends | (self._has_ended & ~steps)
        self._has_ended = ended & (self.autoreset_mode is not SAME_STEP)
        infos = self._join_infos(parts, steps)
        return self._finish(batches, out and out[0], axis), *arrays, infos

    def _join_infos(self, parts: Sequence[Infos], mask: NDArray[np.bool_]) -> Infos:
        """Return the infos of all parts as one layout.

        Parameters
        ----------
        parts : sequence of dict
            Changed.
        mask : (n,) or (T, n) bool
            The environments that were stepped or reset.
        """
        if mask.ndim > 1:
            infos = _swap_axes(self._join_layouts([_swap_axes(one) for one in parts]))
        else:
            # They stay objects: of all other values all together decide on the dtype.
            keys = "final_obs", "_final_obs"
            finals = [
                {key: one.pop(key) for key in keys if key in one} for one in parts
            ]
            infos = self._join_layouts(parts) | self._join_layouts(finals)
        self._add_family(infos, mask)
        return infos

    def _join_layouts(self, parts: Sequence[Infos]) -> Infos:
        joined = join_infos(list(zip(parts, self._sizes, strict=True)))
        return finish_infos(joined, self.num_envs)

    def _add_family(self, infos: Infos, mask: NDArray[np.bool_]) -> None:
        """Add the names of parts to infos of some environments, (n,) or (T, n) bool."""
        if not self.families:
            return
        infos["family"] = np.where(mask, self._family_of, np.array(None))
        infos["_family"] = mask.copy()
        if "final_info" in infos:
            self._add_family(infos["final_info"], infos["_final_info"])

    # ------------------------------------------------------------------- unrolls

    @one_at_a_time
    def unroll(
        self,
        actions: Any,
        num_steps: int | None = None,
        *,
        out: Rollout | None = None,
    ) -> Rollout:
        """Take T steps; see `RollVectorEnv.unroll`.

        Parts of one configuration in stacked arrays get a sequence of actions in one
        call each.  In NEXT_STEP mode only they know then which actions are ignored: an
        integer out of range may be refused after parts have moved, and the batch needs
        a reset.  Otherwise `step` is called.
        """
        self._check_ready()
        count, space = count_steps(actions, num_steps), self.single_observation_space
        mode, ended = self.autoreset_mode, self._has_ended
        if out is not None:
            check_out(out, space, self.num_envs, count)
        if not callable(actions):
            self._refuse_ended(ended)
            actions = check_plan(actions, self._check_actions, ended, mode)
            if self._joins_rollouts:
                calls = []
                for rows in self._rows:
                    cut = [self._cut(batch, rows) for batch in actions]
                    calls.append(Call("unroll", (cut,)))
                steps = np.ones((count, self.num_envs), np.bool_)
                return Rollout(*self._join_steps(self._ask(calls), steps, out))
        batches, _ = zip(*self._ask_all("observe"), strict=True)
        observations = join_batches(space, batches)
        try:
            return run_steps(self, self.step, observations, actions, count, out)
        except BaseException:
            # Some steps were made.
            if self._has_ended is not ended:
                self._obstacle = _BROKEN
            raise

    # ------------------------------------------------------------------ snapshots

    def get_state(self) -> VectorState | tuple[VectorState, ...]:
        """Return a snapshot of all environments; see `RollVectorEnv.get_state`.

        Returns
        -------
        VectorState
            If all parts have the same configuration: that of one undivided batch.
        tuple of VectorState
            Otherwise: one a part.
        """
        self._check_ready()
        states = self._ask_all("get_state")
        return VectorState.concatenate(states) if self._are_alike else tuple(states)

    @one_at_a_time
    def set_state(
        self,
        state: VectorState | Sequence[VectorState],
        *,
        mask: NDArray[np.bool_] | None = None,
        rows: Sequence[int] | NDArray[np.integer[Any]] | None = None,
    ) -> Any:
        """Go back to a snapshot; see `RollVectorEnv.set_state`.

        Of parts of one configuration the snapshot may be one of another number of
        parts, or of one undivided batch.  Otherwise it has one `VectorState` a part,
        and ``rows`` must be None: choose the rows of each part's.
        """
        sets = np.isin(np.arange(self.num_envs), check_mask(mask, self.num_envs))
        if not sets.all():
            self._check_ready()
        states: Any = state
        if isinstance(state, VectorState):
            indices = check_state_rows(state, rows, self.num_envs)
            states = [state.select_rows(indices[part_rows]) for part_rows in self._rows]
        elif rows is not None or len(state) != len(self.parts):
            accepted = "a VectorState, or without rows a sequence of one a part"
            raise InvalidStateError.expected("state", accepted, state)
        self._ask([Call("check_state", (one,)) for one in states])
        calls = [
            Call("set_state", (one,), {"mask": sets[part_rows]})
            for one, part_rows in zip(states, self._rows, strict=True)
        ]
        observations = self._ask(calls)
        has_ended = np.concatenate([one.arrays["has_ended"] for one in states])
        self._has_ended = np.where(sets, has_ended, self._has_ended)
        return self._finish(observations)

    # ----------------------------------------------- attributes, frames, levels

    def call(self, name: str, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
        """Return an attribute of each environment, called if it is a method."""
        return tuple(chain(*self._ask_all("call", name, *args, **kwargs)))

    def get_attr(self, name: str) -> tuple[Any, ...]:
        """Return an attribute of each environment; see `RollVectorEnv.get_attr`."""
        return tuple(chain(*self._ask_all("get_attr", name)))

    def set_attr(self, name: str, values: Any) -> None:
        """Set an attribute of each environment; see `RollVectorEnv.set_attr`."""
        if not isinstance(values, (list, tuple)):
            values = [values] * self.num_envs
        if len(values) != self.num_envs:
            accepted = f"{self.num_envs} of them or a single one"
            raise InvalidOptionError.expected("values", accepted, len(values))
        self._ask([Call("set_attr", (name, values[rows])) for rows in self._rows])

    @property
    def successes(self) -> NDArray[np.bool_]:
        """(num_envs,) bool: whether each environment's last step was a success."""
        return np.concatenate(self._ask_all("successes"))

    @property
    def fault_counts(self) -> NDArray[np.int64]:
        """(num_envs,) int64: failed steps and attempts at a reset; 0 in arrays."""
        return np.concatenate(self._ask_all("count_faults"))

    def render(self) -> tuple[Any, ...] | None:
        """Return a frame of each environment; None without a render mode."""
        self._check_ready()
        if self.render_mode is None:
            return None
        return tuple(chain(*self._ask_all("render")))

    def solve(self, objective: str = "moves") -> tuple[Any, ...]:
        """Return a solution of each environment; see `RollVectorEnv.solve`."""
        self._check_ready()
        return tuple(chain(*self._ask_all("solve", objective)))

    def set_level_options(self, **level_options: Any) -> None:
        """Change the levels from next episodes on; see `RollVectorEnv`.

        If a part refuses, those before it have changed.
        """
        self._ask_all("set_level_options", **level_options)

    # --------------------------------------------------------------- close, copies

    def close_extras(self, **kwargs: Any) -> None:
        """Close all parts."""
        for part in self.parts:
            part.close()

    def __del__(self) -> None:
        """Close nothing, as in Gymnasium from 1.3 on."""

    @one_at_a_time
    def __getstate__(self) -> dict[str, Any]:
        # A call belongs to its thread.
        return {**self.__dict__, "_caller": 0}


def _swap_axes(infos: Infos) -> Infos:
    """Return infos of (T, n) arrays as those of (n, T), or the other way round."""
    return {
        key: _swap_axes(value) if isinstance(value, dict) else value.swapaxes(0, 1)
        for key, value in infos.items()
    }
