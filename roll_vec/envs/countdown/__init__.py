"""Countdown: combine numbers into a target; the answer is an expression in text."""

from roll_vec.envs.countdown.env import Countdown
from roll_vec.envs.countdown.grading import evaluate
from roll_vec.envs.countdown.options import CountdownOptions
from roll_vec.envs.countdown.solver import count_operations, solve

__all__ = [
    "Countdown",
    "CountdownOptions",
    "count_operations",
    "evaluate",
    "solve",
]
