"""Unrolls begin episodes in compiled code, if their levels are in memory, as steps."""

import numpy as np
import pytest

import roll_vec
from roll_vec.stacked import engine as stacked_engine
from tests.conftest import JIT_OFF
from tests.contract.cases import NEXT_STEP, SAME_STEP, assert_same

SOKOBAN, LAKES = "roll_vec/Sokoban-v0", "roll_vec/RandomFrozenLake-v0"
ROOMS = ["#####\n#@$.#\n#####", "#####\n#.$@#\n#####", "#####\n#+$ #\n#####"]
MAPS = ["SFF\nFHG", "SHF\nFFG", "FSF\nHFG"]
CASES = {
    "rooms of a user": (SOKOBAN, {"levels": ROOMS}),
    "maps of a user": (LAKES, {"levels": MAPS, "start_level": 1}),
    "few maps": (LAKES, {"size": 3, "num_levels": 3}),
    "maps that are drawn now and then": (LAKES, {"size": 3, "num_levels": 90}),
}
MODES = [NEXT_STEP, SAME_STEP]


def make_pair(case, num_envs, mode, **more):
    """Return two equal batches of short episodes that end at different times."""
    id, keywords = CASES[case]
    more = {"max_episode_steps": 7, "autoreset_mode": mode, "action_start": 1, **more}
    pair = [roll_vec.make_vec(id, num_envs, **keywords, **more) for _ in range(2)]
    for env in pair:
        env.reset(seed=3)
        for part in range(3):
            env.step(np.ones(num_envs, np.int64))
            env.reset(options={"reset_mask": np.arange(num_envs) % 3 == part})
    return pair


def check_equal(env, twin, num_steps):
    """Compare an unroll with as many steps of a twin, and their states afterwards."""
    rng = np.random.default_rng(int(env.engine.elapsed_steps.sum()))
    actions = rng.integers(1, 5, (num_steps, env.num_envs))
    rollout = env.unroll(actions)
    for t, batch in enumerate(actions):
        *results, infos = twin.step(batch)
        for values, expected in zip(rollout[:4], results, strict=True):
            assert_same(values[t], expected, f"step {t}")
        if "final_obs" in rollout.infos:
            finals = twin.final_obs(results[0], infos)
            assert_same(rollout.infos["final_obs"][t], finals, f"step {t}")
    assert_same(env.engine.get_state().arrays, twin.engine.get_state().arrays)
    return rollout


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("case", CASES)
def test_unrolls_begin_the_levels_that_steps_begin(case, mode, monkeypatch):
    # Where levels have to be drawn, environments wait for each other every 16 steps.
    monkeypatch.setattr(stacked_engine, "STEPS_AT_ONCE", 1)
    env, twin = make_pair(case, 12, mode)
    for _ in range(3):
        rollout = check_equal(env, twin, 30)
        assert rollout.truncations.any()
        assert rollout.terminations.any()


@pytest.mark.skipif(JIT_OFF, reason="thousands of environments")
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("case", ["rooms of a user", "maps of a user"])
def test_blocks_of_environments_make_no_difference(case, mode):
    env, twin = make_pair(case, 4100, mode, num_threads=1)
    check_equal(env, twin, 20)


@pytest.mark.parametrize("mode", MODES)
def test_level_options_count_from_the_next_episode_on(mode):
    env, twin = make_pair("few maps", 6, mode)
    check_equal(env, twin, 5)
    for batch in (env, twin):
        batch.set_level_options(mask=np.arange(6) > 2, num_levels=2)
    check_equal(env, twin, 20)
    for batch in (env, twin):
        batch.set_level_options(num_levels=1)
    check_equal(env, twin, 20)
