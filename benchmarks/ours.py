"""Our side: batches that are stepped, rooms that are drawn.

Everything goes through Gymnasium's API, as users do; rooms through the function that
resets draw them with.
"""

from __future__ import annotations

import itertools
from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Discrete, Text
from numpy.typing import NDArray

import roll_vec  # noqa: F401 - registers the ids
from benchmarks.levels import read_grids
from benchmarks.tasks import Latency, Rate, Unavailable
from roll_vec.envs.sokoban import SokobanOptions
from roll_vec.envs.sokoban.rooms import draw_rooms
from roll_vec.errors import RollVecError

FROZEN_LAKE, SOKOBAN = "roll_vec/FrozenLake-v1", "roll_vec/Sokoban-v0"
# The registered step limit of both.
EPISODE_STEPS = 100


def make(id: str, num_envs: int, **keywords: Any) -> Any:
    """Make a batch whose environments are in different steps of their episodes.

    Started together, all rooms would end together, and most short windows would see
    no reset at all.  Levels of a finite set have all been drawn.
    """
    if isinstance(keywords.get("levels"), str):
        keywords["levels"] = read_grids(keywords["levels"])
    try:
        env = gymnasium.make_vec(id, num_envs=num_envs, **keywords)
    except RollVecError as error:
        raise Unavailable(str(error)) from None
    for first in range(0, keywords.get("num_levels", 0), num_envs):
        env.reset(seed=first)
    env.reset(seed=0)
    steps = min(EPISODE_STEPS, num_envs)
    begins = np.arange(num_envs) % steps
    for step, actions in zip(range(steps), itertools.cycle(draw_actions(env, 16))):
        env.reset(options={"reset_mask": begins == step})
        env.step(actions)
    return env


def draw_actions(env: Any, num_steps: int) -> NDArray[np.int64]:
    """Return actions for some steps, (num_steps, num_envs)."""
    low = int(env.unwrapped.single_action_space.start)
    generator = np.random.default_rng(0)
    return generator.integers(low, low + 4, (num_steps, env.num_envs))


def facts_of(env: Any, levels: str, arrays: str = "grid") -> dict[str, Any]:
    """Return what a reader must know of a batch; arrays observed are called so."""
    space = env.unwrapped.single_observation_space
    if isinstance(space, Box):
        shape = "x".join(map(str, space.shape))
        observation = f"{arrays}, {shape} {space.dtype}"
    elif isinstance(space, Discrete):
        observation = f"position, {space.dtype}"
    else:
        observation = "text" if isinstance(space, Text) else type(space).__name__
    return {"batch": env.num_envs, "observation": observation, "levels": levels}


def steps(id: str, num_envs: int, levels_are: str, **keywords: Any) -> Rate:
    """Step with actions drawn before; every observation and info is built.

    ``levels_are`` says where levels come from.
    """
    env = make(id, num_envs, **keywords)
    actions = draw_actions(env, max(8192 // num_envs, 8))

    def work() -> int:
        step = env.step
        for batch in actions:
            step(batch)
        return actions.size

    facts = facts_of(env, levels_are, keywords.get("obs_mode", "grid"))
    if "num_threads" in keywords:
        facts["threads"] = keywords["num_threads"]
    return Rate(work, "steps/s", facts)


def unroll(
    id: str, num_envs: int, levels_are: str, length: int = 128, **keywords: Any
) -> Rate:
    """Take ``length`` steps a call, all their results stacked."""
    env = make(id, num_envs, **keywords)
    call = env.unwrapped.unroll
    actions = draw_actions(env, length)

    def work() -> int:
        call(actions)
        return actions.size

    return Rate(work, "steps/s", facts_of(env, levels_are))


def rooms(size: int, num_boxes: int, count: int = 1000) -> Rate:
    """Draw one room a seed on one thread, all in a call, again where one fails."""
    options = _room_options(size, num_boxes)
    seeds = np.arange(count, dtype=np.uint64)

    def work() -> int:
        _, statuses = draw_rooms(options, seeds)
        return int((statuses == 0).sum())

    return Rate(work, "rooms/s", _room_facts(size, num_boxes, count))


def room_times(size: int, num_boxes: int, statistic: str) -> Latency:
    """Draw one room at a time, each with the next seed."""
    options = _room_options(size, num_boxes)
    seeds = itertools.count()

    def work() -> int:
        draw_rooms(options, np.array([next(seeds)], np.uint64))
        return 1

    return Latency(work, "ms", _room_facts(size, num_boxes, 1), statistic)


def _room_options(size: int, num_boxes: int) -> SokobanOptions:
    return SokobanOptions(dim_room=(size, size), num_boxes=num_boxes, search_depth=300)


def _room_facts(size: int, num_boxes: int, batch: int) -> dict[str, Any]:
    levels = f"{size}x{size}, boxes: {num_boxes}, depth 300"
    return {"batch": batch, "observation": "none", "levels": levels}
