"""Countdown: combine numbers into a target; the answer is an expression in text."""

from roll_vec.envs.countdown.env import Countdown
from roll_vec.envs.countdown.solver import solve

__all__ = ["Countdown", "solve"]
