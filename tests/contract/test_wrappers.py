"""Gymnasium's wrapper of batches that counts episodes, in every mode that it takes.

Spaces, results, frames and infos are those of SyncVectorEnv, see ``test_lockstep.py``
and ``test_attributes.py``: wrappers that read no more give the same around both.  The
programs of ``docs/watching.md`` have those for videos and windows.
"""

import numpy as np
import pytest
from gymnasium.wrappers import vector as wrappers

from tests.contract.cases import (
    CASES,
    DISABLED,
    NEXT_STEP,
    SAME_STEP,
    assert_same,
    draw_actions,
    make_batch,
    scale_steps,
)
from tests.gymnasium_versions import needs

NUM_ENVS = 4
COUNTED_MODES = [
    NEXT_STEP,
    pytest.param(
        SAME_STEP,
        marks=needs("RecordEpisodeStatistics counts the first step in SAME_STEP"),
    ),
    DISABLED,
]


@pytest.mark.parametrize("mode", COUNTED_MODES)
@pytest.mark.parametrize("case", CASES)
def test_episode_statistics_are_those_of_the_batch(case, mode):
    # Over SyncVectorEnv, which takes the mask out of the options before the wrapper
    # can see it, a partial reset clears the statistics of all.
    plain = make_batch(case, NUM_ENVS, autoreset_mode=mode)
    env = wrappers.RecordEpisodeStatistics(plain)
    env.reset(seed=3)
    returns, lengths = np.zeros(NUM_ENVS), np.zeros(NUM_ENVS, int)
    rng, count, ended = np.random.default_rng(0), 0, np.zeros(NUM_ENVS, np.bool_)
    for row in draw_actions(env, scale_steps(50)):
        mask = (rng.random(NUM_ENVS) < 0.1) | ended
        if mask.any():
            env.reset(options={"reset_mask": mask.copy()})
            returns[mask], lengths[mask], ended[mask] = 0, 0, False
        _, rewards, terminations, truncations, infos = env.step(row)
        # In NEXT_STEP mode this step has reset those whose episodes have ended.
        returns[:] = np.where(ended, 0, returns + rewards)
        lengths[:] = np.where(ended, 0, lengths + 1)
        over = terminations | truncations
        assert ("episode" in infos) == over.any()
        if over.any():
            assert_same(infos["_episode"], over)
            assert infos["episode"]["r"][over].tolist() == returns[over].tolist()
            assert infos["episode"]["l"][over].tolist() == lengths[over].tolist()
            count += over.sum()
        if mode is SAME_STEP:
            returns[over], lengths[over] = 0, 0
        else:
            ended = over
    assert env.episode_count == count > 0
