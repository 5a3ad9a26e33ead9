"""CartPole: balance a pole on a cart, with the equations of Gymnasium's CartPole-v1."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from gymnasium.spaces import Box

from roll_vec.arrays.array_env import METADATA
from roll_vec.arrays.rules import rule
from roll_vec.arrays.state_checks import FINITE
from roll_vec.envs.classic_control import ClassicControl, renderer_of, stack
from roll_vec.kernels.rows import Row

GRAVITY = 9.8
CART_MASS = 1.0
POLE_MASS = 0.1
TOTAL_MASS = POLE_MASS + CART_MASS
HALF_LENGTH = 0.5
POLE_MOMENT = POLE_MASS * HALF_LENGTH
FORCE = 10.0
SECONDS = 0.02
MAX_POSITION = 2.4
MAX_ANGLE = 12 * 2 * math.pi / 360
_NUMBERS = "x", "x_dot", "theta", "theta_dot"
_STATE = stack(*_NUMBERS)
_HIGH = np.array([2 * MAX_POSITION, np.inf, 2 * MAX_ANGLE, np.inf], np.float32)


class CartPole(ClassicControl):
    """Keep the pole on the cart upright: push the cart to the left or to the right.

    The episode ends when the cart is more than 2.4 away from the centre, or when the
    pole leans more than 12 degrees (0.2094 radians).  Positive is to the right.

    Parameters
    ----------
    sutton_barto_reward : bool
        False: each step earns 1.  True: the step that ends the episode earns -1, all
        others 0.

    Attributes
    ----------
    x, x_dot, theta, theta_dot : float64
        Position and velocity of the cart; angle (radians) and angular velocity of the
        pole.  They are the observation, as (4,) float32.
    state : (4,) float64
        The four numbers; may be set.
    has_fallen : bool
        Whether a step has ended the episode by the rules.

    Actions
    -------
    A text without the name of an action: nothing moves, the reward is 0, the step
    counts.

    Rewards
    -------
    1
        Each step up to the end of the episode.
    -1
        With ``sutton_barto_reward``, and then alone: the step that ends the episode by
        the rules.

    Episode end
    -----------
    terminated
        The cart is more than 2.4 away from the centre.
    terminated
        The pole leans more than 0.2094 radians (12 degrees).

    Sources
    -------
    Gymnasium, CartPole-v1 : 1.4.0; https://gymnasium.farama.org/environments/classic_control/
        starts from the same seeds, steps, rewards

    Differences
    -----------
    - Not there: ``steps_beyond_terminated``, constants such as ``gravity``, attributes
      of pictures such as ``screen``.

    Notes
    -----
    The rule is that of Gymnasium 1.4.0, CartPole-v1 with its Euler integrator, whose
    random numbers are one stream.  All four numbers of a first observation are between
    -0.05 and 0.05, or the bounds of ``reset(options={"low": ..., "high": ...})``.

    Raises
    ------
    InvalidOptionError
    """

    sutton_barto_reward: bool = False

    state = {**dict.fromkeys(_NUMBERS, np.float64), "has_fallen": np.bool_}
    OBS_MODES = {
        **ClassicControl.OBS_MODES,
        "array": "position and velocity of the cart, angle (radians) and angular "
        "velocity of the pole",
    }
    state_limits = dict.fromkeys(_NUMBERS, FINITE)
    attributes = {"state": _STATE}
    reset_options = {"low": -0.05, "high": 0.05}
    actions = ("left", "right")
    observation_space = Box(-_HIGH, _HIGH, dtype=np.float32)
    gymnasium_renderer = renderer_of("classic_control.cartpole:CartPoleEnv", _STATE)
    metadata = {**METADATA, "render_fps": 50}

    @rule
    def begin(env: Any, rng: Any) -> None:
        env.x = rng.uniform(env.low, env.high)
        env.x_dot = rng.uniform(env.low, env.high)
        env.theta = rng.uniform(env.low, env.high)
        env.theta_dot = rng.uniform(env.low, env.high)

    @rule
    def step(env: Any, action: int, rng: Any) -> tuple[float, bool]:
        force = FORCE if action == 1 else -FORCE
        cosine, sine = math.cos(env.theta), math.sin(env.theta)
        # The order of the operations is Gymnasium's: another rounds differently.
        square = env.theta_dot * env.theta_dot
        pull = (force + POLE_MOMENT * square * sine) / TOTAL_MASS
        inertia = HALF_LENGTH * (4.0 / 3.0 - POLE_MASS * (cosine * cosine) / TOTAL_MASS)
        theta_acc = (GRAVITY * sine - cosine * pull) / inertia
        x_acc = pull - POLE_MOMENT * theta_acc * cosine / TOTAL_MASS
        env.x += SECONDS * env.x_dot
        env.x_dot += SECONDS * x_acc
        env.theta += SECONDS * env.theta_dot
        env.theta_dot += SECONDS * theta_acc
        is_over = abs(env.x) > MAX_POSITION or abs(env.theta) > MAX_ANGLE
        if not is_over:
            return 0.0 if env.sutton_barto_reward else 1.0, False
        # Steps after the end earn nothing.
        reward = -1.0 if env.sutton_barto_reward else float(not env.has_fallen)
        env.has_fallen = True
        return reward, True

    @rule
    def observe(env: Any, out: Any) -> None:
        out[0] = env.x
        out[1] = env.x_dot
        out[2] = env.theta
        out[3] = env.theta_dot

    def text(self, env: Row) -> str:
        """Return the four numbers, a line each."""
        return (
            f"cart position: {env.x:+.3f}\n"
            f"cart velocity: {env.x_dot:+.3f}\n"
            f"pole angle: {env.theta:+.3f}\n"
            f"pole angular velocity: {env.theta_dot:+.3f}"
        )
