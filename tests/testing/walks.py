"""Two small vector environments that keep the whole contract.

`Walk`: a walker on a line of nine cells begins near the middle, slips now and then, and
ends in the first or last cell, or after 8 steps.  It observes its cell, its clock and a
number drawn for the episode.  `Talk` is the same with texts on both sides.

Each rule of the contract stands in a line of its own: `bugs_of_walks` exchanges lines.
"""

import itertools
import re
import time
from pathlib import Path
from types import SimpleNamespace
from typing import ClassVar

import numpy as np
from gymnasium import spaces
from gymnasium.error import ClosedEnvironmentError, Error, ResetNeeded
from gymnasium.utils.seeding import np_random
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from roll_vec.errors import FaultMessage  # noqa: F401 (an environment with a bug)

NEXT_STEP = AutoresetMode.NEXT_STEP
SAME_STEP = AutoresetMode.SAME_STEP
DISABLED = AutoresetMode.DISABLED

CELLS, TIME = 9, 8
LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789: \n√"

# For the environments with bugs: numbers that never repeat, not even by chance, and a
# call that takes too long.
ENTROPY = itertools.count()
hang = lambda: time.sleep(60)  # noqa: E731


class Walk(VectorEnv):
    """The sound environment."""

    metadata: ClassVar = {"render_modes": ["ansi"], "render_fps": 4}

    def __init__(self, num_envs=1, autoreset_mode=NEXT_STEP, render_mode=None):
        if render_mode not in (None, "ansi"):
            raise ValueError(render_mode)
        self.num_envs, self.render_mode = num_envs, render_mode
        self.mode = AutoresetMode(autoreset_mode)
        self.metadata = {**self.metadata, "autoreset_mode": self.mode}
        self.single_observation_space = spaces.Box(0, 999, (3,), np.float32)
        self.single_action_space = spaces.Discrete(2)
        # Equal to those of `batch_space`, which takes five times as long.
        self.observation_space = spaces.Box(0, 999, (num_envs, 3), np.float32)
        self.action_space = spaces.MultiDiscrete([2] * num_envs)
        self.state = np.zeros((num_envs, 3))  # cell, clock, number of the episode
        self.rngs, self.seeds = [None] * num_envs, [None] * num_envs
        self.dones = np.zeros(num_envs, np.bool_)
        self.ready = False

    def reset(self, *, seed=None, options=None):
        self.refuse_closed()
        rows = self.rows_to_reset(options)
        for env, one in self.seeds_of(seed, rows):
            self.begin(env, one)
        self.dones[rows] = False
        self.ready = True
        return self.observations(), self.reset_infos(rows)

    def rows_to_reset(self, options):
        mask = (options or {}).get("reset_mask")
        if mask is None:
            return np.ones(self.num_envs, np.bool_)
        self.refuse_bad_mask(mask)
        return mask.copy()

    def refuse_bad_mask(self, mask):
        if not isinstance(mask, np.ndarray) or mask.dtype != np.bool_:
            raise TypeError(mask)
        if mask.shape != (self.num_envs,) or not mask.any():
            raise ValueError(mask)

    def seeds_of(self, seed, rows):
        if seed is None or isinstance(seed, int):
            seed = [None if seed is None else seed + i for i in range(self.num_envs)]
        if len(seed) != self.num_envs:
            raise ValueError(seed)
        if any(one is not None and one < 0 for one in seed):
            raise Error(seed)
        return [(env, seed[env]) for env in np.flatnonzero(rows)]

    def begin(self, env, seed=None):
        if seed is not None or self.rngs[env] is None:
            self.rngs[env], self.seeds[env] = np_random(seed)
        rng = self.rngs[env]
        self.state[env] = rng.integers(3, 6), 0, rng.integers(1000)

    def refuse_closed(self):
        if self.closed:
            raise ClosedEnvironmentError

    def step(self, actions):
        self.refuse_closed()
        if not self.ready:
            raise ResetNeeded
        actions = self.checked(actions)
        if self.mode is DISABLED and self.dones.any():
            raise ResetNeeded(self.dones)
        starts = self.dones & (self.mode is NEXT_STEP)
        for env in np.flatnonzero(starts):
            self.autoreset(env, actions[env])
        slipped = self.move(actions, ~starts)
        rewards = np.where(starts, 0.0, self.state[:, 0] - 4.0)
        cell, clock = self.state[:, 0], self.state[:, 1]
        terminations = ~starts & ((cell == 0) | (cell == CELLS - 1))
        truncations = ~starts & (clock >= TIME)
        self.dones = terminations | truncations
        infos = self.step_infos(~starts, slipped)
        if starts.any():
            infos.update(self.reset_infos(starts))
        if self.mode is SAME_STEP and self.dones.any():
            infos = self.same_step(infos, slipped)
        return self.observations(), rewards, terminations, truncations, infos

    def checked(self, actions):
        if np.shape(actions) != (self.num_envs,):
            raise ValueError(actions)
        if not self.action_space.contains(actions):
            raise ValueError(actions)
        return actions

    def autoreset(self, env, action):
        self.begin(env)

    def move(self, actions, rows):
        slipped = np.zeros(self.num_envs, np.bool_)
        for env in np.flatnonzero(rows):
            slipped[env] = self.rngs[env].random() < 0.2
            self.state[env, 0] += 1 if actions[env] != slipped[env] else -1
            self.state[env, 1] += 1
        return slipped

    def same_step(self, infos, slipped):
        """Reset the environments that ended; return infos with the final ones."""
        dones = self.dones.copy()
        final_obs = np.full(self.num_envs, None, object)
        for env in np.flatnonzero(self.dones):
            final_obs[env] = self.observations()[env]
        final_info = self.step_infos(dones, slipped)
        infos = {} if dones.all() else self.step_infos(~dones, slipped)
        for env in np.flatnonzero(dones):
            self.autoreset(env, None)
        self.dones[dones] = False
        infos.update(self.reset_infos(dones))
        infos.update(final_obs=final_obs, _final_obs=dones)
        infos.update(final_info=final_info, _final_info=dones.copy())
        return infos

    def observations(self):
        return self.state.astype(np.float32)

    def reset_infos(self, rows):
        return {
            "start": np.where(rows, self.state[:, 0].astype(int), 0),
            "_start": rows.copy(),
        }

    def step_infos(self, rows, slipped):
        clock = np.where(rows, self.state[:, 1], 0)
        infos = {"slipped": slipped & rows, "_slipped": rows.copy()}
        infos["detail"] = {"clock": clock, "_clock": rows.copy()}
        infos["_detail"] = rows.copy()
        return infos

    def render(self):
        return tuple("." * int(cell) + "@" for cell in self.state[:, 0])

    @property
    def np_random_seed(self):
        return tuple(self.seeds)

    def call(self, name, *args, **kwargs):
        value = getattr(self, name)
        return (value(*args, **kwargs) if callable(value) else value,) * self.num_envs

    def get_attr(self, name):
        return self.call(name)

    def set_attr(self, name, values):
        setattr(self, name, values)


class Talk(Walk):
    """A walker with texts on both sides: long actions go right."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.single_observation_space = spaces.Text(60, charset=LETTERS)
        self.single_action_space = spaces.Text(10, charset=LETTERS)
        self.observation_space = batch_space(
            self.single_observation_space, self.num_envs
        )
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        self.last_texts = [""] * self.num_envs

    def checked(self, texts):
        if not isinstance(texts, (list, tuple)) or len(texts) != self.num_envs:
            raise ValueError(texts)
        if not all(isinstance(text, str) for text in texts):
            raise TypeError(texts)
        self.last_texts = list(texts)
        return [len(text) > 5 for text in self.last_texts]

    def observations(self):
        texts = [
            f"√ {int(cell)}\n{int(clock)}: {int(number)}"
            for cell, clock, number in self.state
        ]
        return tuple(texts)

    def step_infos(self, rows, slipped):
        infos = super().step_infos(rows, slipped)
        texts = np.array(self.last_texts, object)
        infos["said"], infos["_said"] = np.where(rows, texts, None), rows.copy()
        lengths = np.array([len(text) for text in self.last_texts])
        long = rows & (lengths > 5)
        if long.any():
            # Of some environments only.
            infos["value"], infos["_value"] = np.where(long, lengths, 0), long
        return infos


def read_rows(table, class_name):
    """Return bugs by name: their codes, new members, and changes of lines."""
    bugs, bug = {}, None
    for line in filter(None, table.split("\n")):
        sign, text = line[:2], line[2:]
        if sign in {"- ", "< ", "> "}:
            bug.changes.append((sign, text, []))
        elif sign == "+ ":
            (bug.changes[-1][2] if bug.changes else bug.members).append(text)
        else:
            title, codes = line.split(": ")
            name, _, number = title.partition(" ")
            bug = SimpleNamespace(codes=codes.split(), members=[], changes=[])
            bug.name, bug.class_name, bug.group = name, class_name, number or name
            bugs[name] = bug
    return bugs


def make_broken(*bugs):
    """Return the class of a walk with the changes of some bugs."""
    class_name = bugs[0].class_name
    source = Path(__file__).read_text("utf-8")
    for bug in bugs:
        for sign, old, new in bug.changes:
            [indent] = re.findall(rf"^( *){re.escape(old)}$", source, re.MULTILINE)
            lines = {"- ": new, "< ": [*new, old], "> ": [old, *new]}[sign]
            source = source.replace(
                indent + old, "\n".join(indent + line for line in lines)
            )
        # Members stand below the docstring.
        head, tail = source.split(f"class {class_name}(")
        first, docstring, body = tail.split("\n", 2)
        members = "".join(f"\n    {line}" for line in bug.members)
        source = f"{head}class {class_name}({first}\n{docstring}{members}\n{body}"
    names = {"__name__": __name__, "__file__": __file__}
    exec(compile(source, f"{bugs[0].name}.py", "exec"), names)
    return names[class_name]
