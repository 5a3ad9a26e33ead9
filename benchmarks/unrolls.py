"""Unrolls of many steps beside steps whose results are stored.

Both write into arrays that exist already: ``unroll`` into ``out``, steps into arrays of
(T, N) one by one.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.batches import FROZEN_LAKE, draw_actions, levels_of, make, settings_of
from benchmarks.tasks import Figure, in_turns
from roll_vec import Rollout


def unroll_ratio(
    id: str, num_envs: int = 4096, num_steps: int = 128, **keywords: Any
) -> Figure:
    """Compare `unroll` with ``out`` with as many steps."""
    if id != FROZEN_LAKE:
        keywords = {"num_levels": 4096, **keywords}
    env = make(id, num_envs, **keywords).unwrapped
    plan = draw_actions(env, num_steps)
    stored, out = env.unroll(plan), env.unroll(plan)

    def measure(seconds: float) -> float:
        works = [
            partial(_step_all, env, plan, stored),
            partial(env.unroll, plan, out=out),
        ]
        steps, unroll = in_turns(works, seconds)
        return steps / unroll

    return Figure(measure, "× as fast", settings_of(env, levels_of(id)))


def _step_all(env: Any, plan: NDArray[np.int64], out: Rollout) -> None:
    """Take the steps one by one, and store their results."""
    arrays = out.observations, out.rewards, out.terminations, out.truncations
    for t, actions in enumerate(plan):
        *results, infos = env.step(actions)
        for array, result in zip(arrays, results, strict=True):
            array[t] = result
        _store(out.infos, infos, t)
        if "final_obs" in out.infos:
            out.infos["final_obs"][t] = env.final_obs(results[0], infos)


def _store(arrays: dict[str, Any], values: dict[str, Any], t: int) -> None:
    """Write a step's infos into arrays of T steps."""
    for key, value in values.items():
        if isinstance(value, dict):
            _store(arrays.get(key, {}), value, t)
        elif key in arrays and arrays[key].dtype == value.dtype:
            arrays[key][t] = value
