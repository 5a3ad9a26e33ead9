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
    SpaceMismatchError
        If spaces of the environments differ where they must not.
    """
    observation_spaces = [one.observation_space for one in descriptions]
    single = observation_spaces[0]
    is_pair = isinstance(observation_mode, tuple) and len(observation_mode) == 2
    if is_pair and all(isinstance(space, Space) for space in observation_mode):
        pair: Any = observation_mode
        batched, single = pair
    elif observation_mode == "same":
        batched = batch_space(single, len(descriptions))
    elif observation_mode == "different":
        batched = batch_differing_spaces(observation_spaces)
    else:
        # Gymnasium's message, for programs that look for it.
        message = (
            "Invalid `observation_mode`, expected: 'same' or 'different' or tuple of "
            f"single and batch observation space, actual got {observation_mode}"
        )
        raise InvalidOptionError(message)
    is_same = observation_mode == "same"
    actions = descriptions[0].action_space
    for env_id, one in enumerate(descriptions):
        space = one.observation_space
        # Identity first: many environments share a space, and comparing bounds is slow.
        if is_same and space is not single and space != single:
            message = (
                "observation_mode='same', but the sub-environments observation spaces "
                f"are not equivalent. Environment {env_id} has {space}, the first "
                f"{single}. If this is intentional, use "
                "`observation_mode='different'` instead."
            )
            raise SpaceMismatchError(message)
        if not (is_same or is_space_dtype_shape_equiv(space, single)):
            message = (
                "the observation spaces do not share a shape and a dtype: "
                f"environment {env_id} has {space}, expected the like of {single}"
            )
            raise SpaceMismatchError(message)
        if one.action_space is not actions and one.action_space != actions:
            message = (
                f"the action spaces differ: environment {env_id} has "
                f"{one.action_space}, the first {actions}"
            )
            raise SpaceMismatchError(message)
    return single, batched, actions, batch_space(actions, len(descriptions))
