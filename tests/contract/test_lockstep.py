"""Batches in lockstep with Gymnasium's SyncVectorEnv over single environments.

Everything that `reset` and `step` return is compared to the bit at every step, under
random partial resets and seed lists.

This has been seen to fail with each of these bugs planted, one at a time:

- an autoreset seeds the stream anew (with its seed + i + 1) instead of going on;
- the step count of an episode survives its reset;
- `final_obs` is taken after the reset;
- in the step that resets an environment, the infos' mask says it stepped;
- with ``copy=False`` the observations of the step before are returned;
- slips are drawn from the stream of the neighbour;
- a partial reset does not clear a pending autoreset;
- a partial reset takes its seeds from the front of the list, not from its rows;
- a level of a finite set is taken from the episode's number instead of its seed;
- the members of a group are seeded as if there were no groups.
"""

import numpy as np
import pytest

from roll_vec.stacked.grid_observations import OBS_MODES
from tests.conftest import JIT_OFF
from tests.contract.cases import (
    ALL_CASES,
    ARRAY_IDS,
    CASES,
    DISABLED,
    LEVELS,
    MODES,
    NEXT_STEP,
    PROCESSES,
    SAME_STEP,
    SINGLES,
    TEXTS,
    assert_same,
    draw_actions,
    make_batch,
    make_sync,
    scale_steps,
    single_keywords,
    truncates,
)

NUM_ENVS = 6
STEPS = 300
SPACES = [f"{a}{b}_space" for a in ("", "single_") for b in ("observation", "action")]
# The seeds of a batch lie on both sides of what a word holds, or beyond.
EDGES = (2**31 - 2, 2**32 - 2, 2**64 - 2, 3**90)


class Lockstep:
    """Gymnasium's batch and two of ours, with and without copies, told the same."""

    def __init__(self, case, mode, group_size=1, seed=0, **more):
        self.group_size = group_size
        self.expected = make_sync(case, NUM_ENVS, mode, **more)
        own = {"autoreset_mode": mode, "group_size": group_size, **more}
        self.copying = make_batch(case, NUM_ENVS, **own)
        self.reusing = make_batch(case, NUM_ENVS, copy=False, **own)
        self.mode = mode
        self.rng = np.random.default_rng(seed)
        for name in SPACES:
            space = getattr(self.expected, name)
            assert getattr(self.copying, name) == getattr(self.reusing, name) == space
            assert getattr(self.copying, name).dtype == space.dtype
        self.finished = np.zeros(NUM_ENVS, np.bool_)
        self.terminations = self.truncations = 0
        self.reused = None

    def close(self):
        for env in (self.expected, self.copying, self.reusing):
            env.close()

    def compare(self, expected, copying, reusing):
        assert_same(copying, expected, "with copies")
        assert_same(reusing, expected, "without copies")
        observations = reusing[0]
        if isinstance(observations, np.ndarray):
            assert self.reused is None or observations is self.reused
            self.reused = observations

    def reset(self, seed=None, mask=None):
        own_seed = seed
        if isinstance(seed, int):
            seed = [seed + i // self.group_size for i in range(NUM_ENVS)]
        # SyncVectorEnv takes the mask out of the options: each gets a dict.
        options = [None if mask is None else {"reset_mask": mask} for _ in range(3)]
        self.compare(
            self.expected.reset(seed=seed, options=options[0]),
            self.copying.reset(seed=own_seed, options=options[1]),
            self.reusing.reset(seed=own_seed, options=options[2]),
        )
        self.finished &= False if mask is None else ~mask

    def step(self, actions):
        expected = self.expected.step(actions)
        self.compare(expected, self.copying.step(actions), self.reusing.step(actions))
        _, _, terminations, truncations, _ = expected
        self.terminations += int(terminations.sum())
        self.truncations += int(truncations.sum())
        self.finished = terminations | truncations

    def draw_seed(self):
        """Return an int, a list with Nones in it, or None."""
        kind = self.rng.integers(4)
        if kind == 0:
            return int(self.rng.integers(1 << 40))
        if kind == 3:
            return EDGES[self.rng.integers(len(EDGES))]
        if kind == 1:
            seeds = self.rng.integers(1 << 34, size=NUM_ENVS).tolist()
            return [s if self.rng.random() < 0.6 else None for s in seeds]
        return None

    def disturb(self):
        """Reset everything or a random part of it, with or without seeds."""
        mask = None
        if self.rng.random() < 0.8:
            mask = self.rng.random(NUM_ENVS) < 0.5
            mask[self.rng.integers(NUM_ENVS)] = True
        self.reset(self.draw_seed(), mask)

    def run(self, steps):
        self.reset(int(self.rng.integers(1 << 31)))
        for number, actions in enumerate(draw_actions(self.expected, steps)):
            if self.rng.random() < 0.04:
                self.disturb()
            if self.mode is DISABLED and self.finished.any():
                self.reset(self.draw_seed(), self.finished.copy())
            if self.mode is NEXT_STEP:
                # These are ignored, whatever they are.
                actions[self.finished] = 99
            forms = [actions, actions.tolist(), tuple(actions.tolist())]
            if actions.dtype != object:
                forms[2] = actions.astype(np.int8)
            self.step(forms[number % 3])
        assert self.copying.np_random_seed == self.expected.np_random_seed


def run_lockstep(steps, *args, **more):
    """Play one lockstep to its end, and close its batches."""
    lockstep = Lockstep(*args, **more)
    try:
        lockstep.run(steps)
    finally:
        lockstep.close()
    return lockstep


# And finite sets of levels, where there are sets.
KINDS = [
    pytest.param(case, levels, id=f"{case} {levels}")
    for case in (*ALL_CASES, PROCESSES[0])
    for levels in ((0, 3) if case in LEVELS and case in SINGLES else (0,))
]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("case", "num_levels"), KINDS)
def test_batch_equals_sync_vector_env(case, num_levels, mode):
    levels = {"num_levels": num_levels, "start_level": 5} if num_levels else {}
    # Objects and their workers take longer than arrays, and meet ends sooner.
    steps = STEPS if case in ARRAY_IDS else 200 if case in TEXTS else 100
    group_size = 2 if case in CASES else 1
    lockstep = run_lockstep(scale_steps(steps), case, mode, group_size, **levels)
    # So few steps as are taken uncompiled need not meet both.
    assert lockstep.terminations or JIT_OFF
    assert lockstep.truncations or JIT_OFF or not truncates(case)


@pytest.mark.slow
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("case", ARRAY_IDS)
def test_long_run_equals_sync_vector_env(case, mode):
    run_lockstep(scale_steps(2000), case, mode, 2, seed=1)


VIEWS = [
    (case, obs_mode)
    for case in ARRAY_IDS
    for obs_mode in ("position", *OBS_MODES)
    if obs_mode != "position" or single_keywords(case)["obs_mode"] == "position"
]


@pytest.mark.parametrize(("case", "obs_mode"), VIEWS)
def test_every_observation_mode_equals_sync_vector_env(case, obs_mode):
    # The mode that has last observations beside the first ones.
    run_lockstep(scale_steps(40), case, SAME_STEP, obs_mode=obs_mode)


# Of different sizes and numbers of boxes.
GIVEN = ["#####\n#@$.#\n#####", " ####\n##+ #\n# *$ #\n#.$  #\n######"]

VARIANTS = [
    ("roll_vec/Sokoban-v0", {"dim_room": (6, 7), "num_boxes": 3}),
    ("roll_vec/Sokoban-v0", {"max_steps": 5}),
    ("roll_vec/Sokoban-v0", {"max_steps": 12}),
    ("roll_vec/Sokoban-v0", {"max_steps": 7, "max_episode_steps": -1}),
    (
        "roll_vec/Sokoban-v0",
        {"dim_room": (6, 6), "dim_x": 7, "dim_y": 5, "num_gen_steps": 9},
    ),
    (
        "roll_vec/Sokoban-v0",
        {"levels": GIVEN, "dim_room": (6, 6), "num_boxes": 3},
    ),
    (
        "roll_vec/Sokoban-v0",
        {"action_mask": True, "seed_info": True, "level_info": True, "num_levels": 4},
    ),
    ("roll_vec/Sokoban-v0 text", {"action_mask": True, "action_separator": "|"}),
    (
        "roll_vec/Sokoban-v0",
        {"solution_steps": (4, 9), "difficulty_info": True, "oracle_return_info": True},
    ),
    (
        "roll_vec/RandomFrozenLake-v0",
        {
            "success_probability": (0.2, 0.9),
            "action_mask": True,
            "difficulty_info": True,
            "oracle_return_info": True,
        },
    ),
    ("roll_vec/Sokoban-v0", {"deadlock": True, "terminate_on_deadlock": True}),
    (
        "roll_vec/Sokoban-v0 text",
        {"deadlock": True, "terminate_on_deadlock": True, "action_separator": "|"},
    ),
    ("roll_vec/FrozenLake-v1", {"is_slippery": False, "reward_schedule": (5, -1, 0.1)}),
    ("roll_vec/FrozenLake-v1", {"desc": ["SSF", "FHG"], "success_rate": 0.9}),
    ("roll_vec/FrozenLake-v1", {"map_name": "8x8", "max_episode_steps": None}),
    ("roll_vec/RandomFrozenLake-v0", {"size": 6, "p": 0.7, "max_steps": 4}),
    ("roll_vec/RandomFrozenLake-v0", {"is_slippery": False, "num_levels": 1}),
    ("roll_vec/RandomFrozenLake-v0", {"seed_info": True, "level_info": True}),
    ("roll_vec/Countdown-v0", {"max_steps": 1, "max_episode_steps": None}),
    ("roll_vec/Countdown-v0", {"max_steps": 3, "max_episode_steps": None}),
    ("roll_vec/Countdown-v0", {"max_steps": 3, "format_penalty": -0.5}),
    ("roll_vec/Countdown-v0", {"action_pattern": "<answer>(.*?)</answer>"}),
    ("tests_vector/Lamps-v0", {"action_mode": "text", "action_separator": "|"}),
]


@pytest.mark.parametrize(
    ("case", "more", "mode"),
    [
        # Each variant in one mode; in the others among the slow tests.
        pytest.param(
            *variant, mode, marks=[] if j == i % len(MODES) else [pytest.mark.slow]
        )
        for i, variant in enumerate(VARIANTS)
        for j, mode in enumerate(MODES)
    ],
)
def test_options_equal_sync_vector_env(case, more, mode):
    run_lockstep(scale_steps(150), case, mode, **more)
