"""Pendulum: swing a pendulum up and hold it there, as Gymnasium's Pendulum-v1."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from gymnasium.spaces import Box

from roll_vec.arrays.array_env import METADATA, ArrayEnv
from roll_vec.arrays.rules import rule
from roll_vec.arrays.state_checks import FINITE
from roll_vec.envs.classic_control import MAX_START, STARTS, stack
from roll_vec.envs.rounding import square, square_float32, to_float32
from roll_vec.kernels.rows import Row
from roll_vec.options import check_number
from roll_vec.render.gymnasium_renderers import GymnasiumRenderer

MAX_SPEED = 8.0
MAX_TORQUE = 2.0
SECONDS = 0.05
SPEED_COST = 0.1
TORQUE_COST = float(np.float32(0.001))
_STATE = stack("theta", "theta_dot")
_HIGH = np.array([1.0, 1.0, MAX_SPEED], np.float32)


class Pendulum(ArrayEnv):
    """Swing a pendulum up and hold it there.

    An action is the torque at the joint, from -2 to 2.  Positive is counterclockwise,
    and the angle is 0 where the pendulum points up.  Each step costs the square of the
    angle (from -pi to pi), a tenth of that of the angular velocity (from -8 to 8), and
    a thousandth of that of the torque.

    Parameters
    ----------
    g : float
        The acceleration of gravity.

    Attributes
    ----------
    theta, theta_dot : float64
        The angle (radians, of any size) and the angular velocity.  The observation is
        the angle's cosine and sine and the angular velocity, as (3,) float32.
    torque : float32
        That of the last step, clipped; 0 before.  Pictures have an arrow for it.
    state : (2,) float64
        Both; may be set.

    Actions
    -------
    Larger torques are clipped, in their cost as well.

    Rewards
    -------
    -angle ** 2
        Each step; the angle is 0 where it points up.
    -0.1 * velocity ** 2
        Each step.
    -0.001 * torque ** 2
        Each step.

    Sources
    -------
    Gymnasium, Pendulum-v1 : 1.4.0; https://gymnasium.farama.org/environments/classic_control/
        starts from the same seeds, steps, rewards

    Differences
    -----------
    - Not there: ``last_u``, constants such as ``dt``, attributes of pictures such as
      ``screen``.
    - Actions are rounded to float32, which their space has; the original calculates
      with actions of float64 in float64.

    Notes
    -----
    The rule is that of Gymnasium 1.4.0, Pendulum-v1, with numpy 2 and actions of
    float32.  Its random numbers are one stream.  The angle begins between -pi and pi,
    the angular velocity between -1 and 1, or both between the numbers of
    ``reset(options={"x_init": ..., "y_init": ...})`` and their negatives.

    Raises
    ------
    InvalidOptionError
    """

    g: float = 10.0

    # A step takes 0.15 us: two threads play 2,048 1.4 times as fast as one.
    ROWS_PER_THREAD = 1 << 10
    state = {"theta": np.float64, "theta_dot": np.float64, "torque": np.float32}
    OBS_MODES = {
        **ArrayEnv.OBS_MODES,
        "array": "cosine and sine of the angle, angular velocity",
    }
    state_limits = {
        "theta": FINITE,
        "theta_dot": STARTS,
        "torque": (-MAX_TORQUE, MAX_TORQUE),
    }
    attributes = {"state": _STATE}
    reset_options = {"x_init": math.pi, "y_init": 1.0}
    actions = Box(-MAX_TORQUE, MAX_TORQUE, (1,), np.float32)
    seeding = "stream"
    observation_space = Box(-_HIGH, _HIGH, dtype=np.float32)
    gymnasium_renderer = GymnasiumRenderer(
        "classic_control.pendulum:PendulumEnv",
        # Without a torque there is no arrow: neither for 0 nor for Gymnasium's None.
        lambda env: {"state": _STATE.read(env), "last_u": env.torque},
    )
    metadata = {**METADATA, "render_fps": 30}

    def check_reset_options(self, values: Mapping[str, float]) -> None:
        """Check that no bound is negative."""
        for name, value in values.items():
            check_number(f"options[{name!r}]", value, 0.0, MAX_START)

    @rule
    def begin(env: Any, rng: Any) -> None:
        env.theta = rng.uniform(-env.x_init, env.x_init)
        env.theta_dot = rng.uniform(-env.y_init, env.y_init)

    @rule
    def step(env: Any, action: Any, rng: Any) -> tuple[float, bool]:
        # The order of the operations is Gymnasium's: another rounds differently.
        # Those of the torque alone are float32.
        torque = min(max(action[0], -MAX_TORQUE), MAX_TORQUE)
        angle = (env.theta + math.pi) % (2 * math.pi) - math.pi
        cost = square(angle)
        cost += SPEED_COST * square(env.theta_dot)
        cost += to_float32(TORQUE_COST * square_float32(torque))
        pull = 3 * env.g / 2.0 * math.sin(env.theta) + to_float32(3.0 * torque)
        theta_dot = env.theta_dot + pull * SECONDS
        env.theta_dot = min(max(theta_dot, -MAX_SPEED), MAX_SPEED)
        env.theta += env.theta_dot * SECONDS
        env.torque = torque
        return -cost, False

    @rule
    def observe(env: Any, out: Any) -> None:
        out[0] = math.cos(env.theta)
        out[1] = math.sin(env.theta)
        out[2] = env.theta_dot

    def text(self, env: Row) -> str:
        """Return the angle, from -pi to pi, and the angular velocity, a line each."""
        angle = math.remainder(env.theta, 2 * math.pi)
        return f"angle: {angle:+.3f}\nangular velocity: {env.theta_dot:+.3f}"
