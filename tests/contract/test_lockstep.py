"""Batches in lockstep with Gymnasium's SyncVectorEnv over single environments.

Everything that `reset` and `step` return is compared to the bit at every step, under
random partial resets and seed lists.  Single environments are compared with those of
others in ``tests/envs``.
"""

import numpy as np
import pytest

from roll_vec.errors import InvalidActionError
from tests.conftest import JIT_OFF
from tests.contract import cases
from tests.thinning import one_in

NUM_ENVS = 6
SPACES = [f"{a}{b}_space" for a in ("", "single_") for b in ("observation", "action")]
# The seeds of a batch lie on both sides of what a word holds, or beyond.
EDGES = (2**31 - 2, 2**32 - 2, 2**64 - 2, 3**90)


class Lockstep:
    """Gymnasium's batch and two of ours, with and without copies, told the same."""

    def __init__(self, case, mode, group_size=1, **more):
        self.group_size = group_size
        self.expected = cases.make_sync(case, NUM_ENVS, mode, **more)
        own = {"autoreset_mode": mode, "group_size": group_size, **more}
        self.copying = cases.make_batch(case, NUM_ENVS, **own)
        self.reusing = cases.make_batch(case, NUM_ENVS, copy=False, **own)
        self.mode = mode
        self.has_generators = case in cases.ARRAY_IDS and not more
        self.rng = np.random.default_rng(0)
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
        cases.assert_same(copying, expected, "with copies")
        cases.assert_same(reusing, expected, "without copies")
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
        _, _, terminations, truncations, _ = expected
        copying, reusing = (env.step(actions) for env in (self.copying, self.reusing))
        self.compare(expected, copying, reusing)
        self.terminations += int(terminations.sum())
        self.truncations += int(truncations.sum())
        self.finished = terminations | truncations

    def compare_generators(self):
        """Compare where they stand; to draw from those of a batch moves nothing."""
        expected = [one.bit_generator.state for one in self.expected.np_random]
        for env in (self.copying, self.reusing):
            for generators in (env.np_random, env.get_attr("np_random")):
                assert isinstance(generators, tuple)
                assert [one.bit_generator.state for one in generators] == expected
                for one in generators:
                    one.random()

    def draw_seed(self):
        """Return an int, a list with Nones in it, or None."""
        kind = self.rng.integers(4)
        if kind == 0:
            return int(self.rng.integers(1 << 40))
        if kind == 3:
            return EDGES[self.rng.integers(len(EDGES))]
        if kind == 1:
            seeds = self.rng.integers(1 << 34, size=NUM_ENVS).tolist()
            seeds = [s << int(self.rng.choice([0, 0, 40, 90])) for s in seeds]
            return [s if self.rng.random() < 0.6 else None for s in seeds]
        return None

    def disturb(self):
        """Reset everything or a random part of it, with or without seeds."""
        mask = None
        if self.rng.random() < 0.8:
            mask = self.rng.random(NUM_ENVS) < 0.5
            mask[self.rng.integers(NUM_ENVS)] = True
        self.reset(self.draw_seed(), mask)

    def check_refused(self, actions, env_id):
        """Check that a bad action of one environment moves nothing."""
        bad = actions.copy()
        bad[env_id] = 99
        told = rf"environments \[{env_id}\]|99"
        with pytest.raises(InvalidActionError, match=told):
            self.copying.step(bad)

    def run(self, steps):
        self.reset(int(self.rng.integers(1 << 31)))
        for number, actions in enumerate(cases.draw_actions(self.expected, steps)):
            if self.rng.random() < 0.1:
                self.disturb()
            if self.mode is cases.DISABLED and self.finished.any():
                self.reset(self.draw_seed(), self.finished.copy())
            if self.mode is cases.NEXT_STEP:
                # These are ignored, whatever they are; the others are not.
                actions[self.finished] = 99
                if 0 < self.finished.sum() < NUM_ENVS:
                    self.check_refused(actions, int(self.finished.argmin()))
            forms = [actions, actions.tolist(), tuple(actions.tolist())]
            if actions.dtype != object:
                forms[2] = actions.astype(np.int8)
            self.step(forms[number % 3])
            if self.has_generators and number % 5 == 0:
                self.compare_generators()
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
    for case in (*cases.ALL_CASES, cases.PROCESSES[0])
    for levels in ((0, 3) if case in cases.LEVELS and case in cases.SINGLES else (0,))
]


@pytest.mark.parametrize("mode", cases.MODES)
@pytest.mark.parametrize(("case", "num_levels"), KINDS)
def test_batch_equals_sync_vector_env(case, num_levels, mode):
    levels = {"num_levels": num_levels, "start_level": 5} if num_levels else {}
    # Objects and their workers take longer than arrays, and meet ends sooner.
    steps = 90 if case in cases.ARRAY_IDS else 60 if case in cases.TEXTS else 40
    group_size = 2 if case in cases.CASES else 1
    lockstep = run_lockstep(cases.scale_steps(steps), case, mode, group_size, **levels)
    # So few steps as are taken uncompiled need not meet both.
    assert lockstep.terminations or JIT_OFF
    assert lockstep.truncations or JIT_OFF


@pytest.mark.parametrize(("case", "obs_mode"), cases.VIEWS)
def test_every_observation_mode_equals_sync_vector_env(case, obs_mode):
    # The mode that has last observations beside the first ones.
    run_lockstep(cases.scale_steps(25), case, cases.SAME_STEP, obs_mode=obs_mode)


@one_in(3, "mode, variant", cases.MODES, cases.VARIANTS)
def test_options_equal_sync_vector_env(variant, mode):
    case, more = variant
    run_lockstep(cases.scale_steps(60), case, mode, **more)
