"""Environments of text and of integers, for the wrapper."""

from typing import ClassVar

import gymnasium
import numpy as np

from roll_vec import BaseDiscreteActionEnv, BaseLanguageBasedEnv
from roll_vec.text.options import TextOptions
from roll_vec.text.wrapper import TextWrapper


class Echo(BaseLanguageBasedEnv):
    """Repeats each action; returns the same info objects at each step."""

    def __init__(self, info=None):
        super().__init__()
        self.reset_info, self.info = {"extra": 1}, {"echo": True} | (info or {})
        self.actions = []

    def get_instructions(self):
        return f"Level {self.level_seed}."

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return "start", self.reset_info

    def step(self, action):
        self.actions.append(action)
        return f"echo {action}", 1.0, False, False, self.info


class Walk(BaseDiscreteActionEnv):
    """Goes one cell right or left, ends at 3; returns the same array at each step."""

    ACTION_LOOKUP: ClassVar = {1: "Left", 2: "Right"}
    first = 1

    def __init__(self):
        self.observation_space = gymnasium.spaces.Box(-99, 99, (1,), np.int64)
        self.action_space = gymnasium.spaces.Discrete(2, start=self.first)
        self.place = np.zeros(1, np.int64)
        self.steps = 0

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.place[:] = self.steps = 0
        return self.place, {}

    def step(self, action):
        self.steps += 1
        side = action - self.first
        is_action = side in (0, 1)
        self.place += (2 * side - 1) * is_action
        terminated = bool(self.place[0] == 3)
        info = {
            "action_is_effective": is_action and side == 1,
            "action_is_valid": is_action,
            "success": terminated,
            "prob": 0.5,
        }
        return self.place, float(side) / 4, terminated, self.steps == 6, info


class WalkFromZero(Walk):
    """The same with 0 as an action."""

    ACTION_LOOKUP: ClassVar = {0: "Left", 1: "Right"}
    first = 0


def make(env, **options):
    """Return an environment in a wrapper, reset."""
    wrapper = TextWrapper(env, TextOptions(**options))
    wrapper.reset(seed=5)
    return wrapper
