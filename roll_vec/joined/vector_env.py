"""`JoinedVectorEnv`: several batches as one vector environment."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import accumulate, chain, pairwise
from operator import attrgetter
from typing import Any

import numpy as np
from gymnasium.spaces import Space, Text, Tuple
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from roll_vec.errors import (
    BatchInUseError,
    ClosedError,
    EnvironmentFaultError,
    InvalidActionError,
    InvalidOptionError,
    InvalidSeedError,
    InvalidStateError,
    ResetNeededError,
    UnsupportedError,
)
from roll_vec.joined.messages import MOVES, Call
from roll_vec.joined.parts import ActorPart, LocalPart
from roll_vec.joined.state import JoinedState
from roll_vec.options import check_choice
from roll_vec.pool.actions import check_action_batch
from roll_vec.seeding import expand_seeds
from roll_vec.spaces import UnicodeText
from roll_vec.text.validation import check_texts
from roll_vec.vector.action_sampling import BatchActionSampling
from roll_vec.vector.attributes import OBJECTIVES
from roll_vec.vector.autoreset import describe_ended, final_obs, parse_reset_mask
from roll_vec.vector.batch import ALL_NEED_RESET, one_at_a_time
from roll_vec.vector.env import RollVectorEnv
from roll_vec.vector.infos import Infos, finish_infos, join_infos
from roll_vec.vector.known_infos import faults_of
from roll_vec.vector.masks import check_mask
from roll_vec.vector.rollout import Rollout, check_out
from roll_vec.vector.snapshots import check_state_rows
from roll_vec.vector.space_batches import join_batches, map_leaves
from roll_vec.vector.state import VectorState
from roll_vec.vector.unroll import count_steps, take_steps

_FAMILY = "family"

# The errors of a part that has not moved.
_REFUSALS = (
    BatchInUseError,
    InvalidActionError,
    InvalidOptionError,
    InvalidSeedError,
    InvalidStateError,
    ResetNeededError,
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

    # Until the constructor has ended, so that `close` does nothing before.
    closed = True
    # The thread that is in a call, see `one_at_a_time`.
    _caller = 0
    _action_stream: Any = None
    sample_actions = BatchActionSampling.sample_actions

    def __init__(
        self,
        parts: Mapping[str, RollVectorEnv] | Sequence[RollVectorEnv | ActorPart],
    ) -> None:
        self._process_id = os.getpid()
        names = list(parts) if isinstance(parts, Mapping) else []
        batches = list(parts.values() if isinstance(parts, Mapping) else parts)
        self.parts = _check_parts(batches)
        self._descriptions = [part.description for part in self.parts]
        self._sizes = [one.num_envs for one in self._descriptions]
        self._starts = [0, *accumulate(self._sizes)]
        self._rows = [slice(*pair) for pair in pairwise(self._starts)]
        self.num_envs = self._starts[-1]
        self._set_attributes(self._descriptions)
        self.families = dict(zip(names, map(_range_of, self._rows), strict=False))
        self._family_of = np.repeat(
            np.array(names, object), self._sizes if names else 0
        )
        for part, start in zip(self.parts, self._starts, strict=False):
            if isinstance(part, LocalPart):
                part.batch.engine.become_part(start)
        self._has_ended = np.zeros(self.num_envs, np.bool_)
        # The last batch of observations of each part.
        self._latest: list[Any] = [None] * len(batches)
        self._is_started = self._needs_reset = False
        self.closed = False

    def _set_attributes(self, parts: Sequence[Any]) -> None:
        first, read = parts[0], attrgetter
        self.single_observation_space, self.observation_space = _join_spaces(
            list(map(read("single_observation_space"), parts)), self._sizes
        )
        self.single_action_space, self.action_space = _join_spaces(
            list(map(read("single_action_space"), parts)), self._sizes
        )
        spaces, noop = (self.single_action_space, self.action_space), first.accepts_noop
        check_pool = partial(check_action_batch, *spaces, accepts_noop=noop)
        self._check = self.parts[0].check or check_pool
        self.autoreset_mode, self.render_mode = first.autoreset_mode, first.render_mode
        modes = [one.metadata.get("render_modes", []) for one in parts]
        self.metadata = {
            **first.metadata,
            "render_modes": [one for one in modes[0] if all(one in x for x in modes)],
            "render_fps": min(one.metadata.get("render_fps", 4) for one in parts),
        }
        # Whether the parts can exchange snapshots.
        self._are_alike = len(set(map(read("digest"), parts))) == 1
        self.spec = first.spec if self._are_alike else None
        self.has_success = all(map(read("has_success"), parts))
        group_ids, start = [], 0
        for one in parts:
            group_ids.append(np.arange(one.num_envs) // one.group_size + start)
            start = int(group_ids[-1][-1]) + 1
        self.group_ids: NDArray[np.int64] = np.concatenate(group_ids)
        sizes = set(map(read("group_size"), parts))
        self.group_size = sizes.pop() if len(sizes) == 1 else 0

    # ------------------------------------------------------------ calls of parts

    def _ask(self, calls: Mapping[int, Call]) -> dict[int, Any]:
        """Let some parts make a call each; return the results by part.

        Raises
        ------
        Exception
            The first of the parts' exceptions.  If another part has moved, or a part
            needs a reset, the whole batch needs one.
        """
        values: dict[int, Any] = {}
        error: Exception | None = None
        try:
            for k, call in calls.items():
                self.parts[k].begin(call)
            for k in calls:
                part = self.parts[k]
                # A part of this process has not begun: it stays where it is.
                if error is not None and not part.is_elsewhere:
                    continue
                try:
                    values[k] = part.end()
                except Exception as one:
                    error = error or self._translate(k, one)
        except BaseException:
            self._needs_reset = True
            raise
        if error is not None:
            has_moved = bool(values) or not isinstance(error, _REFUSALS)
            has_moved = has_moved and {one.name for one in calls.values()} <= MOVES
            if has_moved or any(self.parts[k].needs_reset for k in calls):
                self._needs_reset = True
            raise error
        return values

    def _ask_all(self, name: str, *arguments: Any, **keywords: Any) -> list[Any]:
        """Let all parts make the same call; return their results."""
        call = Call(name, arguments, keywords)
        return list(self._ask(dict.fromkeys(range(len(self.parts)), call)).values())

    def _ask_masked(
        self, name: str, mask: NDArray[np.bool_], *arguments: Any, **keywords: Any
    ) -> dict[int, Any]:
        """Make a call with the keyword ``mask`` in the parts of some environments."""
        masks = {k: mask[rows] for k, rows in enumerate(self._rows) if mask[rows].any()}
        return self._ask(
            {
                k: Call(name, arguments, {"mask": own, **keywords})
                for k, own in masks.items()
            }
        )

    def _translate(self, part: int, error: Exception) -> Exception:
        """Return an exception with the environments' numbers in this batch."""
        if not isinstance(error, EnvironmentFaultError):
            return error
        start = self._starts[part]
        own = type(error)({start + i: text for i, text in error.errors.items()})
        own.__cause__ = error.__cause__
        return own

    def _check_open(self) -> None:
        if self.closed:
            message = f"{self!r} is closed"
            raise ClosedError(message)

    def _check_ready(self, use: str) -> None:
        self._check_open()
        if not self._is_started:
            message = f"the environments must be reset before {use}"
            raise ResetNeededError(message)
        if self._needs_reset:
            raise ResetNeededError(ALL_NEED_RESET)

    def _parse_mask(self, mask: Any, use: str = "") -> NDArray[np.bool_]:
        """Return the environments of a call, (n,) bool; all for None.

        Parameters
        ----------
        mask : (n,) bool, or None
        use : str
            Of a call that may be the first one, for all environments.
        """
        whole = np.zeros(self.num_envs, np.bool_)
        whole[check_mask(mask, self.num_envs)] = True
        if use and not whole.all():
            self._check_ready(use)
        return whole

    def _note_broken_call(self) -> None:
        """Demand a reset: a call of a thread that a fork does not have never ends."""
        self._needs_reset = True

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
        self._check_open()
        mask = parse_reset_mask(options, self.num_envs)
        seeds = self._expand_seeds(seed)
        resets = self._parse_mask(mask, "some of them are reset by reset_mask")
        calls = {}
        for k, rows in enumerate(self._rows):
            own = dict(options or {})
            if mask is not None:
                own["reset_mask"] = mask[rows]
            keywords = {"seed": seeds and seeds[rows], "options": own or None}
            if resets[rows].any():
                calls[k] = Call("reset", (), keywords)
        results = self._ask(calls)
        parts: list[Infos] = [{} for _ in self.parts]
        for k, (observations, infos) in results.items():
            self._latest[k], parts[k] = observations, infos
        self._has_ended = self._has_ended & ~resets
        infos = self._join_infos(parts, resets)
        faults = faults_of(infos)
        self._needs_reset = len(faults) == self.num_envs
        if self._needs_reset:
            raise EnvironmentFaultError(faults)
        self._is_started = True
        return self._join_observations(self._latest), infos

    def _expand_seeds(self, seed: Any) -> list[int | None] | None:
        if seed is None:
            return None
        if not isinstance(seed, (int, np.integer)):
            return expand_seeds(seed, self.num_envs)
        by_group = expand_seeds(seed, int(self.group_ids[-1]) + 1)
        return [by_group[group_id] for group_id in self.group_ids.tolist()]

    @one_at_a_time
    def step(
        self, actions: Any
    ) -> tuple[Any, NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_], Infos]:
        """Step every environment once; see `RollVectorEnv.step`."""
        self._check_ready("the first step")
        ended, mode = self._has_ended, self.autoreset_mode
        if mode is not AutoresetMode.NEXT_STEP and np.count_nonzero(ended):
            raise ResetNeededError(describe_ended(np.flatnonzero(ended)))
        actions = self._check_actions(actions, ended)
        cuts = [Call("step", (self._cut(actions, rows),)) for rows in self._rows]
        results = self._ask(dict(enumerate(cuts)))
        self._latest, *arrays, infos = map(list, zip(*results.values(), strict=True))
        rewards, terminations, truncations = map(np.concatenate, arrays)
        if mode is not AutoresetMode.SAME_STEP:
            self._has_ended = terminations | truncations
        observations = self._join_observations(self._latest)
        joined = self._join_infos(infos, np.ones(self.num_envs, np.bool_))
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

    def _join_observations(self, batches: Sequence[Any]) -> Any:
        return join_batches(self.single_observation_space, batches)

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
        n, sizes = self.num_envs, self._sizes
        infos = finish_infos(join_infos(list(zip(parts, sizes, strict=True))), n)
        infos |= join_infos(list(zip(finals, sizes, strict=True)))
        self._add_family(infos, mask)
        return infos

    def _add_family(self, infos: Infos, mask: NDArray[np.bool_]) -> None:
        """Add the names of parts to infos of some environments, (n,) or (T, n) bool."""
        if not self.families:
            return
        infos[_FAMILY] = np.where(mask, self._family_of, None)
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
        is_same_step = self.autoreset_mode is AutoresetMode.SAME_STEP
        if callable(actions):
            first = self._join_observations(self._latest)
            arguments = self.step, first, actions, count, out
            return take_steps(space, self.num_envs, is_same_step, *arguments)
        batches = self._check_steps(actions)
        cuts = [[self._cut(one, rows) for one in batches] for rows in self._rows]
        results = self._ask(dict(enumerate(Call("unroll", (own,)) for own in cuts)))
        return self._join_rollouts(list(results.values()), out)

    def _check_steps(self, actions: Any) -> list[Any]:
        """Return T batches of actions, checked as far as their resets are known."""
        batches, ended, mode = [], self._has_ended, self.autoreset_mode
        for t, batch in enumerate(actions):
            try:
                if mode is not AutoresetMode.NEXT_STEP and np.count_nonzero(ended):
                    raise ResetNeededError(describe_ended(np.flatnonzero(ended)))
                batches.append(self._check_actions(batch, ended))
            except (InvalidActionError, ResetNeededError) as error:
                message = f"step {t}: {error}"
                raise type(error)(message) from error
            if mode is AutoresetMode.NEXT_STEP:
                ended = np.ones(self.num_envs, np.bool_)
        return batches

    def _join_rollouts(self, parts: list[Rollout], out: Rollout | None) -> Rollout:
        """Return the rollouts of all parts as one."""
        space = self.single_observation_space
        names = "rewards", "terminations", "truncations"
        rewards, terminations, truncations = (
            np.concatenate(
                [getattr(part, name) for part in parts],
                1,
                out=out and getattr(out, name),
            )
            for name in names
        )
        batches = [part.observations for part in parts]
        self._latest = [
            map_leaves(lambda _, steps: steps[-1], space, batch) for batch in batches
        ]
        observations = join_batches(space, batches, out and out.observations, axis=1)
        finals = [part.infos.pop("final_obs", None) for part in parts]
        ends = [part.infos.pop("_final_obs", None) for part in parts]
        # As the infos of one step of T * n environments, those of a part together.
        sizes = [part.rewards.size for part in parts]
        flat = [_reshape(part.infos, 2, (-1,)) for part in parts]
        joined = finish_infos(
            join_infos(list(zip(flat, sizes, strict=True))), sum(sizes)
        )
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
        return Rollout(observations, rewards, terminations, truncations, infos)

    def final_obs(self, observations: Any, infos: Infos) -> Any:
        """Return the batch of true next observations; see `roll_vec.final_obs`."""
        return final_obs(observations, infos)

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
        calls = {k: sets[own] for k, own in enumerate(self._rows) if sets[own].any()}
        self._ask({k: Call("_check_state", (states[k],)) for k in calls})
        results = self._ask(
            {
                k: Call("set_state", (states[k],), {"mask": own})
                for k, own in calls.items()
            }
        )
        has_ended = np.concatenate([one.arrays["has_ended"] for one in states])
        self._has_ended = np.where(sets, has_ended, self._has_ended)
        for k, observations in results.items():
            self._latest[k] = observations
        self._is_started, self._needs_reset = True, False
        return self._join_observations(self._latest)

    def _rows_of(
        self, state: VectorState | JoinedState, part: int, indices: NDArray[np.int64]
    ) -> VectorState:
        """Return the rows of a snapshot that the environments of a part become."""
        rows = indices[self._rows[part]]
        if isinstance(state, VectorState):
            return state.take(rows)
        if len(state.parts) != len(self.parts):
            accepted = f"one of {len(self.parts)} parts"
            raise InvalidStateError.expected("state", accepted, len(state.parts))
        starts = state.starts
        for row in rows.tolist():
            if not starts[part] <= row < starts[part + 1]:
                message = (
                    f"rows: an environment of part {part} cannot become a copy of "
                    f"environment {row}, which is of another part"
                )
                raise InvalidStateError(message)
        return state.parts[part].take(rows - starts[part])

    # ----------------------------------------------- attributes, frames, levels

    @one_at_a_time
    def call(self, name: str, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
        """Return an attribute of each environment, called if it is a method."""
        self._check_open()
        return _chain(self._ask_all("call", name, *args, **kwargs))

    @one_at_a_time
    def get_attr(self, name: str) -> tuple[Any, ...]:
        """Return an attribute of each environment; see `RollVectorEnv.get_attr`."""
        self._check_open()
        return _chain(self._ask_all("get_attr", name))

    @one_at_a_time
    def set_attr(self, name: str, values: Any) -> None:
        """Set an attribute of each environment; see `RollVectorEnv.set_attr`."""
        self._check_open()
        if not isinstance(values, (list, tuple)):
            values = [values] * self.num_envs
        if len(values) != self.num_envs:
            accepted = f"{self.num_envs} of them or a single one"
            raise InvalidOptionError.expected("values", accepted, len(values))
        # Stacked arrays first: they refuse it, and nothing has changed.
        order = sorted(
            range(len(self.parts)), key=lambda k: self._descriptions[k].has_objects
        )
        self._ask({k: Call("set_attr", (name, values[self._rows[k]])) for k in order})

    @property
    def np_random_seed(self) -> tuple[int | None, ...]:  # type: ignore[override]
        """The seed of each environment's stream; None before the first reset."""
        return self.get_attr("np_random_seed")

    @property  # type: ignore[override]
    def np_random(self) -> tuple[np.random.Generator, ...]:
        """The generators of the environments; see `RollVectorEnv.np_random`."""
        return self.get_attr("np_random")

    @np_random.setter
    def np_random(self, value: Any) -> None:
        self.set_attr("np_random", value)

    @property
    def successes(self) -> NDArray[np.bool_]:
        """(num_envs,) bool: whether each environment's last step was a success."""
        return np.concatenate(self._ask_all("successes"))

    @one_at_a_time
    def render(self) -> tuple[Any, ...] | None:
        """Return a frame of each environment; None without a render mode."""
        return self.render_envs(range(self.num_envs))

    @one_at_a_time
    def render_envs(self, indices: Sequence[int] | range) -> tuple[Any, ...] | None:
        """Return a frame of some environments, as `render` does of all."""
        self._check_ready("they are rendered")
        env_ids = np.asarray(indices, np.int64)
        parts = np.searchsorted(self._starts, env_ids, "right") - 1
        own_ids = {
            k: env_ids[parts == k] - self._starts[k] for k in set(parts.tolist())
        }
        results = self._ask(
            {k: Call("render_envs", (own_ids[k],)) for k in sorted(own_ids)}
        )
        if self.render_mode is None:
            return None
        frames = {k: iter(result) for k, result in results.items()}
        return tuple(next(frames[k]) for k in parts.tolist())

    @property
    def fault_counts(self) -> NDArray[np.int64]:
        """(num_envs,) int64: failed steps and attempts at a reset, by environment.

        Raises
        ------
        AttributeError
            If all environments are in stacked arrays, which have no faults.
        """
        counts = np.zeros(self.num_envs, np.int64)
        for k, own in self._ask_pools("fault_counts").items():
            counts[self._rows[k]] = own
        return counts

    @property
    def faults(self) -> dict[str, int]:
        """Failed steps and attempts at a reset, by kind; see `fault_counts`."""
        counts = list(self._ask_pools("faults").values())
        return {kind: sum(own[kind] for own in counts) for kind in counts[0]}

    @property
    def abandoned_threads(self) -> int:
        """Number of threads that were left to environments that took too long."""
        return sum(self._ask_pools("abandoned_threads").values())

    def _ask_pools(self, name: str) -> dict[int, Any]:
        pools = [k for k, one in enumerate(self._descriptions) if one.can_fail]
        if not pools:
            message = "environments in stacked arrays have no faults"
            raise AttributeError(message)
        self._check_open()
        return self._ask(dict.fromkeys(pools, Call(name)))

    @one_at_a_time
    def solve(
        self, objective: str = "moves", *, mask: NDArray[np.bool_] | None = None
    ) -> tuple[Any, ...]:
        """Return a solution of each environment; see `RollVectorEnv.solve`."""
        self._check_ready("solve")
        check_choice("objective", objective, OBJECTIVES)
        results = self._ask_masked("solve", self._parse_mask(mask), objective)
        return _chain([results.get(k, (None,) * n) for k, n in enumerate(self._sizes)])

    @one_at_a_time
    def set_level_options(
        self, *, mask: NDArray[np.bool_] | None = None, **level_options: Any
    ) -> None:
        """Change the levels from next episodes on; see `RollVectorEnv`.

        Raises
        ------
        UnsupportedError
            If the environments are of parts that differ: the mask chooses one part.
        """
        self._check_open()
        whole = self._parse_mask(mask)
        parts = [k for k, rows in enumerate(self._rows) if whole[rows].any()]
        if len(parts) > 1 and not self._are_alike:
            message = (
                f"set_level_options: the environments are of the parts {parts}, whose "
                "level options differ: choose one part by mask"
            )
            raise UnsupportedError(message)
        self._ask_masked("set_level_options", whole, **level_options)

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


def _check_parts(batches: Sequence[Any]) -> tuple[LocalPart | ActorPart, ...]:
    """Return the parts of a joined batch.

    Raises
    ------
    InvalidOptionError
    """
    accepted = "different vector environments of roll_vec without wrappers"
    are_parts = [isinstance(one, (RollVectorEnv, ActorPart)) for one in batches]
    if not batches or not all(are_parts) or len(set(map(id, batches))) < len(batches):
        raise InvalidOptionError.expected("parts", accepted, batches)
    parts = tuple(
        LocalPart(one) if isinstance(one, RollVectorEnv) else one for one in batches
    )
    for name in ("autoreset_mode", "render_mode"):
        values = [getattr(part.description, name) for part in parts]
        if len(set(values)) > 1 or values[0] == "human":
            # A window shows boards of one batch.
            wanted = f"one {name} in all parts, and not human"
            raise InvalidOptionError.expected("parts", wanted, values)
    return parts


def _join_spaces(
    spaces: Sequence[Space[Any]], sizes: Sequence[int]
) -> tuple[Space[Any], Space[Any]]:
    """Return the space of one environment of any part, and that of the batch.

    Raises
    ------
    InvalidOptionError
        If the spaces differ and are not all of texts.
    """
    if all(space == spaces[0] for space in spaces):
        return spaces[0], batch_space(spaces[0], sum(sizes))
    texts = [space for space in spaces if isinstance(space, UnicodeText)]
    if len(texts) < len(spaces):
        hint = "; with obs_mode='text' and action_mode='text' games have texts"
        accepted = "batches of one space, or of texts"
        raise InvalidOptionError.expected("parts", accepted, spaces, hint)
    longest = max(text.max_length for text in texts)
    make = partial(UnicodeText, longest, min_length=min(x.min_length for x in texts))
    alphabets = [text.alphabet for text in texts]
    alphabet = None
    if None not in alphabets:
        alphabet = "".join(dict.fromkeys("".join(map(str, alphabets))))
    examples = dict.fromkeys(chain.from_iterable(text.examples for text in texts))
    # A sample of the batch has for each environment a text of its own part; the bounds
    # are those of all, so that the space equals `batch_space` of the single one.
    batches: list[Any] = []
    for text, size in zip(texts, sizes, strict=True):
        own = make(examples=text.examples, alphabet=text.alphabet)
        batches += batch_space(own, size)  # type: ignore[arg-type]
    return make(examples=tuple(examples), alphabet=alphabet), Tuple(batches)


def _range_of(rows: slice) -> range:
    return range(rows.start, rows.stop)


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


def _chain(parts: Sequence[Sequence[Any]]) -> tuple[Any, ...]:
    return tuple(chain.from_iterable(parts))
