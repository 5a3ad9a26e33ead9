"""Environments as users register them: one of texts, one of integer actions."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from gymnasium import spaces

from roll_vec import BaseDiscreteActionEnv, BaseLanguageBasedEnv
from roll_vec.errors import InvalidActionError, ResetNeededError


class Guess(BaseLanguageBasedEnv):
    """Guess a number that moves now and then.

    Its infos have a key that only numbers have, nested ones, and texts; its
    observations have lines and characters that Gymnasium's own Text refuses.
    """

    metadata: ClassVar = {"render_modes": ["ansi"], "render_fps": 4}

    def __init__(self, highest: int = 5, render_mode: str | None = None) -> None:
        super().__init__()
        self.action_space.examples = ("1", "2", "3", "4", "none of them", "")
        self.highest = highest
        self.render_mode = render_mode
        self.num_env_steps = 0
        self._said: str | None = None

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.num_env_steps = 0
        self._number = int(self.np_random.integers(1, self.highest + 1))
        self._said = f"√ level {self.level_seed}\n1 to {self.highest}?"
        return self._said, {"level": self.level_seed}

    def step(self, action):
        if self._said is None:
            raise ResetNeededError("reset it first")
        self.num_env_steps += 1
        right = action == str(self._number)
        info: dict[str, Any] = {"success": right, "heard": {"words": action.split()}}
        if action.isdecimal():
            info["distance"] = abs(self._number - int(action[:9]))
            info["heard"]["digits"] = len(action)
        if self.np_random.random() < 0.3:
            self._number = self._number % self.highest + 1
            info["moved"] = f"to {self._number}"
        self._said = f"{self.num_env_steps}: {'yes' if right else 'no'}\n{action}"
        return self._said, 1.0 if right else -0.1, right, False, info

    def render(self):
        if self._said is None:
            raise ResetNeededError("reset it first")
        return self._said

    def get_instructions(self):
        return f"Guess a number from 1 to {self.highest}."


class Lamps(BaseDiscreteActionEnv):
    """Switch off a row of lamps, of which one goes on again now and then."""

    ACTION_LOOKUP: ClassVar = {1: "First", 2: "Second", 3: "Third"}
    metadata: ClassVar = {"render_modes": ["ansi"], "render_fps": 4}

    def __init__(self, render_mode: str | None = None) -> None:
        self.observation_space = spaces.Box(0, 255, (4,), np.uint8)
        self.action_space = spaces.Discrete(3, start=1)
        self.render_mode = render_mode
        self.num_env_steps = 0
        self._row = None

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.num_env_steps = 0
        self._row = self.np_random.integers(0, 2, 4).astype(np.uint8)
        self._row[0] = 1
        self._row[3] = self.np_random.integers(256)
        return self._row.copy(), {"noise": int(self._row[3])}

    def step(self, action):
        if self._row is None:
            raise ResetNeededError("reset it first")
        if action not in (0, *self.ACTION_LOOKUP):
            raise InvalidActionError(f"action: expected 0 to 3, got {action!r}")
        self.num_env_steps += 1
        info = {"action_is_valid": bool(action), "lit": int(self._row[:3].sum())}
        if action:
            self._row[action - 1] ^= 1
        if self.np_random.random() < 0.2:
            self._row[self.np_random.integers(3)] = 1
        done = not self._row[:3].any()
        info["success"] = done
        return self._row.copy(), float(done), done, False, info

    def render(self):
        if self._row is None:
            raise ResetNeededError("reset it first")
        return "".join(".*"[lamp] for lamp in self._row[:3])
