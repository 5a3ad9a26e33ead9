"""Parts that are asked together: the first base of `JoinedVectorEnv`.

It has the calls of all parts, and the methods that move no episode.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import accumulate, chain, pairwise
from typing import Any

import numpy as np
from gymnasium.spaces import Space, Tuple
from gymnasium.vector import VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from roll_vec.errors import (
    BatchInUseError,
    EnvironmentFaultError,
    InvalidActionError,
    InvalidOptionError,
    InvalidSeedError,
    InvalidStateError,
    PartLostError,
    ResetNeededError,
    UnsupportedError,
)
from roll_vec.joined.actors import ActorPart
from roll_vec.joined.calls import MOVES, Call, LocalPart
from roll_vec.options import check_choice
from roll_vec.pool.actions import check_action_batch
from roll_vec.spaces import UnicodeText
from roll_vec.vector.action_sampling import BatchActionSampling
from roll_vec.vector.attributes import OBJECTIVES
from roll_vec.vector.batch import one_at_a_time
from roll_vec.vector.env import RollVectorEnv
from roll_vec.vector.masks import check_mask

# The errors of a part that has not moved.
_REFUSALS = (
    BatchInUseError,
    InvalidActionError,
    InvalidOptionError,
    InvalidSeedError,
    InvalidStateError,
    ResetNeededError,
)


class JoinedParts(VectorEnv[Any, Any, Any]):
    """Base of `roll_vec.joined.vector_env.JoinedVectorEnv`: what parts are asked."""

    # Until the constructor has ended, so that `close` does nothing before.
    closed = True
    # The thread that is in a call, see `one_at_a_time`.
    _caller = 0
    _action_stream: Any = None
    sample_actions = BatchActionSampling.sample_actions
    _check_open: Any = BatchActionSampling._check_open
    np_random: Any = BatchActionSampling.np_random
    np_random_seed: Any = BatchActionSampling.np_random_seed

    def __init__(
        self,
        parts: Mapping[str, RollVectorEnv] | Sequence[RollVectorEnv | ActorPart],
    ) -> None:
        names = list(parts) if isinstance(parts, Mapping) else []
        batches = parts.values() if isinstance(parts, Mapping) else parts
        self.parts = _check_parts(list(batches))
        self._descriptions = all_of = [part.description for part in self.parts]
        first, sizes = all_of[0], [one.num_envs for one in all_of]
        self._starts = [0, *accumulate(sizes)]
        self._rows = [slice(*pair) for pair in pairwise(self._starts)]
        self.num_envs = self._starts[-1]
        self.autoreset_mode, self.render_mode = first.autoreset_mode, first.render_mode
        spaces = [one.single_observation_space for one in all_of]
        self.single_observation_space, self.observation_space = _join_spaces(
            spaces, sizes
        )
        spaces = [one.single_action_space for one in all_of]
        self.single_action_space, self.action_space = _join_spaces(spaces, sizes)
        self._check = self.parts[0].check or partial(
            check_action_batch,
            self.single_action_space,
            self.action_space,
            accepts_noop=first.accepts_noop,
        )
        # Whether the parts can exchange snapshots.
        self._are_alike = len({one.digest for one in all_of}) == 1
        self.metadata = first.metadata
        self.spec = first.spec if self._are_alike else None
        self.has_success = all(one.has_success for one in all_of)
        group_sizes = [one.group_size for one in all_of]
        self.group_size = group_sizes[0] if len(set(group_sizes)) == 1 else 0
        group_of, counts = np.repeat(group_sizes, sizes), np.arange(self.num_envs)
        begins = (counts - np.repeat(self._starts[:-1], sizes)) % group_of == 0
        self.group_ids: NDArray[np.int64] = np.cumsum(begins) - 1
        self.families = {
            name: range(rows.start, rows.stop)
            for name, rows in zip(names, self._rows, strict=False)
        }
        self._family_of = np.repeat(np.array(names, object), sizes if names else [])
        for part, start in zip(self.parts, self._starts, strict=False):
            if isinstance(part, LocalPart):
                part.batch._become_part(start)
        self._has_ended = np.zeros(self.num_envs, np.bool_)
        # The last batch of observations of each part.
        self._latest: list[Any] = [None] * len(self.parts)
        self._is_started = self._needs_reset = False
        self.closed = False

    # ------------------------------------------------------------ calls of parts

    def _ask(self, calls: Mapping[int, Call]) -> dict[int, Any]:
        """Let some parts make a call each; return the results by part.

        After calls that move environments the batch needs a reset, until the caller has
        joined the results.

        Raises
        ------
        Exception
            The first of the parts' exceptions.  If another part has moved, or an actor
            is lost, the whole batch needs a reset.
        """
        self._check_open()
        values: dict[int, Any] = {}
        errors: list[Exception] = []
        # None move where there are no calls, as with an empty mask.
        moves = any(call.name in MOVES for call in calls.values())
        before = self._needs_reset
        self._needs_reset, has_begun = before or moves, False
        try:
            for k, call in calls.items():
                self.parts[k].begin(call)
                has_begun = True
            for k in calls:
                # After an error a part of this process stays where it is.
                if not errors or isinstance(self.parts[k], ActorPart):
                    try:
                        values[k] = self.parts[k].end()
                    except Exception as error:
                        errors.append(self._translate(k, error))
        except BaseException:
            # Not where the first call cannot be pickled.
            self._needs_reset = before or has_begun
            raise
        if errors:
            are_refusals = all(isinstance(error, _REFUSALS) for error in errors)
            has_moved = moves and (bool(values) or not are_refusals)
            is_lost = any(isinstance(error, PartLostError) for error in errors)
            self._needs_reset = before or has_moved or is_lost
            raise errors[0]
        return values

    def _ask_all(self, name: str, *arguments: Any, **keywords: Any) -> list[Any]:
        """Let all parts make the same call; return their results."""
        call = Call(name, arguments, keywords)
        return list(self._ask(dict.fromkeys(range(len(self.parts)), call)).values())

    def _translate(self, part: int, error: Exception) -> Exception:
        """Return an exception with the environments' numbers in this batch."""
        if not isinstance(error, EnvironmentFaultError):
            return error
        start = self._starts[part]
        texts = {start + env_id: text for env_id, text in error.errors.items()}
        translation = type(error)(texts)
        translation.__cause__ = error.__cause__
        return translation

    def _check_ready(self, use: str) -> None:
        self._check_open()
        if not self._is_started:
            message = f"the environments must be reset before {use}"
            raise ResetNeededError(message)
        if self._needs_reset:
            message = (
                "every environment must be reset: a call raised an error, or was "
                "interrupted, when some may have moved; call reset() without a mask, "
                "or set_state"
            )
            raise ResetNeededError(message)

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

    def _masks_of(self, mask: NDArray[np.bool_]) -> dict[int, NDArray[np.bool_]]:
        """Return the mask of each part that has environments of a mask."""
        masks = {k: mask[rows] for k, rows in enumerate(self._rows)}
        return {k: part_mask for k, part_mask in masks.items() if part_mask.any()}

    # ----------------------------------------------- attributes, frames, levels

    @one_at_a_time
    def call(self, name: str, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
        """Return an attribute of each environment, called if it is a method."""
        return tuple(chain(*self._ask_all("call", name, *args, **kwargs)))

    @one_at_a_time
    def get_attr(self, name: str) -> tuple[Any, ...]:
        """Return an attribute of each environment; see `RollVectorEnv.get_attr`."""
        return tuple(chain(*self._ask_all("get_attr", name)))

    @one_at_a_time
    def set_attr(self, name: str, values: Any) -> None:
        """Set an attribute of each environment; see `RollVectorEnv.set_attr`."""
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
        ids = {k: env_ids[parts == k] - self._starts[k] for k in set(parts.tolist())}
        results = self._ask({k: Call("render_envs", (ids[k],)) for k in sorted(ids)})
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
        for k, part_counts in self._ask_pools("fault_counts").items():
            counts[self._rows[k]] = part_counts
        return counts

    @property
    def faults(self) -> dict[str, int]:
        """Failed steps and attempts at a reset, by kind; see `fault_counts`."""
        counts = list(self._ask_pools("faults").values())
        return {kind: sum(one[kind] for one in counts) for kind in counts[0]}

    @property
    def abandoned_threads(self) -> int:
        """Number of threads that were left to environments that took too long."""
        return sum(self._ask_pools("abandoned_threads").values())

    def _ask_pools(self, name: str) -> dict[int, Any]:
        pools = [k for k, one in enumerate(self._descriptions) if one.has_objects]
        if not pools:
            message = "environments in stacked arrays have no faults"
            raise AttributeError(message)
        return self._ask(dict.fromkeys(pools, Call(name)))

    @one_at_a_time
    def solve(
        self, objective: str = "moves", *, mask: NDArray[np.bool_] | None = None
    ) -> tuple[Any, ...]:
        """Return a solution of each environment; see `RollVectorEnv.solve`."""
        self._check_ready("solve")
        check_choice("objective", objective, OBJECTIVES)
        masks = self._masks_of(self._parse_mask(mask))
        results = self._ask(
            {k: Call("solve", (objective,), {"mask": one}) for k, one in masks.items()}
        )
        solutions: list[Any] = [None] * self.num_envs
        for k, part_solutions in results.items():
            solutions[self._rows[k]] = part_solutions
        return tuple(solutions)

    @one_at_a_time
    def set_level_options(self, **level_options: Any) -> None:
        """Change the levels from next episodes on; see `RollVectorEnv`.

        Raises
        ------
        UnsupportedError
            If the parts differ: ``parts[k].batch.set_level_options`` changes one.
        """
        if not self._are_alike:
            message = (
                "set_level_options: the parts differ; change the level options of one "
                "by parts[k].batch.set_level_options"
            )
            raise UnsupportedError(message)
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


def _check_parts(batches: list[Any]) -> tuple[LocalPart | ActorPart, ...]:
    """Return the parts of a joined batch.

    Raises
    ------
    InvalidOptionError
    """
    are_parts = [isinstance(one, (RollVectorEnv, ActorPart)) for one in batches]
    if not batches or not all(are_parts) or len(set(map(id, batches))) < len(batches):
        accepted = "different vector environments of roll_vec without wrappers"
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
    examples = dict.fromkeys(chain(*(text.examples for text in texts)))
    # A sample of the batch has for each environment a text of its own part; the bounds
    # are those of all, so that the space equals `batch_space` of the single one.
    batches: list[Any] = []
    for text, size in zip(texts, sizes, strict=True):
        space = make(examples=text.examples)
        batches += batch_space(space, size)  # type: ignore[arg-type]
    return make(examples=tuple(examples)), Tuple(batches)
