"""The autoreset modes: the environments that a step resets, and the infos of it.

`Autoreset` steps an engine in one of Gymnasium's three modes; `EpisodeStatistics`
counts its episodes, for ``infos["episode"]``.  The functions check the mode and the
mask of a partial reset, and put the last observations of episodes back into a batch.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray

from roll_vec.errors import (
    EnvironmentFaultError,
    InvalidOptionError,
    InvalidOptionTypeError,
    ResetNeededError,
    RollVecError,
    list_env_ids,
)
from roll_vec.options import check_choice
from roll_vec.seeding import MAX_COUNT
from roll_vec.vector.columns import check_numbers
from roll_vec.vector.engine import NO_IDS, Engine
from roll_vec.vector.infos import (
    AnyInfos,
    Infos,
    add_infos,
    cut_final_infos,
    finish_infos,
    stamp_infos,
)
from roll_vec.vector.masks import list_rows

# Python 3.11 takes 0.1 us to look a member up in its enum, a few ns to read a global.
NEXT_STEP, SAME_STEP = AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP

# Of the arrays of a snapshot: dtype, the lowest and the highest value.
_LIMITS: dict[str, tuple[type, float, float]] = {
    "has_ended": (np.bool_, 0, 1),
    "episode_returns": (np.float64, -np.inf, np.inf),
    "episode_lengths": (np.int64, 0, MAX_COUNT),
}

StepArrays: TypeAlias = tuple[
    NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_], Infos
]


class Point(NamedTuple):
    """A moment of a batch whose engine can go back."""

    autoreset: Autoreset
    engine_point: Any
    state: dict[str, NDArray[Any]]

    def go_back(self) -> None:
        """Undo what engine and autoreset have done since."""
        self.autoreset.engine.go_back(self.engine_point)
        env_ids = np.arange(self.autoreset.engine.num_envs)
        self.autoreset.set_state(self.state, env_ids, env_ids)


class Autoreset:
    """An engine, and the environments whose episode has ended.

    ::

                     the step that ends an episode        the step after it
        NEXT_STEP    returns the last observation         ignores the action and resets
        SAME_STEP    resets; the last observation and     is the first of the next
                     info are in ``final_obs`` and        episode
                     ``final_info``
        DISABLED     returns the last observation         raises, until `reset`

    Parameters
    ----------
    engine : Engine
    mode : AutoresetMode
    episode_info : bool
        True: infos have ``episode``, return and length of episodes that end.
    reset_stamps : dict of (num_envs,) arrays
        Further infos of resets: the value of each environment.

    Attributes
    ----------
    statistics : EpisodeStatistics or None
    has_ended : (num_envs,) bool
        Environments whose episode has ended and that were not reset.  Always replaced
        and never written to: other code keeps references to it.  Usually it is the same
        array where there are none, so that nobody looks into it.
    is_ready : bool
        False before the first reset, while environments move, and after a call that
        was broken off on its way: then every environment must be reset.  `step` leaves
        it False: its caller sets it when the results are complete.
    """

    def __init__(
        self,
        engine: Engine,
        mode: AutoresetMode,
        episode_info: bool = False,
        reset_stamps: Mapping[str, NDArray[Any]] = MappingProxyType({}),
    ) -> None:
        self.engine, self.mode = engine, mode
        self.reset_stamps = dict(reset_stamps)
        self.statistics = EpisodeStatistics(engine.num_envs) if episode_info else None
        self._none = np.zeros(engine.num_envs, np.bool_)
        self.has_ended = self._none
        self.is_ready = False

    def reset(
        self,
        env_ids: NDArray[np.int64],
        seeds: Sequence[int | None],
        options: dict[str, Any] | None,
    ) -> Infos:
        """Start new episodes in some environments, and return their infos.

        Parameters and errors are those of `Engine.reset`.
        """
        self.engine.reset(env_ids, seeds, options)
        infos = self._add_reset_infos(None, env_ids)
        has_ended = self.has_ended.copy()
        has_ended[env_ids] = False
        self.has_ended = has_ended
        if self.statistics is not None:
            self.statistics.start(env_ids)
        return infos

    def step(self, actions: Any, mask: NDArray[np.bool_] | None = None) -> StepArrays:
        """Step the environments, and reset those that the mode says.

        Parameters
        ----------
        actions : batch
        mask : (num_envs,) bool, or None
            The environments to step or to reset; None: all.

        Returns
        -------
        rewards, terminations, truncations, infos
            As `RollVectorEnv.step` returns them.

        Raises
        ------
        InvalidActionError
        ResetNeededError
            If an environment of the mask has ended and this step does not reset it.
        LevelGenerationError
            If a next episode has no level.  In SAME_STEP mode the environments have
            ended then, and are to be reset.
        """
        engine, mode, idle_mask = self.engine, self.mode, None
        has_ended = self.has_ended
        if mask is not None:
            idle_mask, has_ended = ~mask, has_ended & mask
        resetting, env_ids = self._none, NO_IDS
        if has_ended is self._none:
            pass
        elif mode is NEXT_STEP:
            resetting, env_ids = has_ended, list_rows(has_ended)
        # count_nonzero, not any(): on a bool array it takes a fifth of the time.
        elif np.count_nonzero(has_ended):
            raise ResetNeededError(describe_ended(np.flatnonzero(has_ended)))
        skip_mask = resetting if idle_mask is None else resetting | idle_mask
        # Everything that can be refused is refused before any environment moves.
        actions = engine.check_actions(actions, skip_mask)

        self.is_ready = False
        try:
            rewards, terminations, truncations, infos = engine.step(
                actions, skip_mask, idle_mask, env_ids
            )
            ends = engine.ends if engine.has_ends else self._none
            if ends is None:
                ends = terminations | truncations
            self.has_ended = (
                ends if idle_mask is None else ends | (self.has_ended & idle_mask)
            )
            if len(env_ids) and (self.reset_stamps or engine.needs_reset_infos):
                infos = self._add_reset_infos(infos, env_ids)
            entry: Infos | None = None
            if self.statistics is not None:
                # Before a reset, which can raise.
                entry = self.statistics.count_step(rewards, resetting, ends, mask=mask)
            if mode is SAME_STEP and engine.has_ends and np.count_nonzero(ends):
                infos = self._reset_ended(infos, ends)
                if self.statistics is not None:
                    self.statistics.start(ends)
            if not isinstance(infos, dict):
                infos = finish_infos(infos, engine.num_envs)
            if entry:
                (infos["final_info"] if mode is SAME_STEP else infos).update(entry)
        except RollVecError as error:
            # A missing level: its page says what has moved then.
            self.is_ready = not isinstance(error, EnvironmentFaultError)
            raise
        return rewards, terminations, truncations, infos

    def _reset_ended(self, infos: AnyInfos, ends: NDArray[np.bool_]) -> Infos:
        """Reset the environments that this step ended; return the step's infos."""
        env_ids = list_rows(ends)
        last = self.engine.observe_envs(env_ids)
        final_info = cut_final_infos(infos, ends)
        self.engine.advance(env_ids)
        infos = self._add_reset_infos(infos, env_ids)
        add_finals(infos, ends, env_ids, last, final_info)
        # Last: where an episode has no level, its environment stays among the ended.
        self.has_ended = self.has_ended & ~ends
        return infos

    def _add_reset_infos(
        self, infos: AnyInfos | None, env_ids: NDArray[np.int64]
    ) -> Infos:
        """Return the infos of a step, or none, with those of some resets."""
        num_envs = self.engine.num_envs
        new = self.reset_infos(env_ids)
        if new or infos is None:
            infos = add_infos(infos, env_ids, new, num_envs)
        return finish_infos(infos, num_envs)

    def reset_infos(self, env_ids: NDArray[np.int64]) -> AnyInfos:
        """Return `Engine.reset_infos` of some environments, with their stamps."""
        infos = self.engine.reset_infos(env_ids)
        if not self.reset_stamps:
            return infos
        return stamp_infos(infos, self._take_stamps(env_ids), None)

    def _take_stamps(self, env_ids: NDArray[np.int64]) -> dict[str, NDArray[Any]]:
        return {name: values[env_ids] for name, values in self.reset_stamps.items()}

    def stamp(
        self,
        infos: AnyInfos,
        env_ids: NDArray[np.int64],
        has_reset: NDArray[np.bool_],
    ) -> Any:
        """Return infos of some environments with their stamps.

        Parameters
        ----------
        infos : list of m dicts
        env_ids : (m,) int64
        has_reset : (m,) bool
            Those whose infos are of a reset; the others' are of a step.
        """
        if not self.reset_stamps:
            return infos
        return stamp_infos(infos, self._take_stamps(env_ids), has_reset)

    def demand_reset(self) -> None:
        """Demand a reset of all environments."""
        self.is_ready = False

    # ---------------------------------------------------------------- snapshots

    def save_point(self) -> Point | None:
        """Return the present moment; None if the engine cannot go back."""
        point = self.engine.save_point()
        return None if point is None else Point(self, point, self.get_state())

    @property
    def state_names(self) -> frozenset[str]:
        """The names of the arrays of `get_state`."""
        return frozenset(_LIMITS if self.statistics is not None else ["has_ended"])

    def get_state(self) -> dict[str, NDArray[Any]]:
        """Return the ended environments and the statistics, as arrays of a snapshot."""
        arrays: dict[str, NDArray[Any]] = {"has_ended": self.has_ended}
        if self.statistics is not None:
            arrays["episode_returns"] = self.statistics.returns.copy()
            arrays["episode_lengths"] = self.statistics.lengths.copy()
        return arrays

    def check_state(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Check the arrays of `get_state` in a snapshot.

        Raises
        ------
        InvalidStateError
        """
        for name in sorted(self.state_names):
            check_numbers(name, arrays.get(name), *_LIMITS[name])

    def set_state(
        self,
        arrays: Mapping[str, NDArray[Any]],
        rows: NDArray[np.int64],
        env_ids: NDArray[np.int64],
    ) -> None:
        """Take over rows of the arrays of a snapshot; see `Engine.set_state`."""
        has_ended = arrays["has_ended"][rows]
        if len(env_ids) < self.engine.num_envs:
            has_ended, new = self.has_ended.copy(), has_ended
            has_ended[env_ids] = new
        self.has_ended = has_ended
        if self.statistics is not None:
            self.statistics.returns[env_ids] = arrays["episode_returns"][rows]
            self.statistics.lengths[env_ids] = arrays["episode_lengths"][rows]


def add_finals(
    infos: Infos,
    ends: NDArray[np.bool_],
    env_ids: NDArray[np.int64] | Sequence[int],
    observations: Sequence[Any],
    final_info: Infos,
) -> None:
    """Add ``final_obs`` and ``final_info`` to the infos of a step in SAME_STEP mode.

    Parameters
    ----------
    infos : dict
    ends : (n,) bool
    env_ids : m int
        The environments of this mask.
    observations : sequence
        The last one of each episode that ended.
    final_info : dict
        A layout of n environments.
    """
    whole = np.empty(len(ends), object)  # all None
    # Not from the sequence itself: numpy would unpack observations of equal shape.
    whole[env_ids] = np.fromiter(observations, object, len(observations))
    infos["final_obs"], infos["_final_obs"] = whole, ends.copy()
    infos["final_info"], infos["_final_info"] = final_info, ends.copy()


def describe_ended(env_ids: NDArray[np.int64]) -> str:
    """Return the message for a step of environments that have ended."""
    return (
        f"environments {list_env_ids(env_ids)} have ended and were not reset: do so "
        "with options={'reset_mask': mask}"
    )


def check_autoreset_mode(name: str, mode: AutoresetMode | str) -> AutoresetMode:
    """Return the mode for Gymnasium's enum or its value as a string.

    Raises
    ------
    InvalidOptionError
        If it is neither.
    """
    if not isinstance(mode, AutoresetMode):
        check_choice(name, mode, [each.value for each in AutoresetMode])
    return AutoresetMode(mode)


def parse_reset_mask(
    options: dict[str, Any] | None, num_envs: int
) -> NDArray[np.bool_] | None:
    """Return ``options["reset_mask"]``, None where there is none.

    Raises
    ------
    InvalidOptionTypeError
        If ``options`` is no dict, or the mask no array of bool.
    InvalidOptionError
        If its shape is not ``(num_envs,)`` or it has no True.
    """
    if options is None:
        return None
    if not isinstance(options, Mapping):
        raise InvalidOptionTypeError.expected("options", "a dict or None", options)
    if "reset_mask" not in options:
        return None
    mask = options["reset_mask"]
    # Gymnasium's checks in their order and their words, which its tests look for.
    if not isinstance(mask, np.ndarray):
        message = f"`options['reset_mask']` must be a numpy array, got {type(mask)}"
        raise InvalidOptionTypeError(message)
    if mask.shape != (num_envs,):
        message = (
            f"`options['reset_mask']` must have shape `({num_envs},)`, got {mask.shape}"
        )
        raise InvalidOptionError(message)
    if mask.dtype != np.bool_:
        message = (
            f"`options['reset_mask']` must have `dtype=np.bool_`, got {mask.dtype}"
        )
        raise InvalidOptionTypeError(message)
    if not mask.any():
        message = (
            "`options['reset_mask']` must contain a boolean array with at least one "
            f"True value, got reset_mask={mask}"
        )
        raise InvalidOptionError(message)
    return mask


def final_obs(observations: Any, infos: Infos) -> Any:
    """Return the batch of true next observations of a step, in any autoreset mode.

    In SAME_STEP mode Gymnasium returns the last observations of episodes as an object
    array with None elsewhere.  This function puts them into the step's batch, as value
    targets need it.

    Parameters
    ----------
    observations : (n, ...) array or tuple of n
        As returned by `step`; not changed.
    infos : dict
        As returned by the same `step`.

    Returns
    -------
    A new batch in the form of ``observations``.
    """
    if "final_obs" not in infos:
        return observations if isinstance(observations, tuple) else observations.copy()
    mask, finals = infos["_final_obs"], infos["final_obs"]
    if isinstance(observations, tuple):
        pairs = zip(observations, finals, mask, strict=True)
        return tuple(final if has else obs for obs, final, has in pairs)
    dense = observations.copy()
    dense[mask] = np.stack(finals[mask])
    return dense


_ALL = slice(None)


class EpisodeStatistics:
    """The sum of the rewards and the number of the steps of each present episode.

    The entries of ended episodes have the layout of Gymnasium's vector wrapper
    `RecordEpisodeStatistics`, ``{"r": returns, "l": lengths}``, without its time ``t``.

    Attributes
    ----------
    returns : (n,) float64
    lengths : (n,) int64
    """

    def __init__(self, num_envs: int) -> None:
        self.returns = np.zeros(num_envs)
        self.lengths = np.zeros(num_envs, np.int64)

    def start(self, env_ids: NDArray[Any]) -> None:
        """Begin new episodes in some environments: ids, or a (n,) bool mask."""
        self.returns[env_ids] = 0.0
        self.lengths[env_ids] = 0

    def count_step(
        self,
        rewards: NDArray[np.float64],
        has_reset: NDArray[np.bool_],
        has_ended: NDArray[np.bool_],
        env_ids: NDArray[np.int64] | slice = _ALL,
        mask: NDArray[np.bool_] | None = None,
    ) -> Infos:
        """Count a step; return ``episode`` for its infos if an episode has ended.

        Parameters
        ----------
        rewards : (m,) float64
        has_reset : (m,) bool
            Environments whose new episode began in place of a step.
        has_ended : (m,) bool
        env_ids : (m,) int64, or slice
            The environments, all different.
        mask : (m,) bool, or None
            Those of them that took the step, or were reset; None: all.
        """
        count: Any = 1 if mask is None else mask
        returns = np.where(has_reset, 0.0, self.returns[env_ids] + rewards)
        lengths = np.where(has_reset, 0, self.lengths[env_ids] + count)
        self.returns[env_ids], self.lengths[env_ids] = returns, lengths
        if not np.count_nonzero(has_ended):
            return {}
        return _make_entry(returns, lengths, has_ended)

    def count_steps(
        self,
        rewards: NDArray[np.float64],
        resets: NDArray[np.bool_],
        ends: NDArray[np.bool_],
        resets_at_ends: bool,
    ) -> Infos:
        """Count T steps; return ``episode`` for their infos; all arrays are (T, n).

        Parameters
        ----------
        rewards : (T, n) float64
        resets : (T, n) bool
            Steps that began an episode and nothing else.
        ends : (T, n) bool
        resets_at_ends : bool
            Whether the step that ends an episode begins the next one.
        """
        returns, lengths = np.zeros(rewards.shape), np.zeros(rewards.shape, np.int64)
        for t in range(len(rewards)):
            self.count_step(rewards[t], resets[t], ends[t])
            returns[t], lengths[t] = self.returns, self.lengths
            if resets_at_ends:
                self.start(ends[t])
        return _make_entry(returns, lengths, ends) if np.count_nonzero(ends) else {}


def _make_entry(
    returns: NDArray[np.float64],
    lengths: NDArray[np.int64],
    has_ended: NDArray[np.bool_],
) -> Infos:
    """Return ``episode`` and its mask; the arrays have one shape, and are copied."""
    entry = {
        "r": np.where(has_ended, returns, 0.0),
        "_r": has_ended.copy(),
        "l": np.where(has_ended, lengths, 0),
        "_l": has_ended.copy(),
    }
    return {"episode": entry, "_episode": has_ended.copy()}
