"""An environment in plain Python, which starts quickly; policies with one action."""

from functools import partial
from typing import ClassVar

import gymnasium
import numpy as np
from gymnasium.spaces import Discrete

MODULE = "tests.cli.small_envs"
LINE = f"{MODULE}:small/Line-v0"


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


gymnasium.register("small/Line-v0", entry_point=Line)
