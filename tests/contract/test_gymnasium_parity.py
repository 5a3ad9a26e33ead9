"""`roll_vec/FrozenLake-v1` equals Gymnasium's own under SyncVectorEnv, bit for bit.

`prob` is compared with Gymnasium's unbatched value: a reset there says 1, an integer,
and beside an environment that is being reset its batching turns 1/3 into 0.
"""

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import SyncVectorEnv

from tests.contract.cases import (
    DISABLED,
    MODES,
    SAME_STEP,
    assert_same,
    draw_actions,
    scale_steps,
)
from tests.gymnasium_versions import make_lake
from tests.thinning import one_in

NUM_ENVS = 5
OURS = {
    "FrozenLake-v1": "roll_vec/FrozenLake-v1",
    "FrozenLake8x8-v1": "roll_vec/FrozenLake8x8-v1",
}
SEEDS = [
    0,
    123,
    2**32 - 2,
    2**64 - 2,
    2**200 + 1,
    [7, 2**32, 0, 2**64, 7],
    [2**63, 2**96 + 5, 2**128, 1, 3],
]
OPTIONS = [
    {},
    {"is_slippery": False},
    {"success_rate": 0.7},
    {"success_rate": 1.0},
    {"success_rate": 0},
    {"reward_schedule": (10, -1, -0.01)},
    {"map_name": "8x8", "success_rate": 0.9},
    {"desc": ["SFS", "FHF", "SFG"]},
    {"desc": ["SFFFFFG"], "reward_schedule": (0.1, 0.2, 0.3)},
    {"desc": np.array([["S", "H"], ["F", "G"], ["G", "S"]]), "is_slippery": False},
]


class FloatProb(gymnasium.Wrapper):
    """Gymnasium's environment with the same type of `prob` at reset as at a step."""

    def reset(self, **kwargs):
        observation, info = self.env.reset(**kwargs)
        assert info == {"prob": 1}
        return observation, {"prob": 1.0}


def make_both(name, mode, num_envs=NUM_ENVS, **options):
    """Return Gymnasium's batch and ours of one id."""

    def single():
        return FloatProb(make_lake(name, **options))

    theirs = SyncVectorEnv([single] * num_envs, autoreset_mode=mode)
    ours = gymnasium.make_vec(
        OURS[name], num_envs=num_envs, autoreset_mode=mode, **options
    )
    return theirs, ours


def compare(theirs, ours, seed, steps):
    """Play both; return how many episodes ended in each of the two ways."""
    ends = np.zeros(2, np.int64)
    assert_same(ours.reset(seed=seed), theirs.reset(seed=seed))
    for row in draw_actions(ours, steps, seed=1):
        expected = theirs.step(row)
        assert_same(ours.step(row), expected)
        ends += [expected[2].sum(), expected[3].sum()]
        finished = expected[2] | expected[3]
        if ours.metadata["autoreset_mode"] is DISABLED and finished.any():
            partial = theirs.reset(options={"reset_mask": finished})
            assert_same(ours.reset(options={"reset_mask": finished}), partial)
    theirs.close()
    ours.close()
    return ends


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", OURS)
def test_plays_as_gymnasium_with_its_own_limit(name, mode):
    assert gymnasium.spec(OURS[name]).max_episode_steps == (
        gymnasium.spec(name).max_episode_steps
    )
    ends = compare(*make_both(name, mode), seed=3, steps=scale_steps(700))
    assert ends[0]


@pytest.mark.parametrize("mode", MODES)
def test_plays_as_gymnasium_with_a_short_limit(mode):
    both = make_both("FrozenLake-v1", mode, max_episode_steps=6)
    ends = compare(*both, seed=11, steps=scale_steps(400))
    assert ends.all()


@pytest.mark.parametrize("seed", SEEDS, ids=str)
def test_plays_as_gymnasium_from_any_seed(seed):
    compare(*make_both("FrozenLake-v1", SAME_STEP), seed=seed, steps=scale_steps(100))


@one_in(2, "options, mode", OPTIONS, MODES)
def test_plays_as_gymnasium_with_options(options, mode):
    both = make_both("FrozenLake-v1", mode, max_episode_steps=25, **options)
    compare(*both, seed=5, steps=scale_steps(150))


def test_streams_go_on_at_unseeded_and_masked_resets():
    theirs, ours = make_both("FrozenLake-v1", MODES[0], desc=["SFS", "FHG"])
    for kind in ("observation_space", "action_space"):
        for name in (kind, f"single_{kind}"):
            assert getattr(ours, name) == getattr(theirs, name)
            assert getattr(ours, name).dtype == getattr(theirs, name).dtype
    assert_same(ours.reset(seed=2), theirs.reset(seed=2))
    rng = np.random.default_rng(0)
    for row in draw_actions(ours, scale_steps(400)):
        if rng.random() < 0.3:
            mask = rng.random(NUM_ENVS) < 0.4
            mask[rng.integers(NUM_ENVS)] = True
            seed = [None, 2**70, None, 5, 2**32][rng.integers(5) :] + [None] * 5
            seed = seed[:5]
            expected = theirs.reset(seed=seed, options={"reset_mask": mask})
            assert_same(ours.reset(seed=seed, options={"reset_mask": mask}), expected)
        assert_same(ours.step(row), theirs.step(row))


def test_prob_beside_a_reset_is_not_lost():
    env = gymnasium.make_vec(OURS["FrozenLake-v1"], num_envs=64, max_episode_steps=3)
    env.reset(seed=0)
    seen = set()
    for row in draw_actions(env, 40):
        *_, infos = env.step(row)
        assert infos["_prob"].all()
        seen.add(tuple(sorted(set(infos["prob"].tolist()))))
    # Resets beside slips, in one array.
    third = (1.0 - 1.0 / 3.0) / 2.0
    assert any({1.0, third} <= set(probs) for probs in seen)
    env.close()
