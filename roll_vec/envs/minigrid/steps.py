"""Rules of a step: what actions do, the reward of a success, and the ends."""

from __future__ import annotations

from typing import Any

from roll_vec.arrays.rules import rule
from roll_vec.envs.minigrid.things import (
    BOX,
    CLOSED,
    CONTENT_BIT,
    DOOR,
    GOAL,
    KEY,
    LAVA,
    LOCKED,
    LOOKS,
    STATE,
    TYPE,
)

LEFT, RIGHT, FORWARD, PICKUP, DROP, TOGGLE, DONE = range(7)


@rule
def find_front(env: Any) -> Any:
    """Return the cell (x, y) in front of the agent."""
    d = env.direction
    return env.x + (d == 0) - (d == 2), env.y + (d == 1) - (d == 3)


@rule
def is_shut(thing: int) -> bool:
    """Return whether a thing is a door that is not open."""
    return thing & TYPE == DOOR and thing & STATE != 0


@rule
def can_enter(thing: int) -> bool:
    """Return whether the agent can enter: no thing, floor, goal, lava, or open door."""
    kind = thing & TYPE
    return kind in (0, 3, 8, 9) or (kind == DOOR and thing & STATE == 0)


@rule
def toggle(env: Any, x: int, y: int) -> None:
    """Open a box, or open or close a door; a locked one needs a key of its colour."""
    thing = env.grid[x, y]
    if thing & TYPE == BOX:
        env.grid[x, y] = thing >> CONTENT_BIT
    elif thing & TYPE == DOOR:
        if thing & STATE == LOCKED:
            if env.carrying & LOOKS == KEY + (thing & LOOKS) - DOOR:
                env.grid[x, y] = thing - LOCKED
        else:
            env.grid[x, y] = thing ^ CLOSED


@rule
def reward_success(env: Any) -> Any:
    """Return the reward of a success: 1 less 0.9 times the share of steps."""
    return 1 - 0.9 * (env.step_count / env.limit)


@rule
def move(env: Any, action: int) -> Any:
    """Do an action, as ``MiniGridEnv.step`` does.

    Returns
    -------
    reward : float
    terminated : bool
    """
    env.step_count += 1
    x, y = find_front(env)
    thing = env.grid[x, y]
    if action == LEFT:
        env.direction = (env.direction + 3) % 4
    elif action == RIGHT:
        env.direction = (env.direction + 1) % 4
    elif action == FORWARD:
        if can_enter(thing):
            env.x, env.y = x, y
        if thing == GOAL:
            return reward_success(env), True
        return 0.0, thing == LAVA
    elif action == PICKUP:
        if KEY <= thing & TYPE <= BOX and env.carrying == 0:
            env.carrying = thing
            env.grid[x, y] = 0
    elif action == DROP:
        if thing == 0:
            env.grid[x, y] = env.carrying
            env.carrying = 0
    elif action == TOGGLE:
        toggle(env, x, y)
    return 0.0, False


@rule
def end(env: Any, reward: float, terminated: bool) -> Any:
    """Return the results of a step: it truncates at the limit of steps."""
    env.success = terminated and reward > 0
    return reward, terminated, env.step_count >= env.limit


@rule
def end_task(env: Any, is_right: bool, is_end: bool) -> Any:
    """Return the results of a step that has the reward of a success if it is right."""
    return end(env, reward_success(env) if is_right else 0.0, is_end)
