"""Tasks of roll_vec's stacked batches: steps, resets, unrolls, rooms.

All go through Gymnasium's API, as users do; rooms go through the function with which
resets draw them.
"""

from __future__ import annotations

import itertools
from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

import roll_vec  # noqa: F401 - registers the ids
from benchmarks import spaces
from benchmarks.levels import read_grids
from benchmarks.tasks import Latency, Rate, Unavailable
from roll_vec.envs.sokoban import Sokoban
from roll_vec.envs.sokoban.rooms import draw_rooms
from roll_vec.errors import RollVecError

FROZEN_LAKE, SOKOBAN = "roll_vec/FrozenLake-v1", "roll_vec/Sokoban-v0"
# The registered step limit of both.
EPISODE_STEPS = 100


def make(id: str, num_envs: int, **keywords: Any) -> Any:
    """Make a batch whose environments are in different steps of their episodes.

    Otherwise all rooms would end together, and most short measurements would contain
    no reset at all.  All levels of a finite set are drawn in advance.
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


def draw_actions(env: Any, num_steps: int) -> NDArray[Any]:
    """Return actions for some steps, (num_steps, num_envs, ...)."""
    space = env.unwrapped.single_action_space
    return spaces.draw_actions(space, num_steps, env.num_envs)


def settings_of(env: Any, levels: str, arrays: str = "grid") -> dict[str, Any]:
    """Return the settings of a batch, which calls array observations `arrays`."""
    space = env.unwrapped.single_observation_space
    observation = spaces.describe(space, arrays)
    return {"batch": env.num_envs, "observation": observation, "levels": levels}


def steps(
    id: str, num_envs: int, levels_are: str, num_steps: int = 8, **keywords: Any
) -> Rate:
    """Step with actions drawn in advance; every observation and info is built.

    ``levels_are`` describes the levels; at least ``num_steps`` steps are drawn.
    """
    env = make(id, num_envs, **keywords)
    actions = draw_actions(env, max(8192 // num_envs, num_steps))

    def work() -> int:
        step = env.step
        for batch in actions:
            step(batch)
        return len(actions) * num_envs

    settings = settings_of(env, levels_are, keywords.get("obs_mode", "grid"))
    if "num_threads" in keywords:
        settings["threads"] = keywords["num_threads"]
    return Rate(work, "steps/s", settings)


def step_time(id: str, num_envs: int, **keywords: Any) -> Latency:
    """Step some environments in different steps of their episodes; the mean."""
    env = make(id, num_envs, **keywords)
    actions = draw_actions(env, 256)

    def work() -> int:
        for batch in actions:
            env.step(batch)
        return len(actions)

    settings = settings_of(env, levels_of(id))
    return Latency(work, "µs", settings, "mean")


def resets(id: str, num_envs: int, **keywords: Any) -> Rate:
    """Reset a whole batch to one seed; all levels of a finite set were drawn before."""
    env = make(id, num_envs, **keywords)

    def work() -> int:
        env.reset(seed=0)
        return num_envs

    return Rate(work, "resets/s", settings_of(env, levels_of(id)))


def levels_of(id: str) -> str:
    """Return a description of the levels of ids whose levels are kept."""
    return "the 4x4 map" if id == FROZEN_LAKE else "drawn before"


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

    return Rate(work, "steps/s", settings_of(env, levels_are))


def rooms(size: int, num_boxes: int, count: int = 1000) -> Rate:
    """Draw one room a seed on one thread, all in one call, with retries."""
    options = _room_options(size, num_boxes)
    seeds = np.arange(count, dtype=np.uint64)

    def work() -> int:
        _, statuses = draw_rooms(options, seeds)
        return int((statuses == 0).sum())

    return Rate(work, "rooms/s", _room_settings(size, num_boxes, count))


def room_times(size: int, num_boxes: int, statistic: str) -> Latency:
    """Draw one room at a time, each with the next seed."""
    options = _room_options(size, num_boxes)
    seeds = itertools.count()

    def work() -> int:
        draw_rooms(options, np.array([next(seeds)], np.uint64))
        return 1

    return Latency(work, "ms", _room_settings(size, num_boxes, 1), statistic)


def _room_options(size: int, num_boxes: int) -> Sokoban:
    return Sokoban(dim_room=(size, size), num_boxes=num_boxes, search_depth=300)


def _room_settings(size: int, num_boxes: int, batch: int) -> dict[str, Any]:
    levels = f"{size}x{size}, boxes: {num_boxes}, depth 300"
    return {"batch": batch, "observation": "none", "levels": levels}
