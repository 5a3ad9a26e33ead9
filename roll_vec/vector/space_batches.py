"""Batches of a space: made of items, joined, stacked in time, cut.

A batch has the form of Gymnasium's `concatenate`: an array, a tuple such as one of
texts, a tuple or dict of batches for a nested space, or the batch of a user's space.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any

import numpy as np
from gymnasium import spaces
from gymnasium.vector.utils import concatenate, create_empty_array


def map_leaves(
    function: Callable[..., Any], space: spaces.Space[Any], *values: Any
) -> Any:
    """Return what a function makes of the parts of values that belong to each leaf.

    Parameters
    ----------
    function : callable
        Gets the space of a leaf, which is no `Dict` and no `Tuple`, and the parts.
    space : gymnasium.Space
    *values : items or batches of the space, or None
        The parts of None are None.
    """
    if isinstance(space, spaces.Dict):
        keys: Any = space.spaces
    elif isinstance(space, spaces.Tuple):
        keys = range(len(space))
    else:
        return function(space, *values)
    parts = {
        key: map_leaves(
            function,
            space[key],
            *(None if value is None else value[key] for value in values),
        )
        for key in keys
    }
    return parts if isinstance(space, spaces.Dict) else tuple(parts.values())


def batch_items(space: spaces.Space[Any], items: Sequence[Any]) -> Any:
    """Return a new batch of items of a space."""
    empty: Any = create_empty_array(space, len(items))
    return concatenate(space, items, empty) if len(items) else empty


def item_at(space: spaces.Space[Any], batch: Any, index: int) -> Any:
    """Return one item of a batch of the space."""
    if isinstance(space, (spaces.Dict, spaces.Tuple)):
        return map_leaves(lambda _, part: part[index], space, batch)
    # Thousands of episodes may end in one step.
    return batch[index]


def join_batches(
    space: spaces.Space[Any], batches: Sequence[Any], out: Any = None, axis: int = 0
) -> Any:
    """Return batches as one.

    Parameters
    ----------
    space : gymnasium.Space
        Of one environment.
    batches : sequence of batches
    out : batch of an earlier call, or None
        Its arrays are written to and returned.
    axis : int
        That of the environments: 1 for batches that are stacked in time.
    """

    def join(space: spaces.Space[Any], out: Any, *parts: Any) -> Any:
        if all(isinstance(part, np.ndarray) for part in parts):
            return np.concatenate(parts, axis, out=out)
        if axis:
            return tuple(join_batches(space, step) for step in zip(*parts, strict=True))
        if all(isinstance(part, tuple) for part in parts):
            return tuple(chain.from_iterable(parts))
        return batch_items(space, [part[i] for part in parts for i in range(len(part))])

    return map_leaves(join, space, out, *batches)


def stack_batches(
    space: spaces.Space[Any], batches: Sequence[Any], out: Any = None
) -> Any:
    """Return T batches, stacked; those that are no arrays, as of texts, as a tuple.

    Parameters
    ----------
    space : gymnasium.Space
        Of one environment.
    batches : sequence of T batches
    out : result of an earlier call, or None
        Its arrays are written to; `check_out` has accepted them.
    """

    def stack(_: Any, out: Any, *parts: Any) -> Any:
        if isinstance(parts[0], np.ndarray):
            return np.stack(parts, out=out)
        return parts

    return map_leaves(stack, space, out, *batches)


def replace_items(
    space: spaces.Space[Any], batch: Any, indices: Sequence[int], items: Sequence[Any]
) -> Any:
    """Return a new batch, with other items in some places."""

    def replace(_: Any, part: Any, *new: Any) -> Any:
        whole = part.copy() if isinstance(part, np.ndarray) else list(part)
        for index, item in zip(indices, new, strict=True):
            whole[index] = item
        return whole if isinstance(whole, np.ndarray) else tuple(whole)

    return map_leaves(replace, space, batch, *items)
