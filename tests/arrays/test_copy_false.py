"""Observations of ``copy=False`` equal new ones."""

import pickle

import gymnasium
import numpy as np
import pytest

import roll_vec
from tests.contract.cases import DISABLED, MODES, SAME_STEP, assert_same, scale_steps

SOKOBAN, LAKE = "roll_vec/Sokoban-v0", "roll_vec/FrozenLake-v1"
N = 7
# Small rooms, whose boxes are pushed, also to targets, by random play.
ROOMS = {"dim_room": (6, 5), "num_boxes": 2, "max_episode_steps": 9}
KINDS = {
    **{
        mode: (SOKOBAN, {**ROOMS, "obs_mode": mode})
        for mode in ("grid", "planes", "text")
    },
    "levels": (SOKOBAN, {"levels": ["######\n#@$. #\n#. $ #\n######"] * 2}),
    "drawn before": (SOKOBAN, {**ROOMS, "num_levels": 9, "obs_mode": "planes"}),
    "texts": (SOKOBAN, {**ROOMS, "obs_mode": "planes4", "action_mode": "text"}),
    "dead ends": (SOKOBAN, {**ROOMS, "obs_mode": "planes", "deadlock": True}),
    "position": (LAKE, {"max_episode_steps": 9}),
    "random lake": ("roll_vec/RandomFrozenLake-v0", {"obs_mode": "planes"}),
}


def draw(env, rng):
    """Return actions; a text has up to three of them."""
    if isinstance(env.single_action_space, gymnasium.spaces.Discrete):
        return rng.integers(0, env.single_action_space.n, N)
    names = np.array(["Up", "Down", "Left", "Right", "no action"])
    texts = [" || ".join(rng.choice(names, rng.integers(1, 4))) for _ in range(N)]
    return np.array([f"<answer>{text}</answer>" for text in texts], object)


class Program:
    """Random calls of two batches, of which one writes into the same arrays."""

    def __init__(self, kind, mode, seed):
        id, keywords = KINDS[kind]
        keywords = {**keywords, "autoreset_mode": mode, "action_start": 0}
        if id == LAKE:
            del keywords["action_start"]
        self.envs = [
            roll_vec.make_vec(id, N, copy=copy, **keywords) for copy in (True, False)
        ]
        self.rng, self.mode = np.random.default_rng(seed), mode
        self.compare([env.reset(seed=seed)[0] for env in self.envs])
        self.has_ended = np.zeros(N, bool)
        self.points = [self.envs[0].get_state()]

    def compare(self, observations):
        new, same = observations
        assert_same(np.asarray(same), np.asarray(new))

    def mask(self):
        mask = self.rng.random(N) < 0.6
        mask[self.rng.integers(N)] = True
        return mask

    def run(self, num_calls):
        names = ["step", "step", "step", "reset", "unroll", "point"]
        for name in self.rng.choice([*names, "go_back", "copies"], num_calls):
            if self.mode is DISABLED and self.has_ended.any():
                mask = self.has_ended.copy()
                options = {"reset_mask": mask}
                self.compare([env.reset(options=options)[0] for env in self.envs])
                self.has_ended[:] = False
            getattr(self, name)()
        for env in self.envs:
            env.close()

    def step(self):
        actions = draw(self.envs[0], self.rng)
        results = [env.step(actions) for env in self.envs]
        self.compare([result[0] for result in results])
        self.has_ended = ends = results[0][2] | results[0][3]
        if self.mode is SAME_STEP and ends.any():
            finals = [list(result[4]["final_obs"][ends]) for result in results]
            assert_same(np.array(finals[1]), np.array(finals[0]))

    def reset(self):
        seed = int(self.rng.integers(99)) if self.rng.random() < 0.5 else None
        options = {"reset_mask": self.mask()}
        self.compare([env.reset(seed=seed, options=options)[0] for env in self.envs])

    def unroll(self):
        if self.mode is not DISABLED:
            actions = [draw(self.envs[0], self.rng) for _ in range(3)]
            self.compare([env.unroll(actions).observations for env in self.envs])

    def point(self):
        self.points.append(self.envs[int(self.rng.integers(2))].get_state())

    def go_back(self):
        state = self.points[int(self.rng.integers(len(self.points)))]
        rows = self.rng.integers(0, N, N)
        self.compare([env.set_state(state, rows=rows) for env in self.envs])
        if self.mode is DISABLED:
            options = {"reset_mask": np.ones(N, bool)}
            self.compare([env.reset(options=options)[0] for env in self.envs])

    def copies(self):
        self.envs = [pickle.loads(pickle.dumps(env)) for env in self.envs]


@pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.value)
@pytest.mark.parametrize("kind", KINDS)
def test_observations_equal_new_ones_in_any_program(kind, mode):
    Program(kind, mode, seed=3).run(scale_steps(60))


def test_a_step_writes_into_the_same_array():
    for kind in ("grid", "planes", "position"):
        id, keywords = KINDS[kind]
        env = roll_vec.make_vec(id, N, copy=False, **keywords)
        first = env.reset(seed=1)[0]
        assert env.step(np.ones(N, int))[0] is first
        # The others are arrays of the state.
        assert first.flags.writeable == (kind == "planes")
