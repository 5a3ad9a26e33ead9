"""The autoreset modes: the environments that a step resets, and the infos of it.

`Autoreset` steps an engine in one of Gymnasium's three modes.  The functions check the
mode and the mask of a partial reset, and put the last observations of episodes back
into a batch.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray

from roll_vec.errors import (
    InvalidOptionError,
    InvalidOptionTypeError,
    LevelGenerationError,
    ResetNeededError,
    list_env_ids,
)
from roll_vec.options import check_choice
from roll_vec.vector.engine import NO_IDS, Engine
from roll_vec.vector.infos import (
    AnyInfos,
    Infos,
    add_infos,
    cut_final_infos,
    finish_infos,
)
from roll_vec.vector.masks import list_rows

NOT_RESET = "the constructor"
_BATCHES = {np.ndarray, dict, tuple}

# Python 3.11 takes 0.1 us to look a member up in its enum, a few ns to read a global.
NEXT_STEP, SAME_STEP = AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP

StepArrays: TypeAlias = tuple[
    NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_], Infos
]


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

    Attributes
    ----------
    has_ended : (num_envs,) bool
        Environments whose episode has ended and that were not reset.  Always replaced
        and never written to: other code keeps references to it.  Usually it is the same
        array where there are none, so that nobody looks into it.
    unfinished_call : str
        The call that moves environments, or has raised when some may have moved: every
        environment must be reset then.  It is set before anything moves, and back to ""
        by the caller, when the results are complete.  First it is `NOT_RESET`.
    """

    def __init__(self, engine: Engine, mode: AutoresetMode) -> None:
        self.engine, self.mode = engine, mode
        self._none = np.zeros(engine.num_envs, np.bool_)
        self.has_ended = self._none
        self.unfinished_call = NOT_RESET

    def reset(
        self,
        env_ids: NDArray[np.int64],
        seeds: Sequence[int | None] | None,
        options: dict[str, Any] | None,
    ) -> Infos:
        """Start new episodes in some environments, and return their infos.

        Parameters and errors are those of `Engine.reset`.
        """
        self.engine.reset(env_ids, seeds, options)
        infos = self._add_begin_infos(None, env_ids)
        has_ended = self.has_ended.copy()
        has_ended[env_ids] = False
        self.has_ended = has_ended
        return infos

    def step(self, actions: Any, mask: NDArray[np.bool_] | None = None) -> StepArrays:
        """Step the environments, and reset those that the mode says.

        Parameters
        ----------
        actions : batch
        mask : (num_envs,) bool, or None
            The environments to step, in DISABLED mode alone; None: all.

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
            If a next episode has no level.  In SAME_STEP mode all environments have
            moved then, and must be reset.
        """
        engine, mode = self.engine, self.mode
        has_ended = self.has_ended
        if mask is not None:
            has_ended = has_ended & mask
        resetting, env_ids = self._none, NO_IDS
        if has_ended is self._none:
            pass
        elif mode is NEXT_STEP:
            resetting, env_ids = has_ended, list_rows(has_ended)
        # count_nonzero, not any(): on a bool array it takes a fifth of the time.
        elif np.count_nonzero(has_ended):
            raise ResetNeededError(describe_ended(np.flatnonzero(has_ended)))
        skip_mask = resetting if mask is None else ~mask
        # Everything that can be refused is refused before any environment moves.
        actions = engine.check_actions(actions, skip_mask)

        self.unfinished_call = "step"
        try:
            rewards, terminations, truncations, dones, infos = engine.step(
                actions, skip_mask, env_ids, mode is SAME_STEP
            )
        except LevelGenerationError:
            # But in this mode the next episodes begin first: nothing has moved.
            if mode is not SAME_STEP:
                self.unfinished_call = ""
            raise
        if dones is None:
            dones = self._none
        elif mode is SAME_STEP and np.count_nonzero(dones):
            self.has_ended = dones
            infos = self._reset_ended(infos, dones)
            dones = self._none
        self.has_ended = dones if mask is None else dones | (self.has_ended & ~mask)
        if not isinstance(infos, dict):
            infos = finish_infos(infos, engine.num_envs)
        return rewards, terminations, truncations, infos

    def _reset_ended(self, infos: AnyInfos, dones: NDArray[np.bool_]) -> Infos:
        """Reset the environments that this step ended; return the step's infos."""
        env_ids = list_rows(dones)
        last = self.engine.observe(env_ids)
        final_info = cut_final_infos(infos, dones)
        self.engine.reset(env_ids)
        infos = self._add_begin_infos(infos, env_ids)
        add_finals(infos, dones, env_ids, last, final_info)
        return infos

    def _add_begin_infos(
        self, infos: AnyInfos | None, env_ids: NDArray[np.int64]
    ) -> Infos:
        """Return the infos of a step, or none, with those of some resets."""
        num_envs = self.engine.num_envs
        new = self.engine.begin_infos(env_ids)
        if new or infos is None:
            infos = add_infos(infos, env_ids, new, num_envs)
        return finish_infos(infos, num_envs)


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
    error: type[InvalidOptionError] = InvalidOptionTypeError
    if not isinstance(mask, np.ndarray):
        problem = f"be a numpy array, got {type(mask)}"
    elif mask.shape != (num_envs,):
        error, problem = (
            InvalidOptionError,
            f"have shape `({num_envs},)`, got {mask.shape}",
        )
    elif mask.dtype != np.bool_:
        problem = f"have `dtype=np.bool_`, got {mask.dtype}"
    elif not np.count_nonzero(mask):
        words = "contain a boolean array with at least one True value"
        error, problem = InvalidOptionError, f"{words}, got reset_mask={mask}"
    else:
        return mask
    message = f"`options['reset_mask']` must {problem}"
    raise error(message)


def final_obs(observations: Any, infos: Infos) -> Any:
    """Return the batch of true next observations of a step, in any autoreset mode.

    In SAME_STEP mode Gymnasium returns the last observations of episodes as an object
    array with None elsewhere.  This function puts them into the step's batch, as value
    targets need it.

    Parameters
    ----------
    observations : batch
        As returned by `step`; not changed: an array, a tuple of n, or a dict or tuple
        of batches, as of the spaces `Dict` and `Tuple`.
    infos : dict
        As returned by the same `step`.

    Returns
    -------
    A new batch in the form of ``observations``.
    """
    if "final_obs" not in infos:
        return _put_items(observations, NO_IDS, [])
    env_ids = np.flatnonzero(infos["_final_obs"])
    return _put_items(observations, env_ids, list(infos["final_obs"][env_ids]))


def _put_items(batch: Any, env_ids: NDArray[np.int64], items: list[Any]) -> Any:
    """Return a batch with other items in some places; arrays are copied."""
    if isinstance(batch, np.ndarray):
        batch = batch.copy()
        if len(env_ids):
            batch[env_ids] = np.stack(items)
        return batch
    is_dict = isinstance(batch, dict)
    # The parts of a `Tuple` space are batches, and its items tuples.  Where all parts
    # are tuples, too, they are n items, as of a space `Sequence`.
    is_tuple = all(type(item) is tuple and len(item) == len(batch) for item in items)
    kinds = set() if is_dict else set(map(type, batch))
    if is_dict or (is_tuple and kinds <= _BATCHES and kinds != {tuple}):
        keys: Any = batch if is_dict else range(len(batch))
        parts = {
            key: _put_items(batch[key], env_ids, [item[key] for item in items])
            for key in keys
        }
        return parts if is_dict else tuple(parts.values())
    if not items:
        return batch
    whole = list(batch)
    for env_id, item in zip(env_ids.tolist(), items, strict=True):
        whole[env_id] = item
    return tuple(whole)
