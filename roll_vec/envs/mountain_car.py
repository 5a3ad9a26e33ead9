"""The mountain car with three actions, and with any push: Gymnasium's two ids."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from gymnasium.spaces import Box

from roll_vec.arrays.array_env import METADATA
from roll_vec.arrays.attributes import StateAttribute
from roll_vec.arrays.rules import rule
from roll_vec.envs.classic_control import STARTS, ClassicControl, renderer_of, stack
from roll_vec.envs.rounding import to_float32
from roll_vec.kernels.rows import Row

MIN_POSITION, MAX_POSITION = -1.2, 0.6
MAX_SPEED = 0.07
FORCE = 0.001
GRAVITY = 0.0025
GOAL = 0.5
STEP_REWARD = -1.0
CONTINUOUS_GOAL = 0.45
POWER = 0.0015
GOAL_REWARD = 100.0
PUSH_COST = 0.1
_BOUNDS = np.array([[MIN_POSITION, -MAX_SPEED], [MAX_POSITION, MAX_SPEED]], np.float32)
# A position may begin elsewhere.  That of the continuous car is rounded to float32.
_SPEEDS = tuple(map(float, _BOUNDS[:, 1]))
_STATE = stack("position", "velocity")


def write_float64_state(value: Any) -> Mapping[str, Any]:
    """Return the variables of a new state; float64 decides the next step's numbers."""
    is_single = getattr(value, "dtype", None) == np.float32
    assert _STATE.write is not None
    return {**_STATE.write(value), "has_moved": is_single}


class MountainCar(ClassicControl):
    """Drive a car out of a valley: to the flag on the hill to the right.

    The engine is too weak to drive up at once.  Swing back and forth: push into the
    direction in which the car moves.  The valley is deepest at the position -0.52, the
    flag is at 0.5, and a wall at -1.2 stops the car.  Each step costs 1.

    Parameters
    ----------
    goal_velocity : float
        The car must have at least this velocity at the flag.  The highest is 0.07.

    Attributes
    ----------
    position, velocity : float64
        Of the car.  They are the observation, as (2,) float32.
    state : (2,) float64
        Both; may be set.
    success : bool
        Whether the step has ended the episode.

    Actions
    -------
    A text without the name of an action: nothing moves, the reward is -1, the step
    counts.

    Rewards
    -------
    -1
        Each step.

    Episode end
    -----------
    terminated
        The car is at the flag (0.5) or past it, with a velocity of at least
        ``goal_velocity``.

    Sources
    -------
    Gymnasium, MountainCar-v0 : 1.4.0; https://gymnasium.farama.org/environments/classic_control/
        starts from the same seeds, steps, rewards

    Differences
    -----------
    - Not there: ``get_keys_to_action``, constants such as ``gravity``, attributes of
      pictures such as ``screen``.

    Notes
    -----
    The rule is that of Gymnasium 1.4.0, MountainCar-v0, whose random numbers are one
    stream.  The car begins between -0.6 and -0.4, or the bounds of
    ``reset(options={"low": ..., "high": ...})``.

    Raises
    ------
    InvalidOptionError
    """

    goal_velocity: float = 0.0

    state = {"position": np.float64, "velocity": np.float64, "success": np.bool_}
    OBS_MODES = {
        **ClassicControl.OBS_MODES,
        "array": "position and velocity of the car",
    }
    state_limits = {"position": STARTS, "velocity": _SPEEDS}
    attributes: ClassVar[Mapping[str, Any]] = {"state": _STATE}
    reset_options = {"low": -0.6, "high": -0.4}
    actions: ClassVar[Any] = ("left", "none", "right")
    infos = ("success",)
    hidden_infos = ("success",)  # Gymnasium has none
    invalid_reward = STEP_REWARD
    observation_space = Box(*_BOUNDS, dtype=np.float32)
    gymnasium_renderer = renderer_of(
        "classic_control.mountain_car:MountainCarEnv", _STATE
    )
    metadata = {**METADATA, "render_fps": 30}

    @rule
    def begin(env: Any, rng: Any) -> None:
        env.position = rng.uniform(env.low, env.high)

    @rule
    def step(env: Any, action: int, rng: Any) -> tuple[float, bool]:
        # The order of the operations is Gymnasium's: another rounds differently.
        push = (action - 1) * FORCE + math.cos(3 * env.position) * -GRAVITY
        env.velocity = min(max(env.velocity + push, -MAX_SPEED), MAX_SPEED)
        position = env.position + env.velocity
        env.position = min(max(position, MIN_POSITION), MAX_POSITION)
        if env.position == MIN_POSITION and env.velocity < 0:
            env.velocity = 0.0
        env.success = env.position >= GOAL and env.velocity >= env.goal_velocity
        return STEP_REWARD, env.success

    @rule
    def observe(env: Any, out: Any) -> None:
        out[0] = env.position
        out[1] = env.velocity

    def text(self, env: Row) -> str:
        """Return the two numbers, a line each."""
        return f"position: {env.position:+.4f}\nvelocity: {env.velocity:+.4f}"


class MountainCarContinuous(MountainCar):
    """Drive a car out of a valley: to the flag on the hill to the right.

    The engine is too weak to drive up at once.  Swing back and forth.  An action is the
    push, from -1 (left) to 1 (right); the flag is at the position 0.45.  The flag earns
    100, a push costs a tenth of its square.

    Parameters
    ----------
    goal_velocity : float
        The car must have at least this velocity at the flag.  The highest is 0.07.

    Attributes
    ----------
    position : float64
    velocity : float32
        Of the car.  They are the observation, as (2,) float32.
    state : (2,) float64
        Both; may be set.
    has_moved : bool
        Whether the episode had a step.
    success : bool
        Whether the step has ended it.

    Actions
    -------
    A larger push moves the car as -1 or 1 does, and costs what it is.

    Rewards
    -------
    100
        The step that ends the episode by the rules.
    -0.1 * push ** 2
        Each step.

    Episode end
    -----------
    terminated
        The car is at the flag (0.45) or past it, with a velocity of at least
        ``goal_velocity``.

    Sources
    -------
    Gymnasium, MountainCarContinuous-v0 : 1.4.0; https://gymnasium.farama.org/environments/classic_control/
        starts from the same seeds, steps, rewards

    Differences
    -----------
    - Not there: constants such as ``power``, attributes of pictures such as ``screen``.
    - Actions are rounded to float32, which their space has; the original calculates
      with actions of float64 in float64.
    - The velocity of a ``state`` that is set is rounded to float32.

    Notes
    -----
    The rule is that of Gymnasium 1.4.0, MountainCarContinuous-v0, with numpy 2 and
    actions of float32.

    Raises
    ------
    InvalidOptionError
    """

    state = {
        "position": np.float64,
        "velocity": np.float32,
        "has_moved": np.bool_,
        "success": np.bool_,
    }
    attributes = {"state": StateAttribute(_STATE.read, write_float64_state)}
    actions = Box(-1.0, 1.0, (1,), np.float32)
    gymnasium_renderer = renderer_of(
        "classic_control.continuous_mountain_car:Continuous_MountainCarEnv", _STATE
    )

    @rule
    def step(env: Any, action: Any, rng: Any) -> tuple[float, bool]:
        # Gymnasium's first step calculates in float64, all others in float32.
        angle = 3 * env.position
        slope = GRAVITY * math.cos(to_float32(angle) if env.has_moved else angle)
        force = min(max(action[0], -1.0), 1.0)
        if force == action[0]:
            change = to_float32(
                to_float32(force * to_float32(POWER)) - to_float32(slope)
            )
        else:  # A force that was clipped is a number of Python, of 64 bits.
            change = force * POWER - slope
            change = to_float32(change) if env.has_moved else change
        velocity = min(max(env.velocity + change, -MAX_SPEED), MAX_SPEED)
        env.velocity = velocity
        position = env.position + (env.velocity if env.has_moved else velocity)
        env.position = to_float32(min(max(position, MIN_POSITION), MAX_POSITION))
        if env.position == to_float32(MIN_POSITION) and env.velocity < 0:
            env.velocity = 0.0
        env.has_moved = True
        is_fast = env.velocity >= to_float32(env.goal_velocity)
        env.success = env.position >= to_float32(CONTINUOUS_GOAL) and is_fast
        reward = GOAL_REWARD if env.success else 0.0
        return reward - action[0] * action[0] * PUSH_COST, env.success
