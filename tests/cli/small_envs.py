"""Two environments in plain Python, and policies with one action.

A process that plays one of them starts quickly.
"""

from functools import partial
from typing import ClassVar

import gymnasium
import numpy as np
from gymnasium.spaces import Discrete, Text

MODULE = "tests.cli.small_envs"
LINE, SUM = f"{MODULE}:small/Line-v0", f"{MODULE}:small/Sum-v0"


def _act(action, observations):
    actions = [action] * len(observations)
    return actions if isinstance(action, str) else np.array(actions)


zeros, twos, nines = partial(_act, 0), partial(_act, 2), partial(_act, 9)
raises, exits = partial(_act, "raise"), partial(_act, "exit")
silent = partial(_act, "silent")
ZEROS, TWOS, NINES = f"{MODULE}:zeros", f"{MODULE}:twos", f"{MODULE}:nines"
EXITS, SILENT = f"{MODULE}:exits", f"{MODULE}:silent"


class Line(gymnasium.Env):
    """A walk along five cells, played by keys and drawn in colour."""

    metadata: ClassVar = {"render_modes": ["ansi"]}
    action_lookup: ClassVar = {0: "Left", 1: "Right"}
    observation_space, action_space = Discrete(5), Discrete(2)

    def __init__(self, render_mode=None):
        self.render_mode = render_mode

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.position = 2
        return self.position, {}

    def step(self, action):
        self.position += 2 * action - 1
        return self.position, 0.0, self.position in (0, 4), False, {}

    def render(self):
        cells = ["#"] * 5
        cells[self.position] = "\x1b[1;36mP\x1b[0m"
        return " ".join(cells)


class Sum(gymnasium.Env):
    """Sums of numbers: the info of a step has the value of the typed sum."""

    observation_space, action_space = Text(40), Text(40, charset="0123456789+")

    def __init__(self, max_steps=1):
        self.max_steps = max_steps

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.num_steps = 0
        return "type a sum", {}

    def step(self, action):
        self.num_steps += 1
        info = {"value": sum(map(int, action.split("+")))}
        return "type a sum", 0.0, self.num_steps == self.max_steps, False, info


gymnasium.register("small/Line-v0", entry_point=Line)
gymnasium.register("small/Sum-v0", entry_point=Sum)
