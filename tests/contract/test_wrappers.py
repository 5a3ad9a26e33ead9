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
    env, plain = (
        make_batch(case, NUM_ENVS, autoreset_mode=mode, episode_info=has_infos)
        for has_infos in (False, True)
    )
    env = wrappers.RecordEpisodeStatistics(env)
    for batch in (env, plain):
        batch.reset(seed=3)
    rng, count, ended = np.random.default_rng(0), 0, np.zeros(NUM_ENVS, np.bool_)
    for row in draw_actions(env, scale_steps(50)):
        mask = (rng.random(NUM_ENVS) < 0.1) | ended
        for batch in (env, plain) if mask.any() else ():
            batch.reset(options={"reset_mask": mask.copy()})
        infos, own = env.step(row)[4], plain.step(row)[4]
        own = own.get("final_info", own)
        assert ("episode" in infos) == ("episode" in own)
        if "episode" in own:
            rows = own["_episode"]
            assert_same(infos["_episode"], rows)
            for key in ("r", "l"):
                expected = own["episode"][key][rows].tolist()
                assert infos["episode"][key][rows].tolist() == expected
            count += rows.sum()
            ended = rows & (mode is DISABLED)
        else:
            ended[:] = False
    assert env.episode_count == count > 0
