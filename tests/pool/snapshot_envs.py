"""Environments for the tests of snapshots, one for each way to keep a state or none."""

import threading

import gymnasium
import numpy as np
from gymnasium.utils import EzPickle
from gymnasium.wrappers import TransformReward

from roll_vec.envs.countdown import Countdown
from roll_vec.pool.factories import build
from tests.pool.envs import Counter, Drifter, Talker


class Stateful(Talker):
    """Has plain states, and cannot be pickled or copied."""

    def __init__(self, length=4):
        super().__init__(length)
        self.lock = threading.Lock()
        self.words = []

    def reset(self, *, seed=None, options=None):
        self.words = []
        return super().reset(seed=seed, options=options)

    def step(self, action):
        self.words.append(action)
        observation, *others = super().step(action)
        return (f"{observation} after {self.words}", *others)

    def get_state(self):
        return {
            "stream": self.get_stream(),
            "turn": self.turn,
            "goal": getattr(self, "goal", 0),
            "resets": self.resets,
            "words": self.words,
        }

    def set_state(self, state):
        if state["turn"] == "refused":
            message = "refused"
            raise ValueError(message)
        self.set_stream(state["stream"])
        self.turn, self.goal = state["turn"], state["goal"]
        self.resets, self.words = state["resets"], state["words"]


class HalfStateful(Drifter):
    """Its states are no plain data, and lack ``np_random``: no `SeededEnv`."""

    def __init__(self):
        super().__init__("discrete")
        self.tags = {1}
        self.lock = threading.Lock()

    def step(self, action):
        self.tags.add(self.clock * len(self.tags))
        observation, reward, *others, info = super().step(action)
        return observation, reward + sum(self.tags), *others, info

    def get_state(self):
        return {"clock": self.clock, "tags": self.tags}

    def set_state(self, state):
        self.clock, self.tags = state["clock"], state["tags"]


class Unpicklable(Drifter):
    """Has no states and cannot be pickled."""

    def __init__(self):
        super().__init__("discrete")
        self.bonus = [lambda: 0.25]

    def step(self, action):
        self.bonus.append(self.bonus[0])
        observation, reward, *others = super().step(action)
        return observation, reward + sum(one() for one in self.bonus), *others


class Locked(Drifter):
    """Has no states, and cannot be pickled or copied."""

    def __init__(self):
        super().__init__("discrete")
        self.lock = threading.Lock()


class Forgetful(Drifter, EzPickle):
    """Is pickled and copied without its state."""

    def __init__(self):
        super().__init__("discrete")
        EzPickle.__init__(self)


class Remembering(Forgetful):
    """The same, but with a state of its own."""

    def get_state(self):
        return {"clock": self.clock}

    def set_state(self, state):
        self.clock = state["clock"]


class Slippery(Counter):
    """Draws in its steps; its states have the count alone, and the stream is added."""

    def step(self, action):
        slips = self.np_random.random() < 0.3
        return super().step(-action % 3 if slips else action)

    def get_state(self):
        return {"count": self.count}

    def set_state(self, state):
        self.count = state["count"]
        assert state.keys() == {"count"}


class NoopCounter(Counter):
    """Counts in text, where a text without an action does not step it."""

    ACTION_LOOKUP = {0: "Stay", 1: "Up", 2: "Down"}  # noqa: RUF012

    def __init__(self):
        super().__init__()
        self.action_space = gymnasium.spaces.Discrete(3)

    def step(self, action):
        observation, reward, over, truncated, info = super().step(action)
        info["success"] = np.bool_(self.count == 5)
        return observation, reward, over, truncated, info

    def get_state(self):
        return {"stream": self.get_stream(), "count": getattr(self, "count", None)}

    def set_state(self, state):
        self.set_stream(state["stream"])
        self.count = state["count"]


def noop_counter():
    """Return a counter that acts by text."""
    return build(NoopCounter, {"action_mode": "text", "action_separator": ","})


def wrapped_countdown():
    """Return Countdown in all wrappers of `gymnasium.make`."""
    return gymnasium.make("roll_vec/Countdown-v0", max_steps=4, max_episode_steps=3)


def half_reward():
    """Return an environment with states in a wrapper that nobody knows."""
    return TransformReward(build(Countdown, {"max_steps": 4}), _halve)


def _halve(reward):
    return reward / 2
