"""Merge the results of the engines of shards into those of one engine.

Each shard has an engine of its own with some of the environments: consecutive numbers,
in the order of the shards.  The results here equal to the bit those of one engine with
all environments: values, dtypes, masks, types of objects, order of keys.  `Autoreset`
and `stack_infos` go on from there at the head, as they do in a local batch, so that the
layout is decided by all environments together.

Inputs may be read-only.  Arrays that are returned are new, or those of ``out``; objects
in lists and in object arrays are passed on as they are.

Errors of a shard name environments by its own numbers.  The head therefore checks
actions, seeds, ended environments and ``out`` itself, for all environments, before it
sends anything.  Two kinds of errors are left in steps and resets:
`LevelGenerationError`, whose message names seeds and levels and no environments; and
`EnvironmentFaultError`, whose ``errors`` `ShardsEngine.translate` numbers anew.  A pool
whose environments are all stalled raises the latter: a shard must not while another
shard has environments that are not.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any

import numpy as np
from gymnasium import spaces
from gymnasium.vector.utils import concatenate, create_empty_array

from roll_vec.vector.engine import UnrollResult
from roll_vec.vector.rollout import Rollout


def merge_observations(
    space: spaces.Space[Any], shards: Sequence[Any], out: Any = None, axis: int = 0
) -> Any:
    """Return the batch of observations of all shards.

    Parameters
    ----------
    space : gymnasium.Space
        Of one environment.
    shards : sequence of batches
    out : batch of an earlier call, or None
        Its arrays are written to and returned.
    axis : int
        That of the environments: 1 for observations of `unroll`, stacked in time.

    Returns
    -------
    The form of Gymnasium's `concatenate`: an array, a tuple such as one of texts, a
    tuple or dict of batches for a nested space, or the batch of a user's own space.
    """
    if isinstance(space, spaces.Dict):
        return {
            key: merge_observations(
                part, [b[key] for b in shards], out and out[key], axis
            )
            for key, part in space.items()
        }
    if isinstance(space, spaces.Tuple):
        return tuple(
            merge_observations(part, [b[i] for b in shards], out and out[i], axis)
            for i, part in enumerate(space)
        )
    if all(isinstance(batch, np.ndarray) for batch in shards):
        return np.concatenate(shards, axis, out=out)
    if axis:
        steps = zip(*shards, strict=True)
        return tuple(merge_observations(space, batches) for batches in steps)
    if all(isinstance(batch, tuple) for batch in shards):
        return tuple(chain.from_iterable(shards))
    items = [batch[i] for batch in shards for i in range(len(batch))]
    empty: Any = create_empty_array(space, len(items))
    return concatenate(space, items, empty)


def merge_unrolls(
    space: spaces.Space[Any], shards: Sequence[UnrollResult], out: Rollout | None = None
) -> UnrollResult:
    """Return the results of `Engine.unroll` of all shards.

    Parameters
    ----------
    space : gymnasium.Space
        Of the observations of one environment.
    shards : sequence of UnrollResult
        None of them stopped before the last step.
    out : Rollout or None
        Its arrays are written to; `check_out` has accepted them.
    """
    final_obs = None
    if shards[0].final_observations is not None:
        final_out = None if out is None else out.infos.get("final_obs")
        finals = [shard.final_observations for shard in shards]
        final_obs = merge_observations(space, finals, final_out, axis=1)
    observations = [shard.observations for shard in shards]
    return UnrollResult(
        merge_observations(space, observations, out and out.observations, axis=1),
        final_obs,
        np.concatenate([one.rewards for one in shards], 1, out=out and out.rewards),
        np.concatenate(
            [one.terminations for one in shards], 1, out=out and out.terminations
        ),
        np.concatenate(
            [one.truncations for one in shards], 1, out=out and out.truncations
        ),
        {
            key: np.concatenate([one.infos[key] for one in shards], 1)
            for key in shards[0].infos
        },
        np.concatenate([one.times for one in shards]),
    )
