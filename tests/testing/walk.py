"""A small vector environment that keeps the whole contract.

A walker on a line of nine cells begins near the middle, slips now and then, and ends in
the first or last cell, or after 8 steps.  It observes its cell, its clock and a number
drawn for the episode.  The methods are small, so that a subclass can break each rule by
one override.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from gymnasium import spaces
from gymnasium.error import ClosedEnvironmentError, Error, ResetNeeded
from gymnasium.utils.seeding import np_random
from gymnasium.vector import AutoresetMode, VectorEnv

NEXT_STEP = AutoresetMode.NEXT_STEP
SAME_STEP = AutoresetMode.SAME_STEP
DISABLED = AutoresetMode.DISABLED

CELLS, TIME = 9, 8


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
        self.clear_ended(rows)
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

    def clear_ended(self, rows):
        self.dones[rows] = False

    def refuse_closed(self):
        if self.closed:
            raise ClosedEnvironmentError

    def step(self, actions):
        self.refuse_closed()
        actions = self.checked(actions)
        if self.mode is DISABLED:
            self.refuse_ended()
        starts = (
            self.dones.copy() if self.mode is NEXT_STEP else np.zeros_like(self.dones)
        )
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
        return self.results(rewards, terminations, truncations, infos)

    def checked(self, actions):
        if not self.ready:
            raise ResetNeeded
        if np.shape(actions) != (self.num_envs,) or not self.action_space.contains(
            actions
        ):
            raise ValueError(actions)
        return actions

    def refuse_ended(self):
        if self.dones.any():
            raise ResetNeeded(self.dones)

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
        for env in np.flatnonzero(dones):
            final_obs[env] = self.observations()[env]
        final_info = self.step_infos(dones, slipped)
        infos = {} if dones.all() else self.step_infos(~dones, slipped)
        for env in np.flatnonzero(dones):
            self.autoreset(env, None)
        self.clear_ended(dones)
        infos.update(self.reset_infos(dones))
        infos.update(final_obs=final_obs, _final_obs=dones)
        infos.update(final_info=final_info, _final_info=dones.copy())
        return infos

    def results(self, rewards, terminations, truncations, infos):
        return self.observations(), rewards, terminations, truncations, infos

    def observations(self):
        return self.state.astype(np.float32)

    def reset_infos(self, rows):
        return {
            "start": np.where(rows, self.state[:, 0].astype(int), 0),
            "_start": rows.copy(),
        }

    def step_infos(self, rows, slipped):
        return {
            "slipped": slipped & rows,
            "_slipped": rows.copy(),
            "detail": {
                "clock": np.where(rows, self.state[:, 1], 0),
                "_clock": rows.copy(),
            },
            "_detail": rows.copy(),
        }

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
