"""The spaces of a pool, made from the spaces of its environments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gymnasium.spaces import Space
from gymnasium.spaces.utils import is_space_dtype_shape_equiv
from gymnasium.vector.utils import batch_differing_spaces, batch_space

from roll_vec.errors import SpaceMismatchError
from roll_vec.pool.tasks import EnvDescription


def pool_spaces(
    descriptions: Sequence[EnvDescription],
) -> tuple[Space[Any], Space[Any], Space[Any], Space[Any]]:
    """Return the spaces of a pool, as `SyncVectorEnv` makes them.

    Observation spaces may differ in their bounds, and texts in their length: the space
    of one environment is then that of the first one.

    Returns
    -------
    single_observation_space, observation_space, single_action_space, action_space

    Raises
    ------
    SpaceMismatchError
        If action spaces differ, or shapes and dtypes of observation spaces.
    """
    spaces = [one.observation_space for one in descriptions]
    first, actions = spaces[0], descriptions[0].action_space
    is_same = True
    for env_id, one in enumerate(descriptions):
        space = one.observation_space
        # Identity first: many environments share a space, and comparing bounds is slow.
        if space is not first and space != first:
            is_same = False
            if not is_space_dtype_shape_equiv(space, first):
                message = (
                    "the observation spaces do not share a shape and a dtype: "
                    f"environment {env_id} has {space}, the first {first}"
                )
                raise SpaceMismatchError(message)
        if one.action_space is not actions and one.action_space != actions:
            message = (
                f"the action spaces differ: environment {env_id} has "
                f"{one.action_space}, the first {actions}"
            )
            raise SpaceMismatchError(message)
    batch = (
        batch_space(first, len(spaces)) if is_same else batch_differing_spaces(spaces)
    )
    return first, batch, actions, batch_space(actions, len(spaces))
