"""Environments for the tests of the pool: all kinds of spaces, all ways to fail."""

import os
import signal
import threading
import time
from typing import Any, ClassVar

import gymnasium
import numpy as np
from gymnasium import spaces

from roll_vec import BaseDiscreteActionEnv, BaseLanguageBasedEnv

# Environments in threads that hang wait for this event; tests set it afterwards.
RELEASE = threading.Event()
# They set this one before they wait.
HANGING = threading.Event()


class Talker(BaseLanguageBasedEnv):
    """A text environment; the actions ``fault:<name in FAULTS>`` make it fail.

    Its infos differ from step to step, as those of language environments do.
    """

    def __init__(self, length: int = 4) -> None:
        super().__init__()
        self.length = length
        self.fail_resets = self.resets = self.turn = 0

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.resets += 1
        if self.fail_resets == "hang":
            RELEASE.wait()
        if self.fail_resets == "die":
            os._exit(5)
        if self.fail_resets == "short":
            return "no info"
        if self.fail_resets:
            message = f"reset of {self.level_seed}"
            raise RuntimeError(message)
        self.turn = 0
        self.goal = int(self.np_random.integers(2, 2 + self.length))
        info = {"level": self.level_seed, "options": str(options or None)}
        return f"√ level {self.level_seed}\ngoal {self.goal}", info

    def step(self, action):
        self.turn += 1
        if action.startswith("fault:"):
            return FAULTS[action[6:]](self)
        reward = float(self.np_random.random())
        info: dict[str, Any] = {"turn": self.turn, "success": self.turn >= self.goal}
        if self.turn % 2:
            info["metrics"] = {"noise": reward, "words": len(action.split())}
        return f"{self.turn}: {action}", reward, self.turn >= self.goal, False, info

    def render(self):
        return f"turn {self.turn}"

    def add(self, number):
        return self.turn + number


class Picky(Talker):
    """Refuses to be reset to some level seeds, or with None to any."""

    def __init__(self, never):
        super().__init__()
        self.never = never

    def reset(self, *, seed=None, options=None):
        observation, info = super().reset(seed=seed, options=options)
        if self.never is None or self.level_seed in self.never:
            message = f"never {self.level_seed}"
            raise RuntimeError(message)
        return observation, info


def _raise(env):
    message = "as told"
    raise ValueError(message)


def _leave(env):
    raise SystemExit(4)


def _loop(env):
    while True:
        pass


def _wait(env):
    HANGING.set()
    RELEASE.wait()
    return "late", 99.0, False, False, {"late": True}


def _kill(env):
    os.kill(os.getpid(), signal.SIGKILL)


FAULTS = {
    "raise": _raise,
    "exit": _leave,
    "four": lambda env: ("obs", 0.0, False, False),
    "none": lambda env: None,
    "reward": lambda env: ("obs", "1.0", False, False, {}),
    "no reward": lambda env: ("obs", None, False, False, {}),
    "info": lambda env: ("obs", 1.0, False, False, ["error"]),
    "no text": lambda env: (None, 1.0, False, False, {}),
    "wait": _wait,
    "loop": _loop,
    "os._exit": lambda env: os._exit(3),
    "kill": _kill,
}
# The faults that any executor survives, and their messages.
EXCEPTIONS = {
    "raise": "exception in step: ValueError: as told",
    "exit": "exception in step: SystemExit: 4",
    "four": "exception in step: TypeError: step returned 4 values, expected 5: obs",
    "none": "exception in step: TypeError: step returned None, expected 5: observ",
    "reward": "exception in step: TypeError: step returned the reward '1.0'",
    "no reward": "exception in step: TypeError: step returned the reward None",
    "info": "exception in step: TypeError: step returned the info ['error']",
    "no text": "exception in step: the observation is not one of the observation",
}


class Unloadable:
    """A constructor that a process which must unpickle it waits for."""

    def __call__(self):
        return Talker()

    def __reduce__(self):
        return time.sleep, (600,)


class Drifter(gymnasium.Env[Any, Any]):
    """An environment that is not a `SeededEnv`: it cannot resume.

    With ``reuses`` it writes into one array and returns that again and again.
    """

    metadata: ClassVar = {"render_modes": ["ansi"], "render_fps": 7}

    def __init__(self, kind="box", render_mode=None, reuses=False):
        self.kind, self.render_mode, self.reuses = kind, render_mode, reuses
        self.scale, self.clock = 1.0, 0
        box = spaces.Box(-9.0, 9.0, (3,), np.float32)
        self.observation_space = {
            "box": box,
            "dict": spaces.Dict(
                {"at": box, "seen": spaces.Discrete(100), "said": spaces.Text(20)}
            ),
            "discrete": spaces.Discrete(100),
            "tuple": spaces.Tuple((spaces.MultiBinary(2), box)),
        }[kind]
        self.action_space = {
            "box": spaces.Box(-1.0, 1.0, (3,), np.float32),
            "dict": spaces.Dict({"move": spaces.Discrete(3), "by": box}),
            "discrete": spaces.Discrete(4),
            "tuple": spaces.MultiDiscrete([2, 3]),
        }[kind]
        self._buffer = np.zeros(3, np.float32)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.clock = 0
        self._buffer[:] = self.np_random.random(3)
        return self._observe(), {
            "start": self._buffer.copy(),
            "options": str(options or None),
        }

    def step(self, action):
        self.clock += 1
        self._buffer[:] = self.np_random.random(3) * self.scale
        if _fault_of(action):
            # After the buffer has changed.
            FAULTS["raise"](self)
        over = bool(self.np_random.random() < 0.2)
        acted = action["by"] if isinstance(action, dict) else action
        info = {
            "action": repr(type(action)),
            "acted": float(np.sum(acted)),
            "x": self._buffer[0],
        }
        return self._observe(), self.clock, over, self.clock >= 6, info

    def _observe(self):
        buffer = self._buffer if self.reuses else self._buffer.copy()
        if self.kind == "box":
            return buffer
        if self.kind == "dict":
            return {"at": buffer, "seen": self.clock, "said": f"t{self.clock}"}
        if self.kind == "discrete":
            return self.clock
        return (buffer[:2] > 0.5).astype(np.int8), buffer

    def render(self):
        return f"clock {self.clock}"


def _fault_of(action) -> bool:
    """Return whether an action of a `Drifter` tells it to fail."""
    if isinstance(action, dict):
        return bool(action["by"][0] == 9.0)
    return isinstance(action, np.ndarray) and bool(action.flat[0] == 1.0)


class Counter(BaseDiscreteActionEnv):
    """Integers from 1, and 0 for "no valid action"."""

    ACTION_LOOKUP: ClassVar = {1: "Up", 2: "Down"}

    def __init__(self) -> None:
        self.observation_space = spaces.Discrete(1000, start=-500)
        self.action_space = spaces.Discrete(2, start=1)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.count = int(self.np_random.integers(10))
        return self.count, {}

    def step(self, action):
        self.count += (0, 1, -1)[action]
        return self.count, 1, self.count in (0, 10), False, {"count": self.count}


def talkers(count: int) -> list[Any]:
    return [Talker] * count


def drifters(kind: str, count: int, reuses: bool = False) -> list[Any]:
    """Return constructors of environments with a kind of spaces."""
    return [lambda: Drifter(kind, reuses=reuses)] * count
