"""The spaces of a pool, made from the spaces of its environments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gymnasium.spaces import Space
from gymnasium.spaces.utils import is_space_dtype_shape_equiv
from gymnasium.vector.utils import batch_differing_spaces, batch_space

from roll_vec.errors import InvalidOptionError, SpaceMismatchError
from roll_vec.pool.tasks import EnvDescription

ObservationMode = str | tuple[Space[Any], Space[Any]]


def pool_spaces(
    descriptions: Sequence[EnvDescription], observation_mode: ObservationMode
) -> tuple[Space[Any], Space[Any], Space[Any], Space[Any]]:
    """Return the spaces of a pool, by the rules of `SyncVectorEnv`.

    Parameters
    ----------
    descriptions : sequence of EnvDescription
    observation_mode : str, or tuple of two spaces
        ``same``: all observation spaces are equal.  ``different``: they have the same
        shapes and dtypes, with different bounds; texts may differ in length.  A tuple:
        the space of the batch, and the space of one environment; all have its shapes
        and dtypes.

    Returns
    -------
    single_observation_space, observation_space, single_action_space, action_space

    Raises
    ------
    InvalidOptionError
        If the mode is none of these.
    TypeError
        If a tuple holds something else than spaces.
    SpaceMismatchError
        If spaces of the environments differ where they must not.
    """
    num_envs, first = len(descriptions), descriptions[0]
    single: Space[Any] = first.observation_space
    if isinstance(observation_mode, tuple) and len(observation_mode) == 2:
        spaces: tuple[Any, ...] = observation_mode
        for space in spaces:
            if not isinstance(space, Space):
                message = (
                    "observation_mode: expected the space of the batch and a single "
                    f"one, got {type(space)}"
                )
                raise TypeError(message)
        batched, single = observation_mode
    elif observation_mode == "same":
        batched = batch_space(single, num_envs)
    elif observation_mode == "different":
        batched = batch_differing_spaces(
            [one.observation_space for one in descriptions]
        )
    else:
        # Gymnasium's message, for programs that look for it.
        message = (
            "Invalid `observation_mode`, expected: 'same' or 'different' or tuple of "
            f"single and batch observation space, actual got {observation_mode}"
        )
        raise InvalidOptionError(message)
    for env_id, one in enumerate(descriptions):
        must_equal = observation_mode == "same"
        _check_spaces(env_id, one, single, first.action_space, must_equal)
    action_space = batch_space(first.action_space, num_envs)
    return single, batched, first.action_space, action_space


def _check_spaces(
    env_id: int,
    one: EnvDescription,
    observation_space: Space[Any],
    action_space: Space[Any],
    must_equal: bool,
) -> None:
    own_space = one.observation_space
    if must_equal:
        # Identity first: many environments share a space, and comparing bounds is slow.
        if own_space is not observation_space and own_space != observation_space:
            message = (
                "observation_mode='same', but the sub-environments observation spaces "
                f"are not equivalent. Environment {env_id} has {own_space}, the first "
                f"{observation_space}. If this is intentional, use "
                "`observation_mode='different'` instead."
            )
            raise SpaceMismatchError(message)
    elif not is_space_dtype_shape_equiv(own_space, observation_space):
        message = (
            f"the observation spaces do not share a shape and a dtype: environment "
            f"{env_id} has {own_space}, expected the like of {observation_space}"
        )
        raise SpaceMismatchError(message)
    if one.action_space is not action_space and one.action_space != action_space:
        message = (
            f"the action spaces differ: environment {env_id} has {one.action_space}, "
            f"the first {action_space}"
        )
        raise SpaceMismatchError(message)
