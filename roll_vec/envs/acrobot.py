"""Acrobot: swing the lower of two links up, as Gymnasium's Acrobot-v1."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from gymnasium.spaces import Box

from roll_vec.arrays.array_env import METADATA
from roll_vec.arrays.rules import rule
from roll_vec.envs.classic_control import STARTS, ClassicControl, renderer_of, stack
from roll_vec.envs.rounding import square, to_float32
from roll_vec.kernels.rows import Row

# Both links: length 1, mass 1, centre of mass 0.5, moment of inertia 1.
CENTRE = 0.5
GRAVITY = 9.8
SECONDS = 0.2
STEP_REWARD = -1.0
MAX_SPEED_1 = 4 * math.pi
MAX_SPEED_2 = 9 * math.pi
# The method of Runge and Kutta: the time of each stage, and its weight.
TIMES = (0.0, SECONDS / 2.0, SECONDS / 2.0, SECONDS)
WEIGHTS = (1.0, 2.0, 2.0, 1.0)
# Larger angles than an episode has: Gymnasium's way from them takes too long.
MANY_TURNS = 1e4
_NUMBERS = "theta_1", "theta_2", "theta_1_dot", "theta_2_dot"
_STATE = stack(*_NUMBERS)
_HIGH = np.array([1.0, 1.0, 1.0, 1.0, MAX_SPEED_1, MAX_SPEED_2], np.float32)


@rule
def accelerate(
    theta_1: float,
    theta_2: float,
    dot_1: float,
    dot_2: float,
    torque: float,
) -> tuple[float, float]:
    """Return the angular accelerations of both links.

    The order of the operations is Gymnasium's: another rounds differently.
    """
    cosine, sine = math.cos(theta_2), math.sin(theta_2)
    d1 = CENTRE * CENTRE + (1.0 + CENTRE * CENTRE + cosine) + 1.0 + 1.0
    d2 = CENTRE * CENTRE + CENTRE * cosine + 1.0
    phi_2 = CENTRE * GRAVITY * math.cos(theta_1 + theta_2 - math.pi / 2.0)
    phi_1 = -CENTRE * square(dot_2) * sine - dot_2 * dot_1 * sine
    phi_1 += (CENTRE + 1.0) * GRAVITY * math.cos(theta_1 - math.pi / 2.0)
    phi_1 += phi_2
    force = torque + d2 / d1 * phi_1 - CENTRE * square(dot_1) * sine - phi_2
    acc_2 = force / (CENTRE * CENTRE + 1.0 - square(d2) / d1)
    return -(d2 * acc_2 + phi_1) / d1, acc_2


@rule
def wrap(angle: float) -> float:
    """Return an angle as one from -pi to pi."""
    if abs(angle) > MANY_TURNS:
        angle %= 2 * math.pi
    while angle > math.pi:
        angle -= 2 * math.pi
    while angle < -math.pi:
        angle += 2 * math.pi
    return angle


class Acrobot(ClassicControl):
    """Swing the lower of two links up, so that its end is above the line.

    The first link hangs at a fixed joint, the second one at its end.  Both have the
    length 1; the line is 1 above the fixed joint.  An action is the torque between the
    links: -1, 0 or 1.  The angle of the first link is 0 where it hangs down, that of
    the second is relative to the first.  Each step costs 1, but for the one that ends
    above the line.

    Attributes
    ----------
    theta_1, theta_2 : float64
        The angles, from -pi to pi.
    theta_1_dot, theta_2_dot : float64
        The angular velocities.  The observation is the cosine and the sine of each
        angle, and the angular velocities, as (6,) float32.
    state : (4,) float64
        The four numbers; may be set.
    success : bool
        Whether the step has ended the episode.

    Actions
    -------
    A text without the name of an action: nothing moves, the reward is -1, the step
    counts.

    Rewards
    -------
    -1
        Each step, but for the one that ends the episode.

    Episode end
    -----------
    terminated
        The end of the second link is more than 1 above the joint.

    Sources
    -------
    Gymnasium, Acrobot-v1 : 1.4.0; https://gymnasium.farama.org/environments/classic_control/
        starts from the same seeds, steps, rewards

    Differences
    -----------
    - Not there: constants such as ``dt``, attributes of pictures such as ``screen``.
    - Angles beyond 10,000 are wrapped at once, not turn by turn.
    - The cosines and sines of a first observation, which are of float32 there, may
      differ in the last bit.

    Notes
    -----
    The rule is that of Gymnasium 1.4.0, Acrobot-v1 with the equations of the book.
    Its random numbers are one stream.  All four numbers begin between -0.1 and 0.1, or
    the bounds of ``reset(options={"low": ..., "high": ...})``.

    Raises
    ------
    InvalidOptionError
    """

    state = {**dict.fromkeys(_NUMBERS, np.float64), "success": np.bool_}
    # A step takes 0.5 us: two threads play 1,024 1.7 times as fast as one.
    ROWS_PER_THREAD = 1 << 9
    OBS_MODES = {
        **ClassicControl.OBS_MODES,
        "array": "cosine and sine of the first angle, the same of the second, both "
        "angular velocities",
    }
    state_limits = dict.fromkeys(_NUMBERS, STARTS)
    attributes = {"state": _STATE}
    reset_options = {"low": -0.1, "high": 0.1}
    actions = ("negative", "none", "positive")
    infos = ("success",)
    hidden_infos = ("success",)  # Gymnasium has none
    invalid_reward = STEP_REWARD
    observation_space = Box(-_HIGH, _HIGH, dtype=np.float32)
    gymnasium_renderer = renderer_of("classic_control.acrobot:AcrobotEnv", _STATE)
    metadata = {**METADATA, "render_fps": 15}

    @rule
    def begin(env: Any, rng: Any) -> None:
        env.theta_1 = to_float32(rng.uniform(env.low, env.high))
        env.theta_2 = to_float32(rng.uniform(env.low, env.high))
        env.theta_1_dot = to_float32(rng.uniform(env.low, env.high))
        env.theta_2_dot = to_float32(rng.uniform(env.low, env.high))

    @rule
    def step(env: Any, action: int, rng: Any) -> tuple[float, bool]:
        torque = action - 1.0
        dot_1 = dot_2 = acc_1 = acc_2 = 0.0
        sum_dot_1 = sum_dot_2 = sum_acc_1 = sum_acc_2 = 0.0
        for i in range(4):
            theta_1 = env.theta_1 + TIMES[i] * dot_1
            theta_2 = env.theta_2 + TIMES[i] * dot_2
            dot_1 = env.theta_1_dot + TIMES[i] * acc_1
            dot_2 = env.theta_2_dot + TIMES[i] * acc_2
            acc_1, acc_2 = accelerate(theta_1, theta_2, dot_1, dot_2, torque)
            sum_dot_1 += WEIGHTS[i] * dot_1
            sum_dot_2 += WEIGHTS[i] * dot_2
            sum_acc_1 += WEIGHTS[i] * acc_1
            sum_acc_2 += WEIGHTS[i] * acc_2
        env.theta_1 = wrap(env.theta_1 + SECONDS / 6.0 * sum_dot_1)
        env.theta_2 = wrap(env.theta_2 + SECONDS / 6.0 * sum_dot_2)
        theta_1_dot = env.theta_1_dot + SECONDS / 6.0 * sum_acc_1
        theta_2_dot = env.theta_2_dot + SECONDS / 6.0 * sum_acc_2
        env.theta_1_dot = min(max(theta_1_dot, -MAX_SPEED_1), MAX_SPEED_1)
        env.theta_2_dot = min(max(theta_2_dot, -MAX_SPEED_2), MAX_SPEED_2)
        height = -math.cos(env.theta_1) - math.cos(env.theta_2 + env.theta_1)
        env.success = height > 1.0
        return 0.0 if env.success else STEP_REWARD, env.success

    @rule
    def observe(env: Any, out: Any) -> None:
        out[0] = math.cos(env.theta_1)
        out[1] = math.sin(env.theta_1)
        out[2] = math.cos(env.theta_2)
        out[3] = math.sin(env.theta_2)
        out[4] = env.theta_1_dot
        out[5] = env.theta_2_dot

    def text(self, env: Row) -> str:
        """Return the angles, the angular velocities and the height, a line each."""
        height = -math.cos(env.theta_1) - math.cos(env.theta_2 + env.theta_1)
        return (
            f"angle of the first link: {env.theta_1:+.3f}\n"
            f"angle of the second link: {env.theta_2:+.3f}\n"
            f"angular velocity of the first link: {env.theta_1_dot:+.3f}\n"
            f"angular velocity of the second link: {env.theta_2_dot:+.3f}\n"
            f"height of the end: {height:+.3f}"
        )
