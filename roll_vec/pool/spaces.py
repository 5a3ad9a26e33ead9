"""The spaces of a pool, from those of its environments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from gymnasium.spaces import Space
from gymnasium.spaces.utils import is_space_dtype_shape_equiv
from gymnasium.vector.utils import batch_differing_spaces, batch_space

from roll_vec.errors import InvalidOptionError, SpaceMismatchError
from roll_vec.pool.env_runner import Description

__all__ = ["PoolSpaces", "pool_spaces"]

ObservationMode = str | tuple[Space[Any], Space[Any]]


class PoolSpaces(NamedTuple):
    """The four spaces of a vector environment."""

    single_observation_space: Space[Any]
    observation_space: Space[Any]
    single_action_space: Space[Any]
    action_space: Space[Any]


def pool_spaces(
    described: Sequence[Description], observation_mode: ObservationMode
) -> PoolSpaces:
    """Return the spaces of a pool, by the rules of `SyncVectorEnv`.

    Parameters
    ----------
    described : sequence of Description
    observation_mode : str, or tuple of two spaces
        ``same``: all observation spaces are equal.  ``different``: they share shapes
        and dtypes, bounds differ.  A tuple: the space of the batch, and a single one
        that all share shapes and dtypes with.

    Raises
    ------
    InvalidOptionError
        If the mode is none of these.
    TypeError
        If a tuple holds something else than spaces.
    SpaceMismatchError
    """
    num_envs, first = len(described), described[0]
    single: Space[Any] = first.observation_space
    if isinstance(observation_mode, tuple) and len(observation_mode) == 2:
        given: tuple[Any, ...] = observation_mode
        for space in given:
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
        batched = batch_differing_spaces([one.observation_space for one in described])
    else:
        # The words are Gymnasium's, for programs that look for them.
        message = (
            "Invalid `observation_mode`, expected: 'same' or 'different' or tuple of "
            f"single and batch observation space, actual got {observation_mode}"
        )
        raise InvalidOptionError(message)
    for row, one in enumerate(described):
        _check_row(row, one, single, first.action_space, observation_mode == "same")
    return PoolSpaces(
        single, batched, first.action_space, batch_space(first.action_space, num_envs)
    )


def _check_row(
    row: int,
    one: Description,
    observation_space: Space[Any],
    action_space: Space[Any],
    must_equal: bool,
) -> None:
    found = one.observation_space
    if must_equal:
        # Most pools are many of one: comparing the bounds of boxes takes long.
        if found is not observation_space and found != observation_space:
            message = (
                "observation_mode='same', but the sub-environments observation spaces "
                f"are not equivalent. Environment {row} has {found}, the first "
                f"{observation_space}. If this is intentional, use "
                "`observation_mode='different'` instead."
            )
            raise SpaceMismatchError(message)
    elif not is_space_dtype_shape_equiv(found, observation_space):
        message = (
            f"the observation spaces do not share a shape and a dtype: environment "
            f"{row} has {found}, expected the like of {observation_space}"
        )
        raise SpaceMismatchError(message)
    if one.action_space is not action_space and one.action_space != action_space:
        message = (
            f"the action spaces differ: environment {row} has {one.action_space}, "
            f"the first {action_space}"
        )
        raise SpaceMismatchError(message)
